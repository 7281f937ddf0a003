package sqlstore_test

import (
	"context"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// A transaction that has written before another one began goes on with a record of that one: its line
// comes behind the record's earlier ones in the feed, though its transaction has the lower number.
func TestALineIsBehindThoseOfEarlierVersions(t *testing.T) {
	ctx, chain := context.Background(), named("no nonces")
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: chain})
	var w withdrawal.Withdrawal
	err := b.Update(ctx, func(u store.Unit) error {
		// Its number is given to a transaction by its first write, which is sent by the next read.
		if err := u.HotWallets().Put(withdrawal.HotWallet{ID: named("another"), Chain: chain, Role: withdrawal.WalletRoleHot,
			Status: withdrawal.WalletActive}); err != nil {
			return err
		}
		now, err := u.Now()
		if err != nil {
			return err
		}
		if w.Request.Version == 0 {
			w = b.pending(t, chain)
		}
		read, err := u.Withdrawals().Get(w.Request.ID)
		if err != nil {
			return err
		}
		change, err := b.policy.ApplyAt(read[0], withdrawal.Claimed{By: as(withdrawal.WithdrawalWorker)}, now)
		if err != nil {
			return err
		}
		return u.Withdrawals().Save(change)
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines, before int
	err = b.DB.QueryRow("SELECT count(*), count(*) FILTER (WHERE l.horizon < e.horizon) FROM "+b.database.opts.Schema+".transitions l JOIN "+
		b.database.opts.Schema+".transitions e ON e.machine = l.machine AND e.id = l.id AND e.version = l.version - 1 WHERE l.id = $1",
		w.Job.ID.String()).Scan(&lines, &before)
	if err != nil || lines != 1 || before != 0 {
		t.Errorf("%d of %d lines have a lower horizon than the line before, %v", before, lines, err)
	}
}
