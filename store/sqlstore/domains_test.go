package sqlstore_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap/swaptest"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

var allDomains = []store.Domain{store.DomainWallets, store.DomainWithdrawals, store.DomainSwaps, store.DomainRefreshes, store.DomainRelays}

// of is the database as a service sees it that has some domains.
func (d database) of(domains ...store.Domain) database {
	d.opts.Domains = domains
	return d
}

// wants are what each domain offers to a host: its services, its records in a
// transaction, its self-check.
func wants(ctx context.Context, s *sqlstore.Store) map[store.Domain][]error {
	_, withdrawals := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
	_, batches := store.NewBatches(s, withdrawal.DefaultPolicy())
	_, swaps := store.NewSwaps(s, swaptest.Policy())
	_, refreshes := store.NewRefreshes(s, refresh.DefaultPolicy())
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "x.example"
	r, relays := store.NewRelays(s, p)
	tenants := relays
	if relays == nil {
		_, tenants = store.NewTenants(s, r, dunning.DefaultPolicy())
	}
	w, wallets := store.NewWallets(s, utxo.Policy{})
	if wallets == nil {
		_, wallets = w.Do(ctx, opening(7))
	}
	unit := func(call func(store.Unit) error) error { return s.View(ctx, call) }
	return map[store.Domain][]error{
		store.DomainWallets: {wallets, store.SelfCheckWallets(ctx, s),
			unit(func(tx store.Unit) error { _, err := tx.Wallets().Wallets(); return err })},
		store.DomainWithdrawals: {withdrawals, store.SelfCheckWithdrawals(ctx, s), batches, store.SelfCheckBatches(ctx, s),
			unit(func(tx store.Unit) error { _, err := tx.Batches().Get(); return err }),
			unit(func(tx store.Unit) error { _, err := tx.HotWallets().Get(); return err }),
			unit(func(tx store.Unit) error { _, err := tx.Withdrawals().Get(); return err })},
		store.DomainSwaps: {swaps, store.SelfCheckSwaps(ctx, s),
			unit(func(tx store.Unit) error { _, err := tx.Deposits().Get(); return err }),
			unit(func(tx store.Unit) error { _, err := tx.Credits().Get(); return err }),
			unit(func(tx store.Unit) error { _, err := tx.SwapHouse().Control(false); return err })},
		store.DomainRefreshes: {refreshes, store.SelfCheckRefreshes(ctx, s),
			unit(func(tx store.Unit) error { _, err := tx.Refreshes().Get(); return err })},
		store.DomainRelays: {relays, tenants, store.SelfCheckRelays(ctx, s), store.SelfCheckTenants(ctx, s),
			unit(func(tx store.Unit) error { _, err := tx.Relays().Get(); return err }),
			unit(func(tx store.Unit) error { _, err := tx.Tenants().Get(); return err })},
	}
}

func opening(id utxo.WalletID) utxo.Event { return utxo.WalletOpened{Wallet: id, Birth: 1} }

// has checks that a store does what its domains do, and refuses the others.
func has(t *testing.T, s *sqlstore.Store, domains ...store.Domain) {
	t.Helper()
	for domain, errs := range wants(t.Context(), s) {
		for i, err := range errs {
			if chosen := slices.Contains(domains, domain); chosen && err != nil || !chosen && !errors.Is(err, store.ErrNoDomain) {
				t.Errorf("with %v: %s, %d: %v", domains, domain, i, err)
			}
		}
		if s.HasDomain(domain) != slices.Contains(domains, domain) {
			t.Errorf("with %v: HasDomain says %v of %s", domains, s.HasDomain(domain), domain)
		}
	}
}

// Only what is used is made and opened; the rest may come later, one by one and in
// any order.
func TestDomainsComeOneByOne(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		full := newMigrated(t, d)
		db := newDatabase(t, d)
		order := []store.Domain{store.DomainRelays, store.DomainWithdrawals, store.DomainRefreshes, store.DomainWallets, store.DomainSwaps}
		for n := range order {
			if _, err := sqlstore.Open(t.Context(), db.DB, d, db.of(order[n]).opts); !errors.Is(err, sqlstore.ErrNoTables) {
				t.Errorf("Open before %s: %v", order[n], err)
			}
			db.of(order[:n+1]...).migrate(t)
			has(t, db.of(order[:n+1]...).open(t), order[:n+1]...)
			if n == 1 {
				if tables := slices.DeleteFunc(db.schemaOf(t), func(s string) bool { return !strings.Contains(s, "swap") && !strings.Contains(s, "utxo") }); len(tables) > 0 {
					t.Errorf("with relays and withdrawals there are also %v", tables)
				}
			}
		}
		sameSchema(t, "one by one", db.schemaOf(t), full.schemaOf(t))
		has(t, db.open(t), allDomains...)
		has(t, db.of(store.DomainSwaps).open(t), store.DomainSwaps)
	})
}

// Two services with different domains share a database, and each looks at its own.
func TestTwoServicesShareADatabase(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		db := newDatabase(t, d)
		one, other := db.of(store.DomainWithdrawals), db.of(store.DomainSwaps, store.DomainWallets)
		one.migrate(t)
		other.migrate(t)
		one.migrate(t)
		a, b := one.open(t), other.open(t)
		has(t, a, store.DomainWithdrawals)
		has(t, b, store.DomainSwaps, store.DomainWallets)
		raised, _ := db.with(t, "raised") // of relays, which neither has
		raised.migrate(t)
		one.migrate(t)
		has(t, other.open(t), store.DomainSwaps, store.DomainWallets)
	})
}

// Script and Migrations are of the chosen domains, and goose takes a later one out of
// order.
func TestScriptAndMigrationsOfSomeDomains(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		db := newDatabase(t, d)
		swaps, more := db.of(store.DomainSwaps), db.of(store.DomainSwaps, store.DomainWallets)
		text, err := sqlstore.Script(d, swaps.opts)
		if err == nil {
			_, err = db.Exec(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		has(t, swaps.open(t), store.DomainSwaps)
		files, err := sqlstore.Migrations(d, more.opts)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := fs.Glob(files, "*.sql"); err != nil || !slices.Equal(names, []string{"00001_shared.sql", "00002_wallets.sql", "00004_swaps.sql"}) {
			t.Errorf("the migrations are %v, %v", names, err)
		}
		if _, err := more.goose(t, goose.WithAllowOutofOrder(true)).Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		has(t, more.open(t), store.DomainSwaps, store.DomainWallets)
		if _, err := sqlstore.Open(t.Context(), db.DB, d, db.opts); !errors.Is(err, sqlstore.ErrNoTables) || !strings.Contains(err.Error(), "Options.Domains") {
			t.Errorf("Open of all domains: %v", err)
		}
	})
}
