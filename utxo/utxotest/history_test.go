package utxotest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// play returns the first step at which the ledger and the model differ.
func play(h utxotest.History) error {
	p := newPair(h.Policy)
	if err := h.Play(func(ev utxo.Event) error {
		p.do(ev)
		return p.difference
	}); err != nil {
		return err
	}
	return p.replay()
}

func TestLedgerAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := utxotest.Histories(60).Draw(t, "history")
		if err := play(h); err != nil {
			h = h.Shorten(func(h utxotest.History) bool { return play(h) != nil })
			t.Fatalf("%v\n%v", play(h), h)
		}
	})
}

// A refused event leaves no trace in the model: a history without its refused events ends
// the same. (Refused revelations stay, since the host learns of the late owner from them
// too.)
func TestARefusedEventLeavesNoTrace(t *testing.T) {
	for seed := range uint64(50) {
		h := utxotest.NewHistory(seed, 60)
		m, again := utxotest.NewModel(h.Policy), utxotest.NewModel(h.Policy)
		var kept []utxo.Event
		if err := h.Play(func(ev utxo.Event) error {
			if m.Apply(ev) == nil || reveals(ev) {
				kept = append(kept, ev)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := h.With(kept...).Play(func(ev utxo.Event) error {
			if err := again.Apply(ev); !reveals(ev) {
				return err
			}
			return nil
		}); err != nil {
			t.Errorf("seed %d: refused without the refused ones: %v", seed, err)
		}
		if !equal(m.Snapshot(), again.Snapshot()) {
			t.Errorf("seed %d: the refused events made a difference", seed)
		}
	}
}

// The generator is useful only if its histories reach every refusal and every edge of the
// table.
func TestHistoriesReachEverything(t *testing.T) {
	used := map[statemachine.Edge[utxo.Status, utxo.Trigger]]int{}
	refused := map[string]int{}
	events := 0
	for _, s := range utxotest.Scenarios() { // what is rarer
		m := utxotest.NewModel(utxotest.Policy())
		if err := s.Run(m.Outcome, func() (utxo.Snapshot, error) { return m.Snapshot(), nil }); err != nil {
			t.Fatal(err)
		}
		for edge, n := range m.Used() {
			used[edge] += n
		}
	}
	for seed := range 400 {
		h := utxotest.NewHistory(uint64(seed), 60)
		m := utxotest.NewModel(h.Policy)
		if err := h.Play(func(ev utxo.Event) error {
			refused[utxotest.RefusalName(m.Apply(ev))]++
			events++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for edge, n := range m.Used() {
			used[edge] += n
		}
	}
	for name := range utxotest.Refusals {
		if refused[name] < 5 {
			t.Errorf("%s was met %d times in %d events", name, refused[name], events)
		}
	}
	if accepted := refused[""]; accepted < events/2 {
		t.Errorf("only %d of %d events were accepted", accepted, events)
	}
	for _, edge := range utxo.TxMachine.Edges() {
		edge.Extension = ""
		if used[edge] == 0 {
			t.Errorf("no transaction went %v -> %v by %v", edge.From, edge.To, edge.Trigger)
		}
		delete(used, edge)
	}
	for edge, n := range used {
		t.Errorf("the table has no step %v -> %v by %v, taken %d times", edge.From, edge.To, edge.Trigger, n)
	}
}

// reveals reports whether the host learns of the late owner from an event.
func reveals(ev utxo.Event) bool {
	switch ev.(type) {
	case utxo.OutputRevealed, utxo.OwnersAnnounced:
		return true
	}
	return false
}
