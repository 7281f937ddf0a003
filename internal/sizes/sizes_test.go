package sizes

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/reactor"
	"github.com/settlehq/settle/store/refresher"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
	_ "modernc.org/sqlite" // registers "sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const items = 500

// kinds are the items, each with what makes so many of them, up to their ends.
var kinds = []struct {
	name string
	make func(ctx context.Context, db *sqlstore.Store) error
}{
	{"deposit, credited, with its transaction and a block for each hundred", deposits},
	{"withdrawal, paid by one transaction of 250 bytes", withdrawals},
	{"swap, paid out", swaps},
	{"invoice of a wallet, watched until it is settled by two refreshes", refreshes},
	{"relay, synced once", relays},
	{"bill, charged once, of a tenant who has ten", bills},
}

func TestBytesPerItem(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("it fills twelve databases: SETTLE_SOAK=1")
	}
	page := documented(t)
	for k, kind := range kinds {
		line := kind.name
		for d, dialect := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
			is, says := measure(t, dialect, kind.make)/items, page[k][d]
			if line += fmt.Sprintf(" | %d", is); is < says*3/4 || is > says*5/4 {
				t.Errorf("%s on %v: %d bytes, and docs/database.md says %d", kind.name, dialect, is, says)
			}
		}
		t.Log(line)
	}
}

// documented is what the page of databases says of the kinds, in their order, on SQLite and on PostgreSQL.
func documented(t *testing.T) (all [][2]int64) {
	t.Helper()
	page, err := os.ReadFile("../../docs/database.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| item | SQLite | PostgreSQL |\n|---|---|---|\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		var of [2]int64
		for d := range of {
			if of[d], err = strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(cells[d+2]), ",", ""), 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, of)
	}
	if len(all) != len(kinds) {
		t.Fatalf("the page has %d items, measured are %d", len(all), len(kinds))
	}
	return all
}

// measure is by how many bytes a new database grows. On PostgreSQL its tables are packed first, and
// on SQLite the write-ahead log is emptied.
func measure(t *testing.T, dialect sqlstore.Dialect, fill func(context.Context, *sqlstore.Store) error) int64 {
	t.Helper()
	ctx, driver, name := t.Context(), "sqlite", pgtest.FileURL(filepath.Join(t.TempDir(), "sizes.db"))+"?_pragma=busy_timeout(10000)"
	if dialect == sqlstore.Postgres {
		driver = "pgx"
		name = pgtest.Empty(t, driver, pgtest.URL(t))
	}
	conn, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlstore.Migrate(ctx, conn, dialect, sqlstore.Options{}); err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(ctx, conn, dialect, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	size := func() (bytes int64) {
		pack, ask := "PRAGMA wal_checkpoint(TRUNCATE)", "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
		if dialect == sqlstore.Postgres {
			pack, ask = "VACUUM FULL", "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "+
				"WHERE c.relkind = 'r' AND n.nspname = current_schema()"
		}
		if _, err := conn.ExecContext(ctx, pack); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRowContext(ctx, ask).Scan(&bytes); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	before := size()
	if err := fill(ctx, db); err != nil {
		t.Fatal(err)
	}
	return size() - before
}

func deposits(ctx context.Context, db *sqlstore.Store) error {
	s, err := store.NewWallets(db, utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1, Tag: uuid.NewSHA1(uuid.Nil, script).String()}, true
	}})
	if err != nil {
		return err
	}
	if _, err := s.Do(ctx, utxo.WalletOpened{Wallet: 1}); err != nil {
		return err
	}
	last := utxo.Block{Height: -1}
	for i := range items/100 + 1 {
		b := utxo.Connected{Block: utxo.Block{Height: int32(i), Prev: last.Hash, Hash: chainhash.HashH([]byte{byte(i)}),
			Time: time.Unix(int64(i), 0)}}
		for j := range 100 * min(i, 1) { // block 0 pays nobody
			tx := wire.NewMsgTx(2)
			tx.AddTxIn(wire.NewTxIn(&wire.OutPoint{Hash: chainhash.HashH(fmt.Append(nil, i, j))}, nil, nil))
			tx.AddTxOut(wire.NewTxOut(100_000, fmt.Appendf(nil, "%022d", 100*i+j)))
			b.Txs, b.Positions = append(b.Txs, tx), append(b.Positions, int32(j)+1)
		}
		if _, err := s.Do(ctx, b); err != nil {
			return err
		}
		last = b.Block
	}
	policy := utxo.DepositPolicy{Customer: func(utxo.Owner) bool { return true }, Depth: func(utxo.Owner, int64) int32 { return 1 }}
	running, stop := context.WithCancel(ctx)
	defer stop()
	credited := 0
	post := func(_ context.Context, _ sqlstore.Tx, _ store.Unit, facts []follow.Fact) error {
		if credited += len(facts); credited >= items {
			time.AfterFunc(time.Second, stop) // behind its commit
		}
		return nil
	}
	return follow.Deposits(running, db, follow.Consumer{}, policy, post)
}

func withdrawals(ctx context.Context, db *sqlstore.Store) error {
	policy := withdrawal.DefaultPolicy()
	policy.Chain.Confirmations = 1
	s, err := store.NewWithdrawals(db, policy)
	if err != nil {
		return err
	}
	chain, asset, wallet := uuid.New(), uuid.New(), uuid.New()
	system := withdrawal.By{Actor: "sizes", Role: withdrawal.System}
	hot := withdrawal.HotWallet{ID: wallet, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	if err := s.PutHotWallet(ctx, system, hot); err != nil {
		return err
	}
	payer := withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}
	source := s.Payments(chain, payer.Actor)
	for i := range uint64(items) {
		id, hash := uuid.New(), fmt.Sprintf("0x%064x", i+1)
		_, err := s.Do(ctx, id, withdrawal.Submitted{By: system, Request: id, User: uuid.New(), Asset: asset, Chain: chain,
			ToAddress: fmt.Sprintf("0x%040x", i), Amount: "12.5", Decimals: 6},
			withdrawal.Approved{By: withdrawal.By{Actor: "ada", Role: withdrawal.Approver}},
			withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset})
		if err != nil {
			return err
		}
		due, _, err := source.Turn(ctx, nil, 1)
		if err != nil || len(due) != 1 {
			return fmt.Errorf("%d are due: %w", len(due), err)
		}
		fence := due[0].Work.Job.Lease.Fence
		if _, err := s.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: due[0].Work, Events: []withdrawal.Event{
			withdrawal.Prepared{By: payer, Fence: fence, Hash: hash, Raw: make([]byte, 250),
				Nonce: i, HasNonce: true, ChainNonce: i, HasChainNonce: true},
			withdrawal.Broadcast{By: payer, Fence: fence, Hash: hash}}}); err != nil {
			return err
		}
		block := fmt.Sprintf("0x%064x", i+1<<32)
		w, err := s.Do(ctx, id, withdrawal.Receipt{By: withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}, Tx: hash,
			Block: withdrawal.Block{Height: i + 1, Hash: block, Canonical: block, Head: i + 20}})
		if err != nil || w.Request.Status != withdrawal.RequestCompleted {
			return fmt.Errorf("it is %s: %w", w.Request.Status, err)
		}
	}
	return nil
}

func swaps(ctx context.Context, db *sqlstore.Store) error {
	policy := swap.DefaultPolicy()
	policy.USDCQuarantineAccount, policy.USDDQuarantineAccount = "q", "r"
	s, err := store.NewSwaps(db, policy)
	if err != nil {
		return err
	}
	watcher, me := swap.By{Actor: "watcher", Role: swap.Observer}, swap.By{Actor: "payer", Role: swap.Worker}
	for _, c := range swap.Chain(0).Values() {
		_, scan, err := s.Waterline(ctx, c, true)
		if err != nil {
			return err
		}
		scan.From, scan.Complete, scan.Tip = scan.Began.Add(-time.Hour), true, scan.Began
		if _, err := s.Scanned(ctx, c, true, scan); err != nil {
			return err
		}
	}
	source := s.Deposits.Work(me.Actor)
	for i := range items {
		id, account := fmt.Sprintf("%088d", i), fmt.Sprintf("%044d", i)
		_, err := s.Deposits.Do(ctx, id, swap.Observed{By: watcher, ID: id, Amount: 10_000_000, From: account,
			Time: time.Now(), Success: true, Finalized: true})
		if err != nil {
			return err
		}
		due, _, err := source.Turn(ctx, nil, 1)
		if err != nil || len(due) != 1 {
			return fmt.Errorf("%d are due: %w", len(due), err)
		}
		fence, tx := due[0].Work.Lease.Fence, fmt.Sprintf("%064d", i)
		d, err := s.Deposits.Do(ctx, id, swap.MemoFetched{By: me, Memos: []string{"nexus:" + account}},
			swap.AccountChecked{By: me, State: swap.AccountUsable},
			swap.Begun{By: me, Fence: fence, Number: 1, Action: swap.Send},
			swap.Answered{By: me, Fence: fence, Number: 1, Outcome: statemachine.Done, TxID: tx},
			swap.GivenBack{By: me, Fence: fence})
		if err != nil {
			return err
		}
		in := d.Intents[0]
		err = s.Outbound(ctx, watcher, swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: tx, Reference: in.Reference, Amount: in.Net,
			Destination: in.Destination, Token: policy.USDD, Confirmations: 10})
		if err != nil {
			return err
		}
		if d, err = s.Deposits.Get(ctx, id); err != nil || d.Money().PaidOut == 0 {
			return fmt.Errorf("it is %s: %w", d.Status, err)
		}
	}
	return nil
}

// node settles each transfer at its second refresh.
type node struct{ calls map[string]int }

func (n *node) Refresh(_ context.Context, w refresh.Credentials) error {
	n.calls[w.XpubVan]++
	return nil
}

func (n *node) ListAssets(context.Context, refresh.Credentials) ([]string, error) {
	return []string{"rgb:asset"}, nil
}

func (n *node) ListTransfers(_ context.Context, w refresh.Credentials, asset string) ([]refresh.Transfer, error) {
	if asset == "" {
		return nil, nil
	}
	t := refresh.Transfer{Recipient: "utxob:" + w.XpubVan, Asset: asset, Kind: refresh.ReceiveBlind, HasIndex: true}
	if n.calls[w.XpubVan] > 1 {
		t.Status = refresh.TransferSettled
	}
	return []refresh.Transfer{t}, nil
}

func (n *node) FailTransfers(context.Context, refresh.Credentials, int32) error { return nil }

func refreshes(ctx context.Context, db *sqlstore.Store) error {
	policy := refresh.DefaultPolicy()
	const soon = 10 * time.Millisecond
	policy.RefreshInterval, policy.PollInterval, policy.WalletWorkerPollInterval = 2*soon, soon, soon
	policy.WalletWorkerIdleTimeout, policy.MaxWalletProcesses = 10*time.Millisecond, 1
	s, err := store.NewRefreshes(db, policy)
	if err != nil {
		return err
	}
	for i := range items {
		w := refresh.Credentials{XpubVan: fmt.Sprintf("%0111d", i), XpubCol: fmt.Sprintf("%0111d", i), MasterFingerprint: fmt.Sprintf("%08x", i)}
		if _, err := s.Enqueue(ctx, refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Credentials: w,
			Cause: refresh.InvoiceCreated, Recipient: "utxob:" + w.XpubVan, Asset: "rgb:asset"}); err != nil {
			return err
		}
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- refresher.Run(running, s, &node{map[string]int{}}, refresher.Options{}) }()
	for {
		if stats, err := s.Stats(ctx); err != nil || stats.Watchers[refresh.Settled] == items {
			stop()
			<-ended
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// created is a server that takes everything.
type created struct{}

func (created) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody, Request: r}, nil
}

func relays(ctx context.Context, db *sqlstore.Store) error {
	policy := relaysync.DefaultPolicy()
	policy.RelayDomain = "relays.example"
	s, err := store.NewRelays(db, policy)
	if err != nil {
		return err
	}
	info := relaysync.Document(`{"name":"A relay","pubkey":"` + strings.Repeat("ab", 32) + `"}`)
	for i := range items {
		id := fmt.Sprintf("relay_%04d", i)
		if _, err := s.Do(ctx, id, relaysync.Created{By: relaysync.By{Actor: "host", Role: relaysync.Host}, Relay: id, Tenant: "tenant",
			Subdomain: fmt.Sprintf("sub%04d", i), Config: relaysync.Config{Info: info}}); err != nil {
			return err
		}
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	sign := func(context.Context, relaysync.AuthEvent) (string, error) { return "Nostr", nil }
	go func() {
		ended <- reactor.Run(running, s, reactor.Options{Name: "reactor", URL: "http://relays.example", Authorize: sign, Transport: created{}})
	}()
	for {
		if stats, err := s.Stats(ctx, time.Hour); err != nil || stats.Phases[relaysync.PhaseClean] == items {
			stop()
			<-ended
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func bills(ctx context.Context, db *sqlstore.Store) error {
	policy := relaysync.DefaultPolicy()
	policy.RelayDomain = "relays.example"
	of, err := store.NewRelays(db, policy)
	if err != nil {
		return err
	}
	s, err := store.NewTenants(db, of, dunning.DefaultPolicy())
	if err != nil {
		return err
	}
	source, host := s.Work("biller"), dunning.By{Actor: "host", Role: dunning.Host}
	for i := range items {
		tenant := fmt.Sprintf("tenant%03d", i/10) // who has ten
		events := []dunning.Event{dunning.Issued{By: host, Invoice: fmt.Sprintf("%s-2026-%d", tenant, i%10), Amount: 2100}}
		if i%10 == 0 {
			enrolled := dunning.Enrolled{By: host, Tenant: tenant, Method: dunning.Stripe}
			events = append([]dunning.Event{enrolled, dunning.Provisioned{By: host}}, events...)
		}
		if _, err := s.Do(ctx, tenant, events...); err != nil {
			return err
		}
		due, _, err := source.Turn(ctx, nil, 1)
		if err != nil || len(due) != 1 {
			return fmt.Errorf("%d are due: %w", len(due), err)
		}
		a := due[0].Work.Account
		do := s.Policy().Next(a, due[0].Work.At).Action
		if do == nil || do.Do != dunning.DoCharge {
			return fmt.Errorf("%s owes %+v", tenant, do)
		}
		a, err = s.DoHeld(ctx, a, dunning.ChargeIntended{By: source.By(), Invoice: do.Invoices[0], Key: do.Key})
		if err == nil {
			_, err = s.DoHeld(ctx, a, dunning.ChargeAnswered{By: source.By(), Invoice: do.Invoices[0], Key: do.Key, Outcome: statemachine.Done})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
