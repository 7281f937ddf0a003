package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// errNotProven: the report says what does not hold.
var errNotProven = errors.New("the proof failed: see the report")

// chaosFaults is how the node misbehaves with -chaos. Somebody else has the keys too (Usurp), which switches a
// hot wallet off until one of the operators has explained what was sent.
var chaosFaults = node.Faults{Errors: 20, Slow: 10, Lost: 20, Garbled: 10, Drop: 20, Reorg: 30, Usurp: 10, Spike: 5, Salt: 20}

// coordinator is the process that the user started.
type coordinator struct {
	options
	pace    pace
	batches *store.Batches
	service *store.Withdrawals // of their requests, and of those that are paid alone
	genesis node.Genesis
	rows    []row
	refused []*RowError
	log     io.Writer
	started time.Time

	node    *children.Process
	workers []*children.Process
	address chan string // of the node, once

	operators operators

	mu     sync.Mutex
	counts node.Counts // of the nodes that are gone
	last   node.Status // of the one that runs
}

// pay does everything, and prints the report.
func pay(ctx context.Context, o options, stdout, stderr io.Writer) error {
	c := &coordinator{options: o, pace: steady, log: children.Log(stderr), started: time.Now(), address: make(chan string, 1)}
	if o.chaos {
		c.pace = hasty
	}
	if o.several > 0 {
		c.pace.check = together
	}
	var err error
	if c.rows, c.refused, err = openBatch(o.batch); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	db, err := c.open(limited)
	if err != nil {
		return err
	}
	defer db.Close()
	ended := c.processes(limited)
	if ended != nil {
		fmt.Fprintln(c.log, "not finished:", ended)
	}
	// The report is made whatever happened, and says what is missing.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var r *report
	err = c.until(ctx, "report", func() (err error) { r, err = c.report(ctx, db); return err }) // the database may be away
	if err != nil {
		return errors.Join(ended, err)
	}
	if err := r.print(stdout, o.json); err != nil {
		return err
	}
	if !r.Pass {
		return errNotProven
	}
	return nil
}

// open opens the database, the service and the ledger of the chain. A server that is away
// at that moment, as one that restarts is, is tried again until ctx is done.
func (c *coordinator) open(ctx context.Context) (db *program.Database, err error) {
	var wrong error // what no later try mends
	err = c.until(ctx, "open", func() (err error) {
		o := program.Options{Options: sqlstore.Options{LosslessPromotion: c.lossless}, Before: program.Migrate}
		if db, err = program.Open(ctx, c.db, o); err == nil {
			if c.batches, err = store.NewBatches(db, c.pace.policy()); err == nil {
				c.service = c.batches.Withdrawals()
				c.genesis, err = openLedger(ctx, c.service, c.ledger, c.wallets)
			}
			if err != nil {
				err = errors.Join(err, db.Close())
			}
		}
		if !errors.Is(err, sqlstore.ErrConnection) && !errors.Is(err, store.ErrRetry) && !errors.Is(err, store.ErrUnknownCommit) {
			wrong, err = err, nil
		}
		return err
	})
	return db, errors.Join(wrong, err)
}

// processes runs node, workers and clerk until everything is paid.
func (c *coordinator) processes(ctx context.Context) error {
	var nodes, workers, chaos sync.WaitGroup
	nodeCtx, stopNode := context.WithCancel(ctx)
	workCtx, stopWork := context.WithCancel(ctx)
	chaosCtx, stopChaos := context.WithCancel(ctx)
	defer nodes.Wait()
	defer stopNode()
	defer workers.Wait()
	defer stopWork()
	defer chaos.Wait()
	defer stopChaos()

	config := nodeConfig{Config: node.Config{Ledger: c.ledger, BlockEvery: c.pace.block}, Address: "127.0.0.1:0"}
	var once sync.Once
	c.node = &children.Process{Role: roleNode, Log: c.log, Ready: func(address string) {
		once.Do(func() { config.Address = address; c.address <- address })
	}}
	c.node.Config = func(start int) any {
		if c.chaos {
			config.Faults = chaosFaults
			if c.several > 0 {
				config.Faults.Spike = 30 // or nothing is ever replaced
			}
			config.Faults.Seed = c.seed + uint64(start)<<32
		}
		return config
	}
	nodes.Go(func() { c.node.Keep(nodeCtx) })
	var url string
	select {
	case address := <-c.address:
		url = "http://" + address
	case <-ctx.Done():
		return ctx.Err()
	}
	for i := range c.options.workers {
		p := &children.Process{Role: roleWorker, Log: c.log, Config: func(start int) any {
			return workerConfig{Database: c.db, Node: url, Hasty: c.chaos, Skew: c.skew(i), Together: c.several, Lossless: c.lossless,
				Name: fmt.Sprintf("worker-%d-%s", i+1, uuid.NewString()[:8])} // of this process alone
		}}
		c.workers = append(c.workers, p)
		workers.Go(func() { p.Keep(workCtx) })
	}
	workers.Go(func() { c.clerk(workCtx) })
	client := node.NewClient(url, c.pace.patience)
	c.operators = operators{service: c.service, node: client, keys: demoKeys, idle: 50 * time.Millisecond}
	if err := c.until(ctx, "release", func() error { return c.operators.releaseAll(ctx) }); err != nil {
		return err
	}
	workers.Go(func() { c.operators.explain(workCtx) })
	if c.chaos {
		chaos.Go(func() { c.killSome(chaosCtx) })
		chaos.Go(func() { c.operators.work(chaosCtx, rand.New(rand.NewPCG(c.seed, 2))) })
	}
	if err := c.intake(ctx); err != nil {
		return err
	}
	if err := c.finish(ctx, client); err != nil {
		return err
	}
	stopChaos()
	stopWork()
	workers.Wait()
	return c.settle(ctx, client)
}

// intake submits and approves. Trouble with the database passes.
func (c *coordinator) intake(ctx context.Context) error {
	err := c.until(ctx, "submit", func() error {
		refused, err := submit(ctx, c.service, c.rows)
		if err == nil {
			c.refused = append(c.refused, refused...)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.until(ctx, "approve", func() error { return approve(ctx, c.service) })
}

// until tries again until it works or ctx is done.
func (c *coordinator) until(ctx context.Context, what string, do func() error) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		fmt.Fprintf(c.log, "%s: it is tried again: %v\n", what, err)
		children.Pause(ctx, 200*time.Millisecond)
	}
}

func (c *coordinator) clerk(ctx context.Context) {
	k := &clerk{c.service, map[uuid.UUID]withdrawal.Priority{}}
	for _, r := range c.rows {
		k.priorities[r.Request] = r.Priority
	}
	for ctx.Err() == nil {
		wait, err := k.round(ctx)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(c.log, "enqueue and rescue: it is tried again:", err)
			wait = 200 * time.Millisecond
		}
		children.Pause(ctx, wait)
	}
}

// skew sets the clocks of the hosts apart, by more than a lease.
func (c *coordinator) skew(worker int) time.Duration {
	if !c.chaos {
		return 0
	}
	return time.Duration(worker%3-1) * 3 * c.pace.lease / 2
}

// killSome kills children at random moments; the node less often.
func (c *coordinator) killSome(ctx context.Context) {
	random := rand.New(rand.NewPCG(c.seed, 1))
	for ctx.Err() == nil {
		children.Pause(ctx, 300*time.Millisecond+time.Duration(random.Int64N(int64(time.Second))))
		victim := c.node
		if random.IntN(8) > 0 {
			victim = c.workers[random.IntN(len(c.workers))]
		}
		if ctx.Err() == nil {
			victim.Kill()
		}
	}
}

// finish shows how far it is until nothing is left to do.
func (c *coordinator) finish(ctx context.Context, client *node.Client) error {
	told := time.Time{}
	for {
		stats, err := c.service.Stats(ctx, time.Hour)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(c.log, "the database:", err)
		}
		status := c.observe(ctx, client)
		if err == nil && (time.Since(told) >= time.Second || done(stats)) {
			told = time.Now()
			r, j := stats.Requests, stats.Jobs
			fmt.Fprintf(c.log, "block %d: %d to approve, %d waiting, %d executing, %d confirming, %d completed, %d failed, %d cancelled; %d kills\n",
				status.Head, r[withdrawal.RequestPending], r[withdrawal.RequestApproved]+j[withdrawal.JobPending],
				j[withdrawal.JobProcessing], j[withdrawal.JobConfirming], r[withdrawal.RequestCompleted], r[withdrawal.RequestFailed],
				r[withdrawal.RequestCancelled], c.killed())
		}
		if err == nil && done(stats) {
			return nil
		}
		if children.Pause(ctx, 200*time.Millisecond); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func done(s withdrawal.Stats) bool {
	return s.Requests[withdrawal.RequestPending]+s.Requests[withdrawal.RequestApproved]+s.Requests[withdrawal.RequestQueued] == 0
}

// settle lets the chain go on for a while, so that a transaction that should
// not exist has the time to be mined and to spoil the proof.
func (c *coordinator) settle(ctx context.Context, client *node.Client) error {
	for first := c.observe(ctx, client).Head; ; {
		if s := c.observe(ctx, client); first > 0 && s.Head >= first+3*node.Finality {
			return nil
		} else if first == 0 {
			first = s.Head
		}
		if children.Pause(ctx, c.pace.block); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// observe asks the node how it is, and keeps what one that was killed counted.
func (c *coordinator) observe(ctx context.Context, client *node.Client) node.Status {
	s, err := client.Status(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		return c.last
	}
	if s.Started != c.last.Started {
		c.counts.Add(c.last.Counts)
	}
	c.last = s
	return s
}

func (c *coordinator) killed() (kills int64) {
	for _, p := range c.workers {
		kills += p.Kills()
	}
	if c.node != nil {
		kills += c.node.Kills()
	}
	return kills
}
