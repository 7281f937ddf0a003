package ops

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Policies are what the services of [NewServices] judge by. What people say is judged by
// them, so they are the host's; statistics and stops need none.
type Policies struct {
	Withdrawals withdrawal.Policy
	Swaps       swap.Policy // without quarantine accounts, as the default is: no service of swaps
	Refreshes   refresh.Policy
	Relays      relaysync.Policy // without a domain, as the default is: no services of relays and tenants
	Tenants     dunning.Policy
	Wallets     utxo.Policy // without Owner no output is anybody's; statistics need none
	// DepositMinimum is the Minimum of the host's [utxo.DepositPolicy], in satoshi: a smaller deposit is never
	// credited, and is not counted among those that wait.
	DepositMinimum int64
}

// DefaultPolicies are the default of each domain.
func DefaultPolicies() Policies {
	return Policies{withdrawal.DefaultPolicy(), swap.DefaultPolicy(), refresh.DefaultPolicy(), relaysync.DefaultPolicy(),
		dunning.DefaultPolicy(), utxo.Policy{}, 0}
}

// Services are those of a database. One of a domain that the database was opened without is
// nil, and so is one without a policy.
type Services struct {
	DB          *sqlstore.Store
	Switches    *store.Switches
	Processes   *store.Processes
	Journal     *store.Journal
	Withdrawals *store.Withdrawals
	Batches     *store.Batches
	Swaps       *store.Swaps
	Refreshes   *store.Refreshes
	Relays      *store.Relays
	Tenants     *store.Tenants
	Wallets     *store.Wallets
	WalletIDs   []utxo.WalletID // whose statistics are read

	depositMinimum int64
	walletPolicy   utxo.Policy
}

// NewServices makes the services of the domains that a database was opened with.
func NewServices(db *sqlstore.Store, p Policies) (s Services, err error) {
	s = Services{DB: db, Journal: store.NewJournal(db), depositMinimum: p.DepositMinimum, walletPolicy: p.Wallets}
	if s.Switches, err = store.NewSwitches(db); err == nil {
		s.Processes, err = store.NewProcesses(db)
	}
	if err == nil && db.HasDomain(store.DomainWithdrawals) {
		if s.Batches, err = store.NewBatches(db, p.Withdrawals); err == nil {
			s.Withdrawals = s.Batches.Withdrawals()
		}
	}
	if err == nil && db.HasDomain(store.DomainSwaps) && p.Swaps.USDCQuarantineAccount != "" {
		s.Swaps, err = store.NewSwaps(db, p.Swaps)
	}
	if err == nil && db.HasDomain(store.DomainRefreshes) {
		s.Refreshes, err = store.NewRefreshes(db, p.Refreshes)
	}
	if err == nil && db.HasDomain(store.DomainRelays) && p.Relays.RelayDomain != "" {
		if s.Relays, err = store.NewRelays(db, p.Relays); err == nil {
			s.Tenants, err = store.NewTenants(db, s.Relays, p.Tenants)
		}
	}
	if err == nil && db.HasDomain(store.DomainWallets) {
		s.Wallets, err = store.NewWallets(db, p.Wallets)
	}
	return s, err
}

// Limits are the thresholds of all domains.
type Limits struct {
	Window      time.Duration // of rates and means
	Withdrawals withdrawal.Thresholds
	Swaps       swap.Thresholds
	Refreshes   refresh.Thresholds
	Relays      relaysync.Thresholds
	Tenants     dunning.Thresholds
	Wallets     utxo.Thresholds
	Consumers   follow.Thresholds
	Deposits    follow.DepositThresholds
	Processes   processes.Thresholds
	Database    sqlstore.Thresholds
}

// DefaultLimits are the defaults of each domain, over the last day.
func DefaultLimits() Limits {
	return Limits{24 * time.Hour, withdrawal.DefaultThresholds(), swap.DefaultThresholds(), refresh.DefaultThresholds(),
		relaysync.DefaultThresholds(), dunning.DefaultThresholds(), utxo.DefaultThresholds(), follow.DefaultThresholds(),
		follow.DefaultDepositThresholds(), processes.DefaultThresholds(), sqlstore.DefaultThresholds()}
}

// Statistics are those of all domains. What could not be read, or is not there, is nil.
type Statistics struct {
	At          time.Time // of the database when it was asked first; zero: it did not answer
	Withdrawals *withdrawal.Stats
	Swaps       *swap.Stats
	Refreshes   *refresh.Stats
	Relays      *relaysync.Stats
	Tenants     *dunning.Stats
	Wallets     *[]utxo.Stats
	Consumers   []follow.Stats
	Deposits    *follow.DepositStats
	Processes   []processes.Process
	Switches    []switches.Switch
	Database    *sqlstore.Stats
	Failed      []Failure // what could not be read, in the order of Parts
}

// Failure is a part of the statistics that could not be read.
type Failure struct {
	Part string
	Err  error
}

// Parts are what [Services.Read] reads one by one.
var Parts = []string{"switches", "database", "processes", "withdrawals", "swaps", "refreshes", "relays", "tenants", "wallets",
	"consumers", "deposits"}

// ReadWait is how long each part of the statistics is waited for.
const ReadWait = 2 * time.Second

// Read reads the statistics of all domains, at most [ReadWait] for each part. One that is
// locked or slow keeps no other back: it is among Failed, and is what it was in last.
func (s *Services) Read(ctx context.Context, window time.Duration, last Statistics) Statistics {
	all := last
	all.Failed = nil
	parts := map[string]func(context.Context) error{
		"switches": part(&all.Switches, func(ctx context.Context) ([]switches.Switch, error) {
			return s.Switches.List(ctx, "", store.MaxPage)
		}),
		"database": part(&all.Database, func(ctx context.Context) (*sqlstore.Stats, error) { return to(sqlstore.StatsOf(ctx, s.DB)) }),
		"processes": part(&all.Processes, func(ctx context.Context) ([]processes.Process, error) {
			return s.Processes.List(ctx, processes.Key{}, store.MaxPage)
		}),
		"withdrawals": domain(s, store.DomainWithdrawals, &all.Withdrawals, func(u store.Unit, now time.Time) (withdrawal.Stats, error) {
			return u.Withdrawals().Stats(now, window, uuid.Nil)
		}),
		"swaps": domain(s, store.DomainSwaps, &all.Swaps, func(u store.Unit, now time.Time) (swap.Stats, error) {
			return u.SwapHouse().Stats(now, window)
		}),
		"refreshes": domain(s, store.DomainRefreshes, &all.Refreshes, func(u store.Unit, now time.Time) (refresh.Stats, error) {
			return u.Refreshes().Stats(now)
		}),
		"relays": domain(s, store.DomainRelays, &all.Relays, func(u store.Unit, now time.Time) (relaysync.Stats, error) {
			return u.Relays().Stats(now, window)
		}),
		"tenants": domain(s, store.DomainRelays, &all.Tenants, func(u store.Unit, now time.Time) (dunning.Stats, error) {
			return u.Tenants().Stats(now)
		}),
		"wallets": domain(s, store.DomainWallets, &all.Wallets, func(u store.Unit, now time.Time) (of []utxo.Stats, err error) {
			for _, id := range s.WalletIDs {
				stats, err := utxo.ReadStats(store.WalletSource(u), id, now)
				if err != nil {
					return nil, err
				}
				of = append(of, stats)
			}
			return of, nil
		}),
		"consumers": part(&all.Consumers, func(ctx context.Context) ([]follow.Stats, error) {
			return follow.AllStats(ctx, s.DB, "", store.MaxPage)
		}),
		"deposits": domain(s, store.DomainWallets, &all.Deposits, func(u store.Unit, _ time.Time) (follow.DepositStats, error) {
			return follow.DepositStatsIn(u, utxo.DepositPolicy{Minimum: s.depositMinimum})
		}),
	}
	errs := make([]error, len(Parts))
	var reading sync.WaitGroup
	for i, name := range Parts {
		reading.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, ReadWait)
			defer cancel()
			errs[i] = parts[name](ctx)
		})
	}
	reading.Wait()
	for i, err := range errs {
		if err != nil {
			all.Failed = append(all.Failed, Failure{Parts[i], err})
		}
	}
	if all.Database != nil {
		all.At = all.Database.At
	}
	return all
}

// part reads one part into its place, which stays as it is if it cannot be read.
func part[S any](into *S, read func(context.Context) (S, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := read(ctx)
		if err == nil {
			*into = got
		}
		return err
	}
}

// domain is part for what the records of a domain count, of which no policy is needed. It
// leaves out a domain that the database was opened without.
func domain[S any](s *Services, d store.Domain, into **S, read func(store.Unit, time.Time) (S, error)) func(context.Context) error {
	if !s.DB.HasDomain(d) {
		return func(context.Context) error { return nil }
	}
	return part(into, func(ctx context.Context) (stats *S, err error) {
		err = s.DB.View(ctx, func(u store.Unit) error {
			now, err := u.Now()
			if err == nil {
				stats, err = to(read(u, now))
			}
			return err
		})
		return stats, err
	})
}

func to[S any](s S, err error) (*S, error) { return &s, err }

// Err joins what could not be read, nil if all was.
func (s *Statistics) Err() error {
	var errs []error
	for _, f := range s.Failed {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

func (f Failure) Error() string { return f.Part + ": " + f.Err.Error() }

// Unwrap returns why.
func (f Failure) Unwrap() error { return f.Err }

// Alerts compares what was read with limits. Those that need a person come first.
func (s *Statistics) Alerts(l Limits) (all []statemachine.Alert) {
	if s.Database != nil {
		all = append(all, sqlstore.Alerts(*s.Database, l.Database)...)
		all = append(all, processes.Alerts(s.Processes, s.Database.At, l.Processes)...)
	}
	if s.Withdrawals != nil {
		all = append(all, withdrawal.Alerts(*s.Withdrawals, l.Withdrawals)...)
	}
	if s.Swaps != nil {
		all = append(all, swap.Alerts(*s.Swaps, l.Swaps)...)
	}
	if s.Refreshes != nil {
		all = append(all, refresh.Alerts(*s.Refreshes, l.Refreshes)...)
	}
	if s.Relays != nil {
		all = append(all, relaysync.Alerts(*s.Relays, l.Relays)...)
	}
	if s.Tenants != nil {
		all = append(all, dunning.Alerts(*s.Tenants, l.Tenants)...)
	}
	if s.Wallets != nil {
		for _, w := range *s.Wallets {
			all = append(all, utxo.Alerts(w, l.Wallets)...)
		}
	}
	for _, c := range s.Consumers {
		all = append(all, follow.Alerts(c, l.Consumers)...)
	}
	if s.Deposits != nil {
		all = append(all, follow.DepositAlerts(*s.Deposits, l.Deposits)...)
	}
	slices.SortStableFunc(all, func(a, b statemachine.Alert) int {
		switch {
		case a.Person == b.Person:
			return 0
		case a.Person:
			return -1
		}
		return 1
	})
	return all
}
