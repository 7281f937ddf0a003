package memory

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// withdrawalTables are the records of package withdrawal. The keys of their
// indexes are in withdrawals_index.go.
type withdrawalTables struct {
	requests  *rows[uuid.UUID, withdrawal.Request]
	jobs      *rows[uuid.UUID, withdrawal.Job]
	wallets   *rows[uuid.UUID, withdrawal.HotWallet] // without NextNonce
	jobsOf    map[uuid.UUID][]uuid.UUID              // by request, in order of creation
	txs       map[uuid.UUID][]withdrawal.Tx          // by request, by Seq
	attempts  map[uuid.UUID][]withdrawal.Attempt     // by job, by fence
	strays    map[uuid.UUID][]withdrawal.Stray       // by request, by Seq
	batches   *rows[uuid.UUID, withdrawal.Batch]
	batchTxs  map[uuid.UUID][]withdrawal.BatchTx // by batch, by Seq
	membersOf map[uuid.UUID][]uuid.UUID          // by batch, by id of the request
	nextNonce map[uuid.UUID]uint64               // by wallet
	nonces    *rows[walletNonce, nonceOwner]
	payments  map[chainHash][]payment
	incidents []withdrawal.Incident
	acks      []withdrawal.Acknowledgement
	acked     map[incidentKey]bool
	known     map[incidentKey]bool
	said      map[uuid.UUID][]withdrawal.Statement // by chain
	*trails[uuid.UUID]
}

// The unique rules of jobs.
const (
	ruleActive = iota // one job of a request that is not failed
	ruleSlot          // one job that holds the slot of a wallet
)

type walletNonce struct {
	wallet uuid.UUID
	nonce  uint64
}

// nonceOwner is whose a nonce is: of a job, or the filler with this hash.
type nonceOwner struct {
	walletNonce
	job    uuid.UUID
	filler string
}

// chainHash is a transaction, by [statemachine.HashForm].
type chainHash struct {
	chain uuid.UUID
	hash  string
}

// payment is what a request has of a transaction.
type payment struct {
	request  uuid.UUID
	byOutput bool
	output   uint32
}

type incidentKey struct {
	request         uuid.UUID
	hash, blockHash string
	claim           withdrawal.IncidentClaim
}

func incidentOf(i *withdrawal.Incident) incidentKey {
	return incidentKey{i.Request, i.Hash, i.BlockHash, i.Claim}
}

func newWithdrawalTables() *withdrawalTables {
	return &withdrawalTables{
		requests: newRows(rows[uuid.UUID, withdrawal.Request]{
			machine: withdrawal.RequestMachine.Name(),
			key:     func(r *withdrawal.Request) uuid.UUID { return r.ID },
			version: func(r *withdrawal.Request) int64 { return r.Version },
			sorted:  requestKeys,
		}),
		jobs: newRows(rows[uuid.UUID, withdrawal.Job]{
			machine: withdrawal.JobMachine.Name(),
			key:     func(j *withdrawal.Job) uuid.UUID { return j.ID },
			version: func(j *withdrawal.Job) int64 { return j.Version },
			sorted:  jobKeys,
			unique: []unique[withdrawal.Job]{
				ruleActive: {func(j *withdrawal.Job) any { return unless(j.Status == withdrawal.JobFailed, j.Request) },
					func(j *withdrawal.Job) error { return &withdrawal.TakenError{Err: withdrawal.ErrActiveJob, ID: j.ID} }},
				ruleSlot: {func(j *withdrawal.Job) any { return unless(!j.Slot.Valid, j.Slot.UUID) },
					func(j *withdrawal.Job) error { return &withdrawal.TakenError{Err: withdrawal.ErrSlotTaken, ID: j.ID} }},
			},
		}),
		wallets: newRows(rows[uuid.UUID, withdrawal.HotWallet]{
			machine: "hot wallet",
			key:     func(w *withdrawal.HotWallet) uuid.UUID { return w.ID },
			sorted:  walletKeys,
		}),
		batches: newRows(rows[uuid.UUID, withdrawal.Batch]{
			machine: withdrawal.BatchMachine.Name(),
			key:     func(b *withdrawal.Batch) uuid.UUID { return b.ID },
			version: func(b *withdrawal.Batch) int64 { return b.Version },
			sorted:  batchKeys,
		}),
		said:      map[uuid.UUID][]withdrawal.Statement{},
		batchTxs:  map[uuid.UUID][]withdrawal.BatchTx{},
		membersOf: map[uuid.UUID][]uuid.UUID{},
		jobsOf:    map[uuid.UUID][]uuid.UUID{},
		txs:       map[uuid.UUID][]withdrawal.Tx{},
		attempts:  map[uuid.UUID][]withdrawal.Attempt{},
		nextNonce: map[uuid.UUID]uint64{},
		nonces: newRows(rows[walletNonce, nonceOwner]{
			key:    func(o *nonceOwner) walletNonce { return o.walletNonce },
			sorted: func(o *nonceOwner) []string { return []string{idKey(o.wallet) + numberKey(o.nonce)} },
		}),
		strays:   map[uuid.UUID][]withdrawal.Stray{},
		payments: map[chainHash][]payment{},
		known:    map[incidentKey]bool{},
		acked:    map[incidentKey]bool{},
		trails:   newTrails[uuid.UUID](),
	}
}

// Withdrawals implements [store.WithdrawalUnit].
func (t *tx) Withdrawals() store.WithdrawalRecords { return withdrawals{t.store.withdrawals, t} }

// HotWallets implements [store.WithdrawalUnit].
func (t *tx) HotWallets() store.HotWalletRecords {
	return hotWallets{withdrawals{t.store.withdrawals, t}}
}

// hotWallets are the tables of withdrawals as records of the wallets that pay them.
type hotWallets struct{ withdrawals }

// withdrawals are the tables within a transaction.
type withdrawals struct {
	*withdrawalTables
	tx *tx
}

func (w withdrawals) Get(requests ...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	return inOrderOf(requests, w.aggregate)
}

func (w withdrawals) aggregate(request uuid.UUID) (a withdrawal.Withdrawal) {
	r := w.requests.at[request]
	if r == nil {
		return a
	}
	a.Request = *r
	a.Strays = slices.Clone(w.strays[request])
	for i := range a.Strays {
		a.Strays[i].Raw = bytes.Clone(a.Strays[i].Raw)
	}
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
	if j.Dispatches > 0 {
		for _, job := range w.jobsOf[request] {
			for _, attempt := range w.attempts[job] {
				if attempt.Dispatched() {
					a.Dispatches = append(a.Dispatches, attempt)
				}
			}
		}
	}
	return a
}

func (w *withdrawalTables) latest(request uuid.UUID) *withdrawal.Job {
	ids := w.jobsOf[request]
	if len(ids) == 0 {
		return nil
	}
	return w.jobs.at[ids[len(ids)-1]]
}

// attempt returns where an execution is or belongs in the list of its job.
func (w *withdrawalTables) attempt(job uuid.UUID, fence int64) (int, bool) {
	return slices.BinarySearchFunc(w.attempts[job], fence, func(a withdrawal.Attempt, f int64) int { return int(a.Fence - f) })
}

func (w *withdrawalTables) wallet(id uuid.UUID) withdrawal.HotWallet {
	row := w.wallets.at[id]
	if row == nil {
		return withdrawal.HotWallet{}
	}
	wallet := *row
	wallet.NextNonce, wallet.Outbound = w.nextNonce[id], w.outbound(row.Chain)
	return wallet
}

// outbound is [withdrawal.OutboundOf] a chain.
func (w *withdrawalTables) outbound(chain uuid.UUID) (of uuid.UUID) {
	prefix := keyUnknown + idKey(chain)
	w.wallets.scan(prefix, prefix, func(_ string, row *withdrawal.HotWallet) bool { of = row.ID; return false })
	return of
}

func (w withdrawals) RequestOf(job uuid.UUID) (uuid.UUID, error) {
	j := w.jobs.at[job]
	if j == nil {
		return uuid.Nil, &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: withdrawal.JobMachine.Name(), ID: job.String()}
	}
	return j.Request, nil
}

func (w hotWallets) OfChain(chain uuid.UUID) ([]withdrawal.HotWallet, error) {
	var all []withdrawal.HotWallet
	prefix := keyWallet + idKey(chain)
	w.wallets.scan(prefix, prefix, func(_ string, row *withdrawal.HotWallet) bool {
		all = append(all, w.wallet(row.ID))
		return true
	})
	return all, nil
}

func (w hotWallets) Get(ids ...uuid.UUID) (all []withdrawal.HotWallet, err error) {
	for _, id := range ids {
		if wallet := w.wallet(id); wallet.ID != uuid.Nil {
			all = append(all, wallet)
		}
	}
	return all, nil
}

func (w hotWallets) Put(wallet withdrawal.HotWallet) error {
	if err := w.tx.writes(); err != nil {
		return err
	}
	if row := w.wallets.at[wallet.ID]; row != nil {
		changed := *row
		changed.Role, changed.Status = wallet.Role, wallet.Status
		wallet = changed
	}
	if wallet.NextNonce, wallet.Outbound = 0, uuid.Nil; wallet.BalanceReserved == "" {
		wallet.BalanceReserved = "0"
	}
	return w.wallets.put(w.tx, &wallet)
}

func (w withdrawals) Usage(user, asset uuid.UUID, windows []withdrawal.Window, now time.Time) (withdrawal.Usage, error) {
	var earlier []withdrawal.Request
	var longest time.Duration
	for _, window := range windows {
		longest = max(longest, window.Length)
	}
	prefix := userPrefix(user, asset)
	w.requests.scan(prefix, prefix+timeKey(now.Add(-longest)), func(key string, r *withdrawal.Request) bool {
		if key[len(prefix):] >= timeKey(now) {
			return false
		}
		earlier = append(earlier, *r)
		return true
	})
	return withdrawal.UsageOf(earlier, user, asset, windows, now, false), nil
}

func (w withdrawals) Attempts(job uuid.UUID) ([]withdrawal.Attempt, error) {
	return slices.Clone(w.attempts[job]), nil
}

func (w withdrawals) Requests(status withdrawal.RequestStatus, after *withdrawal.Request, limit int) ([]withdrawal.Request, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	prefix := statusPrefix(status)
	start := prefix
	if after != nil {
		start += timeKey(after.CreatedAt) + idKey(after.ID) + "\x00"
	}
	var page []withdrawal.Request
	w.requests.scan(prefix, start, func(_ string, r *withdrawal.Request) bool {
		if len(page) >= limit {
			return false
		}
		page = append(page, *r)
		return true
	})
	return page, nil
}

func (w withdrawals) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return w.trail(id, withdrawal.RequestMachine.Name(), withdrawal.JobMachine.Name(), withdrawal.BatchMachine.Name()), nil
}
