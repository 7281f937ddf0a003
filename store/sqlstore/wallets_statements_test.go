package sqlstore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// statements counts what is sent to a server, BEGIN and COMMIT included.
type statements struct{ atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.Add(1)
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Blocks in one Do, and their roll-back, cost PostgreSQL a number of statements that depends neither on
// how many they are, nor on their transactions, nor on the wallets.
func TestAHundredBlocksCostTheStatementsOfOne(t *testing.T) {
	pgtest.Beside(t)
	ctx := context.Background()
	counts, undone := map[string]int64{}, map[string]int64{}
	for _, wallets := range []int{2, 7} {
		for _, blocks := range []int{1, 100} {
			_, db := newStore(t, sqlstore.Postgres)
			config, err := pgx.ParseConfig(db.url)
			if err != nil {
				t.Fatal(err)
			}
			sent := new(statements)
			config.Tracer = sent
			db.DB = stdlib.OpenDB(*config)
			db.SetMaxIdleConns(16)
			t.Cleanup(func() { db.Close() })
			service := walletsOf(t, db.open(t), utxotest.Policy())
			next, err := utxotest.Weave(func(ev utxo.Event) error { _, err := service.Do(ctx, ev); return err }, wallets)
			if err != nil {
				t.Fatal(err)
			}
			events := make([]utxo.Event, blocks)
			for i := range events {
				events[i] = next()
			}
			before := sent.Load()
			if _, err := service.Do(ctx, events...); err != nil {
				t.Fatal(err)
			}
			counts[fmt.Sprintf("%d blocks, %d wallets", blocks, wallets)] = sent.Load() - before
			var undo []utxo.Event
			for _, ev := range slices.Backward(events) {
				undo = append(undo, utxo.Disconnected{Hash: ev.(utxo.Connected).Block.Hash})
			}
			before = sent.Load()
			if _, err := service.Do(ctx, undo...); err != nil {
				t.Fatal(err)
			}
			undone[fmt.Sprintf("%d blocks, %d wallets", blocks, wallets)] = sent.Load() - before
			for w := range utxo.WalletID(wallets) {
				if err := service.Audit(ctx, w+1); err != nil {
					t.Error(err)
				}
			}
		}
	}
	t.Log(counts, undone)
	for of, more := range map[*map[string]int64]int64{&counts: 0, &undone: 1} { // a roll-back of one block reads its neighbour alone
		if all := slices.Sorted(maps.Values(*of)); all[len(all)-1] > all[0]+more {
			t.Errorf("statements: %v", *of)
		}
	}
}
