package utxo_test

import (
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab/looplabtest"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

func TestTablesAgreeWithLooplab(t *testing.T) {
	looplabtest.Agree(t, utxo.TxMachine)
	looplabtest.Agree(t, utxo.CoinMachine)
}

// phases watches the outputs of a ledger.
type phases struct {
	now  map[phaseKey]utxo.Phase
	seen map[[2]utxo.Phase]bool
}

type phaseKey struct {
	w  utxo.WalletID
	op wire.OutPoint
}

// look holds what changed since the last look against the table.
func (p *phases) look(t *testing.T, l *utxo.Ledger, policy utxo.Policy, ev utxo.Event) {
	tip, ok, _ := l.Tip()
	if !ok {
		tip.Height = -1
	}
	wallets, _ := l.Wallets()
	for _, w := range wallets {
		coins, _ := l.Outputs(w.ID, nil, statemachine.MaxPage)
		for _, c := range coins {
			id := phaseKey{w.ID, c.OutPoint}
			was, is := p.now[id], utxo.PhaseOf(policy.State(c, tip.Height, utxo.Said(ev).At))
			if !utxo.PhaseMayFollow(was, is) {
				t.Errorf("output %s went from %s to %s", c.OutPoint, was, is)
			}
			p.now[id], p.seen[[2]utxo.Phase{was, is}] = is, true
		}
	}
}

// TestPhasesFollowTheTable compares every change of every output in random histories with
// CoinMachine, and checks that the histories use each of its edges.
func TestPhasesFollowTheTable(t *testing.T) {
	seen := map[[2]utxo.Phase]bool{}
	for seed := range uint64(400) {
		h := utxotest.NewHistory(seed, 80)
		l := utxo.NewLedger(h.Policy)
		watch := &phases{map[phaseKey]utxo.Phase{}, seen}
		_ = h.Play(func(ev utxo.Event) error {
			_, _ = l.Do(ev) // a refusal changes nothing, but time passes
			watch.look(t, l, h.Policy, ev)
			return nil
		})
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, h)
		}
	}
	// A spend of a leased coin is given up before the lease ends.
	w := newSmallWallet()
	l := w.ledger(nil)
	watch := &phases{map[phaseKey]utxo.Phase{}, seen}
	start := utxo.WalletOpened{By: utxo.By{At: utxotest.Start}}
	watch.look(t, l, utxotest.Policy(), start)
	for _, name := range []string{"lease", "observe A", "invalidate A"} {
		_, events := w.events(l)
		if _, err := l.DoAt(events[name], utxotest.Start); err != nil {
			t.Fatal(err)
		}
		watch.look(t, l, utxotest.Policy(), start)
	}
	for _, e := range utxo.CoinMachine.Edges() {
		if !seen[[2]utxo.Phase{e.From, e.To}] {
			t.Errorf("no history went from %s to %s (%s)", e.From, e.To, e.Trigger)
		}
	}
}
