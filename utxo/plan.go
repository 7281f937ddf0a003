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
func (p Policy) Plan(r Reader, ev Event) (ChangeSet, error) {
	pl := &plan{Policy: p, graph: newGraph(r)}
	var err error
	switch ev := ev.(type) {
	case WalletOpened:
		err = pl.open(ev)
	case Submitted:
		err = pl.submit(ev)
	case Broadcasted:
		err = pl.broadcast(ev)
	case Observed:
		err = pl.observe(ev)
	case Connected:
		err = pl.connect(ev)
	case Disconnected:
		err = pl.disconnect(ev)
	case Invalidated:
		err = pl.invalidate(ev)
	case OutputRevealed:
		err = pl.reveal(ev)
	case Labelled:
		err = pl.label(ev)
	case OutputsLeased:
		err = pl.lease(ev)
	case LeasesRenewed:
		err = pl.renew(ev)
	case LeasesReleased:
		err = pl.release(ev)
	default:
		err = fmt.Errorf("%w: event %T", statemachine.ErrInvalid, ev)
	}
	if err != nil {
		return ChangeSet{}, err
	}
	pl.graph.collect(&pl.set)
	return pl.set, nil
}

// plan is the work on one event.
type plan struct {
	Policy
	*graph
	set ChangeSet
	at  time.Time

	// What inspect writes for one transaction after the other.
	buf    bytes.Buffer
	inputs []wire.OutPoint
	owners []owned
}

// clock normalises the time of an event to UTC microseconds.
func (pl *plan) clock(at time.Time) (err error) {
	pl.at, err = storable(at)
	return err
}

// storable brings a time to UTC microseconds, and refuses the years that not
// every store can keep: a second taken for a millisecond ends there.
func storable(at time.Time) (time.Time, error) {
	at = at.UTC().Truncate(time.Microsecond)
	if at.Year() < 1 || at.Year() > 9999 {
		return at, invalid("a time in the year %d", at.Year())
	}
	return at, nil
}

// step moves a transaction along an edge of the table and logs it. change, if
// not nil, sets what moves beside the status.
func (pl *plan) step(n *node, on Trigger, reason string, change func(*Tx)) error {
	from := n.tx.Status
	to, ok := TxMachine.Next(from, on)
	if !ok {
		return refuse(n, on.String(), statemachine.ErrIllegal, "")
	}
	n.tx.Status = to
	n.tx.Version++
	if change != nil {
		change(&n.tx)
	}
	line := statemachine.Transition[TxID]{
		Machine: TxMachine.Name(), ID: n.tx.ID, Version: n.tx.Version,
		Trigger: on.String(), To: to.String(), At: pl.at, Reason: reason,
	}
	if from != 0 {
		line.From = from.String()
	}
	pl.set.Log = append(pl.set.Log, line)
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
	if err := pl.clock(ev.At); err != nil {
		return err
	}
	if !storableText(ev.Label) || utf8.RuneCountInString(ev.Label) > MaxLabel {
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
	if err := pl.clock(ev.At); err != nil {
		return err
	}
	if len(ev.Tag) > MaxTag || !storableText(ev.Tag) || ev.Birth < 0 {
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
		return refuse(n, "output_revealed", statemachine.ErrIllegal, fmt.Sprintf("output %d belongs to %q", ev.Index, out.Tag))
	}
	raw, err := pl.r.Raw(ev.ID)
	if err != nil {
		return err
	}
	tx, err := parse(raw)
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
	if err := pl.clock(ev.At); err != nil {
		return err
	}
	n, err := pl.one(ev.ID)
	if err != nil {
		return err
	}
	if n.tx.Confirmed() {
		return refuse(n, "invalidated", statemachine.ErrIllegal, "it is confirmed")
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
			return refuse(n, "invalidated", statemachine.ErrIllegal, "its descendant "+l.tx.ID.String()+" is confirmed")
		}
	}
	return pl.kill(losers, func(l *node) (Trigger, string) {
		if l == n {
			return OnInvalidated, cut(ev.Reason)
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

func refuse(n *node, event string, why error, reason string) error {
	return &statemachine.Refusal{
		Err: why, Machine: TxMachine.Name(), ID: n.tx.ID.String(), State: n.tx.Status.String(), Event: event, Reason: reason,
	}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
}

// storableText reports whether every store can keep s: UTF-8 without NUL.
func storableText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// cut bounds a reason to 500 bytes of UTF-8.
func cut(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	for len(s) > 500 {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}
