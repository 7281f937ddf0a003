package simtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/reactor"
	"github.com/settlehq/settle/store/refresher"
	"github.com/settlehq/settle/store/simtest"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/swap/swaptest"
	"github.com/settlehq/settle/withdrawal"
)

// domains are the hosts of this test, each with a new world.
var domains = map[string]func(uint64) (simtest.Host, []simtest.World){
	"charges":     charges,
	"relays":      relays,
	"refreshes":   refreshes,
	"swaps":       swaps,
	"withdrawals": withdrawals,
	"all":         all,
}

// came is what must come to pass in the runs of a domain.
var came = map[string][]string{
	"charges":   {"lost before", "lost after", "twice", "killed", "stopped", "invoice paid", "paid by hand"},
	"relays":    {"lost before", "lost after", "twice", "killed", "stopped", "relay synced", "given up"},
	"refreshes": {"lost before", "lost after", "twice", "killed", "stopped", "job completed", "watcher transfer"},
	"swaps": {"lost before", "lost after", "twice", "killed", "stopped", "never landed", "deposit debit_confirmed",
		"deposit refund_confirmed", "credit processed", "credit refunded"},
	"all": {"killed", "completed", "invoice paid", "relay synced", "job completed", "deposit debit_confirmed"},
	"withdrawals": {"lost before", "lost after", "twice", "killed", "stopped", "reorganised", "requeued", "completed", "failed", "cancelled",
		"proven dead"},
}

// seeds are how many a domain has in "go test", and in the soak, where a domain has less than a minute.
func seeds(domain string) uint64 {
	if os.Getenv("SETTLE_SOAK") == "" {
		if domain == "all" {
			return 2
		}
		return 12
	}
	return map[string]uint64{"charges": 1_000, "relays": 600, "refreshes": 4_000, "swaps": 1_000, "withdrawals": 3_000, "all": 100}[domain]
}

func options(domain string) simtest.Options {
	if domain == "all" {
		return simtest.Options{Calls: 1_500}
	}
	return simtest.Options{}
}

func TestHosts(t *testing.T) {
	for name, domain := range domains {
		t.Run(name, func(t *testing.T) {
			n, calls, ends, began := seeds(name), 0, map[string]int{}, time.Now()
			for seed := range n {
				host, worlds := domain(seed)
				s := simtest.Run(t, seed, options(name), host, worlds...)
				calls += s.Made
				for end, k := range s.Ends {
					ends[end] += k
				}
			}
			t.Logf("%d seeds, %.0f calls a second, %v", n, float64(calls)/time.Since(began).Seconds(), ends)
			for _, end := range came[name] {
				if ends[end] == 0 && n > 100 {
					t.Errorf("%q never came: it is not tried", end)
				}
			}
		})
	}
}

// The same seed gives the same log.
func TestASeedGivesOneLog(t *testing.T) {
	for name, domain := range domains {
		t.Run(name, func(t *testing.T) {
			for seed := range min(seeds(name)/4, 100) {
				var logs [2][]string
				for i := range logs {
					host, worlds := domain(seed)
					logs[i] = simtest.Run(t, seed, options(name), host, worlds...).Log
				}
				if len(logs[0]) < 40 || !slices.Equal(logs[0], logs[1]) {
					for k := range min(len(logs[0]), len(logs[1])) {
						if logs[0][k] != logs[1][k] {
							t.Fatalf("seed %d, line %d\n%s\n\nand again\n%s", seed, k, strings.Join(logs[0][max(0, k-20):k+1], "\n"), logs[1][k])
						}
					}
					t.Fatalf("seed %d: %d and %d lines", seed, len(logs[0]), len(logs[1]))
				}
			}
		})
	}
}

// all are the five domains in one store, in each process.
func all(seed uint64) (simtest.Host, []simtest.World) {
	var hosts []simtest.Host
	var worlds []simtest.World
	for _, domain := range []func(uint64) (simtest.Host, []simtest.World){charges, relays, refreshes, swaps, withdrawals} {
		host, world := domain(seed)
		hosts, worlds = append(hosts, host), append(worlds, world...)
	}
	return func(ctx context.Context, p *simtest.Process) error {
		var loops []worker.Loop
		for _, host := range hosts {
			loops = append(loops, func(ctx context.Context) error { return host(ctx, p) })
		}
		return worker.All(ctx, loops...)
	}, worlds
}

var pause = statemachine.Backoff{Base: 2 * time.Second, Cap: time.Minute}

func charges(uint64) (simtest.Host, []simtest.World) {
	world := simtest.NewCharges(relaysynctest.Policy())
	world.Policy = dunning.Policy{Grace: 4 * time.Hour, FreshGrace: 10 * time.Minute, NoticeEvery: time.Hour, ChargeAgain: 20 * time.Minute,
		Tick: 10 * time.Minute, Hold: 5 * time.Minute, Linger: 2 * time.Minute, UnknownFor: time.Hour}
	return func(ctx context.Context, p *simtest.Process) error { return bill(ctx, p, world) }, []simtest.World{world}
}

func bill(ctx context.Context, p *simtest.Process, world *simtest.Charges) error {
	provider := world.Provider(p)
	relays, err := store.NewRelays(p, world.Relays)
	if err != nil {
		return err
	}
	tenants, err := store.NewTenants(p, relays, world.Policy)
	if err != nil {
		return err
	}
	steps := tenants.Work(p.Name)
	by := steps.By()
	return worker.Run(ctx, steps, func(ctx context.Context, due store.DueTenant) store.HeldTenant {
		a, end := due.Account, store.HeldTenant{Account: due.Account}
		for do := tenants.Policy().Next(a, due.At).Action; do != nil; do = tenants.Policy().Next(a, due.At).Action {
			var intent, answer dunning.Event
			switch do.Do {
			case dunning.DoCharge:
				intent = dunning.ChargeIntended{By: by, Invoice: do.Invoices[0], Key: do.Key}
			case dunning.DoNotify:
				intent = dunning.NoticeIntended{By: by, Notice: do.Key}
			}
			if intent != nil {
				if _, err := tenants.DoHeld(ctx, a, intent); err != nil {
					return end
				}
			}
			switch do.Do {
			case dunning.DoCharge:
				outcome, err := provider.Charge(ctx, do.Key, do.Amount)
				if err != nil {
					outcome = statemachine.Unknown
				}
				answer = dunning.ChargeAnswered{By: by, Invoice: do.Invoices[0], Key: do.Key, Outcome: outcome, Error: "declined"}
			case dunning.DoLookUp:
				switch outcome, found, err := provider.LookUp(ctx, do.Key); {
				case err != nil:
					return end
				case found:
					answer = dunning.ChargeAnswered{By: by, Invoice: do.Invoices[0], Key: do.Key, Outcome: outcome, Error: "declined"}
				default:
					answer = dunning.ChargeMissing{By: by, Invoice: do.Invoices[0], Key: do.Key, Asked: due.At}
				}
			case dunning.DoNotify:
				answer = dunning.NoticeAnswered{By: by, Notice: do.Key, Outcome: statemachine.Done}
				if provider.Notify(ctx, do.Key) != nil {
					answer = dunning.NoticeAnswered{By: by, Notice: do.Key, Outcome: statemachine.Unknown}
				}
			case dunning.DoChurn:
				answer = dunning.Churned{By: by}
			default:
				return end
			}
			if a, err = tenants.Do(ctx, do.Tenant, answer); err != nil {
				return end
			}
		}
		return end
	}, worker.Options[store.DueTenant, store.HeldTenant]{Concurrency: 1, Poll: pause, Retry: pause, Log: p.Log})
}

func relays(uint64) (simtest.Host, []simtest.World) {
	policy := relaysynctest.Policy()
	policy.MaxAttempts = 2
	world := simtest.NewRelays(policy)
	return func(ctx context.Context, p *simtest.Process) error { return react(ctx, p, world) }, []simtest.World{world}
}

func react(ctx context.Context, p *simtest.Process, world *simtest.Relays) error {
	relays, err := store.NewRelays(p, world.Policy)
	if err != nil {
		return err
	}
	return reactor.Run(ctx, relays, reactor.Options{Name: p.Name, URL: "http://relays.example", Transport: world.Transport(p),
		Concurrency: 1, Log: p.Log,
		Authorize: func(context.Context, relaysync.AuthEvent) (string, error) { return "Nostr x", nil },
		Secret:    func() (string, error) { return fmt.Sprintf("%064x", 1), nil }})
}

func refreshes(seed uint64) (simtest.Host, []simtest.World) {
	policy := refresh.DefaultPolicy()
	policy.MaxWalletProcesses = 1
	world := simtest.NewRefreshes(policy)
	return func(ctx context.Context, p *simtest.Process) error { return keepFresh(ctx, p, world) }, []simtest.World{world}
}

func keepFresh(ctx context.Context, p *simtest.Process, world *simtest.Refreshes) error {
	refreshes, err := store.NewRefreshes(p, world.Policy)
	if err != nil {
		return err
	}
	return refresher.Run(ctx, refreshes, world.Node(p), refresher.Options{Name: p.Name, Log: p.Log})
}

func swaps(uint64) (simtest.Host, []simtest.World) {
	world := simtest.NewSwaps(swaptest.Policy())
	return func(ctx context.Context, p *simtest.Process) error { return swapAll(ctx, p, world) }, []simtest.World{world}
}

// swapper does what an item owes.
type swapper struct {
	*store.Swaps
	chains simtest.Chains
	by     swap.By
}

func swapAll(ctx context.Context, p *simtest.Process, world *simtest.Swaps) error {
	all, err := store.NewSwaps(p, world.Policy)
	if err != nil {
		return err
	}
	s := &swapper{all, world.Chains(p), swap.By{Actor: p.Name, Role: swap.Worker}}
	return all.Run(ctx, store.RunSwaps{Name: p.Name, Concurrency: 1, Poll: pause, Retry: pause, Log: p.Log,
		Deposit: func(ctx context.Context, d swap.Deposit) store.HeldDeposit {
			d, _ = owed(ctx, s, all.Deposits, d)
			return store.HeldDeposit{Deposit: d, Events: []swap.Event{swap.GivenBack{By: s.by, Fence: d.Lease.Fence}}}
		},
		Credit: func(ctx context.Context, c swap.Credit) store.HeldCredit {
			c, _ = owed(ctx, s, all.Credits, c)
			return store.HeldCredit{Credit: c, Events: []swap.Event{swap.GivenBack{By: s.by, Fence: c.Lease.Fence}}}
		}})
}

type items[A any] interface {
	Do(ctx context.Context, id string, events ...swap.Event) (A, error)
	Next(ctx context.Context, id string) (swap.Step, time.Time, error)
}

func headOf[A any](item *A) *swap.Item { return any(item).(swap.Record).Head() }

func owed[A any](ctx context.Context, s *swapper, of items[A], item A) (A, error) {
	version := int64(-1)
	for n := 0; n < 8 && version != headOf(&item).Version; n++ { // each look-up may change the item
		version = headOf(&item).Version
		step, now, err := of.Next(ctx, headOf(&item).ID)
		if err != nil {
			return item, err
		}
		for _, task := range step.Tasks {
			next, err := do(ctx, s, of, item, task, now)
			if err != nil {
				return item, err
			}
			item = next
		}
	}
	return item, nil
}

func do[A any](ctx context.Context, s *swapper, of items[A], item A, t swap.Task, now time.Time) (A, error) {
	head := headOf(&item)
	var ev swap.Event
	switch t.Do {
	case swap.FetchMemo:
		memo, err := s.chains.Memo(ctx, head.ID)
		ev = swap.MemoFetched{By: s.by, Memos: []string{memo}, Failed: err != nil}
	case swap.CheckAccount:
		ev = swap.AccountChecked{By: s.by, State: s.chains.Account(ctx, head.ID)}
	case swap.LookUpMapping:
		looked := swap.MappingLooked{By: s.by, Asked: now, Finding: swap.MappingFound, TxID: head.ID, Owner: "bob", Account: "bob-usdc"}
		switch s.chains.Account(ctx, head.ID) {
		case swap.AccountUnknown:
			looked.Finding = swap.MappingUnknown
		case swap.AccountMissing:
			looked.Finding = swap.MappingMissing
		}
		ev = looked
	case swap.CountConfirmations:
		ev = swap.Confirmations{By: swap.By{Actor: s.by.Actor, Role: swap.Observer}, Asked: now, Count: 2}
	case swap.LookUp:
		in := head.Intent(t.Number)
		if in == nil {
			return item, nil
		}
		before, err := s.chains.Height(ctx, in.Chain)
		if err != nil {
			return item, err
		}
		looked := swap.Looked{By: s.by, Number: t.Number, Finding: swap.LookUnknown}
		if seen, found, after, err := s.chains.Look(ctx, in); err == nil {
			looked.Finding = swap.LookMissing
			if found {
				looked.Finding, looked.Seen = swap.LookFound, seen
			}
			looked.View = swap.View{From: in.At.Add(-s.Policy().WaterlineMargin), Asked: now, ByID: true, ByMemo: true,
				Before: before, After: after, CannotLand: in.Chain == swap.Nexus && now.After(in.SendBy) || in.LastValid > 0 && before > in.LastValid}
		}
		ev = looked
	case swap.Begin:
		return begin(ctx, s, of, item, t)
	default:
		ev = swap.Elapsed{By: s.by}
	}
	return of.Do(ctx, head.ID, ev)
}

// begin stores what it is about to send, sends it, and says what came of it.
func begin[A any](ctx context.Context, s *swapper, of items[A], item A, t swap.Task) (A, error) {
	head := headOf(&item)
	ev := swap.Begun{By: s.by, Fence: head.Lease.Fence, Number: t.Number, Action: t.Action}
	if t.Chain == swap.Solana {
		height, err := s.chains.Height(ctx, t.Chain)
		if err != nil {
			return item, err
		}
		ev.Signature, ev.LastValid = fmt.Sprintf("%s-%d-%s-%d", head.ID, t.Number, s.by.Actor, height), height+60
	}
	item, err := of.Do(ctx, head.ID, ev)
	if err != nil {
		return item, err
	}
	head = headOf(&item)
	in := head.Intent(t.Number)
	answer := swap.Answered{By: s.by, Fence: head.Lease.Fence, Number: in.Number, Outcome: statemachine.Deferred,
		Reason: "the lease is almost over"}
	if in.SendBy.Sub(in.At) > 2*s.Policy().CallTimeout {
		call, cancel := context.WithTimeout(ctx, s.Policy().CallTimeout)
		defer cancel()
		id, err := s.chains.Send(call, simtest.Outbound{Chain: in.Chain, Item: head.ID, Signature: in.Signature,
			Destination: in.Destination, Memo: in.Memo, Reference: in.Reference, LastValid: in.LastValid, Amount: in.Net})
		answer.Outcome, answer.TxID, answer.Reason = statemachine.Done, id, ""
		if err != nil {
			answer.Outcome, answer.TxID, answer.Reason = statemachine.Unknown, "", err.Error()
		}
	}
	return of.Do(ctx, head.ID, answer)
}

func withdrawals(uint64) (simtest.Host, []simtest.World) {
	world := simtest.NewWithdrawals()
	return func(ctx context.Context, p *simtest.Process) error { return pay(ctx, p, world) }, []simtest.World{world}
}

func pay(ctx context.Context, p *simtest.Process, world *simtest.Withdrawals) error {
	service, err := store.NewWithdrawals(p, world.Policy)
	if err != nil {
		return err
	}
	node := world.Node(p)
	say := func(w withdrawal.Withdrawal, events ...withdrawal.Event) store.HeldWithdrawal {
		return store.HeldWithdrawal{Withdrawal: w, Events: events}
	}
	send := func(ctx context.Context, w *withdrawal.Withdrawal, tx withdrawal.Tx) error {
		return node.Send(ctx, simtest.Payment{Hash: tx.Hash, Input: tx.Input, Request: w.Request.ID})
	}
	pay := func(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
		by, fence := withdrawal.By{Actor: p.Name, Role: withdrawal.WithdrawalWorker}, w.Job.Lease.Fence
		if w.Job.Status == withdrawal.JobConfirming {
			tx := w.Live()[0]
			return say(w, withdrawal.Rebroadcast{By: by, Fence: fence, Hash: tx.Hash, Done: send(ctx, &w, tx) == nil})
		}
		if len(w.Live()) == 0 {
			input, err := node.Coin(ctx)
			if err != nil {
				return say(w, withdrawal.AttemptFailed{By: by, Fence: fence, Failure: withdrawal.Retryable, Error: err.Error()})
			}
			hash := fmt.Sprintf("%d by %s", w.Request.ID[1], input)
			stored, err := service.DoHeld(ctx, say(w, withdrawal.Prepared{By: by, Fence: fence, Hash: hash, Raw: []byte(hash), Input: input}))
			if err != nil {
				return say(w)
			}
			w = stored[0]
		}
		tx := w.Live()[0]
		if err := send(ctx, &w, tx); err != nil {
			return say(w, withdrawal.AttemptFailed{By: by, Fence: fence, Failure: withdrawal.Unclear, Error: err.Error()})
		}
		return say(w, withdrawal.Broadcast{By: by, Fence: fence, Hash: tx.Hash})
	}
	look := func(ctx context.Context, w withdrawal.Withdrawal) store.HeldWithdrawal {
		by, tx := withdrawal.By{Actor: p.Name, Role: withdrawal.ConfirmationWorker}, w.Live()[0]
		switch block, mined, other, err := node.Look(ctx, tx.Hash, tx.Input); {
		case err != nil:
			return say(w, withdrawal.Missing{By: by, Tx: tx.Hash, Error: err.Error()})
		case mined:
			return say(w, withdrawal.Receipt{By: by, Tx: tx.Hash, Block: block, GasUsed: "1", GasPrice: "1"})
		case other != "":
			return say(w, withdrawal.ProvenDead{By: by, Block: block, Tx: tx.Hash, Cause: withdrawal.InputSpent, Other: other, Input: tx.Input,
				NotThisPayment: true})
		}
		return say(w, withdrawal.Missing{By: by, Tx: tx.Hash})
	}
	order := func(r withdrawal.Request) withdrawal.Enqueued {
		return withdrawal.Enqueued{By: withdrawal.By{Actor: p.Name, Role: withdrawal.System}, Job: node.Job(), AssetOnChain: r.Asset,
			Priority: withdrawal.Normal}
	}
	return service.Run(ctx, store.RunWithdrawals{Name: p.Name, Chains: []uuid.UUID{world.Chain}, Pay: pay, Look: look, Order: order,
		Concurrency: 1,
		Poll:        pause, Retry: pause, CallTimeout: 5 * time.Second, Log: p.Log})
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what a service logs of a lost answer
	os.Exit(m.Run())
}
