package refresher_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/refresher"
)

// system is a store, a node with wallets, and processes that use both. All of it runs in virtual
// time.
type system struct {
	t       *testing.T
	db      *memory.Store
	policy  refresh.Policy
	service *store.Refreshes
	node    *node
	begin   time.Time
	slow    time.Duration // from a commit to its answer, in processes that start
	lost    func() bool   // says after a commit of theirs that its answer is lost; once
	torn    string        // a wallet whose row no process can read
	logged  lines
}

// torn is a unit of work in which one wallet cannot be read.
type torn struct {
	store.Unit
	xpub string
}

func (u torn) Refreshes() store.RefreshRecords { return tornRecords{u.Unit.Refreshes(), u.xpub} }

type tornRecords struct {
	store.RefreshRecords
	xpub string
}

func (r tornRecords) Heads(xpubs ...string) ([]refresh.Work, error) {
	if slices.Contains(xpubs, r.xpub) {
		return nil, statemachine.ErrCorrupt
	}
	return r.RefreshRecords.Heads(xpubs...)
}

// lines are what all processes log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.text.String() }

func newSystem(t *testing.T, change func(*refresh.Policy)) *system {
	s := &system{t: t, db: memory.New(memory.Options{}), policy: refresh.DefaultPolicy(), begin: time.Now()}
	if change != nil {
		change(&s.policy)
	}
	s.node = &node{t: t, wallets: map[string]*wallet{}, begin: s.begin, release: make(chan struct{})}
	s.service = s.serviceOf(s.db)
	return s
}

func (s *system) serviceOf(db store.Store[store.Unit]) *store.Refreshes {
	service, err := store.NewRefreshes(db, s.policy)
	if err != nil {
		s.t.Fatal(err)
	}
	return service
}

// process is one Run. kill makes it dead for the store and the node at once, whatever its
// goroutines still do.
type process struct {
	name string
	stop context.CancelFunc
	done chan error
	mu   sync.Mutex
	dead bool
	slow time.Duration
	lost func() bool
	s    *system
}

var (
	errDead = errors.New("the process was killed")
	errLost = errors.New("connection reset: the commit is unknown")
)

func (p *process) killed() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.dead }

// Update implements [store.Store] for one process.
func (p *process) Update(ctx context.Context, fn func(store.Unit) error) error {
	if p.killed() {
		return errDead
	}
	err := p.s.db.Update(ctx, func(tx store.Unit) error { return fn(torn{tx, p.s.torn}) })
	time.Sleep(p.slow)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.lost != nil && p.lost() {
		p.lost = nil
		return errLost
	}
	return err
}

// View implements [store.Store] for one process.
func (p *process) View(ctx context.Context, fn func(store.Unit) error) error {
	if p.killed() {
		return errDead
	}
	return p.s.db.View(ctx, fn)
}

func (s *system) start(name string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{name: name, stop: cancel, done: make(chan error, 1), slow: s.slow, lost: s.lost, s: s}
	go func() {
		p.done <- refresher.Run(ctx, s.serviceOf(p), &caller{node: s.node, of: p},
			refresher.Options{Name: name, Grace: time.Millisecond, Log: slog.New(slog.NewTextHandler(&s.logged, nil))})
	}()
	s.t.Cleanup(func() { p.end() })
	return p
}

// end stops the process and waits for it.
func (p *process) end() {
	p.stop()
	if p.done != nil {
		if err := <-p.done; err != nil && !p.killed() {
			p.s.t.Errorf("%s: %v", p.name, err)
		}
		p.done = nil
	}
}

// kill takes the process out of the world at this moment.
func (p *process) kill() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.stop()
}

func (s *system) enqueue(n int, cause refresh.Cause, recipient, asset string) uuid.UUID {
	s.t.Helper()
	id, err := s.service.Enqueue(context.Background(), refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API},
		Credentials: refreshtest.Wallet(n), Cause: cause, Recipient: recipient, Asset: asset})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *system) get(n int) refresh.Work {
	s.t.Helper()
	w, err := s.service.Get(context.Background(), refreshtest.Wallet(n).XpubVan)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := refresh.Check(w); err != nil {
		s.t.Fatal(err)
	}
	return w
}

func (s *system) watcher(n int, recipient string) refresh.Watcher {
	s.t.Helper()
	for _, w := range s.get(n).Watchers {
		if w.Recipient == recipient {
			return w
		}
	}
	s.t.Fatalf("no watcher of %s", recipient)
	return refresh.Watcher{}
}

func (s *system) job(n int, id uuid.UUID) refresh.Job {
	s.t.Helper()
	for _, j := range s.get(n).Jobs {
		if j.ID == id {
			return j
		}
	}
	s.t.Fatalf("no job %v", id)
	return refresh.Job{}
}

// audit checks everything, replays every trail, and requires that no job is live.
func (s *system) audit(wallets int) {
	s.t.Helper()
	ctx := context.Background()
	if _, err := s.service.Audit(ctx, "", 10_000); err != nil {
		s.t.Error(err)
	}
	for n := range wallets {
		w := s.get(n)
		for i := range w.Jobs {
			if w.Jobs[i].Live() {
				s.t.Errorf("wallet %d: job %s is %v", n, w.Jobs[i].ID, w.Jobs[i].Status)
			}
			if _, err := s.service.Trail(ctx, w.Jobs[i].ID); err != nil {
				s.t.Error(err)
			}
		}
		for i := range w.Watchers {
			if _, err := s.service.Trail(ctx, w.Watchers[i].ID()); err != nil {
				s.t.Error(err)
			}
		}
		if _, err := s.service.Trail(ctx, w.Wallet.ID()); err != nil {
			s.t.Error(err)
		}
	}
}

// node has the wallets. It counts calls of the lock that overlap.
type node struct {
	t        *testing.T
	begin    time.Time
	mu       sync.Mutex
	wallets  map[string]*wallet
	took     time.Duration // of each call; 0: none
	log      []string      // calls, if keep
	keep     bool
	overlaps int
	most     int // wallets that were called at once
	busy     int
	release  chan struct{} // closed: what is stuck returns
}

type wallet struct {
	transfers []refresh.Transfer
	refreshed []time.Time
	under     int    // refreshes and cancellations that run now, by living processes
	hang      int    // so many calls hang
	panics    int    // so many calls panic
	hangOn    string // calls of this kind hang
	panicsOn  string // calls of this kind panic
	stuckOn   string // calls of this kind, by w1, do not return before the node's release
	unlisted  string // the transfers of this asset cannot be listed
	fail      error
}

// transfer puts a transfer into a wallet, or replaces the one of its recipient.
func (n *node) transfer(of int, t refresh.Transfer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.wallet(refreshtest.Wallet(of).XpubVan)
	w.transfers = append(slices.DeleteFunc(w.transfers, func(o refresh.Transfer) bool { return o.Recipient == t.Recipient }), t)
}

func (n *node) wallet(xpub string) *wallet {
	if n.wallets[xpub] == nil {
		n.wallets[xpub] = &wallet{}
	}
	return n.wallets[xpub]
}

// seen is what the node counted.
func (n *node) seen() (overlaps, most int, log []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.overlaps, n.most, slices.Clone(n.log)
}

// takes sets how long calls take from now on.
func (n *node) takes(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.took = d
}

// refreshes are the times of the refreshes of a wallet, from the begin.
func (n *node) refreshes(of int) (all []time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, at := range n.wallet(refreshtest.Wallet(of).XpubVan).refreshed {
		all = append(all, at.Sub(n.begin))
	}
	return all
}

// caller is the node as one process calls it.
type caller struct {
	*node
	of *process
}

// call is the time that a call takes at the node. The calls of a killed process go on for a
// while, though no process waits for them.
func (c *caller) call(ctx context.Context, w refresh.Credentials, what string, locked bool, do func(*wallet) error) error {
	c.mu.Lock()
	x := c.wallet(w.XpubVan)
	if c.keep {
		c.log = append(c.log, fmt.Sprintf("%v %s %s %s", time.Since(c.begin).Truncate(time.Second), c.of.name, w.XpubVan, what))
	}
	if x.panics > 0 || x.panicsOn != "" && strings.HasPrefix(what, x.panicsOn) {
		x.panics = max(x.panics-1, 0)
		c.mu.Unlock()
		panic("the host is broken: its password is swordfish")
	}
	stuck := c.of.name == "w1" && x.stuckOn != "" && strings.HasPrefix(what, x.stuckOn)
	hang, took := x.hang > 0 || x.hangOn != "" && strings.HasPrefix(what, x.hangOn), c.took
	if x.hang > 0 {
		x.hang--
	}
	if locked {
		if x.under++; x.under > 1 {
			c.overlaps++
		}
	}
	c.busy++
	c.most = max(c.most, c.busy)
	c.mu.Unlock()
	var err error
	switch {
	case stuck:
		<-c.release
	case hang:
		<-ctx.Done()
		err = ctx.Err()
	case took > 0:
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(took):
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if c.keep && err != nil {
		c.log = append(c.log, fmt.Sprintf("%v %s %s ended", time.Since(c.begin).Truncate(time.Second), c.of.name, w.XpubVan))
	}
	if locked {
		x.under--
	}
	if err == nil {
		err = x.fail
	}
	if err == nil {
		err = do(x)
	}
	return err
}

func (c *caller) Refresh(ctx context.Context, w refresh.Credentials) error {
	return c.call(ctx, w, "refresh", true, func(x *wallet) error { x.refreshed = append(x.refreshed, time.Now()); return nil })
}

func (c *caller) ListAssets(ctx context.Context, w refresh.Credentials) (assets []string, err error) {
	err = c.call(ctx, w, "listassets", false, func(x *wallet) error {
		for _, t := range x.transfers {
			if t.Asset != "" && !slices.Contains(assets, t.Asset) {
				assets = append(assets, t.Asset)
			}
		}
		return nil
	})
	return assets, err
}

func (c *caller) ListTransfers(ctx context.Context, w refresh.Credentials, asset string) (all []refresh.Transfer, err error) {
	err = c.call(ctx, w, "listtransfers "+asset, false, func(x *wallet) error {
		if x.unlisted != "" && x.unlisted == asset {
			return errors.New("busy")
		}
		for _, t := range x.transfers {
			if t.Asset == asset {
				all = append(all, t)
			}
		}
		return nil
	})
	return all, err
}

func (c *caller) FailTransfers(ctx context.Context, w refresh.Credentials, index int32) error {
	return c.call(ctx, w, fmt.Sprint("failtransfers ", index), true, func(x *wallet) error {
		for i := range x.transfers {
			t := &x.transfers[i]
			if t.HasIndex && t.Index == index {
				if t.Status != refresh.WaitingCounterparty {
					return refresher.ErrPermanent
				}
				t.Status = refresh.TransferFailed
			}
		}
		return nil
	})
}

func incoming(recipient, asset string) refresh.Transfer {
	return refresh.Transfer{Recipient: recipient, Asset: asset, Kind: refresh.ReceiveBlind, Index: 1, HasIndex: true}
}
