package store

import (
	"errors"
	"fmt"
)

// Domain is a part of a store that a host can have without the others.
type Domain string

const (
	DomainWallets     Domain = "wallets"     // of [Wallets]
	DomainWithdrawals Domain = "withdrawals" // of [Withdrawals]
	DomainSwaps       Domain = "swaps"       // of [Swaps], [SwapDeposits] and [SwapCredits]
	DomainRefreshes   Domain = "refreshes"   // of [Refreshes]
	DomainRelays      Domain = "relays"      // of [Relays] and [Tenants]
	DomainSwitches    Domain = "switches"    // of [Switches]; every store has it
)

// ErrNoDomain: the store was made or opened without this domain. The constructors of the domain's services, its
// self-check, and each call of its records in a transaction return it.
var ErrNoDomain = errors.New("the store is without this domain")

// lacks returns [ErrNoDomain] if a store has a method HasDomain and says there that
// it lacks a domain.
func lacks(s any, d Domain) error {
	if h, is := s.(interface{ HasDomain(Domain) bool }); is && !isNil(s) && !h.HasDomain(d) {
		return fmt.Errorf("%w: %s", ErrNoDomain, d)
	}
	return nil
}
