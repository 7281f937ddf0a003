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
	if err != nil {
		return ChangeSet{}, err
	}
	pl.graph.collect(&pl.set)
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
	pl.by = pl.ev.by()
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
		return pl.refuse(n, statemachine.ErrIllegal, "")
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
	pl.steps = append(pl.steps, step{n, n.last})
	n.last = len(pl.steps)
	return nil
}

// expect makes room for the steps of n more transactions.
func (pl *plan) expect(n int) {
	pl.set.Log = slices.Grow(pl.set.Log, n)
	pl.steps = slices.Grow(pl.steps, n)
}

// one loads a transaction that must be stored.
func (pl *plan) one(id TxID) (*node, error) {
	if err := pl.loadTxs(id); err != nil {
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
	all, err := pl.r.Wallets()
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
	pl.set.Wallets = []WalletChange{{New: Wallet{ID: ev.Wallet, Birth: ev.Birth, ScannedTo: ev.Birth - 1}}}
	return nil
}

func (pl *plan) label(ev Labelled) error {
	if !statemachine.Storable(ev.Label) || utf8.RuneCountInString(ev.Label) > MaxLabel {
		return invalid("a label is UTF-8 of at most %d characters", MaxLabel)
	}
	n, err := pl.one(ev.ID)
	if err != nil || n.tx.Label == ev.Label {
		return err
	}
	return pl.step(n, OnLabelled, "", func(t *Tx) { t.Label = ev.Label })
}

// reveal credits an output that was found to be owned after its transaction
// was stored, and makes its owner scan from the given birth.
func (pl *plan) reveal(ev OutputRevealed) error {
	if len(ev.Tag) > MaxTag || !statemachine.Storable(ev.Tag) || ev.Birth < 0 {
		return invalid("an owner needs a tag of at most %d bytes of UTF-8 and a birth height from 0", MaxTag)
	}
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	if out := n.tx.Output(ev.Index); out != nil {
		if out.Tag == ev.Tag {
			return nil
		}
		return pl.refuse(n, statemachine.ErrIllegal, fmt.Sprintf("output %d belongs to %q", ev.Index, out.Tag))
	}
	raw, err := pl.r.Raw(ev.ID)
	if err != nil {
		return err
	}
	tx, err := parse(raw[0])
	if err != nil {
		return err
	}
	if int64(ev.Index) >= int64(len(tx.TxOut)) || n.tx.Height == 0 {
		return invalid("transaction %s has no spendable output %d", ev.ID, ev.Index)
	}
	if err := pl.loadKids(ev.ID); err != nil {
		return err
	}
	pl.credit(n, ev.Index, tx.TxOut[ev.Index], ev.Tag)
	if err := pl.step(n, OnRevealed, "", nil); err != nil {
		return err
	}
	w, err := pl.wallet(ev.ID.Wallet)
	if err != nil {
		return err
	}
	pl.changeWallet(w, w.fallBehind(ev.Tag, ev.Birth-1))
	return nil
}

// invalidate fails what the host gives up, with everything that depends on it.
func (pl *plan) invalidate(ev Invalidated) error {
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	if n.tx.Confirmed() {
		return pl.refuse(n, statemachine.ErrIllegal, "it is confirmed")
	}
	if !n.tx.Live() {
		return nil
	}
	losers, err := pl.withDescendants([]*node{n})
	if err != nil {
		return err
	}
	for _, l := range losers {
		if l.tx.Confirmed() {
			return pl.refuse(n, statemachine.ErrIllegal, "its descendant "+l.tx.ID.String()+" is confirmed")
		}
	}
	return pl.kill(losers, func(l *node) (Trigger, string) {
		if l == n {
			return OnInvalidated, statemachine.Bounded(ev.Reason, 500)
		}
		return OnParentDied, ""
	})
}

// parse reads a serialised transaction.
func parse(raw []byte) (*wire.MsgTx, error) {
	tx := new(wire.MsgTx)
	if err := tx.Deserialize(bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("%w: raw transaction: %v", statemachine.ErrCorrupt, err)
	}
	return tx, nil
}

func (pl *plan) refuse(n *node, why error, reason string) error {
	r := &statemachine.Refusal{Err: why, Machine: TxMachine.Name(), ID: n.tx.ID.String(), Event: pl.event(), Reason: reason}
	if n.tx.Status != 0 {
		r.State = n.tx.Status.String()
	}
	return r
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
}
