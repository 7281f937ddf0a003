// Package withdrawaltest has generators, events and invariants for property
// tests of hosts and adapters: an adversary that sends a withdrawal whatever
// may come, in any order, twice, too late, in the wrong role and under old
// fences, and the rules that must hold after each step.
package withdrawaltest

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/withdrawal"
)

// Start is a moment from which the generators' times go on.
var Start = time.Date(2001, 1, 2, 3, 4, 5, 0, time.UTC)

// UUIDs draws random ids.
func UUIDs() *rapid.Generator[uuid.UUID] {
	return rapid.Custom(func(t *rapid.T) uuid.UUID {
		var id uuid.UUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		return id
	})
}

// Amounts draws positive human amounts that an asset of the given decimals can hold.
func Amounts(decimals int32) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		whole := rapid.StringMatching(`[1-9][0-9]{0,14}`).Draw(t, "whole")
		n := int(rapid.Int32Range(0, decimals).Draw(t, "digits"))
		if n == 0 {
			return whole
		}
		return whole + "." + rapid.StringMatching(fmt.Sprintf(`[0-9]{%d}`, n)).Draw(t, "fraction")
	})
}

// Submissions draws requests that are accepted.
func Submissions() *rapid.Generator[withdrawal.Submitted] {
	return rapid.Custom(func(t *rapid.T) withdrawal.Submitted {
		decimals := rapid.SampledFrom([]int32{0, 6, 8, 18, 24}).Draw(t, "decimals")
		return withdrawal.Submitted{
			By:      withdrawal.By{Actor: "system", Role: withdrawal.System, At: Start},
			Request: UUIDs().Draw(t, "request"), User: UUIDs().Draw(t, "user"),
			Asset: UUIDs().Draw(t, "asset"), Chain: UUIDs().Draw(t, "chain"),
			ToAddress: rapid.StringMatching(`0x[0-9a-f]{40}|T[1-9A-Z]{33}|é{1,256}`).Draw(t, "address"),
			Memo:      rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "memo"),
			Amount:    Amounts(decimals).Draw(t, "amount"), Decimals: decimals,
		}
	})
}

// Wallets draws candidates of a chain, some of which must not be chosen; at
// least one may be.
func Wallets(chain uuid.UUID) *rapid.Generator[[]withdrawal.HotWallet] {
	one := rapid.Custom(func(t *rapid.T) withdrawal.HotWallet {
		w := withdrawal.HotWallet{ID: UUIDs().Draw(t, "wallet"), Chain: chain,
			Role:            rapid.SampledFrom([]string{withdrawal.WalletRoleHot, "cold_wallet"}).Draw(t, "role"),
			Status:          rapid.SampledFrom([]string{withdrawal.WalletActive, "disabled"}).Draw(t, "status"),
			BalanceReserved: withdrawal.RawOf(rapid.Int64Range(0, 1<<40).Draw(t, "reserved"))}
		if rapid.Bool().Draw(t, "used") {
			w.LastUsedAt = Start.Add(-time.Duration(rapid.IntRange(1, 1000).Draw(t, "ago")) * time.Second)
		}
		return w
	})
	return rapid.Custom(func(t *rapid.T) []withdrawal.HotWallet {
		all := rapid.SliceOfN(one, 0, 4).Draw(t, "wallets")
		sure := one.Draw(t, "sure")
		sure.Role, sure.Status = withdrawal.WalletRoleHot, withdrawal.WalletActive
		return append(all, sure)
	})
}

// Policies draws valid policies with few executions and a small depth.
func Policies() *rapid.Generator[withdrawal.Policy] {
	return rapid.Custom(func(t *rapid.T) withdrawal.Policy {
		p := withdrawal.DefaultPolicy()
		p.MaxRetries = rapid.Int32Range(1, 4).Draw(t, "max retries")
		p.Backoff.JitterPercent = rapid.SampledFrom([]uint8{0, 20, 100}).Draw(t, "jitter")
		p.HoldInsufficient = rapid.Bool().Draw(t, "hold")
		p.Chain = withdrawal.Chain{Nonces: rapid.Bool().Draw(t, "nonces"), Confirmations: rapid.Uint64Range(1, 4).Draw(t, "depth"),
			AnswerWithin: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "answer within")}
		return p
	})
}
