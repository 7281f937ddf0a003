package utxotest

import (
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// enter adds a row in the state that its fact has.
func (m *Model) enter(f *fact, w utxo.WalletID) *row {
	r := &row{fact: f, wallet: w, tags: map[uint32]string{}}
	switch others := m.rowsOf(f); {
	case f.proof != nil:
		r.bytes = f.proof
	case len(others) > 0:
		r.bytes = mostSigned(others)
	default:
		r.bytes = f.tx
	}
	m.rows = append(m.rows, r)
	on := map[utxo.Status]utxo.Trigger{
		utxo.Pending: onSubmit, utxo.Published: onJoined, utxo.Replaced: onJoinedReplaced,
		utxo.Failed: onJoinedFailed, utxo.Orphaned: onJoinedOrphaned,
	}[f.status]
	if slices.Contains(m.shown, f) && f.status == utxo.Published && on == onJoined && len(m.had[f]) == 0 {
		on = onObserved
		if f.height != utxo.Unconfirmed {
			on = onConfirmed
		}
	}
	m.moveRow(r, on, f.status)
	return r
}

// credit adds the outputs of r that the policy gives to the wallet and that are not
// credited yet. No output of block 0 is ever credited.
func (m *Model) credit(r *row) bool {
	added := false
	for _, i := range m.ownedIn(r.wallet, r.height, r.tx) {
		if _, have := r.tags[i]; !have {
			owner, _ := m.owner(r.tx.TxOut[i].PkScript)
			r.tags[i] = owner.Tag
			added = true
		}
	}
	return added
}

// isCore reports whether the wallet owns an output of r, or one that it spends.
func (m *Model) isCore(r *row) bool { return len(r.tags) > 0 || m.spendsOwned(r.fact, r.wallet) }

func (m *Model) spendsOwned(f *fact, w utxo.WalletID) bool {
	for _, p := range m.rows {
		for index := range p.tags {
			if p.wallet == w && spends(f.tx, wire.OutPoint{Hash: p.hash, Index: index}) {
				return true
			}
		}
	}
	return false
}

// settle gives wallets the rows that they must have after an event: rows of transactions in
// which they own or spend an output, and of the direct rivals and parents of these. A
// transaction that a wallet has only submitted stays in this wallet alone.
func (m *Model) settle() {
	for grown := true; grown; {
		grown = false
		for _, f := range m.facts {
			if !f.public {
				continue
			}
			for _, w := range m.walletIDs() {
				r := m.row(w, f.hash)
				if r == nil && m.belongs(f, w) {
					r = m.enter(f, w)
					grown = true
				}
				if r != nil && slices.Contains(m.shown, f) && m.credit(r) {
					grown = true
					m.moveRow(r, onRevealed, r.status)
				}
			}
		}
	}
	for _, r := range m.rows {
		if slices.Contains(m.had[r.fact], r) && m.isCore(r) && !m.core[r] {
			m.moveRow(r, onRevealed, r.status)
		}
	}
	m.settleEdges()
	m.facts = slices.DeleteFunc(m.facts, func(f *fact) bool { return len(m.rowsOf(f)) == 0 })
}

func (m *Model) belongs(f *fact, w utxo.WalletID) bool {
	shown := slices.Contains(m.shown, f)
	if shown && (len(m.ownedIn(w, f.height, f.tx)) > 0 || m.spendsOwned(f, w)) {
		return true
	}
	for _, p := range m.rows {
		for index := range p.tags {
			_, old := m.tags[p][index]
			if !old && p.wallet == w && spends(f.tx, wire.OutPoint{Hash: p.hash, Index: index}) {
				return true
			}
		}
	}
	for _, r := range m.rows {
		if r.wallet != w || r.fact == f || !m.isCore(r) || !shown && m.core[r] {
			continue
		}
		if sharesInput(r.tx, f.tx) || isChild(r.tx, f.hash) {
			return true
		}
	}
	return false
}

// settleEdges adds the edges from losers to winners in every wallet that has both rows,
// also where a row has joined only now.
func (m *Model) settleEdges() {
	add := func(w utxo.WalletID, loser, winner chainhash.Hash) {
		same := func(e utxo.Replacement) bool { return e.Wallet == w && e.Loser == loser && e.Winner == winner }
		if m.row(w, loser) != nil && m.row(w, winner) != nil && !slices.ContainsFunc(m.edges, same) {
			m.edges = append(m.edges, utxo.Replacement{Wallet: w, Loser: loser, Winner: winner})
		}
	}
	for _, pair := range m.won {
		for _, w := range m.walletIDs() {
			add(w, pair[0].hash, pair[1].hash)
		}
	}
	for _, r := range m.rows {
		if len(m.had[r.fact]) == 0 || slices.Contains(m.had[r.fact], r) {
			continue
		}
		for _, e := range m.before {
			if !e.Declared && (e.Loser == r.hash || e.Winner == r.hash) {
				add(r.wallet, e.Loser, e.Winner)
			}
		}
	}
}

func (m *Model) rowsOf(f *fact) []*row {
	return slices.DeleteFunc(slices.Clone(m.rows), func(r *row) bool { return r.fact != f })
}
