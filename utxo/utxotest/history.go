package utxotest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// LateScript belongs to the owner "late" of wallet 1. The host learns of this owner only in
// the course of a [History], with the first [utxo.OutputRevealed] for it.
var LateScript = []byte("late")

// History is what happened to a store, step by step. Some of it is refused.
type History struct {
	Events []utxo.Event
	// Policy must be used by every implementation that plays the history. Its owner
	// function answers by the step that [History.Play] is at.
	Policy utxo.Policy
	late   *bool
}

func newHistory(events ...utxo.Event) History {
	h := History{Events: events, Policy: Policy(), late: new(bool)}
	h.Policy.Owner = func(script []byte) (utxo.Owner, bool) {
		if *h.late && string(script) == string(LateScript) {
			return utxo.Owner{Wallet: 1, Tag: "late"}, true
		}
		return ownerOf(script)
	}
	return h
}

// Play gives the events one by one to step, which gives each event to all implementations
// that are compared. Play ends early with the first error of step. It may be called again,
// from the beginning, but not twice at a time.
func (h History) Play(step func(utxo.Event) error) error {
	*h.late = false
	for i, ev := range h.Events {
		if err := step(ev); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, Describe(ev), err)
		}
		h.follow(ev)
	}
	return nil
}

// With returns a history of other events in the same world.
func (h History) With(events ...utxo.Event) History {
	h.Events = events
	return h
}

func (h History) follow(ev utxo.Event) {
	switch ev := ev.(type) {
	case utxo.OutputRevealed:
		*h.late = *h.late || ev.ID.Wallet == 1 && ev.Tag == "late"
	case utxo.OwnersAnnounced:
		*h.late = *h.late || ev.Wallet == 1 && slices.Contains(ev.Tags, "late")
	}
}

// Shorten drops events as long as the history still fails.
func (h History) Shorten(fails func(History) bool) History {
	for size := len(h.Events) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(h.Events); {
			shorter := h.With(slices.Delete(slices.Clone(h.Events), at, at+size)...)
			if fails(shorter) {
				h = shorter
			} else {
				at += size
			}
		}
	}
	return h
}

// String lists the events, one a line.
func (h History) String() string {
	var b strings.Builder
	for i, ev := range h.Events {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, Describe(ev))
	}
	return b.String()
}

// GoString lists the events, for a failed property test.
func (h History) GoString() string { return "\n" + h.String() }

// Describe says what an event is in one line, with hashes cut short.
func Describe(ev utxo.Event) string {
	at := utxo.Said(ev).At.Sub(Start)
	switch ev := ev.(type) {
	case utxo.WalletOpened:
		return fmt.Sprintf("open wallet %d, born at %d", ev.Wallet, ev.Birth)
	case utxo.Submitted:
		text := fmt.Sprintf("submit to wallet %d: %s", ev.Wallet, describeTx(ev.Tx))
		for _, h := range ev.Replaces {
			text += " replaces " + short(h)
		}
		return fmt.Sprintf("%s, lock %.3q, at %v", text, ev.Lock[:], at)
	case utxo.Broadcasted:
		return "broadcast " + shortID(ev.ID)
	case utxo.Observed:
		text := fmt.Sprintf("observe at tip %s, sequence %d", short(ev.Tip), ev.Seq)
		for _, tx := range ev.Txs {
			text += "; " + describeTx(tx)
		}
		return text
	case utxo.Connected:
		text := fmt.Sprintf("connect block %d %s on %s", ev.Block.Height, short(ev.Block.Hash), short(ev.Block.Prev))
		for _, tx := range ev.Txs {
			text += "; " + describeTx(tx)
		}
		if ev.Positions != nil {
			text += fmt.Sprintf("; at %v", ev.Positions)
		}
		return text
	case utxo.Disconnected:
		return "disconnect block " + short(ev.Hash)
	case utxo.Invalidated:
		return "invalidate " + shortID(ev.ID)
	case utxo.OwnersAnnounced:
		return fmt.Sprintf("announce to wallet %d, born at %d: %.30q", ev.Wallet, ev.Birth, ev.Tags)
	case utxo.OutputRevealed:
		return fmt.Sprintf("reveal %s:%d as %s, born at %d", shortID(ev.ID), ev.Index, ev.Tag, ev.Birth)
	case utxo.Labelled:
		return fmt.Sprintf("label %s %.10q", shortID(ev.ID), ev.Label)
	case utxo.OutputsLeased:
		return describeLease("lease", ev, at)
	case utxo.LeasesRenewed:
		return describeLease("renew", utxo.OutputsLeased(ev), at)
	case utxo.LeasesReleased:
		return describeLease("release", utxo.OutputsLeased{Wallet: ev.Wallet, OutPoints: ev.OutPoints, Lock: ev.Lock}, at)
	}
	return fmt.Sprintf("%T", ev)
}

func describeLease(verb string, ev utxo.OutputsLeased, at any) string {
	text := fmt.Sprintf("%s in wallet %d with lock %.3q for %v at %v:", verb, ev.Wallet, ev.Lock[:], ev.Duration, at)
	for _, op := range ev.OutPoints {
		text += " " + shortOut(op)
	}
	return text
}

func describeTx(tx *wire.MsgTx) string {
	if tx == nil {
		return "nothing"
	}
	text := short(tx.TxHash()) + " ("
	for _, in := range tx.TxIn {
		text += shortOut(in.PreviousOutPoint) + " "
	}
	text += "->"
	for _, out := range tx.TxOut {
		text += " " + string(out.PkScript)
	}
	return text + ")"
}

func short(h chainhash.Hash) string { return h.String()[:6] }

func shortID(id utxo.TxID) string { return fmt.Sprintf("%d/%s", id.Wallet, short(id.Hash)) }

func shortOut(op wire.OutPoint) string {
	if isNull(op) {
		return "coinbase"
	}
	if op.Hash == External(0).Hash {
		return fmt.Sprintf("external:%d", op.Index)
	}
	return fmt.Sprintf("%s:%d", short(op.Hash), op.Index)
}
