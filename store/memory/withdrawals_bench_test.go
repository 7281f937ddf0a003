package memory_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// One turn of a worker that claims 100 payments and gives them back, with a
// queue of 100,000.
func BenchmarkTurn100Of100000(b *testing.B) {
	ctx := context.Background()
	policy := withdrawal.DefaultPolicy()
	policy.Chain.Nonces = false
	service, err := store.NewWithdrawals(memory.New(memory.Options{}), policy)
	if err != nil {
		b.Fatal(err)
	}
	id := func(n int) (id uuid.UUID) {
		binary.BigEndian.PutUint64(id[8:], uint64(n))
		return id
	}
	chain := id(1)
	wallet := withdrawal.HotWallet{ID: id(2), Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	if err := service.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System}, wallet); err != nil {
		b.Fatal(err)
	}
	by := func(role withdrawal.Role) withdrawal.By {
		return withdrawal.By{Actor: role.String(), Role: role, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	}
	for i := range 100_000 {
		request := id(10 + 2*i)
		_, err := service.Do(ctx, request,
			withdrawal.Submitted{By: by(withdrawal.System), Request: request, User: id(3), Asset: id(4), Chain: chain, ToAddress: "0xabc", Amount: "1", Decimals: 18},
			withdrawal.Approved{By: by(withdrawal.Approver)},
			withdrawal.Enqueued{By: by(withdrawal.System), Job: id(11 + 2*i), AssetOnChain: id(5), Priority: withdrawal.Normal})
		if err != nil {
			b.Fatal(err)
		}
	}
	source := service.Payments(chain, "worker")
	var done []store.HeldWithdrawal
	b.ReportAllocs()
	for b.Loop() {
		items, _, err := source.Turn(ctx, done, 100)
		if err != nil || len(items) != 100 {
			b.Fatal(len(items), err)
		}
		done = done[:0]
		for _, item := range items {
			done = append(done, source.Release(item.Work))
		}
	}
}
