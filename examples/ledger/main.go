// Ledger is a small service that pays withdrawals: it keeps a double-entry book of its
// customers in the same database as settle, and book and payments are never apart.
//
//	go run ./examples/ledger                      SQLite, and chains of its own that lose answers
//	go run ./examples/ledger -db postgres://...   the same on PostgreSQL
//
//	curl -d '{"key":"first","amount":"2"}' localhost:8080/customers/ann/deposit
//	curl -d '{"id":"6f1c3c52-2d0e-4c53-9d2f-0c7f5a1f7e11","customer":"ann",
//	    "to":"0x00112233445566778899aabbccddeeff00112233","amount":"0.5"}' localhost:8080/withdrawals
//	curl localhost:8080/customers/ann ; curl localhost:8080/audit ; curl localhost:8080/alerts
//
// The alert "unknown outbound": somebody else has paid with the key, and the hot wallet is off. Whoever knows who it was says
//
//	curl -d '{"actor":"olga","reason":"the old payroll script"}' localhost:8080/hotwallet/explain
//
// Kill it at any moment, and start it again with the same flags: it goes on.
//
// What a host copies: the book (ledger.go), how book and withdrawals are one commit
// (withdrawals.go), the handlers of its node (pay.go), and which loops run (run in this file).
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"
	"github.com/settlehq/settle/examples/internal/hotwallet"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
	_ "modernc.org/sqlite" // registers "sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

type options struct {
	db, listen, node, chain string
	lease                   time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("ledger", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.db, "db", "ledger.db", "`path` of an SQLite file, or a postgres URL")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` to serve on")
	flags.StringVar(&o.node, "node", "", "`URL` of a node (default one in this process)")
	flags.StringVar(&o.chain, "chain", "ledger.chain", "`file` of the chain of the node in this process")
	flags.DurationVar(&o.lease, "lease", 30*time.Second, "how long a killed worker holds up a payment; other times are parts of it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	loops := newGroup(ctx)
	err := start(ctx, loops, o, stdout, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		loops.stop()
	}
	return errors.Join(err, loops.wait())
}

// start opens everything, says where it listens, and starts the loops.
func start(ctx context.Context, loops *group, o options, stdout io.Writer, log *slog.Logger) error {
	s, err := open(ctx, o.db, policy(o.lease), log)
	if err != nil {
		return err
	}
	loops.atEnd(s.close)
	a := &api{service: s, node: node.NewClient(o.node, o.lease/10)}
	if o.node == "" {
		n, err := ownNode(o.chain)
		if err != nil {
			return err
		}
		loops.atEnd(n.Close)
		loops.run(n.Mine)
		a.node, a.bitcoin = n.Client(o.lease/10), &bitcoin{wallets: s.wallets}
		mine := func(ctx context.Context) (time.Duration, error) { return time.Second, a.bitcoin.mine(ctx) }
		loops.run(worker.Sweep{Name: "bitcoin", Call: mine, Log: s.log}.Run)
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	loops.run(func(ctx context.Context) error { return serve(ctx, listener, a.handler(), log) })
	s.work(loops, a.node)
	_, err = fmt.Fprintln(stdout, listener.Addr())
	return err
}

// open opens a database by its name: the path of an SQLite file, or a postgres URL.
func open(ctx context.Context, name string, policy withdrawal.Policy, log *slog.Logger) (*service, error) {
	driver, dialect := "sqlite", sqlstore.SQLite
	if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		driver, dialect = "pgx", sqlstore.Postgres
	} else {
		name = "file:" + name + "?_pragma=busy_timeout(5000)"
	}
	conn, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	if dialect == sqlstore.Postgres {
		conn.SetMaxIdleConns(16) // as many as work at once: database/sql keeps two
	}
	return newService(ctx, conn, dialect, policy, log)
}

// newService makes the tables and opens the service on them; it closes conn if it fails.
func newService(ctx context.Context, conn *sql.DB, dialect sqlstore.Dialect, policy withdrawal.Policy, log *slog.Logger) (*service, error) {
	s := &service{conn: conn, log: log}
	if err := s.open(ctx, dialect, policy); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// makeTables makes the service's own tables. PostgreSQL refuses one of two processes that make a table at once: it is there then.
func makeTables(ctx context.Context, conn *sql.DB) error {
	for _, table := range tables {
		_, err := conn.ExecContext(ctx, table)
		if err != nil {
			_, err = conn.ExecContext(ctx, table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *service) open(ctx context.Context, dialect sqlstore.Dialect, policy withdrawal.Policy) error {
	options := sqlstore.Options{Domains: []store.Domain{store.DomainWithdrawals, store.DomainWallets}, Log: s.log}
	err := sqlstore.Migrate(ctx, s.conn, dialect, options) // any number of processes may call it
	if err != nil {
		return err
	}
	if err := makeTables(ctx, s.conn); err != nil {
		return err
	}
	if s.db, err = sqlstore.Open(ctx, s.conn, dialect, options); err != nil {
		return err
	}
	if s.withdrawals, err = store.NewWithdrawals(s.db, policy); err != nil {
		return err
	}
	if s.wallets, err = store.NewWallets(s.db, utxo.Policy{Owner: ownerOf}); err != nil {
		return err
	}
	if _, err := s.wallets.Do(ctx, utxo.WalletOpened{Wallet: wallet, Birth: 1}); err != nil {
		return err
	}
	return s.withdrawals.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System}, payingWallet)
}

func (s *service) close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.conn.Close())
}

// policy has the limits of the service; a lease in production lasts minutes.
func policy(lease time.Duration) withdrawal.Policy {
	p := withdrawal.DefaultPolicy()
	p.Lease, p.CheckEvery, p.EnqueueEvery = lease, lease/4, lease/10
	p.Backoff = statemachine.Backoff{Base: lease / 10, Cap: 10 * lease}
	p.Chain = withdrawal.Chain{Nonces: true, Confirmations: node.Finality}
	p.Approval = withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{
		asset: {Automatic: decimal.NewFromInt(1)}, // more needs a person
	}}
	return p
}

// consumer is the name of what the book has been told.
const consumer = "book"

// work starts everything that goes on beside the callers.
func (s *service) work(loops *group, client *node.Client) {
	k := &hotwallet.Wallet{Withdrawals: s.withdrawals, Node: client, ID: hotWallet, Key: key, Symbol: symbol, Asset: asset}
	policy := s.withdrawals.Policy()
	pause := statemachine.Backoff{Base: policy.Lease / 100, Cap: policy.Lease / 10, JitterPercent: 50}
	loops.run(func(ctx context.Context) error {
		return s.withdrawals.Run(ctx, store.RunWithdrawals{Chains: []uuid.UUID{chainID}, Pay: k.Pay, Look: k.Look, Order: newJob,
			Poll: pause, Retry: pause, Log: s.log})
	})
	loops.run(worker.Sweep{Name: "refund", Call: s.refund, Retry: pause, Log: s.log}.Run)
	loops.run(func(ctx context.Context) error {
		return follow.Run(ctx, s.db, follow.Consumer{Name: consumer, Domains: []store.Domain{store.DomainWithdrawals}, From: follow.Beginning,
			Lease: policy.Lease, Log: s.log}, s.book)
	})
	loops.run(func(ctx context.Context) error {
		return follow.Deposits(ctx, s.db, follow.Consumer{Lease: policy.Lease, Log: s.log}, depositPolicy, s.credit)
	})
}

// group runs loops: the first that ends ends all, since a service without one of them is
// not whole.
type group struct {
	ctx     context.Context
	stop    context.CancelFunc
	ended   chan error
	count   int
	closers []func() error
}

func newGroup(ctx context.Context) *group {
	ctx, stop := context.WithCancel(ctx)
	return &group{ctx: ctx, stop: stop, ended: make(chan error)}
}

func (g *group) run(loop func(context.Context) error) {
	g.count++
	go func() {
		err := loop(g.ctx)
		g.stop()
		g.ended <- err
	}()
}

// atEnd has what the loops use closed once they have ended, the last opened first.
func (g *group) atEnd(closer func() error) { g.closers = append(g.closers, closer) }

// wait returns what the loops have ended with.
func (g *group) wait() (err error) {
	for range g.count {
		err = errors.Join(err, <-g.ended)
	}
	for _, closer := range slices.Backward(g.closers) {
		err = errors.Join(err, closer())
	}
	return err
}

// serve answers callers until ctx ends, and lets those that are asking finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	server := http.Server{Handler: handler, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(ctx)
}

// faults are how the node of the demonstration misbehaves, in thousandths. Somebody else has the key too (Usurp):
// that switches the hot wallet off until a person has it explained.
var faults = node.Faults{Errors: 50, Slow: 20, Lost: 100, Garbled: 20, Drop: 20, Reorg: 30, Usurp: 10, Salt: 20}

// genesis is the beginning of the chain: the hot wallet has plenty.
var genesis = node.Genesis{ID: "ledger", Accounts: map[string]map[string]string{
	hotAddress: {symbol: "2100000000000000", node.GasAsset: "1000000000000000000"},
}}

// ownNode is a chain in this process. It is not part of the service: what it has mined
// is in its file, and stays there when the process is killed.
func ownNode(file string) (*node.Node, error) {
	if err := node.Create(file, genesis); err != nil {
		return nil, err
	}
	return node.Open(node.Config{Ledger: file, BlockEvery: time.Second, Faults: faults})
}
