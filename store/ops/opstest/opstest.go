// Package opstest makes databases of all domains with what rests with people, for the tests of what operators have.
package opstest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Hostile is what others may have written: a script, control characters, a right-to-left mark, 1,000 bytes.
var Hostile = ("<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[2J\x07" + fmt.Sprintf("%01000d", 0))[:1000]

// Payee is the address of each withdrawal.
const Payee = "payee-of-the-customer"

var (
	Chain  = uuid.MustParse("10000000-0000-4000-8000-000000000001")
	Asset  = uuid.MustParse("10000000-0000-4000-8000-000000000002")
	Wallet = uuid.MustParse("10000000-0000-4000-8000-000000000003")
)

var (
	system = withdrawal.By{Actor: "intake", Role: withdrawal.System}
	payer  = withdrawal.By{Actor: "payer-1", Role: withdrawal.WithdrawalWorker}
)

var start = time.Date(2026, 1, 2, 0, 14, 0, 0, time.UTC)

// House is a database with its services.
type House struct {
	ops.Services
	T       testing.TB
	Dialect sqlstore.Dialect
	SQL     *sql.DB
	URL     string
	Opts    sqlstore.Options

	ahead atomic.Int64 // since start, by the clock of the store
}

// Policies are the defaults, with what the domains need beside.
func Policies() ops.Policies {
	p := ops.DefaultPolicies()
	p.Swaps.USDCQuarantineAccount, p.Swaps.USDDQuarantineAccount = "usdc-quarantine", "usdd-quarantine"
	p.Swaps.OwnAccounts = []string{"usdc-quarantine", "usdd-quarantine"}
	p.Relays.RelayDomain = "relays.example.com"
	p.Wallets.Owner = func([]byte) (utxo.Owner, bool) { return utxo.Owner{Wallet: 1, Tag: "ann"}, true }
	return p
}

// New makes a database of all domains. The test imports the drivers pgx and sqlite.
func New(t testing.TB, d sqlstore.Dialect) *House {
	t.Helper()
	h := &House{T: t, Dialect: d}
	h.Opts.Now = func() time.Time { return start.Add(time.Duration(h.ahead.Load())) }
	driver := "sqlite"
	h.URL = filepath.Join(t.TempDir(), "settle.db")
	at := pgtest.FileURL(h.URL)
	if d == sqlstore.Postgres {
		driver, h.URL = "pgx", pgtest.URL(t)
		at = h.URL
	}
	var err error
	h.SQL, err = sql.Open(driver, at)
	h.Check(err)
	h.SQL.SetMaxIdleConns(10)
	t.Cleanup(func() { h.SQL.Close() })
	if d == sqlstore.Postgres {
		h.Opts.Schema = pgtest.Schema(t, h.SQL)
	}
	h.Check(sqlstore.Migrate(t.Context(), h.SQL, d, h.Opts))
	db, err := sqlstore.Open(t.Context(), h.SQL, d, h.Opts)
	h.Check(err)
	t.Cleanup(func() { db.Close() })
	h.Services, err = ops.NewServices(db, Policies())
	h.Check(err)
	h.WalletIDs = []utxo.WalletID{1}
	_, err = h.Wallets.Do(t.Context(), utxo.WalletOpened{Wallet: 1, Birth: 1})
	h.Check(err)
	return h
}

// Check ends the test with an error.
func (h *House) Check(err error) {
	h.T.Helper()
	if err != nil {
		h.T.Fatal(err)
	}
}

// Later moves the clock of the store.
func (h *House) Later(d time.Duration) { h.ahead.Add(int64(d)) }

// HotWallet puts an active hot wallet on file.
func (h *House) HotWallet() {
	h.Check(h.Withdrawals.PutHotWallet(h.T.Context(), withdrawal.By{Actor: "setup", Role: withdrawal.System},
		withdrawal.HotWallet{ID: Wallet, Chain: Chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}))
}

// Request makes a request that waits for an approver, and more of it.
func (h *House) Request(events ...withdrawal.Event) withdrawal.Withdrawal {
	h.T.Helper()
	id := uuid.New()
	w, err := h.Withdrawals.Do(h.T.Context(), id, append([]withdrawal.Event{withdrawal.Submitted{By: system, Request: id, User: uuid.New(),
		Asset: Asset, Chain: Chain, ToAddress: Payee, Memo: Hostile, Amount: "5"}}, events...)...)
	h.Check(err)
	return w
}

func queued() []withdrawal.Event {
	return []withdrawal.Event{withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}},
		withdrawal.Enqueued{By: system, Job: uuid.New(), AssetOnChain: Asset}}
}

// Review makes a request whose signer was called and never answered.
func (h *House) Review() withdrawal.Withdrawal {
	h.T.Helper()
	w := h.Request(append(queued(), withdrawal.Claimed{By: payer}, withdrawal.Dispatched{By: payer, Fence: 1, Reference: "r7"})...)
	h.Later(time.Hour)
	w, err := h.Withdrawals.Do(h.T.Context(), w.Request.ID, withdrawal.Elapsed{By: system})
	h.Check(err)
	if !w.Job.Review {
		h.T.Fatalf("it is not in review: %+v", w.Job)
	}
	return w
}

// Sent makes a request with a transaction of a nonce that nobody has mined.
func (h *House) Sent(nonce uint64) withdrawal.Withdrawal {
	h.T.Helper()
	w := h.Request(append(queued(), withdrawal.Claimed{By: payer})...)
	hash := fmt.Sprintf("0x%064x", 0xabc000+nonce)
	w, err := h.Withdrawals.Do(h.T.Context(), w.Request.ID,
		withdrawal.Prepared{By: payer, Fence: 1, Hash: hash, Raw: []byte{1}, Nonce: nonce, HasNonce: true, HasChainNonce: true,
			ChainNonce: nonce},
		withdrawal.Broadcast{By: payer, Fence: 1, Hash: hash})
	h.Check(err)
	return w
}

// Batch makes a transaction of a nonce that pays one request and is not sent yet.
func (h *House) Batch(nonce uint64) withdrawal.Payout {
	h.T.Helper()
	id, w := uuid.New(), h.Request(Claimed()...)
	b, err := h.Batches.Do(h.T.Context(), id, withdrawal.BatchPrepared{By: payer, Batch: id, Hash: fmt.Sprintf("0x%064x", 0xbabc000+nonce),
		Raw: []byte{1}, Nonce: nonce, HasNonce: true, HasChainNonce: true, ChainNonce: nonce,
		Pays: []withdrawal.Pay{{Request: w.Request.ID, Fence: 1, Transfer: withdrawal.Transfer{Payee: Payee,
			AssetOnChain: Asset, AmountRaw: w.Request.AmountRaw}}}})
	h.Check(err)
	return b
}

// Others are records of the other domains that rest with a person, by the name of their kind.
func (h *House) Others() map[string]string {
	h.T.Helper()
	ctx := h.T.Context()
	watcher := swap.By{Actor: "watcher", Role: swap.Observer}
	sig, txid := "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T", fmt.Sprintf("%064x", 0xfeed)
	_, err := h.Swaps.Deposits.Do(ctx, sig, swap.Observed{By: watcher, ID: sig, Amount: 7_000_000, From: "sender-of-the-deposit",
		Time: h.Opts.Now().Truncate(time.Second), Success: true, Finalized: true},
		swap.Held{By: swap.By{Actor: "olga", Role: swap.Operator}, Reason: "a question"})
	h.Check(err)
	_, err = h.Swaps.Credits.Do(ctx, txid, swap.Observed{By: watcher, ID: txid, Amount: 9_000_000,
		From: "sender-of-the-credit", To: "treasury", Time: h.Opts.Now().Truncate(time.Second), Success: true, Finalized: true})
	h.Check(err)
	const xpub = "xpub-van-of-a-wallet"
	_, err = h.Refreshes.Do(ctx, xpub, refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Job: uuid.New(), Cause: refresh.Sync,
		Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "xpub-col-of-a-wallet", MasterFingerprint: "0"}})
	h.Check(err)
	desk, host := dunning.By{Actor: "api", Role: dunning.Host}, relaysync.By{Actor: "api", Role: relaysync.Host}
	_, err = h.Tenants.Do(ctx, "alice", dunning.Enrolled{By: desk, Tenant: "alice", Method: dunning.Stripe}, dunning.Provisioned{By: desk},
		dunning.Issued{By: desk, Invoice: "january", Amount: 2100},
		dunning.Paid{By: desk, Invoice: "january", Method: dunning.Stripe, Payment: "pi_1"},
		dunning.Paid{By: desk, Invoice: "january", Method: dunning.Manual, Payment: "77"})
	h.Check(err)
	info := relaysync.Config{Info: `{"name":"Alice","pubkey":"` + relaysync.Document(fmt.Sprintf("%064x", 0xab)) + `"}`}
	_, err = h.Relays.Do(ctx, "alice_1", relaysync.Created{By: host, Relay: "alice_1", Tenant: "alice", Subdomain: "alice", Config: info})
	h.Check(err)
	reactor := relaysync.By{Actor: "reactor", Role: relaysync.Reactor}
	for {
		r, err := h.Relays.Get(ctx, "alice_1")
		h.Check(err)
		if r.NeedsOperator() {
			break
		}
		h.Later(time.Hour)
		r, err = h.Relays.Do(ctx, "alice_1", relaysync.Claimed{By: reactor})
		h.Check(err)
		_, err = h.Relays.Do(ctx, "alice_1", relaysync.Finished{By: reactor, Fence: r.Timer.Lease.Fence, Outcome: statemachine.Failed,
			Error: "502 Bad Gateway"})
		h.Check(err)
	}
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: 1}, nil, [][]byte{{1}}))
	tx.AddTxOut(wire.NewTxOut(60_000, []byte{0x51}))
	_, err = h.Wallets.Do(ctx, utxo.Submitted{Wallet: 1, Tx: tx})
	h.Check(err)
	return map[string]string{"deposit": sig, "credit": txid, "refresh": xpub, "relay": "alice_1", "tenant": "alice",
		"wallet": "1:" + tx.TxHash().String()}
}

// Stop stops a chain.
func (h *House) Stop() {
	_, _, err := h.Switches.Stop(h.T.Context(), switches.Stopped{By: switches.By{Actor: "olga", Role: switches.Operator},
		Scope: switches.Chain(Chain), Level: switches.Send, Reason: "the node is on another branch"})
	h.Check(err)
}

// Lines are the journal.
func (h *House) Lines() []statemachine.JournalLine {
	page, _, err := h.Journal.Page(h.T.Context(), "", store.MaxPage)
	h.Check(err)
	return page
}

// Both runs a test on each database.
func Both(t *testing.T, test func(*testing.T, *House)) {
	for _, d := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
		t.Run(d.String(), func(t *testing.T) { test(t, New(t, d)) })
	}
}

// Claimed are the events by which payer-1 takes a request.
func Claimed() []withdrawal.Event { return append(queued(), withdrawal.Claimed{By: payer}) }

// Queued are the events by which a request has a job that nobody has taken.
func Queued() []withdrawal.Event { return queued() }
