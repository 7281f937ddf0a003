package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// host is a service whose database the command looks at.
type host struct {
	t       *testing.T
	dialect sqlstore.Dialect
	url     string
	schema  string
	sql     *sql.DB
	opts    sqlstore.Options
	store   *sqlstore.Store
	orders  *store.Withdrawals
	ids     int
	ahead   time.Duration // of the clock that seeds
	log     strings.Builder
	answer  string // to what the command asks
}

func both(t *testing.T, test func(*testing.T, *host)) {
	for _, d := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
		t.Run(d.String(), func(t *testing.T) { test(t, newHost(t, d)) })
	}
}

func newHost(t *testing.T, d sqlstore.Dialect) *host {
	t.Helper()
	h := &host{t: t, dialect: d, ahead: -48 * time.Hour}
	driver, at := "sqlite", ""
	if d == sqlstore.Postgres {
		driver, h.url = "pgx", pgtest.URL(t)
		at = h.url
	} else {
		h.url = filepath.Join(t.TempDir(), "settle.db")
		at = pgtest.FileURL(h.url)
	}
	var err error
	h.sql, err = sql.Open(driver, at)
	h.check(err)
	h.sql.SetMaxIdleConns(10)
	t.Cleanup(func() { h.sql.Close() })
	if d == sqlstore.Postgres {
		h.schema = pgtest.Schema(t, h.sql)
	}
	now := func() time.Time { return time.Now().Add(h.ahead) }
	h.opts = sqlstore.Options{Schema: h.schema, Domains: []store.Domain{store.DomainWithdrawals}, Now: now}
	h.check(sqlstore.Migrate(t.Context(), h.sql, d, h.opts))
	h.open()
	hot := withdrawal.HotWallet{ID: wallet, Chain: chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	h.check(h.orders.PutHotWallet(t.Context(), withdrawal.By{Actor: "setup", Role: withdrawal.System}, hot))
	return h
}

// open opens the database as a new process does.
func (h *host) open() {
	h.t.Helper()
	db, err := sqlstore.Open(h.t.Context(), h.sql, h.dialect, h.opts)
	h.check(err)
	h.t.Cleanup(func() { db.Close() })
	h.store = db
	h.orders, err = store.NewWithdrawals(db, withdrawal.DefaultPolicy())
	h.check(err)
}

func (h *host) check(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

var (
	chain  = uuid.MustParse("10000000-0000-4000-8000-000000000001")
	asset  = uuid.MustParse("10000000-0000-4000-8000-000000000002")
	wallet = uuid.MustParse("10000000-0000-4000-8000-000000000003")
	system = withdrawal.By{Actor: "intake", Role: withdrawal.System}
	payer  = withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}
)

func (h *host) id() uuid.UUID {
	h.ids++
	return uuid.MustParse(fmt.Sprintf("20000000-0000-4000-8000-%012d", h.ids))
}

// request makes a request for 5, with more events.
func (h *host) request(events ...withdrawal.Event) withdrawal.Withdrawal {
	h.t.Helper()
	id := h.id()
	all := []withdrawal.Event{withdrawal.Submitted{By: system, Request: id, User: h.id(), Asset: asset, Chain: chain,
		ToAddress: "payee-of-the-customer", Memo: "<script>\x1b[2J\u202e", Amount: "5"}}
	w, err := h.orders.Do(context.Background(), id, append(all, events...)...)
	h.check(err)
	return w
}

func (h *host) queued() []withdrawal.Event {
	return []withdrawal.Event{withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
		withdrawal.Enqueued{By: system, Job: h.id(), AssetOnChain: asset}}
}

// review makes a request whose signer was called and never answered.
func (h *host) review() withdrawal.Withdrawal {
	h.t.Helper()
	w := h.request(append(h.queued(), withdrawal.Claimed{By: payer}, withdrawal.Dispatched{By: payer, Fence: 1, Reference: "r7"})...)
	h.ahead += time.Hour
	w, err := h.orders.Do(h.t.Context(), w.Request.ID, withdrawal.Elapsed{By: system})
	h.check(err)
	return w
}

// settle runs the command in this process, and notes what it was and what it said.
func (h *host) settle(want int, args ...string) string {
	h.t.Helper()
	var out, errs bytes.Buffer
	all := append([]string{"--db", h.url, "--schema", h.schema}, args...)
	got := run(h.t.Context(), all, "", strings.NewReader(h.answer), &out, &errs)
	if got != want {
		h.t.Errorf("settle %q exits with %d, not %d: %s%s", args, got, want, out.String(), errs.String())
	}
	fmt.Fprintf(&h.log, "$ settle %s\n%s%s(%d)\n\n", strings.Join(args, " "), out.String(), errs.String(), got)
	return out.String() + errs.String()
}

var (
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`)
	spans  = regexp.MustCompile(`( after )[\d.hmsµ]+`)
	actors = regexp.MustCompile(`cli:[a-z]+`)

	sessions = regexp.MustCompile(`session "[a-z]+"`)
)

// golden holds what was said against a file; moments and the names of sessions are left out.
func (h *host) golden(file string) {
	h.t.Helper()
	got := spans.ReplaceAllString(times.ReplaceAllString(h.log.String(), "TIME"), "${1}SPAN")
	got = sessions.ReplaceAllString(actors.ReplaceAllString(got, "cli:SESSION"), `session "SESSION"`)
	if *update {
		h.check(os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	h.check(err)
	if got != string(want) {
		h.t.Errorf("%s has\n%s\nand it says\n%s", file, want, got)
	}
}

// A person who has not seen settle resolves a review by one command, and trail and journal show it.
func TestReviewIsResolvedByOneCommand(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		w := h.review()
		id, job, version := w.Request.ID.String(), w.Job.ID.String(), fmt.Sprint(w.Job.Version)
		h.settle(exitAlerts, "alerts")
		h.settle(exitDone, "explain", "review", "wait")
		h.settle(exitDone, "list", "review")
		h.settle(exitDone, "show", job)
		h.settle(exitDone, "next", id)
		resolve := []string{"resolve", id, "--not-sent", "--reason", "the signer has never heard of r7", "--actor", "olga", "--version"}
		h.settle(exitUsage, resolve[:len(resolve)-1]...)
		h.settle(exitDone, append(resolve, version, "--dry-run")...)
		h.settle(exitDone, "list", "review")
		h.settle(exitChanged, append(resolve, "1")...)
		h.settle(exitDone, append(resolve, version)...)
		h.settle(exitDone, append(resolve, version)...)
		h.settle(exitDone, "list", "review")
		h.settle(exitDone, "trail", job)
		h.settle(exitDone, "journal")
		h.settle(exitDone, "verify", id)
		h.settle(exitDone, "verify", "--all")
		h.golden("testdata/review.txt")
		is, err := h.orders.Get(t.Context(), w.Request.ID)
		if h.check(err); is.Job.Review || is.Job.Status != withdrawal.JobPending {
			t.Errorf("it is %+v", is.Job)
		}
	})
}

// What an operator and an approver say, with the ends that each can have.
func TestEventsOfPeople(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		pending, queued := h.request().Request.ID.String(), h.request(h.queued()...).Request.ID.String()
		why := []string{"--reason", "asked by support", "--actor", "olga"}
		h.settle(exitForbidden, "approve", pending)
		h.settle(exitForbidden, "approve", pending, "--actor", "olga")
		h.settle(exitDone, "approve", pending, "--actor", "olga", "--approve-as-anyone", "--dry-run")
		h.settle(exitDone, "approve", pending, "--actor", "olga", "--approve-as-anyone")
		h.settle(exitDone, append([]string{"cancel", pending}, why...)...)
		h.settle(exitRefused, append([]string{"hold", pending}, why...)...)
		h.settle(exitUsage, "hold", queued)
		h.settle(exitDone, append([]string{"hold", queued, "--json"}, why...)...)
		h.settle(exitDone, append([]string{"hold", queued}, why...)...)
		h.settle(exitDone, "list", "held")
		h.settle(exitDone, append([]string{"release", queued}, why...)...)
		h.settle(exitRefused, append([]string{"requeue", queued, "--not-refunded", "--json"}, why...)...)
		h.settle(exitRefused, append([]string{"acknowledge", queued}, why...)...)
		h.settle(exitNotFound, append([]string{"hold", uuid.Max.String()}, why...)...)
		h.settle(exitUsage, append([]string{"hold", "no-id"}, why...)...)
		h.settle(exitUsage, "no-such-command")
		h.settle(exitUsage, "list", "no", "such", "list")
		h.settle(exitNotFound, "explain", "no such name")
		h.settle(exitDone, "journal")
		h.golden("testdata/people.txt")
	})
}

// Nobody approves under another spelling of the name by which they have asked.
func TestNobodyApprovesTheirOwn(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		id := h.id()
		olga := withdrawal.By{Actor: "olga", Role: withdrawal.System}
		_, err := h.orders.Submit(t.Context(), withdrawal.Submitted{By: olga, Request: id, User: h.id(), Asset: asset, Chain: chain,
			ToAddress: "payee", Amount: "5"})
		h.check(err)
		h.settle(exitForbidden, "approve", id.String(), "--actor", "olga", "--approve-as-anyone")
		h.settle(exitDone, "approve", id.String(), "--actor", "alice", "--approve-as-anyone")
	})
}

// Who looks sees the ends of what a thief could use, and seeing all of it is a line of the journal.
func TestAddressesAreMasked(t *testing.T) {
	h := newHost(t, sqlstore.SQLite)
	w := h.request()
	for _, command := range []string{"show", "find", "trail", "next"} {
		text := h.settle(exitDone, command, w.Request.ID.String())
		for _, hidden := range []string{"of-the-cust", "<script>", w.Request.User.String()} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s shows\n%s", command, text)
			}
		}
	}
}

// The first command that shows what is hidden is noted before it shows it.
func TestRevealIsInTheJournal(t *testing.T) {
	h := newHost(t, sqlstore.SQLite)
	w := h.request()
	text := h.settle(exitDone, "show", w.Request.ID.String(), "--reveal")
	if !strings.Contains(text, "payee-of-the-customer") {
		t.Errorf("it hides\n%s", text)
	}
	if strings.ContainsAny(text, "\x1b\u202e") { // a memo does nothing to a terminal
		t.Errorf("it lets through\n%q", text)
	}
	if text := h.settle(exitDone, "journal"); !strings.Contains(text, "Reveal of withdrawal_request "+w.Request.ID.String()) {
		t.Errorf("the journal has\n%s", text)
	}
}

// A stop lands while another payer pays, and nothing begins once it says so.
func TestStopWhileAnotherPays(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		h.ahead = 0
		var stopped atomic.Bool
		paid, done := make(chan error, 1), make(chan struct{})
		begun := atomic.Int64{}
		go func() {
			defer close(done)
			for {
				was := stopped.Load()
				id := uuid.New()
				_, err := h.orders.Do(context.Background(), id,
					withdrawal.Submitted{By: system, Request: id, User: id, Asset: asset, Chain: chain, ToAddress: "payee", Amount: "5"},
					withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
					withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: asset}, withdrawal.Claimed{By: payer},
					withdrawal.Prepared{By: payer, Fence: 1, Hash: id.String(), Raw: []byte("x"), Nonce: uint64(begun.Load()), HasNonce: true,
						ChainNonce: uint64(begun.Load()), HasChainNonce: true},
					withdrawal.Broadcast{By: payer, Fence: 1, Hash: id.String()})
				switch {
				case err == nil && was:
					paid <- fmt.Errorf("%s began after the stop", id)
					return
				case err == nil:
					begun.Add(1)
				case !errors.Is(err, switches.ErrOnHold):
					paid <- err
					return
				case was:
					return
				}
			}
		}()
		for begun.Load() < 3 && len(paid) == 0 {
			time.Sleep(time.Millisecond)
		}
		text := h.settle(exitDone, "stop", "--chain", chain.String(), "--reason", "a stolen key")
		if !strings.Contains(text, "nothing begins since") {
			t.Errorf("it does not say that it is quiet: %s", text)
		}
		stopped.Store(true)
		<-done
		select {
		case err := <-paid:
			t.Error(err)
		default:
		}
		h.settle(exitDone, "status")
		h.settle(exitUsage, "start", "--chain", chain.String(), "--charges", "--reason", "found")
		h.settle(exitDone, "start", "--chain", chain.String(), "--reason", "found", "--dry-run")
		h.settle(exitDone, "start", "--chain", chain.String(), "--reason", "found")
		h.settle(exitDone, "start", "--chain", chain.String(), "--reason", "found")
	})
}

// A stop lands while what it does not need is locked, and what cannot be read is said.
func TestStopLandsBesideLocks(t *testing.T) {
	h := newHost(t, sqlstore.Postgres)
	tx, err := h.sql.BeginTx(t.Context(), nil)
	h.check(err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE "+h.schema+".withdrawal_requests, "+h.schema+".withdrawal_queue IN ACCESS EXCLUSIVE MODE")
	h.check(err)
	h.settle(exitDone, "stop", "--chain", chain.String(), "--reason", "a stolen key")
	if text := h.settle(exitFailure, "status"); !strings.Contains(text, "stopped    chain/") || !strings.Contains(text, "unread     withdrawals") {
		t.Errorf("it says\n%s", text)
	}
	h.check(tx.Rollback())
}

// A user of the database who may only read can look and try, and nothing else.
func TestWhoMayOnlyReadLooks(t *testing.T) {
	h := newHost(t, sqlstore.Postgres)
	w := h.review()
	id, version := w.Request.ID.String(), fmt.Sprint(w.Job.Version)
	h.url = pgtest.With(t, h.url, "default_transaction_read_only", "on")
	for _, look := range [][]string{{"status"}, {"list", "review"}, {"list", "--status", "queued"}, {"show", id}, {"find", id}, {"next", id},
		{"trail", w.Job.ID.String()}, {"incidents"}, {"journal"}, {"verify", "--all"}, {"restored", "status"}} {
		h.settle(exitDone, look...)
	}
	resolve := []string{"resolve", id, "--not-sent", "--reason", "asked", "--version", version}
	h.settle(exitDone, append(resolve, "--dry-run")...)
	h.settle(exitFailure, resolve...)
	h.settle(exitFailure, "show", id, "--reveal")
	h.settle(exitFailure, "stop", "--everything", "--reason", "drill")
}

// A list of one status is not cut by what has another.
func TestListOfAStatusIsWhole(t *testing.T) {
	h := newHost(t, sqlstore.SQLite)
	for range 3 {
		h.request(h.queued()...)
	}
	w := h.request()
	if text := h.settle(exitDone, "list", "--status", "pending", "--limit", "2"); !strings.HasPrefix(text, w.Request.ID.String()) {
		t.Errorf("it lists %s", text)
	}
	if text := h.settle(exitDone, "list", "--status", "queued", "--limit", "2"); strings.Count(text, "\n") != 3 ||
		!strings.Contains(text, "more: --after") {
		t.Errorf("it lists %s", text)
	}
	for kind, list := range map[string]string{"batch": "open", "withdrawal": "lease ended"} {
		h.settle(exitDone, "list", kind, list)
		h.settle(exitUsage, "list", kind, "none")
	}
}

// The procedure after a restore, by commands alone: a chain begins again once each transfer is explained.
func TestRestored(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		policy := `{"Withdrawals": {"Chains": {"` + chain.String() + `": {"Nonces": true, "Confirmations": 6}}}}`
		dir := t.TempDir()
		file := func(name, text string) string {
			name = filepath.Join(dir, name)
			h.check(os.WriteFile(name, []byte(text), 0o600))
			return name
		}
		judged := []string{"--policy", file("policy.json", policy), "--actor", "olga"}
		queued := h.request(h.queued()...).Request.ID.String()
		say := func(want int, args ...string) string { return h.settle(want, append(args, judged...)...) }

		say(exitUsage, "restored", "begin", "--reason", "fail-over")
		begin := []string{"restored", "begin", "--lost", "2026-01-02T02:14:00Z", "--reason", "fail-over 02:14"}
		say(exitDone, append(begin, "--dry-run")...)
		say(exitDone, begin...)
		h.settle(exitDone, "restored", "status")
		start := []string{"start", "--recovery", "--chain", chain.String(), "--reason", "all is explained"}
		say(exitRefused, start...)
		say(exitDone, "restored", "send", "--chain", chain.String(), "--reason", "sending was not stopped")
		say(exitDone, "restored", "books", "--chain", chain.String(), "--since", "2026-01-02T02:00:00Z", "--reason", "ledger of the night")
		of := []string{"--wallet", wallet.String(), "--reason", "line 88231"}
		bound := append([]string{"restored", "bound", "--through", "2", "--source", "signer log"}, of...)
		say(exitDone, append(bound, "--dry-run")...)
		say(exitDone, bound...)
		deep := []string{"restored", "at-depth", "--block", "100", "--block-hash", "b", "--canonical", "b", "--head", "110", "--next", "2"}
		say(exitDone, append(deep, of...)...)
		transfers := `{"Wallet": "WALLET", "Tx": "tx-0", BLOCK, "Nonce": 0, "Transfers": [
{"Output": 0, "Payee": "payee-of-the-customer", "AssetOnChain": "ASSET", "AmountRaw": "5"},
{"Output": 1, "Payee": "cold", "AssetOnChain": "ASSET", "AmountRaw": "7", "Own": true}]}|
{"Wallet": "WALLET", "Tx": "tx-1", BLOCK, "Nonce": 1, "Transfers": [
{"Output": 0, "Payee": "stranger", "AssetOnChain": "ASSET", "AmountRaw": "3"}]}|`
		used := file("used.jsonl", strings.NewReplacer("\n", "", "|", "\n", "WALLET", wallet.String(), "ASSET", asset.String(),
			"BLOCK", `"Height": 100, "Hash": "b", "Canonical": "b", "Head": 110`).Replace(transfers))
		say(exitDone, "restored", "used", "--file", used)
		h.settle(exitDone, "restored", "open", "--chain", chain.String(), judged[0], judged[1])
		say(exitRefused, start...)
		transfer := func(tx, payee, amount string) []string {
			return []string{"--tx", tx, "--payee", payee, "--asset", asset.String(), "--amount", amount, "--reason", "in the signer's log"}
		}
		say(exitDone, append([]string{"restored", "paid", queued}, transfer("tx-0", "payee-of-the-customer", "5")...)...)
		unclaimed := append([]string{"restored", "unclaimed", "--wallet", wallet.String()}, transfer("tx-1", "stranger", "3")...)
		say(exitDone, unclaimed...)
		h.settle(exitDone, "restored", "status", "--chain", chain.String(), judged[0], judged[1])
		say(exitDone, start...)
		say(exitDone, append([]string{"restored", "drop", "--tx", "tx-1"}, of...)...)
		h.settle(exitDone, "journal")
		if text := h.log.String(); strings.Count(text, "Bound of hot wallet") != 1 {
			t.Errorf("what was tried is in the journal, or what was said is not:\n%s", text)
		}
	})
}

func TestDoctorAndTables(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		h.settle(exitDone, "migrate", "status")
		h.settle(exitDone, "migrate", "up", "--domains", "withdrawals")
		if text := h.settle(exitDone, "migrate", "sql", "--domains", "withdrawals"); !strings.Contains(text, "withdrawal_requests") {
			t.Error(text)
		}
		code := exitDone
		if h.dialect == sqlstore.Postgres {
			code = exitAlerts // the servers of tests are fast and not safe
		}
		if h.dialect == sqlstore.SQLite || pgtest.Own() {
			if text := h.settle(code, "doctor"); !strings.Contains(text, "fine  tables:") {
				t.Error(text)
			}
		}
		h.request()
		lost := func(want int, answer string, args ...string) string {
			h.answer = answer
			return h.settle(want, append([]string{"migrate", "down", "withdrawals"}, args...)...)
		}
		if text := lost(exitDone, "", "--dry-run"); !regexp.MustCompile(`lost  \S*withdrawal_requests: 1 rows`).MatchString(text) {
			t.Errorf("it says %s", text)
		}
		lost(exitUsage, "")
		lost(exitUsage, "yes\n")
		h.settle(exitDone, "list") // nothing is undone
		if text := h.settle(exitNotFound, "list", "relay", "all"); !strings.Contains(text, "migrate up --domains relays") {
			t.Errorf("it says %s", text)
		}
		lost(exitDone, "withdrawals\n")
		for _, command := range [][]string{{"list"}, {"status"}, {"show", uuid.Max.String()}, {"doctor"},
			{"restored", "begin", "--lost", "2026-01-02T02:14:00Z", "--reason", "drill"}} {
			code := exitFailure
			if command[0] == "doctor" {
				code = exitAlerts
			}
			text := h.settle(code, command...)
			if !strings.Contains(text, "no domain has any here") || !strings.Contains(text, "settle migrate up --domains withdrawals") {
				t.Errorf("settle %q says %s", command, text)
			}
		}
		h.settle(exitDone, "migrate", "up", "--domains", "withdrawals")
		lost(exitDone, "", "--yes")
		h.schema = "none_such"
		h.settle(exitFailure, "status")
		h.settle(exitFailure, "migrate", "status")
	})
}

func TestAPathThatIsMistypedMakesNoDatabase(t *testing.T) {
	h := newHost(t, sqlstore.SQLite)
	h.url += ".typo"
	h.settle(exitFailure, "migrate", "up")
	h.settle(exitFailure, "status")
	if _, err := os.Stat(h.url); err == nil {
		t.Error("it made one")
	}
	h.url = ""
	h.settle(exitUsage, "status")
}

// What is open is shown to the end of all pages, though whole pages before it are dealt with; a limit says where it stopped.
func TestIncidentsOfAllPages(t *testing.T) {
	var said, errs bytes.Buffer
	a := &app{out: &said, errs: &errs}
	const rows = 2*store.MaxPage + 7
	page := func(after int64, n int) (all []int64, next int64, err error) {
		for next = after; next < rows && len(all) < n; {
			next++
			all = append(all, next)
		}
		return all, next, nil
	}
	closed := func(i int64) bool { return i%2 == 0 || i < store.MaxPage+3 }
	show := func(i int64) (bool, error) {
		if closed(i) {
			return false, nil
		}
		return true, a.print(i, "%d", i)
	}
	open := (rows-(store.MaxPage+3))/2 + 1
	if err := shownOf(a, "--x", 0, 10*store.MaxPage, page, show); err != nil || strings.Count(said.String(), "\n") != open || errs.Len() > 0 {
		t.Errorf("it shows %d of %d, says %q: %v", strings.Count(said.String(), "\n"), open, errs.String(), err)
	}
	whole, from := said.String(), int64(0)
	said.Reset()
	for range 100 { // a few hundred at a time are the same ones
		errs.Reset()
		err := shownOf(a, "--x", from, 300, page, show)
		if n, _ := fmt.Sscanf(errs.String(), "settle: stopped after 300: --x %d goes on", &from); err != nil || n == 0 {
			break
		}
	}
	if said.String() != whole || errs.Len() > 0 {
		t.Errorf("in pieces it shows %d, says %q", strings.Count(said.String(), "\n"), errs.String())
	}
}
