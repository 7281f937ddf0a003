package utxotest_test

import (
	"fmt"
	"testing"

	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

func TestScenariosOfTheModel(t *testing.T) {
	for _, s := range utxotest.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			m := utxotest.NewModel(utxotest.Policy())
			if err := s.Run(m.Outcome, func() (utxo.Snapshot, error) { return m.Snapshot(), nil }); err != nil {
				t.Error(err)
			}
		})
	}
}

// The ledger passes all scenarios, and agrees with the model after every event of them.
func TestScenariosOfTheLedger(t *testing.T) {
	for _, s := range utxotest.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			p := newPair(utxotest.Policy())
			err := s.Run(func(ev utxo.Event) error {
				err := p.do(ev)
				if p.difference != nil {
					return fmt.Errorf("the ledger disagrees with the model: %w", p.difference)
				}
				return err
			}, p.ledger.Snapshot)
			if err != nil {
				t.Error(err)
			}
		})
	}
}
