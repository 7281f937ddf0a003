package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

// randomWithdrawals sends the same random events to the store and to the memory
// adapter and compares answers and records: first some histories that are the
// same each time, then others.
func randomWithdrawals[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	pair := &pair[T]{store: w, reference: newWithdrawals[store.Tx](t, memory.New(memory.Options{}))}
	for seed := range fixedHistories {
		input := make([]byte, 1<<16)
		_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(input)
		t.Run(fmt.Sprint("fixed ", seed), func(t *testing.T) { rapid.MakeFuzz(pair.history)(t, input) })
	}
	if t.Failed() {
		return
	}
	limit := defaultHistories // each event is a commit
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			limit = math.MaxInt
		}
	})
	runs, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > limit && !failed {
			return
		}
		failed = true // until the end, so that a failure is shrunk
		pair.history(rt)
		failed = false
	})
}

const fixedHistories, defaultHistories = 10, 20

type pair[T store.WithdrawalTx] struct {
	store     *withdrawals[T]
	reference *withdrawals[store.Tx]
}

// history is one request's. All ids in it are new, so that nothing depends on
// what earlier histories left behind.
func (p *pair[T]) history(rt *rapid.T) {
	ids := renaming{salt: p.store.id(), known: map[uuid.UUID]bool{}}
	first := ids.event(withdrawaltest.Submissions().Draw(rt, "submission")).(withdrawal.Submitted)
	first.Chain = rapid.SampledFrom([]uuid.UUID{evm, utxos}).Draw(rt, "chain")
	hot := withdrawal.HotWallet{ID: ids.of(uuid.Nil), Chain: first.Chain}
	p.store.putWallet(rt, hot)
	p.reference.putWallet(rt, hot)
	hot.Role, hot.Status = withdrawal.WalletRoleHot, withdrawal.WalletActive
	ids.known[first.Chain] = true
	var adversary withdrawaltest.Adversary
	var a withdrawal.Withdrawal
	for i := range 40 {
		var ev withdrawal.Event = first
		if i > 0 {
			ev = ids.event(adversary.Next(rt, a, []withdrawal.HotWallet{hot}))
		}
		got, gotErr := p.store.service.Do(ctx, first.Request, ev)
		want, wantErr := p.reference.service.Do(ctx, first.Request, ev)
		what := fmt.Sprintf("step %d, %T %+v", i, ev, ev)
		for _, sentinel := range sentinels {
			if errors.Is(gotErr, sentinel) != errors.Is(wantErr, sentinel) {
				rt.Fatalf("%s: got error %v, the memory adapter %v", what, gotErr, wantErr)
			}
		}
		if (gotErr == nil) != (wantErr == nil) {
			rt.Fatalf("%s: got error %v, the memory adapter %v", what, gotErr, wantErr)
		}
		if wantErr == nil {
			same(rt, what, got, want)
			a = want
		}
	}
	same(rt, "the records", p.store.dump(rt, first.Request), p.reference.dump(rt, first.Request))
}

// renaming gives drawn ids new values, each time the same ones.
type renaming struct {
	salt  uuid.UUID
	known map[uuid.UUID]bool // that are new already
}

func (r *renaming) of(id uuid.UUID) uuid.UUID {
	id = uuid.NewSHA1(r.salt, id[:])
	r.known[id] = true
	return id
}

// event renames the ids of an event.
func (r *renaming) event(ev withdrawal.Event) withdrawal.Event {
	renamed := reflect.New(reflect.TypeOf(ev)).Elem()
	renamed.Set(reflect.ValueOf(ev))
	for i := range renamed.NumField() {
		if id, ok := renamed.Field(i).Interface().(uuid.UUID); ok && id != uuid.Nil && !r.known[id] {
			renamed.Field(i).Set(reflect.ValueOf(r.of(id)))
		}
	}
	return renamed.Interface().(withdrawal.Event)
}

var sentinels = []error{statemachine.ErrIllegal, statemachine.ErrInvalid, statemachine.ErrForbidden, statemachine.ErrFenced, statemachine.ErrHeld,
	statemachine.ErrNotFound, statemachine.ErrConflict, withdrawal.ErrActiveJob, withdrawal.ErrNonceTaken, withdrawal.ErrSlotTaken, withdrawal.ErrNoHotWallet}

// eightWorkers pays on a chain with nonces and on one without, through the
// worker loop, and counts what reaches the node.
func eightWorkers[T store.WithdrawalTx](t *testing.T, w *withdrawals[T]) {
	const jobs, workers = 500, 8
	for i := range 6 {
		w.putWallet(t, withdrawal.HotWallet{ID: named(fmt.Sprint("another wallet", i)), Chain: evm})
	}
	requests := make([]uuid.UUID, jobs)
	var commands []store.WithdrawalCommand
	for i := range requests {
		requests[i] = w.id()
		chain := evm
		if i%2 == 0 {
			chain = utxos
		}
		commands = append(commands, store.WithdrawalCommand{Request: requests[i], Events: []withdrawal.Event{submission(requests[i], chain, time.Time{}),
			withdrawal.Approved{By: by(withdrawal.Approver, time.Time{})}, w.enqueued(time.Time{}, withdrawal.Priority(1+i%3))}})
	}
	if _, err := w.service.DoAll(ctx, commands...); err != nil {
		t.Fatal(err)
	}
	node := node{sent: map[uuid.UUID]int{}, nonces: map[string]uuid.UUID{}}
	running, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	var last atomic.Pointer[error] // that a worker met and went on from
	handle := func(_ context.Context, a withdrawal.Withdrawal) store.HeldWithdrawal {
		p := prepared(&a, time.Time{})
		p.Actor = a.Job.Lease.Holder
		held, err := w.service.Held(ctx, store.HeldWithdrawal{Withdrawal: a, Events: []withdrawal.Event{p}})
		if err != nil {
			t.Errorf("%s: %v", a.Request.ID, err)
			stop()
			return store.HeldWithdrawal{Withdrawal: a}
		}
		if node.send(t, &held[0].Txs[0]) == jobs {
			stop()
		}
		return store.HeldWithdrawal{Withdrawal: held[0], Events: []withdrawal.Event{withdrawal.Broadcast{By: p.By, Fence: p.Fence, Hash: p.Hash}}}
	}
	errs := atOnce(workers, func(i int) error {
		source := w.service.Payments([]uuid.UUID{evm, utxos}[i%2], fmt.Sprint("worker-", i))
		return worker.Run(running, source, handle, worker.Options[withdrawal.Withdrawal, store.HeldWithdrawal]{Concurrency: 8,
			Poll:    statemachine.Backoff{Base: time.Millisecond, Cap: 20 * time.Millisecond, JitterPercent: 50},
			Release: source.Release, Panicked: source.Panicked, Hooks: worker.Hooks[withdrawal.Withdrawal, store.HeldWithdrawal]{
				Turned: func(_, _ int, _ time.Duration, err error) {
					if err != nil {
						last.Store(&err)
					}
				}}})
	})
	if err := last.Load(); err != nil && len(node.sent) < jobs {
		t.Errorf("the last error of a worker: %v", *err)
	}
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	for _, request := range requests {
		if n := node.sent[request]; n != 1 {
			t.Fatalf("request %s was broadcast %d times", request, n)
		}
	}
	if len(node.sent) != jobs {
		t.Fatalf("%d broadcasts of %d jobs", len(node.sent), jobs)
	}
	for page := (*withdrawal.Request)(nil); ; {
		last, err := w.service.Audit(ctx, page, 100)
		if err != nil {
			t.Fatal(err)
		}
		if page = last; last == nil {
			break
		}
	}
	stats, err := w.service.Stats(ctx, time.Hour)
	if err != nil || stats.Jobs[withdrawal.JobConfirming] != jobs || stats.Executions != jobs {
		t.Fatalf("stored are %v in %d executions, %v", stats.Jobs, stats.Executions, err)
	}
}

// node counts what is sent to it.
type node struct {
	mu     sync.Mutex
	total  int
	sent   map[uuid.UUID]int
	nonces map[string]uuid.UUID
}

func (n *node) send(t testing.TB, tx *withdrawal.Tx) (total int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent[tx.Request]++
	n.total++
	if tx.HasNonce {
		key := fmt.Sprint(tx.Wallet, tx.Nonce)
		if other, used := n.nonces[key]; used {
			t.Errorf("nonce %d of wallet %s was used for %s and %s", tx.Nonce, tx.Wallet, other, tx.Request)
		}
		n.nonces[key] = tx.Request
	}
	return n.total
}
