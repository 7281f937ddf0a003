package utxo

import (
	"bytes"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// Plan says what an event changes, given what the store holds. It is pure: the same answers
// from r give the same set. An event that is known already gives an empty set; a refusal
// gives an error and changes nothing.
func (p Policy) Plan(r Reader, ev Event) (ChangeSet, error) { return p.PlanAt(r, ev, time.Time{}) }

// PlanAt is [Policy.Plan]; now is the caller's clock, see [statemachine.EventTime].
func (p Policy) PlanAt(r Reader, ev Event, now time.Time) (ChangeSet, error) {
	return (&plan{Policy: p, r: r, graph: newGraph(r), ev: ev}).run(now)
}

func (pl *plan) run(now time.Time) (ChangeSet, error) {
	err := pl.begin(now)
	if err == nil {
		err = pl.do()
	}
	if err == nil {
		err = pl.collect()
	}
	if err != nil {
		return ChangeSet{Wide: pl.graph.wide}, err
	}
	pl.set.Wide = pl.graph.wide
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
	r     Reader
	graph *graph
	ev    Event
	by    By        // of ev, with its time in UTC microseconds
	now   time.Time // by which leases are judged
	set   ChangeSet

	every     []Wallet // of the store, once they are read
	opened    map[WalletID]bool
	rivalries []rivalry // direct conflicts that were decided
	joined    []TxID    // new rows of what others have
	due       []neighbours
	// later shows a transaction of the event that nothing touched so far.
	later func(chainhash.Hash) error

	inspected map[*wire.MsgTx]seen // those that a batch has inspected before
	// What inspect writes for one transaction after the other.
	buf    bytes.Buffer
	inputs []wire.OutPoint
	owners []owned
}

// begin checks who speaks and when.
func (pl *plan) begin(now time.Time) (err error) {
	if why := statemachine.NoEvent(pl.ev); why != "" {
		return invalid("%s", why)
	}
	pl.by, pl.graph.scope = pl.ev.by(), Scope(pl.ev)
	for _, s := range []string{pl.by.Actor, pl.by.Role} {
		if len(s) > MaxActor || !statemachine.Storable(s) {
			return invalid("an actor and a role are UTF-8 of at most %d bytes", MaxActor)
		}
	}
	if err := statemachine.Ways(pl.by.Trace, pl.by.Via); err != nil {
		return fmt.Errorf("%s: %w", pl.event(), err)
	}
	if pl.by.At, pl.now, err = statemachine.EventTime(pl.by.At, now); err != nil {
		return fmt.Errorf("%s: %w", pl.event(), err)
	}
	return nil
}

// event names what is planned.
func (pl *plan) event() string { return statemachine.EventName(pl.ev) }

// step moves a transaction along an edge of the table and logs the step. change, if not
// nil, sets what changes beside the status.
func (pl *plan) step(n *row, on Trigger, reason string, change func(*Tx)) error {
	if _, ok := TxMachine.Next(n.tx.Status, on); !ok {
		return pl.refuse(n.at, statemachine.ErrIllegal, "")
	}
	pl.set.Log = append(pl.set.Log, statemachine.Transition[TxID]{
		ID: n.tx.ID, At: pl.by.At, Actor: pl.by.Actor, Role: pl.by.Role, Trace: pl.by.Trace, Reason: reason,
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
	pl.graph.steps = append(pl.graph.steps, step{n, n.last})
	n.last = len(pl.graph.steps)
	return nil
}

// ContextLine is the Data of an audit line whose row was only context (see [Tx.Context])
// when the line was written. Such a line is in no feed.
const ContextLine = `{"context":true}`

// expect makes room for the steps of n more transactions.
func (pl *plan) expect(n int) {
	pl.set.Log = slices.Grow(pl.set.Log, n)
	pl.graph.steps = slices.Grow(pl.graph.steps, n)
}

// one loads a transaction of which the wallet must have a row.
func (pl *plan) one(id TxID) (*row, error) {
	if err := pl.graph.loadRows([]chainhash.Hash{id.Hash}); err != nil {
		return nil, err
	}
	if n := pl.graph.get(id); n != nil {
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
	if err := pl.graph.load(pl.r.Txs(ev.ID)); err != nil { // of this wallet alone
		return err
	}
	n := pl.graph.get(ev.ID)
	if n == nil {
		return notFound(ev.ID)
	}
	if n.tx.Label == ev.Label {
		return nil
	}
	return pl.step(n, onLabelled, "", func(t *Tx) { t.Label = ev.Label })
}

// reveal gives an owner an output of a transaction that is stored already, and makes the
// owner be scanned from the given birth.
func (pl *plan) reveal(ev OutputRevealed) error {
	if err := checkOwner(ev.Tag, ev.Birth); err != nil {
		return err
	}
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	w, err := pl.wallet(ev.ID.Wallet)
	if err != nil {
		return err
	}
	v := n.at
	if out := n.tx.Output(ev.Index); out != nil {
		if out.Tag == ev.Tag {
			return pl.fallBehind(w, ev.Birth, []string{ev.Tag})
		}
		return pl.refuse(v, statemachine.ErrIllegal, fmt.Sprintf("output %d belongs to %q", ev.Index, out.Tag))
	}
	pl.graph.wide = pl.graph.wide || len(v.rows) > 1 // another wallet may learn of the same output now
	var other WalletID
	v.owner(ev.Index, func(n *row, _ *Output) { other = n.tx.ID.Wallet })
	if other != 0 {
		return pl.refuse(v, statemachine.ErrIllegal, fmt.Sprintf("output %d belongs to wallet %d", ev.Index, other))
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
	if err := pl.graph.loadKids([]*vertex{v}); err != nil {
		return err
	}
	pl.credit(n, ev.Index, tx.TxOut[ev.Index], ev.Tag)
	if err := pl.step(n, onRevealed, "", func(t *Tx) { t.Context = false }); err != nil {
		return err
	}
	if err := pl.beside(v, ev.ID.Wallet); err != nil {
		return err
	}
	if err := pl.spenders(v, ev.ID.Wallet, []uint32{ev.Index}); err != nil {
		return err
	}
	return pl.fallBehind(w, ev.Birth, []string{ev.Tag})
}

// ParseTx reads a serialised transaction, as [Reader.Raw] returns it; bytes that are no
// transaction are [statemachine.ErrCorrupt].
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
