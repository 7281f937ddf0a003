package utxo

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/internal/topological"
	"github.com/settlehq/settle/statemachine"
)

// Plan says what an event changes, given what the store holds. It is pure: the
// same answers from r give the same set. An event that is known already gives
// the empty set; a refusal gives an error and changes nothing.
func (p Policy) Plan(r Reader, ev Event) (ChangeSet, error) { return p.PlanAt(r, ev, time.Time{}) }

// PlanAt is [Policy.Plan]; now is the time of an event that has none.
func (p Policy) PlanAt(r Reader, ev Event, now time.Time) (ChangeSet, error) {
	pl := &plan{Policy: p, graph: newGraph(r), ev: ev}
	err := pl.begin(now)
	if err == nil {
		err = pl.do()
	}
	if err == nil {
		err = pl.collect()
	}
	if err != nil {
		return ChangeSet{Wide: pl.wide}, err
	}
	pl.set.Wide = pl.wide
	return pl.set, nil
}

func (pl *plan) do() error {
	switch ev := pl.ev.(type) {
	case WalletOpened:
		return pl.open(ev)
	case Submitted:
		return pl.submit(ev)
	case Broadcasted:
		return pl.broadcast(ev)
	case Observed:
		return pl.observe(ev)
	case Connected:
		return pl.connect(ev)
	case Disconnected:
		return pl.disconnect(ev)
	case Invalidated:
		return pl.invalidate(ev)
	case OwnersAnnounced:
		return pl.announce(ev)
	case OutputRevealed:
		return pl.reveal(ev)
	case Labelled:
		return pl.label(ev)
	case OutputsLeased:
		return pl.lease(ev)
	case LeasesRenewed:
		return pl.renew(ev)
	case LeasesReleased:
		return pl.release(ev)
	}
	return invalid("event %T", pl.ev)
}

// plan is the work on one event.
type plan struct {
	Policy
	*graph
	ev  Event
	by  By // of ev, with its time in UTC microseconds
	set ChangeSet

	every     []Wallet // of the store, once they are read
	opened    map[WalletID]bool
	rivalries []rivalry // direct conflicts that were decided
	joined    []TxID    // new rows of what others have
	due       []neighbours
	// later shows a transaction of the event that nothing touched so far.
	later func(chainhash.Hash) error

	// What inspect writes for one transaction after the other.
	buf    bytes.Buffer
	inputs []wire.OutPoint
	owners []owned
}

// begin checks who speaks and when.
func (pl *plan) begin(now time.Time) (err error) {
	if pl.ev == nil {
		return invalid("no event")
	}
	pl.by, pl.scope = pl.ev.by(), Scope(pl.ev)
	if pl.by.At.IsZero() {
		pl.by.At = now
	}
	for _, s := range []string{pl.by.Actor, pl.by.Role} {
		if len(s) > MaxActor || !statemachine.Storable(s) {
			return invalid("an actor and a role are UTF-8 of at most %d bytes", MaxActor)
		}
	}
	if pl.by.At.IsZero() {
		return invalid("%s needs a time", pl.event())
	}
	pl.by.At, err = statemachine.Time(pl.by.At)
	return err
}

// event names what is planned.
func (pl *plan) event() string { return strings.TrimPrefix(fmt.Sprintf("%T", pl.ev), "utxo.") }

// step moves a transaction along an edge of the table and logs it. change, if
// not nil, sets what moves beside the status.
func (pl *plan) step(n *node, on Trigger, reason string, change func(*Tx)) error {
	if _, ok := TxMachine.Next(n.tx.Status, on); !ok {
		return pl.refuse(n.at, statemachine.ErrIllegal, "")
	}
	pl.set.Log = append(pl.set.Log, statemachine.Transition[TxID]{
		ID: n.tx.ID, At: pl.by.At, Actor: pl.by.Actor, Role: pl.by.Role, Reason: reason,
	})
	if err := statemachine.Move(TxMachine, &n.tx.Status, &n.tx.Version, on, &pl.set.Log[len(pl.set.Log)-1]); err != nil {
		return err
	}
	if change != nil {
		change(&n.tx)
	}
	if n.tx.Context {
		pl.set.Log[len(pl.set.Log)-1].Data = ContextLine
	}
	pl.steps = append(pl.steps, step{n, n.last})
	n.last = len(pl.steps)
	return nil
}

// ContextLine is the Data of a line of the audit trail whose row was only context
// (see [Tx.Context]) when it was written: such a line is in no feed.
const ContextLine = `{"context":true}`

// expect makes room for the steps of n more transactions.
func (pl *plan) expect(n int) {
	pl.set.Log = slices.Grow(pl.set.Log, n)
	pl.steps = slices.Grow(pl.steps, n)
}

// one loads a transaction of which the wallet must have a row.
func (pl *plan) one(id TxID) (*node, error) {
	if err := pl.loadRows([]chainhash.Hash{id.Hash}); err != nil {
		return nil, err
	}
	if n := pl.get(id); n != nil {
		return n, nil
	}
	return nil, notFound(id)
}

func (pl *plan) wallet(id WalletID) (Wallet, error) {
	if id <= 0 {
		return Wallet{}, invalid("wallet id %d is not positive", id)
	}
	ws, err := pl.r.Wallets(id)
	if err != nil {
		return Wallet{}, err
	}
	return ws[0], nil
}

// tip returns the height of the tip, -1 for an empty chain.
func (pl *plan) tip() (int32, chainhash.Hash, error) {
	b, ok, err := pl.r.Tip()
	if err != nil || !ok {
		return -1, chainhash.Hash{}, err
	}
	return b.Height, b.Hash, nil
}

func (pl *plan) open(ev WalletOpened) error {
	if ev.Wallet <= 0 || ev.Birth < 0 {
		return invalid("a wallet needs an id from 1 and a birth height from 0")
	}
	all, _, err := pl.wallets()
	if err != nil {
		return err
	}
	for _, w := range all {
		switch {
		case w.ID != ev.Wallet:
		case w.Birth == ev.Birth:
			return nil
		default:
			return fmt.Errorf("wallet %d: %w: it was opened with birth height %d", w.ID, statemachine.ErrIllegal, w.Birth)
		}
	}
	tip, _, err := pl.tip()
	if err != nil {
		return err
	}
	pl.set.Wallets = []WalletChange{{New: Wallet{
		ID: ev.Wallet, Birth: ev.Birth, ScannedTo: ev.Birth - 1, Follows: tip >= 0 && tip == ev.Birth-1,
	}}}
	return nil
}

func (pl *plan) label(ev Labelled) error {
	if !statemachine.Storable(ev.Label) || utf8.RuneCountInString(ev.Label) > MaxLabel {
		return invalid("a label is UTF-8 of at most %d characters", MaxLabel)
	}
	if err := pl.load(pl.r.Txs(ev.ID)); err != nil { // of this wallet alone
		return err
	}
	n := pl.get(ev.ID)
	if n == nil {
		return notFound(ev.ID)
	}
	if n.tx.Label == ev.Label {
		return nil
	}
	return pl.step(n, OnLabelled, "", func(t *Tx) { t.Label = ev.Label })
}

// reveal credits an output that was found to be owned after its transaction
// was stored, and makes its owner scan from the given birth.
func (pl *plan) reveal(ev OutputRevealed) error {
	if err := checkOwner(ev.Tag, ev.Birth); err != nil {
		return err
	}
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	v := n.at
	if out := n.tx.Output(ev.Index); out != nil {
		if out.Tag == ev.Tag {
			return nil
		}
		return pl.refuse(v, statemachine.ErrIllegal, fmt.Sprintf("output %d belongs to %q", ev.Index, out.Tag))
	}
	raw, err := pl.r.Raw(ev.ID)
	if err != nil {
		return err
	}
	tx, err := ParseTx(raw[0])
	if err != nil {
		return err
	}
	if int64(ev.Index) >= int64(len(tx.TxOut)) || v.height == 0 {
		return invalid("transaction %s has no spendable output %d", ev.ID, ev.Index)
	}
	if err := pl.loadKids([]*vertex{v}); err != nil {
		return err
	}
	pl.credit(n, ev.Index, tx.TxOut[ev.Index], ev.Tag)
	if err := pl.step(n, OnRevealed, "", func(t *Tx) { t.Context = false }); err != nil {
		return err
	}
	if err := pl.beside(v, ev.ID.Wallet); err != nil {
		return err
	}
	if err := pl.spenders(v, ev.ID.Wallet, []uint32{ev.Index}); err != nil {
		return err
	}
	w, err := pl.wallet(ev.ID.Wallet)
	if err != nil {
		return err
	}
	return pl.fallBehind(w, ev.Birth, []string{ev.Tag})
}

// invalidate fails what the host gives up, with everything that depends on it.
func (pl *plan) invalidate(ev Invalidated) error {
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	if n.tx.Confirmed() {
		return pl.refuse(n.at, statemachine.ErrIllegal, "it is confirmed")
	}
	if !n.tx.Live() {
		return nil
	}
	losers, err := pl.withDescendants([]*vertex{n.at})
	if err != nil {
		return err
	}
	for _, l := range losers {
		if l.confirmed() {
			return pl.refuse(n.at, statemachine.ErrIllegal, "its descendant "+l.hash.String()+" is confirmed")
		}
	}
	reason := statemachine.Bounded(ev.Reason, 500)
	if n.tx.Status == Pending {
		return pl.giveUp(n, losers, reason)
	}
	return pl.kill(losers, func(l *vertex) (Trigger, string) {
		if l == n.at {
			return OnInvalidated, reason
		}
		return OnParentDied, ""
	})
}

// giveUp fails a pending row, which is its wallet's own, and the pending rows
// that stand on it: those of the same wallet, and those of others where no
// wallet has a live row of the parent any more.
func (pl *plan) giveUp(n *node, losers []*vertex, reason string) error {
	if err := pl.loadParents(losers); err != nil {
		return err
	}
	if err := pl.loadRivals(losers); err != nil {
		return err
	}
	for i, l := range losers {
		l.place = i
	}
	inWalk := pl.mark
	for _, i := range topological.Order(len(losers), func(i int, add func(int)) {
		for _, p := range losers[i].from {
			if p.lost == inWalk {
				add(p.place)
			}
		}
	}) {
		v := losers[i]
		for _, row := range v.rows {
			on, why := OnParentDied, ""
			switch {
			case row == n:
				on, why = OnInvalidated, reason
			case !row.tx.Live() || v == n.at || !deadParent(row):
				continue
			}
			if err := pl.step(row, on, why, nil); err != nil {
				return err
			}
			pl.moved(v)
		}
		v.status = 0
		for _, row := range v.rows {
			v.learn(&row.tx)
		}
	}
	return nil
}

// deadParent reports whether a row stands on a dead one of its wallet, or on
// what is dead in all wallets.
func deadParent(n *node) bool {
	return slices.ContainsFunc(n.at.from, func(p *vertex) bool {
		if own := p.in(n.tx.ID.Wallet); own != nil {
			return !own.tx.Live()
		}
		return p.status != 0 && !p.live()
	})
}

// ParseTx reads a serialised transaction, as [Reader.Raw] returns it;
// [statemachine.ErrCorrupt] if it is none.
func ParseTx(raw []byte) (*wire.MsgTx, error) {
	tx := new(wire.MsgTx)
	if err := tx.Deserialize(bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("%w: raw transaction: %v", statemachine.ErrCorrupt, err)
	}
	return tx, nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
}
