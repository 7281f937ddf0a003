package withdrawal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/withdrawal"
)

func (w *batchWorld) done(i int) bool {
	switch w.rec.members[i].Request.Status {
	case withdrawal.RequestCompleted, withdrawal.RequestFailed, withdrawal.RequestCancelled:
		return true
	}
	return false
}

// possible reports whether a transaction is mined or may still be.
func (w *batchWorld) possible(tx batchModelTx) bool {
	return tx.place >= shallow || w.minedAt(tx.nonce) != final
}

func batchProperties() []explore.Property[batchWorld] {
	each := func(holds func(w *batchWorld, i int) bool) func(batchWorld) bool {
		return func(w batchWorld) bool { return holds(&w, 0) && holds(&w, 1) }
	}
	return []explore.Property[batchWorld]{
		explore.Always("no request is paid twice, but what was out when another wallet paid", each(func(w *batchWorld, i int) bool {
			return w.paid(i, shallow) <= 1 || i == 0 && w.elsewhere > 0 && !w.resent && w.rec.members[0].Request.Mined == "e"
		})),
		explore.Always("what is paid elsewhere is not sent again", func(w batchWorld) bool { return !w.resent }),
		explore.Always("no two transactions that pay one request can both be mined", each(func(w *batchWorld, i int) bool {
			for a := range w.txs[:w.signed] {
				for b := range a {
					x, y := w.txs[a], w.txs[b]
					if x.paid()&y.paid()&(1<<i) != 0 && x.nonce != y.nonce && w.possible(x) && w.possible(y) && w.stored(a) && w.stored(b) {
						return false
					}
				}
			}
			return true
		})),
		explore.Always("completed is paid, at depth, by its final transaction", each(func(w *batchWorld, i int) bool {
			r := &w.rec.members[i].Request
			switch {
			case r.Status != withdrawal.RequestCompleted:
				return true
			case r.FinalTxHash == "x":
				return w.twin && i == 0 && w.foreign[0] == final
			case r.FinalTxHash == "e":
				return w.elsewhere > 0 && i == 0
			}
			tx := w.txs[r.FinalTxHash[0]-'A']
			return tx.place == final && tx.paid()&(1<<i) != 0
		})),
		explore.Always("failed or cancelled is not paid, and cannot be", each(func(w *batchWorld, i int) bool {
			if s := w.rec.members[i].Request.Status; s != withdrawal.RequestFailed && s != withdrawal.RequestCancelled {
				return true
			}
			for n, tx := range w.txs[:w.signed] {
				if tx.paid()&(1<<i) != 0 && w.possible(tx) && w.stored(n) {
					return false
				}
			}
			return w.paid(i, shallow) == 0 || i == 0 && w.rec.members[0].Request.Mined != ""
		})),
		explore.Valid("the records are sound", func(w batchWorld) error {
			if err := withdrawal.CheckBatch(w.rec.payout()); !errors.Is(err, withdrawal.ErrPaidTwice) {
				return err
			}
			return nil
		}),
		explore.Always("somebody is named, or a moment", each(func(w *batchWorld, i int) bool {
			s := batchPolicy.Next(w.rec.members[i], t0)
			return w.done(i) || s.Party != 0
		})),
	}
}

// stored reports whether transaction n is on file: what is not is never sent.
func (w *batchWorld) stored(n int) bool {
	for i := range w.rec.members {
		if slices.ContainsFunc(w.rec.members[i].Txs, func(tx withdrawal.Tx) bool { return tx.Hash == hashOf(int8(n)) }) {
			return true
		}
	}
	return false
}

// batchMustAct is who acts at last where it can again and again: the worker of the batch, who looks, and
// the chain.
func batchMustAct(action string) string {
	for _, begins := range []string{"the builder sends", "the chain shows", "it is sent again", "mined ", "deep"} {
		if strings.HasPrefix(action, begins) || strings.Contains(action, " replaces what is stopped ") {
			return action
		}
	}
	return ""
}

func TestBatchModel(t *testing.T) {
	both := func(w batchWorld) bool {
		return w.rec.members[0].Request.Status == withdrawal.RequestCompleted && w.rec.members[1].Request.Status == withdrawal.RequestCompleted
	}
	for _, tt := range []struct {
		name   string
		rules  batchRules
		states int // exactly: a model that shrinks proves less
	}{
		{"drops, crashes, reorgs", batchRules{}, 8776},
		{"on what was read earlier", batchRules{stale: true}, 10104},
		{"a contract that leaves one out", batchRules{leaves: true}, 9192},
		{"a version that pays more than its file", batchRules{more: true}, 8688},
		{"another transaction that pays one", batchRules{twins: true, stop: true}, 14775},
		{"paid by another wallet, and an operator who says that it was sent", batchRules{elsewhere: true}, 42664},
	} {
		t.Run(tt.name, func(t *testing.T) {
			properties := append(batchProperties(),
				explore.CanFinish("a batch ends", func(w batchWorld) bool { return w.rec.batch.Batch.Status != withdrawal.BatchConfirming }),
				explore.EndsFairly("a batch ends, or an operator has its members", func(w batchWorld) bool {
					held := func(i int) bool { return w.rec.members[i].Job.Review || w.rec.members[i].Job.Batch == uuid.Nil }
					return w.rec.batch.Batch.Status != withdrawal.BatchConfirming || held(0) && held(1)
				}, batchMustAct),
				explore.CanFinish("what is paid elsewhere ends, or an operator has it", func(w batchWorld) bool {
					return w.elsewhere == 0 || w.done(0) || w.rec.members[0].Job.Review
				}),
				explore.Reachable("both are paid", both),
				explore.Reachable("a dropped one is paid alone", func(w batchWorld) bool {
					return w.rec.batch.Batch.Status != 0 && both(w) && w.rec.members[0].Request.FinalTxHash != w.rec.members[1].Request.FinalTxHash
				}))
			result, err := explore.CheckBy(tt.rules.model(t), batchWorld.key, properties...)
			if err != nil {
				t.Fatalf("%v\n%v", result, err)
			}
			if result.States != tt.states {
				t.Errorf("%d states, expected %d", result.States, tt.states)
			}
			t.Log(result)
		})
	}
}

// The oracle finds libraries that are broken.
func TestBatchModelFindsFaults(t *testing.T) {
	for name, rules := range map[string]batchRules{
		"a dropped member is pending at once": {forgets: true},
		"a bare receipt confirms":             {leaves: true, bare: true},
		"versions are not compared":           {stale: true, blind: true},
		"what is stopped is sent again":       {elsewhere: true, deaf: true},
	} {
		result, err := explore.CheckBy(rules.model(t), batchWorld.key, batchProperties()...)
		if found := new(explore.Counterexample[batchWorld]); !errors.As(err, &found) {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
}
