package storetest

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// Withdrawals proves the withdrawals of a store.
func Withdrawals[T store.WithdrawalUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	opened := func(t *testing.T) *withdrawals { return newWithdrawals(t, timedWithdrawals(open(t))) }
	versioned(t, func(t *testing.T) *withdrawalSubject { return opened(t).withdrawalSubject }, func(t *testing.T) *withdrawalSubject {
		return newWithdrawals(t, timedWithdrawals(memory.New(memory.Options{}))).withdrawalSubject
	})
	type of = *withdrawals
	prove(t, opened, []rule[of]{
		{"a view puts no wallet", of.withdrawalViews},
		{"a transaction sees its own writes in what is due and in sums", of.ownWithdrawals},

		{"a slot is handed over within one save", of.handOver},
		{"a nonce is taken for ever, on its wallet alone", of.nonceAfterEnd},
		{"a reservation is added, and an earlier use moves nothing", of.reserved},
		{"the id of a job that exists is not written over", of.jobInsertedOnce},
		{"an execution is closed once", of.closedOnce},

		{"a request has one active job, and the loser learns which", of.activeJob},
		{"a wallet's slot belongs to one job", of.slots},
		{"a transaction is on file once", of.duplicateTxs},
		{"each incident of a change is recorded, once", of.incidents},
		{"submissions of one user at once do not pass the window together", of.concurrentWindows},
		{"reservations of concurrent jobs add up", of.reservations},

		{"wallets that are switched off begin nothing, whoever has held the aggregate", of.switchedOff},
		{"a chain that is stopped begins nothing in any way, gives executions back, and goes on with what has begun", of.stopped},
		{"of a chain that is stopped at send nothing is handed out to be sent, and look-ups go on", of.unsent},
		{"what is due of each kind at each level of the switch is what the domain says", of.offered},
		{"a chain that is recovering refunds nothing but what was refunded before", of.recoveringRefunds},
		{"what is said of wallets after a restore comes back in its order", of.statements},
		{"after a restore a chain is started once no point stands open, and never before", of.unsettled},
		{"a transaction that is filed whole explains one transfer of it", of.explainedOnce},
		{"a wallet that is put after the start of a restored chain gets no job before its bound", of.lateWallet},
		{"no chain is started beside a word that opens a point, whichever is first", of.startOrWord},
		{"a transfer that nobody has claimed keeps back who has its payee", of.unclaimed},
		{"a copy of any commit pays each request once, by the procedure", of.putBack},
		{"a copy of any commit of which nobody speaks pays each request once, by what is asked", of.unsaid},
		{"a job is not written under an old request, and no step that was decided before a fact", of.staleHead},
		{"a transaction, or an output of it, pays one request, and who names another's pays nothing", of.onePayer},
		{"who has an output of a transaction may name it whole, and another may have another output", of.outputThenWhole},
		{"a nonce is of one job or one filler, and gaps are known", of.fillers},
		{"a nonce that was used by what is on no file switches the wallet off, until somebody knows it", of.unknownOutbound},
		{"while it is not explained no other wallet of the chain begins anything, and nothing is refunded", of.outboundStopsTheChain},

		{"what is asked of many records is what the domain says of each", of.reads},

		{"an incident is open until an operator has acknowledged it, once", of.acknowledged},

		{"every field comes back", of.everyField},
		{"what comes from outside passes the law, and sums do not overflow", of.bounds},
		{"values come back exactly", of.exactWithdrawals},
		{"what does not exist is a zero aggregate or not found", of.unknownWithdrawals},
		{"eight workers broadcast each of many jobs once", of.eightWorkers},
	})
}

// withdrawals is one store under test, with wallets of two chains.
type withdrawals struct {
	*withdrawalSubject
	policy  withdrawal.Policy
	service *store.Withdrawals
	ids     atomic.Uint64
	// together is the same store as one with batches, which then are in histories and in what is
	// counted; nil: the store needs none.
	together *batches
}

var (
	// evm has nonces, utxos has none.
	evm, utxos, utxos2 = named("evm"), named("utxos"), named("more utxos")
	evmHot1, evmHot2   = named("wallet evm 1"), named("wallet evm 2")
	utxoHot            = named("wallet utxos")
	aUser, anAsset     = named("user"), named("asset")
	limitedAsset       = named("asset with windows")
	dualAsset          = named("asset with two approvers")
	tokenOnChain       = named("token")
	worker1            = "worker-1"
)

func policy() withdrawal.Policy {
	p := withdrawal.DefaultPolicy()
	p.Chain = withdrawal.Chain{Nonces: true, Confirmations: 3}
	p.Chains = map[uuid.UUID]withdrawal.Chain{utxos: {Confirmations: 3}, utxos2: {Confirmations: 3}}
	p.HoldInsufficient = true
	p.Approval.Enabled = true
	p.Approval.Assets = map[uuid.UUID]withdrawal.ApprovalLimits{limitedAsset: {Automatic: decimalOf("100"),
		Windows: []withdrawal.Window{{Length: 24 * time.Hour, Max: decimalOf("250")}}}, dualAsset: {Dual: decimalOf("20")}}
	return p
}

func newWithdrawals(t *testing.T, s store.Store[store.WithdrawalUnit]) *withdrawals {
	service := must(store.NewWithdrawals(s, policy()))(t)
	w := &withdrawals{policy: policy(), service: service}
	w.withdrawalSubject = versionedWithdrawals(w, s)
	for _, wallet := range []withdrawal.HotWallet{{ID: evmHot1, Chain: evm}, {ID: evmHot2, Chain: evm}, {ID: utxoHot, Chain: utxos}} {
		w.putWallet(t, wallet)
	}
	return w
}

func (w *withdrawals) putWallet(t failer, wallet withdrawal.HotWallet) {
	t.Helper()
	wallet.Role, wallet.Status, wallet.BalanceReserved = withdrawal.WalletRoleHot, withdrawal.WalletActive, "0"
	noError(t, w.service.PutHotWallet(ctx, role(withdrawal.System), wallet))
}

// id returns a new id; later ones are greater.
func (w *withdrawals) id() (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], w.ids.Add(1))
	return id
}

func by(role withdrawal.Role, at time.Time) withdrawal.By {
	return withdrawal.By{Actor: map[withdrawal.Role]string{withdrawal.Approver: "alice", withdrawal.WithdrawalWorker: worker1,
		withdrawal.ConfirmationWorker: "confirmer", withdrawal.Operator: "olga", withdrawal.System: "system"}[role], Role: role, At: at}
}

func workerAt(at time.Time) withdrawal.By { return by(withdrawal.WithdrawalWorker, at) }

func submission(request, chain uuid.UUID, at time.Time) withdrawal.Submitted {
	return withdrawal.Submitted{By: by(withdrawal.System, at), Request: request, User: aUser, Asset: anAsset, Chain: chain,
		ToAddress: "0xabc", Amount: "1.5", Decimals: 18}
}

// approved makes an approved request.
func (w *withdrawals) approved(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	request := w.id()
	return w.do(t, request, submission(request, chain, at), withdrawal.Approved{By: by(withdrawal.Approver, at)})
}

func (w *withdrawals) enqueued(at time.Time, p withdrawal.Priority) withdrawal.Enqueued {
	return withdrawal.Enqueued{By: by(withdrawal.System, at), Job: w.id(), AssetOnChain: tokenOnChain, Priority: p}
}

// pending makes a request with a pending job.
func (w *withdrawals) pending(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	return w.do(t, w.approved(t, chain, at).Request.ID, w.enqueued(at, withdrawal.Normal))
}

// processing makes a request whose job is claimed by worker-1.
func (w *withdrawals) processing(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	return w.do(t, w.pending(t, chain, at).Request.ID, withdrawal.Claimed{By: workerAt(at)})
}

// confirming makes a request whose transaction is out, under fence 1.
func (w *withdrawals) confirming(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	a := w.processing(t, chain, at)
	p := prepared(&a, at)
	return w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(at), Fence: 1, Hash: p.Hash})
}

// prepared is the next transaction of a claimed job.
func prepared(a *withdrawal.Withdrawal, at time.Time) withdrawal.Prepared {
	p := withdrawal.Prepared{By: workerAt(at), Fence: a.Job.Lease.Fence, Hash: "tx of " + a.Job.ID.String(), Raw: []byte{1, 2, 3}}
	if a.Job.Slot.Valid {
		p.Nonce, p.HasNonce, p.ChainNonce, p.HasChainNonce = a.Wallet.NextNonce, true, a.Wallet.NextNonce, true
	} else {
		p.Input = "input of " + a.Job.ID.String()
	}
	return p
}

func receipt(a *withdrawal.Withdrawal, at time.Time, depth uint64) withdrawal.Receipt {
	return withdrawal.Receipt{By: by(withdrawal.ConfirmationWorker, at), Tx: a.Job.TxHash, GasUsed: "21000", GasPrice: "5000000000",
		Block: withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 9 + depth}}
}

// due returns what is due, in an update.
func (w *withdrawals) due(t testing.TB, q store.DueWithdrawals) (found []withdrawal.Withdrawal) {
	t.Helper()
	noError(t, w.Update(ctx, func(tx store.WithdrawalUnit) (err error) {
		found, err = tx.Withdrawals().Due(q)
		return err
	}))
	return found
}

// taken requires a TakenError of a unique rule that names a job.
func taken(t testing.TB, err, sentinel error, job uuid.UUID) {
	t.Helper()
	var e *withdrawal.TakenError
	if !errors.As(err, &e) || !errors.Is(err, sentinel) || e.ID != job {
		t.Fatalf("got error %v, expected %v: %s", err, sentinel, job)
	}
}

// refuses sends an event that a unique rule refuses, since something is another's.
func (w *withdrawals) refuses(t testing.TB, request uuid.UUID, ev withdrawal.Event, rule error, owner uuid.UUID) {
	t.Helper()
	taken(t, errOf(w.service.Do(ctx, request, ev)), rule, owner)
}

func equalIDs(t testing.TB, rule string, got, want []uuid.UUID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s\ngot  %v\nwant %v", rule, got, want)
	}
}
