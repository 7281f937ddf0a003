package withdrawal

import (
	"bytes"
	"cmp"

	"github.com/google/uuid"
)

// ChooseWallet picks the wallet of a new job: an active hot wallet of the
// chain, the first by [CompareWallets]. It is deterministic; the order of
// candidates does not matter. None is [ErrNoHotWallet].
func ChooseWallet(candidates []HotWallet, chain uuid.UUID) (HotWallet, error) {
	best := -1
	for i := range candidates {
		c := &candidates[i]
		if c.Chain == chain && c.Role == WalletRoleHot && c.Status == WalletActive &&
			(best < 0 || CompareWallets(c, &candidates[best]) < 0) {
			best = i
		}
	}
	if best < 0 {
		return HotWallet{}, ErrNoHotWallet
	}
	return candidates[best], nil
}

// CompareWallets is the order of choice: never used first, then the longest
// unused, then the least reserved (numerically), then id.
func CompareWallets(a, b *HotWallet) int {
	if c := a.LastUsedAt.Compare(b.LastUsedAt); c != 0 { // zero is before all
		return c
	}
	if c := a.BalanceReserved.Cmp(b.BalanceReserved); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// CompareClaims is the order in which due pending jobs are claimed: priority
// rank descending, then scheduled_at, then id.
func CompareClaims(a, b *Job) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.ScheduledAt.Compare(b.ScheduledAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// CompareRebroadcasts is the order in which confirming jobs are sent again: by
// wallet, lowest nonce first (a later one cannot be mined before it), then id.
func CompareRebroadcasts(a, b *Job) int {
	return cmp.Or(bytes.Compare(a.Wallet[:], b.Wallet[:]), cmp.Compare(a.Nonce, b.Nonce), bytes.Compare(a.ID[:], b.ID[:]))
}

// Nonce returns the nonce of the wallet's next transaction:
// max(what the chain says, highest on file + 1).
func (h *HotWallet) Nonce(chain uint64) uint64 { return max(chain, h.NextNonce) }
