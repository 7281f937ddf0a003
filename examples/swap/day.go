package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/claims"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
)

// errNotProven: the report says what does not hold.
var errNotProven = errors.New("the proof failed: see the report")

// story is the day under way.
type story struct {
	options
	diary
	log     io.Writer
	people  []observation
	end     time.Duration // when the last line of the file comes in
	chains  map[swap.Chain]*children.Process
	urls    map[swap.Chain]string
	kills   int64
	random  *rand.Rand
	db      *program.Database
	schema  string // of PostgreSQL
	swaps   *store.Swaps
	world   *world
	workers []*children.Process
	stop    func() // ends watcher and workers, and waits for them
}

// day runs everything and prints the report.
func day(ctx context.Context, o options, stdout, stderr io.Writer) error {
	s := &story{options: o, log: children.Log(stderr), chains: map[swap.Chain]*children.Process{}, urls: map[swap.Chain]string{},
		random: rand.New(rand.NewPCG(o.seed, 2))}
	var err error
	if s.people, err = readFile(o.file); err != nil {
		return err
	}
	continued, err := s.recall()
	if err != nil {
		return err
	}
	if continued {
		s.say("the day in %s goes on", s.dir)
	}
	for _, p := range s.people {
		s.end = max(s.end, time.Duration(p.At)*time.Millisecond)
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	chainsCtx, stopChains := context.WithCancel(ctx)
	var chains sync.WaitGroup
	defer chains.Wait()
	defer stopChains()
	for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
		if err := s.startChain(limited, chainsCtx, &chains, c); err != nil {
			return err
		}
	}
	ended := s.traffic(limited)
	if s.stop != nil {
		s.stop()
	}
	if ended != nil {
		s.say("not finished: %v", ended)
	}
	if s.db == nil {
		return ended
	}
	defer s.db.Close()
	r, err := s.report(context.WithoutCancel(ctx), ended)
	if err != nil {
		return err
	}
	if err := r.print(stdout, o.json); err != nil {
		return err
	}
	if !claims.Pass(r.Proof) {
		return errNotProven
	}
	return nil
}

func (s *story) say(format string, args ...any) {
	fmt.Fprintf(s.log, "%6.1fs  %s\n", time.Since(s.Began).Seconds(), fmt.Sprintf(format, args...))
}

func (s *story) ledger(c swap.Chain) string { return filepath.Join(s.dir, c.String()+".ledger") }

func (s *story) startChain(ctx, life context.Context, group *sync.WaitGroup, c swap.Chain) error {
	ready := make(chan string, 1)
	config := chain.Config{Name: c.String(), File: s.ledger(c), Address: "127.0.0.1:0", BlockEvery: blockEvery,
		Finality: finality, Faults: faults}
	p := &children.Process{Role: roleChain, Log: s.log, Config: func(start int) any {
		config.Faults.Seed = s.seed + uint64(c) + uint64(start)<<32
		return config
	}, Ready: func(address string) {
		config.Address = address
		select {
		case ready <- address:
		default:
		}
	}}
	s.chains[c] = p
	group.Go(func() { p.Keep(life) })
	select {
	case address := <-ready:
		s.urls[c] = "http://" + address
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open takes a database, the first or a new one, and starts workers and watcher on
// it.
func (s *story) open(ctx context.Context, prepare func(*store.Swaps) error) error {
	name, schema := s.options.db, ""
	switch {
	case program.IsPostgres(name):
		schema = fmt.Sprintf("%s_%d", s.options.schema, s.Losses)
	case s.Losses > 0:
		name = fmt.Sprintf("%s.%d", name, s.Losses)
	}
	db, err := program.Open(ctx, name, program.Options{Options: sqlstore.Options{Schema: schema}, Before: program.Migrate})
	if err != nil {
		return err
	}
	s.db, s.schema = db, schema
	if s.swaps, err = store.NewSwaps(db, policy); err != nil {
		return err
	}
	s.world = newWorld(s.swaps, s.urls[swap.Solana], s.urls[swap.Nexus], s.people, s.Began, "watcher", 10*time.Second)
	if err := prepare(s.swaps); err != nil {
		return err
	}
	s.Whole = true
	if err := s.note(); err != nil {
		return err
	}
	life, end := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { watch(life, s.swaps, s.world, s.say) })
	group.Go(func() { operate(life, s.swaps, s.say) })
	s.workers = nil
	for i := range s.options.workers {
		p := &children.Process{Role: roleWorker, Log: s.log, Config: func(start int) any {
			return workerConfig{Database: name, Schema: schema, Solana: s.urls[swap.Solana], Nexus: s.urls[swap.Nexus], File: s.file, Began: s.Began,
				Name: fmt.Sprintf("worker-%d-%d-%d-%d", s.Losses, s.Run, i+1, start)}
		}}
		s.workers = append(s.workers, p)
		group.Go(func() { p.Keep(life) })
	}
	s.stop = func() {
		end()
		group.Wait()
		for _, p := range s.workers {
			s.kills += p.Kills()
		}
		s.stop = nil
	}
	return nil
}

// traffic is the day: what comes in, and what goes wrong meanwhile.
func (s *story) traffic(ctx context.Context) error {
	// The ledgers are as old as the database: nothing was lost. Else a first start calls Restored.
	prepare := func(*store.Swaps) error { return nil }
	rebuilt := func(sw *store.Swaps) error { return rebuild(ctx, sw, s.world, s.say) }
	if !s.Whole && s.Losses > 0 {
		prepare = rebuilt
	}
	if err := s.open(ctx, prepare); err != nil {
		return err
	}
	s.say("%d lines come in over %.0f s; %d workers; the ledgers are in %s", len(s.people), s.end.Seconds(), s.options.workers, s.dir)
	feeding := make(chan error, 1)
	go func() { feeding <- s.feed(ctx) }()
	at := func(part float64) { children.Pause(ctx, time.Until(s.Began.Add(time.Duration(part*float64(s.end))))) }
	kill := func() {
		if p := s.workers[s.random.IntN(len(s.workers))]; p.Kill() {
			s.say("a worker is killed")
		}
	}
	if s.Losses == 0 { // else a day that is continued has this behind it
		at(0.1)
		kill()
		at(0.2)
		if err := s.stopped(ctx, func() { at(0.35); kill() }); err != nil {
			return err
		}
		at(0.4)
		s.killChain(swap.Solana)
		if broken := s.begunWhileStopped(ctx); broken != nil {
			return broken
		}
		at(0.5)
		for _, p := range s.workers {
			p.Kill()
		}
		s.stop()
		if err := s.db.Close(); err != nil {
			return err
		}
		if err := s.lose(); err != nil {
			return err
		}
		s.say("all workers are killed and the database is lost")
		if err := s.open(ctx, rebuilt); err != nil {
			return err
		}
	}
	for part := 0.6; part < 1; part += 0.1 {
		at(part)
		kill()
	}
	s.killChain(swap.Nexus)
	if err := <-feeding; err != nil {
		return err
	}
	s.say("everything is in")
	return s.finish(ctx)
}

// stopped lets no new swap begin while something happens. A swap is begun meanwhile if
// it was begun after the stop was quiet and before the start was asked for, however long they take.
func (s *story) stopped(ctx context.Context, meanwhile func()) error {
	stop, err := store.NewSwitches(s.db)
	if err != nil {
		return err
	}
	by := switches.By{Actor: "oscar", Role: switches.Operator}
	for _, d := range swap.Direction(0).Values() {
		_, quiet, err := stop.Stop(ctx, switches.Stopped{By: by, Scope: swap.Scope(d), Level: switches.Begin, Reason: "no new swaps for a while"})
		if err == nil && quiet.Since.IsZero() {
			err = fmt.Errorf("the %ss may still begin: %+v", d, quiet.Open)
		}
		if err != nil {
			return err
		}
	}
	s.Stopped = [2]time.Time{time.Now()}
	s.say("new swaps are stopped")
	meanwhile()
	s.Stopped[1] = time.Now()
	for _, d := range swap.Direction(0).Values() {
		if _, err := stop.Start(ctx, switches.Started{By: by, Scope: swap.Scope(d), To: switches.On, Reason: "over"}); err != nil {
			return err
		}
	}
	s.say("and go on")
	return s.note()
}

// killChain is a crash of a chain: what it took and has in no block is gone.
func (s *story) killChain(c swap.Chain) {
	if s.chains[c].Kill() {
		s.kills++
		s.say("the %v process is killed", c)
	}
}

// feed sends the file to the chains, each line at its time.
func (s *story) feed(ctx context.Context) error {
	order := append([]observation(nil), s.people...)
	var group sync.WaitGroup
	errs := make(chan error, len(order))
	for _, o := range order {
		group.Go(func() {
			children.Pause(ctx, time.Until(s.Began.Add(time.Duration(o.At)*time.Millisecond)))
			c, to, token := swap.Solana, "solana-vault", policy.USDC
			if !o.deposit() {
				c, to, token = swap.Nexus, "nexus-treasury", policy.USDD
			}
			client := chain.NewClient(s.urls[c], 10*time.Second)
			for ctx.Err() == nil {
				err := client.Receive(ctx, chain.Transfer{ID: o.ID, From: o.From, To: to, Amount: o.units, Token: token, Time: time.Now().UTC()})
				if err == nil {
					return
				}
				children.Pause(ctx, blockEvery)
			}
			errs <- ctx.Err()
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

// finish waits until no item owes anything.
func (s *story) finish(ctx context.Context) error {
	for last := -1; ; {
		left, err := s.unfinished(ctx)
		if err != nil || left == 0 {
			return err
		}
		if left != last {
			s.say("%d items are under way", left)
			last = left
		}
		if children.Pause(ctx, 300*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("%d items are not finished", left)
		}
	}
}

// unfinished counts what owes something, and what is not in the records. An item that an
// order moves behind the sweep is not met, and so is counted too.
func (s *story) unfinished(ctx context.Context) (n int, err error) {
	met := map[string]bool{}
	err = each(ctx, s.swaps, func(r swap.Record) error {
		met[r.Head().ID] = true
		if r.Place() == swap.Unprocessed || !r.Head().CheckAt.IsZero() || decides(r, swap.By{}) != nil {
			n++
		}
		return nil
	})
	seen := map[string]bool{}
	for _, p := range s.people {
		seen[p.ID] = true
	}
	return n + max(0, len(seen)-len(met)), err
}

// each visits all items.
func each(ctx context.Context, s *store.Swaps, visit func(swap.Record) error) error {
	for _, place := range swap.Place(0).Values() {
		for after := ""; ; {
			page, err := s.Deposits.List(ctx, place, after, 500)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for k := range page {
				if err := visit(&page[k]); err != nil {
					return err
				}
			}
			after = page[len(page)-1].ID
		}
		for after := ""; ; {
			page, err := s.Credits.List(ctx, place, after, 500)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for k := range page {
				if err := visit(&page[k]); err != nil {
					return err
				}
			}
			after = page[len(page)-1].ID
		}
	}
	return nil
}

// begunWhileStopped is an error if a new swap was begun while the switch stopped it.
func (s *story) begunWhileStopped(ctx context.Context) error {
	return each(ctx, s.swaps, func(r swap.Record) error {
		for _, in := range r.Head().Intents {
			if in.Action == swap.Send && in.At.After(s.Stopped[0]) && in.At.Before(s.Stopped[1]) {
				return fmt.Errorf("%s: a swap was begun at %v, while they were stopped", r.Head().ID, in.At)
			}
		}
		return nil
	})
}

// decides is what the operator orders of an item; nil: nothing.
func decides(r swap.Record, oscar swap.By) swap.Event {
	const reason = "looked at the ledgers"
	i := r.Head()
	switch {
	case i.Hold.Kind == swap.ByMemo:
		return swap.Released{By: oscar, Reason: reason}
	case i.Hold.Kind == 0 && (i.Lost != 0 || i.CheckAt.IsZero() && r.State() == swap.DepositQuarantineFailed.String()),
		i.Hold.Kind == 0 && i.CheckAt.IsZero() && r.State() == swap.CreditQuarantined.String() && len(i.Intents) > 0 &&
			i.Intents[len(i.Intents)-1].Proof != 0:
		return swap.Requeued{By: oscar, Reason: reason}
	}
	return nil
}

// operate is the operator: what only a person may decide.
func operate(ctx context.Context, s *store.Swaps, log func(string, ...any)) {
	oscar := swap.By{Actor: "oscar", Role: swap.Operator}
	for ctx.Err() == nil {
		_ = each(ctx, s, func(r swap.Record) error {
			id := r.Head().ID
			ev := decides(r, oscar)
			if ev == nil {
				return nil
			}
			var err error
			if r.Machine() == swap.DepositMachine.Name() {
				_, err = s.Deposits.Do(ctx, id, ev)
			} else {
				_, err = s.Credits.Do(ctx, id, ev)
			}
			if err == nil {
				log("oscar says %s of %s", statemachine.EventName(ev), id)
			}
			return nil
		})
		children.Pause(ctx, 200*time.Millisecond)
	}
}
