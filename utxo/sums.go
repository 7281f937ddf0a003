package utxo

import "slices"

// SumChange is added to the sum of the live unspent outputs of an owner in one state:
// [CoinPending], [CoinUnconfirmed] or [CoinConfirmed], which counts every coin in a block.
// Whether a coin is immature or has too few confirmations depends on the tip, and is
// decided when a balance is read. The order of SumChanges does not matter.
type SumChange struct {
	Wallet WalletID
	Tag    string
	State  OutputState
	Amount int64
}

// summed is the state in which the live unspent outputs of t are summed; 0: none.
func (t *Tx) summed() OutputState {
	switch {
	case !t.Live():
		return 0
	case t.Height != Unconfirmed:
		return CoinConfirmed
	case t.Status == Pending:
		return CoinPending
	}
	return CoinUnconfirmed
}

// sums compares what the changed transactions were worth with what they are.
func (pl *plan) sums() {
	var all summing
	count := func(n *row) {
		if n.summed {
			return
		}
		if n.summed = true; n.old != nil {
			all.add(n.old, -1)
		}
		all.add(&n.tx, 1)
	}
	for _, s := range pl.graph.steps {
		count(s.of)
	}
	for _, n := range pl.graph.respent {
		count(n)
	}
	pl.set.Sums = slices.DeleteFunc(all.changes, func(s SumChange) bool { return s.Amount == 0 })
}

// summing are changes, each of another sum.
type summing struct {
	changes []SumChange
	at      map[SumChange]int // their places, once they are many
}

// add adds what the unspent outputs of t are worth, times sign.
func (s *summing) add(t *Tx, sign int64) {
	state := t.summed()
	for i := range t.Outputs {
		if o := &t.Outputs[i]; state != 0 && !o.Spent() {
			s.changes[s.place(SumChange{Wallet: t.ID.Wallet, Tag: o.Tag, State: state})].Amount += sign * o.Amount
		}
	}
}

// place finds a sum, or adds it.
func (s *summing) place(of SumChange) int {
	const few = 16
	at, known := s.at[of]
	if s.at == nil {
		at = slices.IndexFunc(s.changes, func(c SumChange) bool { return c.Wallet == of.Wallet && c.Tag == of.Tag && c.State == of.State })
		known = at >= 0
	}
	if known {
		return at
	}
	s.changes = append(s.changes, of)
	if len(s.changes) == few {
		s.at = make(map[SumChange]int, 4*few)
		for i, c := range s.changes {
			c.Amount = 0
			s.at[c] = i
		}
	} else if s.at != nil {
		s.at[of] = len(s.changes) - 1
	}
	return len(s.changes) - 1
}
