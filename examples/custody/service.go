package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/hotwallet"
	"github.com/settlehq/settle/examples/swap/payer"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/reactor"
	"github.com/settlehq/settle/store/refresher"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
	_ "modernc.org/sqlite" // registers "sqlite"
)

// service is the custodial service: the services of settle, and what they talk to.
type service struct {
	ops.Services // Withdrawals, Swaps, Refreshes, Relays, Tenants, Wallets
	conn         *sql.DB
	out          *outside
}

func dsn(file string) string { return "file:" + file + "?_pragma=busy_timeout(5000)" }

// openSQLite opens the file, and makes the tables of settle and of the book.
func openSQLite(ctx context.Context, file string) (*sql.DB, error) {
	conn, err := sql.Open("sqlite", dsn(file))
	if err != nil {
		return nil, err
	}
	err = sqlstore.Migrate(ctx, conn, sqlstore.SQLite, sqlstore.Options{})
	for _, table := range tables {
		if err == nil {
			_, err = conn.ExecContext(ctx, table)
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// openService makes the services on a database that has its tables. It closes conn if it fails.
func openService(ctx context.Context, conn *sql.DB, out *outside) (*service, error) {
	db, err := sqlstore.Open(ctx, conn, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s := &service{conn: conn, out: out}
	if s.Services, err = ops.NewServices(db, policies()); err == nil {
		s.WalletIDs = []utxo.WalletID{wallet}
		_, err = s.Wallets.Do(ctx, utxo.WalletOpened{Wallet: wallet})
	}
	if err == nil {
		err = s.Withdrawals.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System},
			withdrawal.HotWallet{ID: hotWallet, Chain: chainID, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive})
	}
	if err == nil {
		err = s.fund(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close(), conn.Close())
	}
	return s, nil
}

func (s *service) close() error { return errors.Join(s.DB.Close(), s.conn.Close()) }

// policies are the defaults with shorter times, since a day lasts seconds. A service keeps the
// defaults, and sets the depth of its chains.
func policies() ops.Policies {
	p := ops.DefaultPolicies()
	p.Wallets = utxo.Policy{Owner: ownerOf}
	const ms = time.Millisecond
	w := &p.Withdrawals
	w.Lease, w.CheckEvery, w.EnqueueEvery = 2*time.Second, 200*ms, 100*ms
	w.Backoff = statemachine.Backoff{Base: 200 * ms, Cap: time.Second}
	w.Chain = withdrawal.Chain{Nonces: true, Confirmations: node.Finality}
	w.Approval = withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{
		bitcoin: {Automatic: decimal.NewFromInt(10)}, // more needs a person
	}}
	x := &p.Swaps
	x.USDCQuarantineAccount, x.USDDQuarantineAccount = "usdc-quarantine", "usdd-quarantine"
	x.OwnAccounts = []string{vault}
	x.RefundTimeout, x.ConfirmTimeout, x.StaleAfter = time.Second, time.Second, time.Minute
	x.Cooldown, x.DeferFor, x.LookEvery = 200*ms, 100*ms, 100*ms
	x.Lease, x.CallTimeout, x.WaterlineMargin = 2*time.Second, 300*ms, time.Second
	x.FinalConfirmations = finality
	f := &p.Refreshes
	f.RefreshInterval, f.RetryDelayBase, f.PollInterval, f.WalletWorkerPollInterval = 300*ms, 100*ms, 100*ms, 100*ms
	f.WalletWorkerIdleTimeout, f.HTTPTimeout, f.LockTTL, f.MaxHungPause = time.Second, 300*ms, time.Second, time.Second
	r := &p.Relays
	r.RelayDomain = "relays.example"
	r.Backoff = statemachine.Backoff{Base: 200 * ms, Cap: time.Second}
	r.Lease, r.Timeout, r.Linger, r.MaxAttempts = time.Second, 200*ms, 300*ms, 20
	const day = time.Second // of billing
	p.Tenants = dunning.Policy{Grace: 7 * day, FreshGrace: day, NoticeEvery: 12 * day, ChargeAgain: day,
		Tick: day, Hold: day, Linger: day, UnknownFor: 30 * day}
	return p
}

var pause = statemachine.Backoff{Base: 100 * time.Millisecond, Cap: 400 * time.Millisecond, JitterPercent: 50}

// work is a worker: it runs all loops until ctx is done, or until one of them ends. Any number of
// processes may run it; scans has one of them read the chains.
func (s *service) work(ctx context.Context, scans bool) error {
	log, name := slog.Default(), worker.NewName("custody")
	loops := []worker.Loop{
		func(ctx context.Context) error {
			return follow.Deposits(ctx, s.DB, follow.Consumer{Lease: 2 * time.Second, Log: log}, depositPolicy, s.credit)
		},
		func(ctx context.Context) error {
			return follow.Run(ctx, s.DB, follow.Consumer{Name: "book", From: follow.Beginning, Lease: 2 * time.Second, Log: log,
				Domains: []store.Domain{store.DomainWithdrawals, store.DomainSwaps, store.DomainRelays}}, s.book)
		},
		func(ctx context.Context) error {
			hot := &hotwallet.Wallet{Withdrawals: s.Withdrawals, Node: s.out.client(), ID: hotWallet, Key: key, Symbol: btc, Asset: bitcoin}
			return s.Withdrawals.Run(ctx, store.RunWithdrawals{Chains: []uuid.UUID{chainID}, Pay: hot.Pay, Look: hot.Look, Order: newJob,
				Poll: pause, Retry: pause, Grace: time.Second, Log: log})
		},
		worker.Sweep{Name: "refunds", Call: s.refunds, Retry: pause, Log: log}.Run,
		func(ctx context.Context) error {
			k := s.swapper()
			p := payer.Payer{Swaps: s.Swaps, World: k, Name: name}
			r := store.RunSwaps{Name: name, Deposit: p.Deposit, Credit: p.Credit, Poll: pause, Retry: pause, Grace: time.Second, Log: log}
			if scans {
				r.Scan = k.scan
			}
			return s.Swaps.Run(ctx, r)
		},
		func(ctx context.Context) error {
			return refresher.Run(ctx, s.Refreshes, s.out.rgb, refresher.Options{Grace: time.Second, Log: log})
		},
		func(ctx context.Context) error {
			return reactor.Run(ctx, s.Relays, reactor.Options{Name: name, URL: "http://relays.example", Authorize: authorize,
				Transport: s.out.relays.transport(), Reconcile: time.Second, Grace: time.Second, Log: log})
		},
		func(ctx context.Context) error {
			steps := s.Tenants.Work(name)
			bill := func(ctx context.Context, due store.DueTenant) store.HeldTenant { return s.bill(ctx, steps, due) }
			return worker.Run(ctx, steps, bill, worker.Options[store.DueTenant, store.HeldTenant]{
				Poll: pause, Retry: pause, Grace: time.Second, Log: log})
		},
	}
	if scans {
		loops = append(loops, worker.Sweep{Name: "bitcoin", Call: s.followChain, Retry: pause, Log: log}.Run)
	}
	return worker.All(ctx, loops...)
}

// Who speaks to settle, by role. A service takes the names of people from its sign-on.
var (
	house    = withdrawal.By{Actor: "custody", Role: withdrawal.System}
	approver = withdrawal.By{Actor: "ada", Role: withdrawal.Approver}
	operator = withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	watcher  = swap.By{Actor: "watcher", Role: swap.Observer}
	wallets  = refresh.By{Actor: "wallet-api", Role: refresh.API}
	host     = relaysync.By{Actor: "host", Role: relaysync.Host}
	desk     = dunning.By{Actor: "host", Role: dunning.Host}
)
