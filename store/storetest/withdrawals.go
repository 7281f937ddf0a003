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
	withdrawalRules(t, func(tb testing.TB) store.Store[store.WithdrawalUnit] { return timedWithdrawals(open(tb)) })
}

func withdrawalRules[T store.WithdrawalUnit](t *testing.T, open func(testing.TB) store.Store[T]) {
	rules := []struct {
		rule string
		test func(*testing.T, *withdrawals[T])
	}{
		{"a view puts no wallet and claims nothing", withdrawalViews[T]},
		{"a transaction sees its own writes in what is due and in sums", ownWithdrawals[T]},

		{"a slot is handed over within one save", handOver[T]},
		{"a nonce is taken for ever, on its wallet alone", nonceAfterEnd[T]},
		{"a reservation is added, and an earlier use moves nothing", reserved[T]},
		{"the id of a job that exists is not written over", jobInsertedOnce[T]},
		{"an execution is closed once", closedOnce[T]},

		{"a request has one active job, and the loser learns which", activeJob[T]},
		{"a wallet's slot belongs to one job", slots[T]},
		{"a transaction is on file once", duplicateTxs[T]},
		{"each incident of a change is recorded, once", incidents[T]},
		{"submissions of one user at once do not pass the window together", concurrentWindows[T]},
		{"reservations of concurrent jobs add up", reservations[T]},

		{"concurrent claims give each job to one worker", concurrentClaims[T]},

		{"wallets that are switched off begin nothing, whoever has held the aggregate", switchedOff[T]},
		{"a job is not written under an old request, and no step that was decided before a fact", staleHead[T]},
		{"a transaction pays one request", onePayer[T]},
		{"a signer that names what is another's stops the payment", namesAnothers[T]},
		{"who has an output of a transaction may name it whole, and another may have another output", outputThenWhole[T]},
		{"a transaction of many is resolved, and imported, of each by its output", oneOfMany[T]},
		{"a nonce is of one job or one filler, and gaps are known", fillers[T]},

		{"what is asked of many records is what the domain says of each", reads[T]},

		{"an incident is open until an operator has acknowledged it, once", acknowledged[T]},
		{"what an operator tried and was refused is in the journal, and nothing else of it", journal[T]},

		{"every field of a batch comes back", everyBatchField[T]},
		{"a list of batches has what its filter says, both ways and page by page", batchLists[T]},
		{"every version leads to its batch, in any spelling, also one that pays nobody", batchesByHash[T]},
		{"what an operator said of a batch and was refused is in the journal", batchJournal[T]},
		{"a worker signs nothing with the nonce of a batch that it was dropped from", batchNonceAgain[T]},
		{"a member that is refused keeps no other from being given back", batchGivenBack[T]},
		{"a batch that is refused keeps no member from being given back", batchBesideMembers[T]},
		{"a batch is stored with all its members or not at all", batchWithMembers[T]},
		{"one nonce, one owner job, many requests", batchNonce[T]},
		{"what is mined in the place of a batch pays members that own no nonce", batchInstead[T]},
		{"of many workers each member is claimed by one, behind the slot of its wallet", batchClaims[T]},
		{"a full batch is claimed, signed, replaced and paid", fullBatch[T]},
		{"batches whose look-up is overdue are counted, of a chain and of all", batchesOverdue[T]},
		{"workers pay many requests by few transactions, each once", batchWorkers[T]},
		{"a chain with reorgs pays each request once, by whatever batch", batchHistories[T]},

		{"every field comes back", everyField[T]},
		{"what comes from outside passes the law, and sums do not overflow", outside[T]},
		{"values come back exactly", exactWithdrawals[T]},
		{"limits of 0, below it, or enormous are refused by every method", withdrawalLimits[T]},
		{"what does not exist is a zero aggregate or not found", unknownWithdrawals[T]},
		{"the self-check passes and leaves nothing", selfCheck[T]},
	}
	versioned(t, func(t *testing.T) *withdrawalSubject[T] { return newWithdrawals(t, open(t)).withdrawalSubject })
	t.Run("batches", func(t *testing.T) {
		versioned(t, func(t *testing.T) *payoutSubject[T] { return versionedPayouts(t, newWithdrawals(t, open(t))) })
	})
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) { r.test(t, newWithdrawals(t, open(t))) })
	}
	t.Run("random histories store the same as the memory adapter", func(t *testing.T) {
		randomHistories(t, newWithdrawals(t, open(t)).withdrawalSubject, newWithdrawals(t, timedWithdrawals(memory.New(memory.Options{}))).withdrawalSubject)
	})
	t.Run("eight workers broadcast each of many jobs once", func(t *testing.T) { eightWorkers(t, newWithdrawals(t, open(t))) })
}

// withdrawals is one store under test, with wallets of two chains.
type withdrawals[T store.WithdrawalUnit] struct {
	*withdrawalSubject[T]
	policy  withdrawal.Policy
	service *store.Withdrawals
	ids     atomic.Uint64
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

func newWithdrawals[T store.WithdrawalUnit](t *testing.T, s store.Store[T]) *withdrawals[T] {
	service, err := store.NewWithdrawals(s, policy())
	if err != nil {
		t.Fatal(err)
	}
	w := &withdrawals[T]{policy: policy(), service: service}
	w.withdrawalSubject = versionedWithdrawals(w, s)
	for _, wallet := range []withdrawal.HotWallet{{ID: evmHot1, Chain: evm}, {ID: evmHot2, Chain: evm}, {ID: utxoHot, Chain: utxos}} {
		w.putWallet(t, wallet)
	}
	return w
}

func (w *withdrawals[T]) putWallet(t failer, wallet withdrawal.HotWallet) {
	t.Helper()
	wallet.Role, wallet.Status, wallet.BalanceReserved = withdrawal.WalletRoleHot, withdrawal.WalletActive, "0"
	if err := w.service.PutHotWallet(ctx, wallet); err != nil {
		t.Fatal(err)
	}
}

// id returns a new id; later ones are greater.
func (w *withdrawals[T]) id() (id uuid.UUID) {
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
func (w *withdrawals[T]) approved(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	request := w.id()
	return w.do(t, request, submission(request, chain, at), withdrawal.Approved{By: by(withdrawal.Approver, at)})
}

func (w *withdrawals[T]) enqueued(at time.Time, p withdrawal.Priority) withdrawal.Enqueued {
	return withdrawal.Enqueued{By: by(withdrawal.System, at), Job: w.id(), AssetOnChain: tokenOnChain, Priority: p}
}

// pending makes a request with a pending job.
func (w *withdrawals[T]) pending(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	return w.do(t, w.approved(t, chain, at).Request.ID, w.enqueued(at, withdrawal.Normal))
}

// processing makes a request whose job is claimed by worker-1.
func (w *withdrawals[T]) processing(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	return w.do(t, w.pending(t, chain, at).Request.ID, withdrawal.Claimed{By: workerAt(at)})
}

// confirming makes a request whose transaction is out, under fence 1.
func (w *withdrawals[T]) confirming(t testing.TB, chain uuid.UUID, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	a := w.processing(t, chain, at)
	p := prepared(&a, at)
	return w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(at), Fence: 1, Hash: p.Hash})
}

// prepared is the next transaction of a claimed job.
func prepared(a *withdrawal.Withdrawal, at time.Time) withdrawal.Prepared {
	p := withdrawal.Prepared{By: workerAt(at), Fence: a.Job.Lease.Fence, Hash: "tx of " + a.Job.ID.String(), Raw: []byte{1, 2, 3}}
	if a.Job.Slot.Valid {
		p.Nonce, p.HasNonce, p.HasChainNonce = a.Wallet.NextNonce, true, a.Wallet.NextNonce == 0
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
func (w *withdrawals[T]) due(t testing.TB, q store.DueWithdrawals) (found []withdrawal.Withdrawal) {
	t.Helper()
	err := w.Update(ctx, func(tx T) (err error) {
		found, err = tx.Withdrawals().Due(q)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
func (w *withdrawals[T]) refuses(t testing.TB, request uuid.UUID, ev withdrawal.Event, rule error, owner uuid.UUID) {
	t.Helper()
	_, err := w.service.Do(ctx, request, ev)
	taken(t, err, rule, owner)
}

func equalIDs(t testing.TB, rule string, got, want []uuid.UUID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s\ngot  %v\nwant %v", rule, got, want)
	}
}
