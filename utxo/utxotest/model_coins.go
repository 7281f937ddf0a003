package utxotest

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// none is the spender of an unspent output.
var none chainhash.Hash

// Coins returns all owned outputs of a wallet, in order of arrival and index.
func (m *Model) Coins(w utxo.WalletID) []utxo.Coin {
	var coins []utxo.Coin
	for _, r := range m.rows {
		if r.wallet != w {
			continue
		}
		for _, out := range m.stored(r).Outputs {
			coin := utxo.Coin{
				Wallet: w, OutPoint: wire.OutPoint{Hash: r.hash, Index: out.Index}, Amount: out.Amount, Script: out.Script,
				Tag: out.Tag, SpentBy: out.SpentBy, Status: r.status, Height: r.height, Coinbase: r.coinbase,
			}
			if l := m.lease(w, coin.OutPoint); l != nil {
				own := *l
				coin.Lease = &own
			}
			coins = append(coins, coin)
		}
	}
	return coins
}

// State derives what a coin is worth, by the words of the rules.
func (m *Model) State(c utxo.Coin, now time.Time) utxo.OutputState {
	if c.Status == utxo.Replaced || c.Status == utxo.Failed {
		return utxo.CoinDead
	}
	if c.Status == utxo.Orphaned {
		return utxo.CoinRecoverable
	}
	if c.SpentBy != none {
		return utxo.CoinSpent
	}
	if c.Lease != nil && now.Before(c.Lease.Until) {
		return utxo.CoinLeased
	}
	return m.unlocked(c)
}

// unlocked is where a live unspent coin counts, with or without a lease.
func (m *Model) unlocked(c utxo.Coin) utxo.OutputState {
	if c.Status == utxo.Pending {
		return utxo.CoinPending
	}
	if c.Coinbase && m.young(c.Height) {
		return utxo.CoinImmature
	}
	if c.Height < 0 {
		return utxo.CoinUnconfirmed
	}
	return utxo.CoinConfirmed
}

// young reports whether a coinbase of this height is below maturity.
func (m *Model) young(height int32) bool {
	maturity := m.policy.Maturity
	if maturity == 0 {
		maturity = 100
	}
	return m.tipHeight()-height < maturity
}

// Balance sums the live unspent outputs of a wallet, of one tag or of all for nil.
func (m *Model) Balance(w utxo.WalletID, tag *string, minConfirmations int32, now time.Time) utxo.Balance {
	var b utxo.Balance
	for _, c := range m.Coins(w) {
		if tag != nil && c.Tag != *tag {
			continue
		}
		state := m.State(c, now)
		if state == utxo.CoinLeased {
			b.Leased += c.Amount
			state = m.unlocked(c)
		}
		if m.late(w, c.Tag) && state != utxo.CoinSpent && state != utxo.CoinDead && state != utxo.CoinRecoverable {
			b.Unscanned += c.Amount
			continue
		}
		switch state {
		case utxo.CoinPending:
			b.Pending += c.Amount
		case utxo.CoinImmature:
			b.Immature += c.Amount
		case utxo.CoinUnconfirmed:
			b.Unconfirmed += c.Amount
		case utxo.CoinConfirmed:
			if confirmations := m.tipHeight() - c.Height + 1; confirmations < minConfirmations {
				b.BelowMin += c.Amount
			} else {
				b.Confirmed += c.Amount
			}
		}
	}
	return b
}

// late reports whether an owner is behind its wallet.
func (m *Model) late(w utxo.WalletID, tag string) bool {
	return slices.ContainsFunc(m.wallet(w).Behind, func(o utxo.OwnerScan) bool { return o.Tags[0] == tag })
}

// Watch returns the coins whose spending would still matter: their transaction is live, and
// no confirmed transaction spends them.
func (m *Model) Watch(w utxo.WalletID) []utxo.Coin {
	return slices.DeleteFunc(m.Coins(w), func(c utxo.Coin) bool {
		if c.Status != utxo.Pending && c.Status != utxo.Published {
			return true
		}
		return slices.ContainsFunc(m.rows, func(r *row) bool { return r.wallet == w && r.confirmed() && r.spends(c.OutPoint) })
	})
}

// History returns the hashes of a wallet's transactions, newest first: unconfirmed ones by
// the time when they were first seen, then confirmed ones by height and place in the block.
func (m *Model) History(w utxo.WalletID) []chainhash.Hash {
	rows := slices.DeleteFunc(slices.Clone(m.rows), func(r *row) bool { return r.wallet != w || !m.isCore(r) })
	slices.SortFunc(rows, func(a, b *row) int {
		if a.confirmed() != b.confirmed() {
			if b.confirmed() {
				return -1
			}
			return 1
		}
		if !a.confirmed() {
			return cmp.Or(b.firstSeen.Compare(a.firstSeen), bytes.Compare(b.hash[:], a.hash[:]))
		}
		return cmp.Or(cmp.Compare(b.height, a.height), cmp.Compare(b.position, a.position), bytes.Compare(b.hash[:], a.hash[:]))
	})
	var hashes []chainhash.Hash
	for _, r := range rows {
		hashes = append(hashes, r.hash)
	}
	return hashes
}

// ProvablyDead reports whether an input of the transaction or of one of its
// known ancestors is spent by another transaction that is at least depth deep
// in the chain; the tip is 1 deep.
func (m *Model) ProvablyDead(id utxo.TxID, depth int32) bool {
	r := m.row(id.Wallet, id.Hash)
	if r == nil {
		return false
	}
	family := []*fact{r.fact}
	for grown := true; grown; {
		grown = false
		for _, p := range m.facts {
			if !slices.Contains(family, p) && slices.ContainsFunc(family, func(c *fact) bool { return c.childOf(p) }) {
				family = append(family, p)
				grown = true
			}
		}
	}
	for _, member := range family {
		for _, other := range m.facts {
			if other.confirmed() && other.rivalOf(member) && m.tipHeight()-other.height+1 >= depth {
				return true
			}
		}
	}
	return false
}
