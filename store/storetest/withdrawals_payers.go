package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// payer is a way in which a request comes to have a transaction on file: whole, by one
// of its outputs, or either.
type payer struct {
	whole, outputs bool
	says           func(hash string, byOutput bool, output uint32) (request uuid.UUID, err error)
}

func (w *withdrawals) payers(t *testing.T) map[string]payer {
	do := func(a withdrawal.Withdrawal, ev withdrawal.Event) (uuid.UUID, error) {
		return a.Request.ID, errOf(w.service.Do(ctx, a.Request.ID, ev))
	}
	paid := func(a withdrawal.Withdrawal, hash string, output uint32) (uuid.UUID, error) {
		e := paidBy(&a, hash, start)
		e.Output = output
		return do(a, e)
	}
	answer := func(hash string) withdrawal.Broadcast {
		return withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: hash}
	}
	return map[string]payer{
		"a preparation": {true, false, func(hash string, _ bool, _ uint32) (uuid.UUID, error) {
			a := w.processing(t, utxos, start)
			p := prepared(&a, start)
			p.Hash = hash
			return do(a, p)
		}},
		"a signer who names what it sent": {true, false, func(hash string, _ bool, _ uint32) (uuid.UUID, error) {
			a := w.processing(t, utxos, start)
			return do(w.do(t, a.Request.ID, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref"}), answer(hash))
		}},
		"a signer who does after it was declared not sent": {true, false, func(hash string, _ bool, _ uint32) (uuid.UUID, error) {
			return do(w.declaredNotSent(t, utxos), answer(hash))
		}},
		"an operator who saw it": {false, true, func(hash string, _ bool, output uint32) (uuid.UUID, error) {
			return paid(w.pending(t, utxos, start), hash, output)
		}},
		"an operator who saw it after a failure": {false, true, func(hash string, _ bool, output uint32) (uuid.UUID, error) {
			failed := withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent, Error: "x"}
			return paid(w.do(t, w.processing(t, utxos, start).Request.ID, failed), hash, output)
		}},
		"an operator who resolves": {true, true, func(hash string, byOutput bool, output uint32) (uuid.UUID, error) {
			a := w.unclear(t, utxos)
			found := notSent(&a, start)
			found.Sent, found.Hash, found.ByOutput, found.Output = true, hash, byOutput, output
			return do(a, found)
		}},
		"an import": {true, true, func(hash string, byOutput bool, output uint32) (uuid.UUID, error) {
			e := withdrawal.Imported{By: by(withdrawal.System, start), Request: w.id(), User: aUser, Asset: anAsset, Chain: utxos, ToAddress: "to",
				Amount: "1", CreatedAt: start,
				Job: w.id(), AssetOnChain: tokenOnChain, Hash: hash, ByOutput: byOutput, Output: output}
			return e.Request, errOf(w.service.Do(ctx, e.Request, e))
		}},
		"a filler, which pays nobody": {true, false, func(hash string, _ bool, _ uint32) (uuid.UUID, error) {
			dated(w.Store, start)
			defer dated(w.Store, time.Time{})
			return uuid.Nil, w.service.PutFiller(ctx, withdrawal.Filler{Wallet: utxoHot, Chain: utxos, Nonce: w.ids.Add(1), Hash: hash,
				Actor: "olga", Reason: "a test transfer"})
		}},
	}
}

// onePayer: a transaction, or one output of it, pays one request, however it was filed and in whatever spelling. Naming
// it for a second request is refused with the name of the first; if a signer names it, the second request's payment
// stops.
func (w *withdrawals) onePayer(t *testing.T) {
	n, payers := 0, w.payers(t)
	for name, first := range payers {
		for name2, second := range payers {
			for _, c := range []struct {
				of   [2]bool // by an output
				n    [2]uint32
				free bool
			}{{}, {of: [2]bool{false, true}, n: [2]uint32{0, 3}}, {of: [2]bool{true, false}, n: [2]uint32{3, 0}},
				{of: [2]bool{true, true}, n: [2]uint32{3, 3}},
				{of: [2]bool{true, true}, n: [2]uint32{3, 4}, free: true}} {
				can := func(p payer, byOutput bool) bool { return byOutput && p.outputs || !byOutput && p.whole }
				if !can(first, c.of[0]) || !can(second, c.of[1]) || name2 == "a filler, which pays nobody" {
					continue
				}
				n++
				what, hash := fmt.Sprintf("%s, then %s: %+v", name, name2, c), fmt.Sprintf("0xABCDE%d", n)
				owner := must(first.says(hash, c.of[0], c.n[0]))(t)
				id, err := second.says([]string{hash, strings.ToLower(hash[2:]), hash[2:], "0X" + hash[2:]}[n%4], c.of[1], c.n[1])
				if err != nil && !c.free {
					taken(t, err, withdrawal.ErrPaymentTaken, owner)
					continue
				}
				noError(t, err, what, ": ")
				a := w.get(t, id)
				onFile := slices.ContainsFunc(a.Txs, func(tx withdrawal.Tx) bool { return statemachine.SameHash(tx.Hash, hash) }) ||
					slices.ContainsFunc(a.Strays, func(s withdrawal.Stray) bool { return statemachine.SameHash(s.Hash, hash) })
				if onFile != c.free || !c.free && !a.Request.Held && !a.Job.Review {
					t.Errorf("%s: the second has it on file: %v; it is held %v, in review %v", what, onFile, a.Request.Held, a.Job.Review)
				}
			}
		}
	}
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: utxos2}) // another chain has hashes of its own
	far := w.processing(t, utxos2, start)
	p := prepared(&far, start)
	p.Hash = "ABCDE1"
	w.do(t, far.Request.ID, p)
}

// outputThenWhole: a request has a transaction by an output, and its signer names
// it whole; its other outputs are others' all the same.
func (w *withdrawals) outputThenWhole(t *testing.T) {
	a := w.declaredNotSent(t, utxos)
	at := a.Job.ScheduledAt
	a = w.do(t, a.Request.ID, withdrawal.Claimed{By: workerAt(at)})
	p := prepared(&a, at)
	w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(at), Fence: p.Fence, Hash: p.Hash}, paidBy(&a, "many", at))
	if a = w.do(t, a.Request.ID, withdrawal.Broadcast{By: workerAt(at), Fence: 1, Hash: "many"}); len(a.Strays) != 2 {
		t.Fatalf("strays are %+v", a.Strays)
	}
	payers := w.payers(t)
	must(payers["an operator who saw it"].says("many", true, 1))(t)
	taken(t, errOf(payers["an operator who saw it"].says("many", true, 0)), withdrawal.ErrPaymentTaken, a.Request.ID)
	refusedWith(t, errOf(payers["a preparation"].says("many", false, 0)), withdrawal.ErrPaymentTaken, "what pays others as one payment")
}
