package withdrawal

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// ChooseWallet picks the wallet of a new job: an active hot wallet of the chain, the first by [CompareWallets]. It is
// deterministic; the order of candidates does not matter. If there is no such wallet, it returns [ErrNoHotWallet].
func ChooseWallet(candidates []HotWallet, chain uuid.UUID) (HotWallet, error) {
	best := -1
	for i := range candidates {
		c := &candidates[i]
		if c.Chain == chain && c.Pays() &&
			(best < 0 || CompareWallets(c, &candidates[best]) < 0) {
			best = i
		}
	}
	if best < 0 {
		return HotWallet{}, ErrNoHotWallet
	}
	return candidates[best], nil
}

// Unbound reports whether a hot wallet may have paid before a restore without anybody having told of it: the records have
// no payment of the wallet, and nobody has said its [Bound] in the generation of the restore. A start of the chain asks
// for the bound of each wallet that is stored by then, so an unbound wallet was put later; it gets no job. said are the
// statements about the chain; generation is that of the chain, 0 if the database was never put back.
func (h *HotWallet) Unbound(said []Statement, generation int64) bool {
	return generation != 0 && h.LastUsedAt.IsZero() && h.NextNonce == 0 && !slices.ContainsFunc(said, func(s Statement) bool {
		return s.Wallet == h.ID && s.Generation >= generation && (s.Says == SaidThrough || s.Says == SaidCoins || s.Says == SaidUntil)
	})
}

// chooseBound is [ChooseWallet] among the wallets that are not [HotWallet.Unbound]. If there are only others that pay,
// the error names the bound of the first of them.
func (c *step) chooseBound(candidates []HotWallet) (HotWallet, error) {
	chain := c.Old.Request.Chain
	if c.Old.Generation == 0 {
		return ChooseWallet(candidates, chain)
	}
	unbound := func(h HotWallet) bool { return h.Unbound(c.Old.Said, c.Old.Generation) }
	wallet, err := ChooseWallet(slices.DeleteFunc(slices.Clone(candidates), unbound), chain)
	if other, none := ChooseWallet(candidates, chain); err != nil && none == nil {
		err = fmt.Errorf("%w: %w", err, &UnsettledError{Open: Open{Chain: chain, Wallet: other.ID, Point: OpenBound}})
	}
	return wallet, err
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
// rank descending, then [Job.DueAt], which is scheduled_at, then id.
func CompareClaims(a, b *Job) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.DueAt().Compare(b.DueAt()), bytes.Compare(a.ID[:], b.ID[:]))
}

// CompareRebroadcasts is the order in which confirming jobs are sent again: by
// their next check, then id. It is an order between wallets, of which each
// offers one job at a time where it has nonces, the lowest: see [LowerNonce].
func CompareRebroadcasts(a, b *Job) int {
	return cmp.Or(a.NextCheckAt.Compare(b.NextCheckAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// LowerNonce reports whether a comes before b in the same wallet, since b
// cannot be mined before it: both have a nonce of it, and a's is lower.
func LowerNonce(a, b *Job) bool {
	return a.Wallet == b.Wallet && a.HasNonce && b.HasNonce && cmp.Or(cmp.Compare(a.Nonce, b.Nonce), bytes.Compare(a.ID[:], b.ID[:])) < 0
}

// Pays reports whether the wallet may begin a payment.
func (h *HotWallet) Pays() bool { return h.Role == WalletRoleHot && h.Status == WalletActive }

// NewHotWallet returns h as it is stored; what is out of bounds is
// [statemachine.ErrInvalid].
func NewHotWallet(h HotWallet) (HotWallet, error) {
	bad := func(what string) (HotWallet, error) {
		return h, fmt.Errorf("%w: hot wallet %s: %s", statemachine.ErrInvalid, h.ID, what)
	}
	switch {
	case h.ID == uuid.Nil || h.Chain == uuid.Nil:
		return bad("ids of wallet and chain are needed")
	case !label(h.Role) || !label(h.Status):
		return bad("role and status have 1 to 100 bytes")
	case !h.BalanceReserved.within(maxSumDigits) || h.BalanceReserved.Sign() < 0:
		return bad("the reserved balance is a non-negative integer")
	}
	if !h.LastUsedAt.IsZero() {
		at, err := statemachine.Time(h.LastUsedAt)
		if err != nil {
			return bad(err.Error())
		}
		h.LastUsedAt = at
	}
	return h, nil
}

// PutsWallets is [statemachine.ErrForbidden] for whoever may not insert hot wallets or switch them
// on and off: anybody but an operator and the system.
func PutsWallets(by By) error {
	if by.Role != Operator && by.Role != System {
		return fmt.Errorf("%w: %v changes no hot wallet", statemachine.ErrForbidden, by.Role)
	}
	return statemachine.Actor(by.Actor)
}

// Puts returns the wallet that is stored after h was said by a speaker whom [PutsWallets] allows; old is the stored
// one, zero if there is none. open is what [Unexplained] returns for old, needed where [MustBeExplained].
//
// Only an operator switches a stored wallet on that does not pay: a host names its wallets at each start as the system,
// and does not know whom an operator has switched off since. What it says of role and status is passed over then.
//
// While a point is open nobody switches the wallet on, and nobody gives a wallet with [WalletUnknown], which stops its
// chain, another status: an operator is refused with [ErrUnsettled], in an [UnsettledError] of the first point. A host
// names its wallets at each start as the system, so [WalletUnknown] stays whatever the system says: only an operator,
// who knows what was sent, ends it.
func Puts(by By, old, h HotWallet, open []Open) (HotWallet, error) {
	barred := MustBeExplained(old, h) && len(open) > 0
	if barred && by.Role == Operator {
		return h, &statemachine.Refusal{Err: &UnsettledError{Open: open[0]}, Machine: "hot wallet", ID: old.ID.String(),
			State: old.Role + ", " + old.Status, Event: "PutHotWallet"}
	}
	switch {
	case barred || by.Role != Operator && old.Status == WalletUnknown:
		h.Status = WalletUnknown
	case by.Role != Operator && old.ID != uuid.Nil && !old.Pays() && h.Pays():
		h.Role, h.Status = old.Role, old.Status
	}
	return h, nil
}

// MustBeExplained reports whether a wallet that is stored as old begins to pay as h, or stops its chain no more.
func MustBeExplained(old, h HotWallet) bool {
	return old.ID != uuid.Nil && (!old.Pays() && h.Pays() || old.Status == WalletUnknown && h.Status != WalletUnknown)
}

func label(s string) bool { return s != "" && len(s) <= 100 && statemachine.Storable(s) }
