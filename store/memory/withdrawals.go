package memory

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// withdrawalTables holds rows as pointers to values that never change: a write
// puts a new one in the place of the old.
type withdrawalTables struct {
	requests  map[uuid.UUID]*withdrawal.Request
	jobs      map[uuid.UUID]*withdrawal.Job
	jobsOf    map[uuid.UUID][]uuid.UUID     // by request, in order of creation
	txs       map[uuid.UUID][]withdrawal.Tx // by request, by Seq
	attempts  map[uuid.UUID][]withdrawal.Attempt
	wallets   map[uuid.UUID]*withdrawal.HotWallet // without NextNonce
	nextNonce map[uuid.UUID]uint64                // by wallet
	nonces    map[walletNonce]uuid.UUID           // the job that owns it
	slots     map[uuid.UUID]uuid.UUID             // by wallet: the job that holds it
	trails    map[uuid.UUID][]statemachine.Transition[uuid.UUID]
	feed      []line // in order of commit
	incidents []withdrawal.Incident
	known     map[incidentKey]bool
	mined     map[uuid.UUID]bool // requests with an incident of that claim
	index     ordered            // see withdrawals_index.go
}

// line names a line of the history.
type line struct {
	id      uuid.UUID
	version int64
}

type walletNonce struct {
	wallet uuid.UUID
	nonce  uint64
}

type incidentKey struct {
	request                uuid.UUID
	hash, claim, blockHash string
}

func newWithdrawalTables() *withdrawalTables {
	return &withdrawalTables{
		requests:  map[uuid.UUID]*withdrawal.Request{},
		jobs:      map[uuid.UUID]*withdrawal.Job{},
		jobsOf:    map[uuid.UUID][]uuid.UUID{},
		txs:       map[uuid.UUID][]withdrawal.Tx{},
		attempts:  map[uuid.UUID][]withdrawal.Attempt{},
		wallets:   map[uuid.UUID]*withdrawal.HotWallet{},
		nextNonce: map[uuid.UUID]uint64{},
		nonces:    map[walletNonce]uuid.UUID{},
		slots:     map[uuid.UUID]uuid.UUID{},
		trails:    map[uuid.UUID][]statemachine.Transition[uuid.UUID]{},
		known:     map[incidentKey]bool{},
		mined:     map[uuid.UUID]bool{},
	}
}

// Withdrawals implements [store.WithdrawalTx].
func (t *tx) Withdrawals() store.WithdrawalRecords { return withdrawals{t.store.withdrawals, t} }

// withdrawals are the tables within a transaction.
type withdrawals struct {
	*withdrawalTables
	tx *tx
}

func (w withdrawals) Get(requests ...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	ws := make([]withdrawal.Withdrawal, len(requests))
	for i, id := range requests {
		ws[i] = w.aggregate(id)
	}
	return ws, nil
}

func (w withdrawals) aggregate(request uuid.UUID) (a withdrawal.Withdrawal) {
	r := w.requests[request]
	if r == nil {
		return a
	}
	a.Request, a.Mined = *r, w.mined[request]
	txs := w.txs[request]
	a.Txs = slices.Clone(txs)
	for i := range a.Txs {
		a.Txs[i].Raw = bytes.Clone(a.Txs[i].Raw)
	}
	j := w.latest(request)
	if j == nil {
		return a
	}
	a.Job = *j
	if i, ok := w.attempt(j.ID, j.Lease.Fence); ok {
		a.Attempt = w.attempts[j.ID][i]
	}
	a.Wallet = w.wallet(j.Wallet)
	return a
}

func (w *withdrawalTables) latest(request uuid.UUID) *withdrawal.Job {
	ids := w.jobsOf[request]
	if len(ids) == 0 {
		return nil
	}
	return w.jobs[ids[len(ids)-1]]
}

// attempt returns where an execution is or belongs in the list of its job.
func (w *withdrawalTables) attempt(job uuid.UUID, fence int64) (int, bool) {
	return slices.BinarySearchFunc(w.attempts[job], fence, func(a withdrawal.Attempt, f int64) int { return int(a.Fence - f) })
}

func (w *withdrawalTables) wallet(id uuid.UUID) withdrawal.HotWallet {
	row := w.wallets[id]
	if row == nil {
		return withdrawal.HotWallet{}
	}
	wallet := *row
	wallet.NextNonce = w.nextNonce[id]
	return wallet
}

func (w withdrawals) RequestOf(job uuid.UUID) (uuid.UUID, error) {
	j := w.jobs[job]
	if j == nil {
		return uuid.Nil, &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: withdrawal.JobMachine.Name(), ID: job.String()}
	}
	return j.Request, nil
}

func (w withdrawals) HotWallets(chain uuid.UUID) ([]withdrawal.HotWallet, error) {
	var all []withdrawal.HotWallet
	for id, row := range w.wallets {
		if row.Chain == chain {
			all = append(all, w.wallet(id))
		}
	}
	slices.SortFunc(all, func(a, b withdrawal.HotWallet) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return all, nil
}

func (w withdrawals) PutHotWallet(wallet withdrawal.HotWallet) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	if row := w.wallets[wallet.ID]; row != nil {
		changed := *row
		changed.Role, changed.Status = wallet.Role, wallet.Status
		wallet = changed
	}
	if wallet.NextNonce = 0; wallet.BalanceReserved == "" {
		wallet.BalanceReserved = "0"
	}
	w.setWallet(wallet)
	return nil
}

func (w withdrawals) Usage(user, asset uuid.UUID, windows []withdrawal.Window, now time.Time) (withdrawal.Usage, error) {
	var earlier []withdrawal.Request
	var longest time.Duration
	for _, window := range windows {
		longest = max(longest, window.Length)
	}
	prefix := userPrefix(user, asset)
	w.index.from(prefix+timeKey(now.Add(-longest)), func(key string) bool {
		if !hasPrefix(key, prefix) || key[len(prefix):] >= timeKey(now) {
			return false
		}
		earlier = append(earlier, *w.requests[idOf(key)])
		return true
	})
	return withdrawal.UsageOf(earlier, user, asset, windows, now, false), nil
}

func (w withdrawals) Attempts(job uuid.UUID) ([]withdrawal.Attempt, error) {
	return slices.Clone(w.attempts[job]), nil
}

func (w withdrawals) Incidents(after int64, limit int) ([]withdrawal.Incident, int64, error) {
	from := min(max(after, 0), int64(len(w.incidents)))
	page := slices.Clone(w.incidents[from:min(from+int64(max(limit, 0)), int64(len(w.incidents)))])
	if len(page) == 0 {
		return nil, after, nil
	}
	return page, from + int64(len(page)), nil
}

func (w withdrawals) Requests(status withdrawal.RequestStatus, after *withdrawal.Request, limit int) ([]withdrawal.Request, error) {
	prefix := statusPrefix(status)
	start := prefix
	if after != nil {
		start += timeKey(after.CreatedAt) + idKey(after.ID) + "\x00"
	}
	var page []withdrawal.Request
	w.index.from(start, func(key string) bool {
		if len(page) >= limit || !hasPrefix(key, prefix) {
			return false
		}
		page = append(page, *w.requests[idOf(key)])
		return true
	})
	return page, nil
}

func (w withdrawals) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return slices.Clone(w.trails[id]), nil
}

func (w withdrawals) Follow(after store.Cursor, limit int) ([]statemachine.Transition[uuid.UUID], store.Cursor, error) {
	from := 0
	if after != "" {
		n, err := strconv.Atoi(string(after))
		if err != nil || n < 1 || n > len(w.feed) || strconv.Itoa(n) != string(after) {
			return nil, after, fmt.Errorf("%w: this store has not made cursor %.100q", statemachine.ErrInvalid, string(after))
		}
		from = n
	}
	lines := w.feed[from:min(from+max(limit, 0), len(w.feed))]
	if len(lines) == 0 {
		return nil, after, nil
	}
	page := make([]statemachine.Transition[uuid.UUID], len(lines))
	for i, l := range lines {
		page[i] = w.trails[l.id][l.version-1]
	}
	return page, store.Cursor(strconv.Itoa(from + len(page))), nil
}
