package sqlstore

import (
	"errors"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Down says what it loses, undoes the migration that was named and no other, and leaves what Migrate makes again. The
// shared tables go last.
func TestDownLosesWhatItSays(t *testing.T) {
	for _, d := range []Dialect{SQLite, Postgres} {
		t.Run(d.String(), func(t *testing.T) {
			db, opts, _, _ := migrated(t, d)
			ctx := t.Context()
			version, losses, err := Losses(ctx, db, d, opts, store.DomainRelays)
			if err != nil || version != 6 || len(losses) != 4 || losses[0].Rows != 0 {
				t.Fatalf("%d %+v %v", version, losses, err)
			}
			if err := Down(ctx, db, d, opts, store.DomainRelays, version-1); !errors.Is(err, statemachine.ErrConflict) {
				t.Errorf("another migration: %v", err)
			}
			if err := Down(ctx, db, d, opts, shared, 1); !errors.Is(err, statemachine.ErrIllegal) {
				t.Errorf("the shared tables first: %v", err)
			}
			if err := Down(ctx, db, d, opts, store.DomainRelays, version); err != nil {
				t.Fatal(err)
			}
			if err := Down(ctx, db, d, opts, store.DomainRelays, version); !errors.Is(err, ErrNoTables) {
				t.Errorf("again: %v", err)
			}
			if _, err := Open(ctx, db, d, opts); !errors.Is(err, ErrNoTables) {
				t.Errorf("opened without: %v", err)
			}
			if err := Migrate(ctx, db, d, opts); err != nil {
				t.Fatal(err)
			}
			for _, domain := range []store.Domain{store.DomainRelays, store.DomainRefreshes, store.DomainSwaps, store.DomainWithdrawals,
				store.DomainWallets, shared} {
				version, _, err := Losses(ctx, db, d, opts, domain)
				if err == nil {
					err = Down(ctx, db, d, opts, domain, version)
				}
				if err != nil {
					t.Fatalf("%s: %v", domain, err)
				}
			}
			if err := Migrate(ctx, db, d, opts); err != nil {
				t.Fatal(err)
			}
		})
	}
}
