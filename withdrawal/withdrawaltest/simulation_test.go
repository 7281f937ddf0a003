package withdrawaltest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/hostile"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// Two workers, a signer, a confirmation worker and an operator against a hostile
// chain that never lies. Who was paid is counted on the chain alone: each request
// at most once at any moment, and in the end exactly those that are completed, by
// the transaction that they name; and with an operator who answers all end.
func TestAHostileTruthfulChain(t *testing.T) {
	seeds := uint64(500)
	if os.Getenv("SETTLE_SOAK") != "" {
		seeds = 10_000
	}
	ends := map[string]int{}
	for seed := range seeds {
		x := newSimulation(t, seed)
		x.run(ends)
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, strings.Join(x.log, "\n"))
		}
	}
	t.Logf("%d seeds: %v", seeds, ends)
	for _, end := range []string{"completed", "failed", "cancelled", "rebumped", "cancelled by a replacement", "paid by another", "proven dead",
		"cannot tell", "reorganised", "reverted", "not sent", "found sent", "answered late", "lease lost", "held", "requeued", "refunded",
		"answer lost", "the clock is set"} {
		if ends[end] < int(seeds/100) {
			t.Errorf("%q came %d times in %d seeds: it is not tried", end, ends[end], seeds)
		}
	}
}

// A failure prints its seed, and the seed gives the same log on every machine.
func TestASeedGivesOneLog(t *testing.T) {
	for seed := range uint64(100) {
		var logs [2]string
		for i := range logs {
			x := newSimulation(t, seed)
			x.run(map[string]int{})
			logs[i] = strings.Join(x.log, "\n")
		}
		if logs[0] == "" || logs[0] != logs[1] {
			t.Fatalf("seed %d\n%s\n\nand again\n%s", seed, logs[0], logs[1])
		}
	}
}

type simulation struct {
	*rand.Rand
	t      *testing.T
	now    time.Time     // by the store's clock
	off    time.Duration // by how much somebody has set that ahead
	policy withdrawal.Policy
	s      *store.Withdrawals
	chain  *hostile.Chain
	id     uuid.UUID // of the chain

	signer   bool // executions are dispatched to a signer that also sends
	wallets  []withdrawal.HotWallet
	requests []uuid.UUID
	hands    []hand
	inbox    []func() // what is on its way
	txs      map[string]*hostile.Tx
	signed   map[string]*hostile.Tx // by reference
	refused  map[string]bool        // references that the signer will never serve
	next     map[uuid.UUID]uint64
	made     int
	calm     bool
	lost     bool // the last call was not answered: it may have landed
	ends     map[string]int
	log      []string
}

// hand is a worker with its clock and what it has in hand.
type hand struct {
	source store.WithdrawalSource
	by     withdrawal.By
	skew   time.Duration
	item   *worker.Item[withdrawal.Withdrawal]
	until  time.Time // the end of its lease, by a clock that is never set
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	x := &simulation{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, now: withdrawaltest.Start, policy: withdrawal.DefaultPolicy(), id: uuid.UUID{1},
		txs: map[string]*hostile.Tx{}, signed: map[string]*hostile.Tx{}, refused: map[string]bool{}, next: map[uuid.UUID]uint64{}}
	x.calm = true // until all is there
	x.signer = x.IntN(3) == 0
	x.chain = &hostile.Chain{Rand: x.Rand, Nonces: x.IntN(2) == 0}
	x.policy.Chain = withdrawal.Chain{Nonces: x.chain.Nonces, Confirmations: hostile.FinalDepth}
	x.policy.MaxRetries = 1 + int32(x.IntN(4))
	x.policy.HoldInsufficient = x.IntN(2) == 0
	x.policy.Chain.AnswerWithin = answersWithin
	var err error
	under := bus{memory.New(memory.Options{Now: func() time.Time { return x.now }}), x}
	if x.s, err = store.NewWithdrawals(under, x.policy); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		x.wallets = append(x.wallets, withdrawal.HotWallet{ID: uuid.UUID{2, byte(i)}, Chain: x.id, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive})
		name := fmt.Sprint("worker ", i)
		x.hands = append(x.hands, hand{x.s.Payments(x.id, name), withdrawal.By{Actor: name, Role: withdrawal.WithdrawalWorker}, time.Duration(x.IntN(600)-300) * time.Second, nil, time.Time{}})
	}
	x.hands = append(x.hands, hand{x.s.Lookups(x.id, "checker"), withdrawal.By{Actor: "checker", Role: withdrawal.ConfirmationWorker}, 0, nil, time.Time{}})
	x.must(x.s.PutHotWallet(context.Background(), withdrawal.By{Actor: "olga", Role: withdrawal.Operator}, x.wallets...))
	for i := range 1 + x.IntN(4) {
		id := uuid.UUID{3, byte(i)}
		x.requests = append(x.requests, id)
		_, err := x.s.Submit(context.Background(), withdrawal.Submitted{By: withdrawal.By{Actor: "api", Role: withdrawal.System}, Request: id, User: uuid.UUID{4},
			Asset: uuid.UUID{5}, Chain: x.id, ToAddress: fmt.Sprint("payee ", i), Amount: "1", Decimals: 6})
		x.must(err)
		_, err = x.s.Do(context.Background(), id, withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}})
		x.must(err)
	}
	x.calm = false
	return x
}

// bus is the store as a database shows it: in the chaos it runs a function of a transaction twice, of
// which the first run changes nothing, and the answer of a commit is lost, made or not.
type bus struct {
	*memory.Store
	x *simulation
}

func (b bus) Update(ctx context.Context, fn func(store.Unit) error) error {
	k := 0
	if !b.x.calm {
		k = 1 + b.x.IntN(60)
	}
	switch k {
	case 1:
		return fmt.Errorf("before it: %w", store.ErrUnknownCommit)
	case 2, 3:
		again := errors.New("run it again")
		_ = b.Store.Update(ctx, func(tx store.Unit) error { return errors.Join(fn(tx), again) })
	}
	err := b.Store.Update(ctx, fn)
	if err == nil && k == 4 {
		return fmt.Errorf("after it: %w", store.ErrUnknownCommit)
	}
	return err
}

func (x *simulation) say(format string, args ...any) {
	x.log = append(x.log, x.now.Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// must fails the test at what is no refusal. A refusal is an answer; without one the caller forgets
// what it had, as if it had died.
func (x *simulation) must(err error) bool {
	x.t.Helper()
	if x.lost = errors.Is(err, store.ErrUnknownCommit); x.lost {
		x.ends["answer lost"]++
		x.say("  no answer: %v", err)
		return false
	}
	for _, refusal := range []error{statemachine.ErrIllegal, statemachine.ErrInvalid, statemachine.ErrForbidden, statemachine.ErrFenced, statemachine.ErrHeld,
		statemachine.ErrConflict, withdrawal.ErrNonceUsed, withdrawal.ErrNonceTaken, withdrawal.ErrNonceGap, withdrawal.ErrPaymentTaken, withdrawal.ErrSlotTaken, withdrawal.ErrNoHotWallet} {
		if errors.Is(err, refusal) {
			x.say("  refused: %v", err)
			return false
		}
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return true
}

func (x *simulation) get(id uuid.UUID) withdrawal.Withdrawal {
	w, err := x.s.Get(context.Background(), id)
	x.must(err)
	return w
}

func (x *simulation) do(id uuid.UUID, ev withdrawal.Event) bool {
	x.say("%v: %T %+v", id[1], ev, ev)
	_, err := x.s.Do(context.Background(), id, ev)
	return x.must(err)
}

// run is a time of chaos, and then one in which everybody does what is asked.
func (x *simulation) run(ends map[string]int) {
	x.ends = ends
	for range 40 + x.IntN(160) {
		x.now = x.now.Add(time.Duration(x.IntN(40)) * time.Second)
		switch k := x.IntN(23); {
		case k < 8:
			x.work(&x.hands[x.IntN(2)])
		case k < 11:
			x.work(&x.hands[2])
		case k < 13:
			x.deliver()
		case k < 15:
			x.mine()
		case k < 18:
			x.hostile()
		case k == 18:
			x.operate(x.requests[x.IntN(len(x.requests))])
		case k == 19:
			x.now = x.now.Add(time.Duration(x.IntN(10)) * time.Minute)
		case k == 20:
			x.set()
		default:
			x.housekeeping()
		}
		if x.t.Failed() {
			return
		}
	}
	x.calm, x.now, x.off = true, x.real(), 0
	for _, w := range x.wallets {
		w.Status = withdrawal.WalletActive
		x.must(x.s.PutHotWallet(context.Background(), withdrawal.By{Actor: "olga", Role: withdrawal.Operator}, w))
	}
	for round := 0; !x.ended(); round++ {
		if round == 600 {
			for _, id := range x.requests {
				w := x.get(id)
				x.t.Errorf("request %d does not end: %s, job %s, review %v; next %+v", id[1], w.Request.Status, w.Job.Status, w.Job.Review, x.policy.Next(w, x.now))
			}
			return
		}
		x.now = x.now.Add(time.Minute)
		for len(x.inbox) > 0 {
			x.deliver()
		}
		x.housekeeping()
		for i := range x.hands {
			for range 4 {
				x.work(&x.hands[i])
			}
		}
		for _, id := range x.requests {
			x.operate(id)
		}
		x.mine()
	}
	x.count()
}

// real is the time by a clock that is never set, as a worker and a signer have one.
func (x *simulation) real() time.Time { return x.now.Add(-x.off) }

// set sets the store's clock to a time that a rule waits for, or days away, or right.
func (x *simulation) set() {
	j := x.get(x.requests[x.IntN(len(x.requests))]).Job
	to := []time.Time{x.real(), j.Lease.Until, j.ScheduledAt, j.NextCheckAt, j.CreatedAt, x.now.Add(48 * time.Hour), x.now.Add(-48 * time.Hour)}[x.IntN(7)]
	if to.IsZero() {
		return
	}
	to = to.Add(time.Duration(x.IntN(3)-1) * time.Microsecond)
	x.now, x.off = to, x.off+to.Sub(x.now)
	x.ends["the clock is set"]++
	x.say("the clock is set, %v ahead", x.off)
}

func (x *simulation) ended() bool {
	return !slices.ContainsFunc(x.requests, func(id uuid.UUID) bool {
		w := x.get(id)
		return !withdrawal.RequestMachine.Terminal(w.Request.Status) && w.Request.Status != withdrawal.RequestFailed
	})
}

// count compares the chain with what is stored.
func (x *simulation) count() {
	for _, id := range x.requests {
		w, paid := x.get(id), x.chain.Best().Paid(id)
		x.ends[w.Request.Status.String()]++
		if completed := w.Request.Status == withdrawal.RequestCompleted; completed != (len(paid) == 1) || completed && w.Request.FinalTxHash != paid[0] {
			x.t.Errorf("request %d is %s by %q, the chain has %q", id[1], w.Request.Status, w.Request.FinalTxHash, paid)
		}
		if err := withdrawal.Check(w); err != nil {
			x.t.Errorf("request %d: %v", id[1], err)
		}
		if w.Request.RefundReference != "" && len(paid) > 0 {
			x.t.Errorf("request %d is refunded, the chain has %q", id[1], paid)
		}
		if w.Request.Mined != "" || w.Request.StraysSent > 0 {
			x.t.Errorf("request %d: nobody lied, and there is an incident: %+v", id[1], w.Request)
		}
	}
}

func (x *simulation) mine() {
	x.chain.Mine()
	for _, id := range x.requests {
		if paid := x.chain.Best().Paid(id); len(paid) > 1 {
			x.t.Errorf("request %d is paid by %q", id[1], paid)
		}
	}
}

// deliver lets something on its way arrive, in any order; in the chaos it may get lost.
func (x *simulation) deliver() {
	if len(x.inbox) == 0 {
		return
	}
	i := x.IntN(len(x.inbox))
	arrive := x.inbox[i]
	x.inbox = slices.Delete(x.inbox, i, i+1)
	if x.calm || x.IntN(5) > 0 {
		arrive()
		if !x.calm && x.IntN(6) == 0 {
			x.inbox = append(x.inbox, arrive)
		}
	}
}

// hostile is what a chain may do, and others who have the keys of a wallet.
func (x *simulation) hostile() {
	switch k := x.IntN(4); {
	case k == 0:
		x.chain.Reorg()
		x.ends["reorganised"]++
	case k == 1:
		x.chain.Forget()
	case len(x.chain.Waiting()) > 0: // the same payment, or another one, with the same coin
		of := x.chain.Waiting()[x.IntN(len(x.chain.Waiting()))]
		tx := x.newTx(of.Coin, uuid.Nil)
		if k == 2 {
			tx.Pays = of.Pays
		}
		x.say("outside: %s of %v pays %v", tx.Hash, tx.Coin, tx.Pays[1])
		x.chain.Send(tx)
	}
}

func (x *simulation) newTx(of hostile.Coin, pays uuid.UUID) *hostile.Tx {
	x.made++
	tx := &hostile.Tx{Hash: fmt.Sprint("tx ", x.made), Coin: of, Pays: pays, Reverted: x.chain.Nonces && x.IntN(25) == 0}
	x.txs[tx.Hash] = tx
	return tx
}

// answersWithin is how long the signer may take. Its answers are delivered, in the
// chaos, whenever they are: a bookkeeper who is told so waits longer than any run.
const answersWithin = 365 * 24 * time.Hour

// refund is the bookkeeper, who gives back what is due at any moment.
func (x *simulation) refund() {
	if !x.calm && x.IntN(5) > 0 {
		return
	}
	due, _, err := x.s.RefundsDue(context.Background(), 10)
	x.must(err)
	for _, w := range due {
		if !x.do(w.Request.ID, withdrawal.Refunded{By: withdrawal.By{Actor: "bookkeeper", Role: withdrawal.System},
			Reference: fmt.Sprint("refund of ", w.Request.ID[1])}) && !x.lost {
			x.t.Errorf("request %d is due for a refund, and it is refused", w.Request.ID[1])
		}
		x.ends["refunded"]++
	}
}

func (x *simulation) housekeeping() {
	_, _, err := x.s.Rescue(context.Background(), withdrawal.By{Actor: "rescuer", Role: withdrawal.System}, 10)
	x.must(err)
	x.refund()
	_, _, err = x.s.EnqueueDue(context.Background(), x.id, 10, func(withdrawal.Request) withdrawal.Enqueued {
		x.made++
		return withdrawal.Enqueued{By: withdrawal.By{Actor: "enqueuer", Role: withdrawal.System}, Job: uuid.UUID{6, byte(x.made >> 8), byte(x.made)}, AssetOnChain: uuid.UUID{7}, Priority: withdrawal.Normal}
	})
	x.must(err)
}
