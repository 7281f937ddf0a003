// Package simtest runs whole hosts of settle in one thread, by seed: their loops, their handlers and
// their services, on a store in memory and against worlds outside that lose messages. A host of your
// own is run by [Run]: it gets a [Process], whose Update, View and [Process.Call] all wait until the
// simulation lets one of them go.
//
// When all goroutines rest, the simulation lists the calls that wait, in an order of its own, picks
// one by seed and lets it go: as it is, lost before it has an effect, done and its answer lost, or
// done twice. Between two calls it lets time pass, kills, stops and starts processes, and lets the
// worlds move. After a number of calls nothing fails any more, everybody who is asked does what is
// owed, and all must end; then each [World] compares its own ledger with the records.
//
// A run is its log: the same seed gives the same log. What the simulation cannot say: SQL and what
// only a database does (storetest and the tests of sqlstore have that), store.UpdateTx and package
// follow, hosts whose clocks are apart from one another, a clock that jumps (the store's clock is
// apart from that of the hosts by an amount that is constant in a run), and what a host shares
// between goroutines without a call. Two calls of one process that wait at the same time and have the
// same name are picked in any order, so that a host runs one handler of each kind at a time.
package simtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// World is what is outside of the hosts, in one domain. All methods are called by one goroutine while
// every host rests, and may use [Sim.DB], which never fails.
type World interface {
	// Open makes what is there at the beginning.
	Open(*Sim)
	// Move lets the world do one thing by itself: a block, a customer, a person.
	Move()
	// Settle does what people and chains owe once nothing fails any more, and reports whether all has ended.
	Settle() (ended bool)
	// Count compares the ledger of the world with what is stored, and calls [Sim.Errorf].
	Count()
}

// Host is one life of a process. It runs until ctx is done. It is killed at any moment, and started
// again as a process of another name.
type Host func(ctx context.Context, p *Process) error

// Options of [Run]; the zero value is a run of two processes with at most 400 calls that may fail.
type Options struct {
	Processes int // that live at the same time; 2 if zero
	Calls     int // after so many nothing fails any more; 40 to 400 by seed if zero
}

// Sim is one run. Its random numbers are those of the run.
type Sim struct {
	*rand.Rand
	DB   *memory.Store  // without faults
	Ends map[string]int // how often what came to pass, for worlds to count
	Log  []string
	Made int // calls that were let go

	t       *testing.T
	seed    uint64
	host    Host
	worlds  []World
	began   time.Time
	lives   []*Process
	ending  []*Process // were killed or stopped
	born    int
	calm    bool
	failed  bool
	mu      sync.Mutex
	wire    []packet
	waiting []*call
	over    chan struct{} // the context of a call has ended
	names   map[[24]uintptr]name
}

// Run plays one seed. A failure prints the seed and the log. Package uuid makes the ids of a run from its
// seed, so a test that calls Run must not be parallel.
func Run(t *testing.T, seed uint64, o Options, host Host, worlds ...World) *Sim {
	t.Helper()
	s := &Sim{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, seed: seed, host: host, worlds: worlds, Ends: map[string]int{},
		names: map[[24]uintptr]name{}}
	uuid.SetRand(&idSource{from: rand.NewChaCha8([32]byte{0: byte(seed), 1: byte(seed >> 8), 2: byte(seed >> 16), 3: byte(seed >> 24)})})
	defer uuid.SetRand(nil)
	synctest.Test(t, func(*testing.T) { s.run(o) })
	if s.failed {
		t.Fatalf("seed %d fails\n%s", seed, strings.Join(s.Log, "\n"))
	}
	return s
}

// idSource is where package uuid gets its random bytes during a run, since the order of what is due at the
// same time can be that of ids.
type idSource struct {
	mu   sync.Mutex
	from io.Reader
}

func (i *idSource) Read(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.from.Read(b)
}

// Errorf fails the run, which goes on to its end.
func (s *Sim) Errorf(format string, args ...any) {
	s.failed = true
	s.Say("WRONG: "+format, args...)
	s.t.Errorf("seed %d: "+format, append([]any{s.seed}, args...)...)
}

// Must is Errorf for an error that cannot be.
func (s *Sim) Must(err error) {
	if err != nil {
		s.Errorf("%v", err)
	}
}

// Say adds a line to the log.
func (s *Sim) Say(format string, args ...any) {
	s.Log = append(s.Log, fmt.Sprintf("%9.3f ", time.Since(s.began).Seconds())+fmt.Sprintf(format, args...))
}

// Calm reports whether nothing fails any more.
func (s *Sim) Calm() bool { return s.calm }

func (s *Sim) run(o Options) {
	s.began, s.over = time.Now(), make(chan struct{}, 1)
	apart := time.Duration(s.IntN(3)-1) * time.Duration(s.IntN(3600)) * time.Second
	s.DB = memory.New(memory.Options{Now: func() time.Time { return time.Now().Add(apart) }})
	for _, w := range s.worlds {
		w.Open(s)
	}
	for range cmp.Or(o.Processes, 2) {
		s.start()
	}
	for until := cmp.Or(o.Calls, 40+s.IntN(361)); s.Made < until && !s.failed; {
		s.chaos()
	}
	s.calm = true
	s.Say("calm")
	for len(s.lives) < cmp.Or(o.Processes, 2) {
		s.start()
	}
	for round := 0; !s.failed; round++ {
		s.rests() // who has just started does not race its end
		ended := true
		for _, w := range s.worlds {
			ended = w.Settle() && ended
		}
		if ended {
			break
		}
		if round == 3000 {
			s.Errorf("it does not end")
		}
		s.rest(10 * time.Second)
	}
	for _, p := range s.lives {
		p.stop()
	}
	for slices.ContainsFunc(append(s.ending, s.lives...), func(p *Process) bool { return !p.ended() }) {
		s.rest(time.Second)
	}
	for _, w := range s.worlds {
		if !s.failed {
			w.Count()
		}
	}
}

// chaos is one step of a run in which everything may fail.
func (s *Sim) chaos() {
	waiting := s.rests()
	switch k := s.IntN(100); {
	case k < 2:
		s.fate()
	case k < 5:
		s.arrive()
	case k < 18:
		s.worlds[s.IntN(len(s.worlds))].Move()
	case len(waiting) > 0 && k < 97:
		c := waiting[s.IntN(len(waiting))]
		f := fault(s.IntN(24))
		if f > twice {
			f = none
		}
		s.let(c, f)
	case len(waiting) > 0:
		s.sleep(time.Duration(s.IntN(4000)) * time.Millisecond)
	default:
		s.sleep(time.Duration(1+s.IntN(1<<s.IntN(16))) * time.Millisecond)
	}
}

// rest lets all calls go, one after the other, and time pass.
func (s *Sim) rest(d time.Duration) {
	for w := s.rests(); len(w) > 0; w = s.rests() {
		s.let(w[0], none)
	}
	s.sleep(d)
}

// fate kills a process, or stops it, and starts another one at once or some time.
func (s *Sim) fate() {
	if len(s.lives) == 0 || len(s.lives) < 2 && s.IntN(2) == 0 {
		s.start()
		return
	}
	i := s.IntN(len(s.lives))
	p := s.lives[i]
	if s.IntN(3) > 0 {
		s.Say("%s is killed", p.Name)
		s.Ends["killed"]++
		s.mu.Lock()
		p.dead = true
		s.mu.Unlock()
		close(p.killed)
	} else {
		s.Say("%s is stopped", p.Name)
		s.Ends["stopped"]++
	}
	p.stop()
	s.lives = slices.Delete(s.lives, i, i+1)
	s.ending = append(s.ending, p)
	if s.IntN(2) == 0 {
		s.start()
	}
}

func (s *Sim) start() {
	s.born++
	ctx, stop := context.WithCancel(context.Background())
	p := &Process{Name: fmt.Sprintf("host%d", s.born), Log: slog.New(slog.DiscardHandler), sim: s, born: s.born,
		killed: make(chan struct{}), done: make(chan struct{}), stop: stop}
	s.lives = append(s.lives, p)
	s.Say("%s starts", p.Name)
	go func() {
		defer close(p.done)
		if err := s.host(ctx, p); ctx.Err() == nil {
			p.failed = fmt.Errorf("%s ended by itself: %w", p.Name, err)
		}
	}()
}

// rests waits until every goroutine rests, and returns the calls that wait, in order. A call whose
// context has ended is let go before all others, one at a time, so that no two answers race.
func (s *Sim) rests() []*call {
	for {
		waiting := s.listed()
		i := slices.IndexFunc(waiting, func(c *call) bool { return c.ctx.Err() != nil })
		if i < 0 {
			return waiting
		}
		s.let(waiting[i], none)
	}
}

// sleep lets time pass.
func (s *Sim) sleep(d time.Duration) {
	for end := time.After(d); ; s.rests() {
		select {
		case <-end:
			s.rests() // of whoever wakes at this moment, too
			return
		case <-s.over:
		}
	}
}

func (s *Sim) listed() []*call {
	synctest.Wait()
	for _, p := range s.lives {
		if p.ended() && p.failed != nil {
			s.Errorf("%v", p.failed)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(c *call) bool { return c.left })
	slices.SortStableFunc(s.waiting, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.p.born, b.p.born), cmp.Compare(a.what.text, b.what.text), cmp.Compare(a.what.code, b.what.code))
	})
	return slices.Clone(s.waiting)
}

func (s *Sim) let(c *call, f fault) {
	s.Made++
	s.mu.Lock()
	s.waiting = slices.DeleteFunc(s.waiting, func(o *call) bool { return o == c })
	s.mu.Unlock()
	// Each call takes a time of its own, so that no two timers which began with calls end together: a goroutine that
	// waits for both would go on with any of them.
	time.Sleep(time.Duration(1 + s.IntN(1_000_000)))
	select {
	case c.resume <- f:
	case <-c.p.killed:
	}
	synctest.Wait()
}

// fault is what happens to a call.
type fault uint8

const (
	none   fault = iota
	before       // it is lost
	after        // its answer is lost
	twice        // it is done twice
)

type call struct {
	ctx    context.Context
	p      *Process
	what   name
	resume chan fault
	left   bool // its process was killed
}

// Process is one life of a host. Its Update and View are those of a [store.Store].
type Process struct {
	Name string // of this life alone
	Log  *slog.Logger

	sim    *Sim
	killed chan struct{}
	done   chan struct{}
	stop   context.CancelFunc
	dead   bool
	born   int
	failed error
}

var _ store.Store[store.Unit] = (*Process)(nil)

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

var (
	// ErrLost is what a call outside returns that was lost, before or after it had an effect.
	ErrLost   = errors.New("no answer")
	errKilled = errors.New("the process is dead")
)

// wait is until the simulation lets the call go.
func (p *Process) wait(ctx context.Context, what name) (fault, error) {
	c := &call{ctx: ctx, p: p, what: what, resume: make(chan fault)}
	defer context.AfterFunc(ctx, func() {
		select {
		case p.sim.over <- struct{}{}:
		default:
		}
	})()
	p.sim.mu.Lock()
	if p.dead {
		p.sim.mu.Unlock()
		return none, errKilled
	}
	p.sim.waiting = append(p.sim.waiting, c)
	p.sim.mu.Unlock()
	select {
	case f := <-c.resume:
		return f, ctx.Err()
	case <-p.killed:
	}
	p.sim.mu.Lock()
	defer p.sim.mu.Unlock()
	c.left = true
	return none, errKilled
}

// Call is a call of the outside: effect is what it does there, once, twice or not at all, and an error
// of [Process.Call] itself is one that says nothing about that. Two calls that wait at the same time
// have different names.
func (p *Process) Call(ctx context.Context, what string, effect func()) error {
	return p.CallLate(ctx, what, 0, effect)
}

// CallLate is [Process.Call] of something that may still arrive for a while after it was lost.
func (p *Process) CallLate(ctx context.Context, what string, linger time.Duration, effect func()) error {
	f, err := p.wait(ctx, name{text: what})
	if err != nil {
		return err
	}
	switch {
	case f != before:
		effect()
	case linger > 0:
		p.sim.wire = append(p.sim.wire, packet{what, time.Now().Add(linger), effect})
	}
	if f == twice {
		effect()
	}
	if f == before || f == after {
		err = ErrLost
	}
	p.said(what, f, err)
	return err
}

// packet is a call that was lost, and may still arrive.
type packet struct {
	what   string
	until  time.Time
	effect func()
}

// arrive lets one of the calls that were lost arrive all the same.
func (s *Sim) arrive() {
	s.wire = slices.DeleteFunc(s.wire, func(p packet) bool { return !time.Now().Before(p.until) })
	if len(s.wire) > 0 {
		i := s.IntN(len(s.wire))
		s.Say("late: %s", s.wire[i].what)
		s.Ends["late"]++
		s.wire[i].effect()
		s.wire = slices.Delete(s.wire, i, i+1)
	}
}

func (p *Process) said(what string, f fault, err error) {
	word := [...]string{"", "lost before, ", "lost after, ", "twice, "}[f]
	if err != nil {
		word += err.Error()
	} else {
		word += "done"
	}
	p.sim.Say("%s %s: %s", p.Name, what, word)
	if f != none {
		p.sim.Ends[[...]string{"", "lost before", "lost after", "twice"}[f]]++
	}
}

// Update implements [store.Store]. In the chaos the function runs twice, of which the first run changes
// nothing, or the answer of the commit is lost, made or not.
func (p *Process) Update(ctx context.Context, fn func(store.Unit) error) error {
	what := p.sim.caller()
	f, err := p.wait(ctx, what)
	if err != nil {
		return err
	}
	if f == before {
		err = fmt.Errorf("before it: %w", store.ErrUnknownCommit)
		p.said(what.text, f, err)
		return err
	}
	if f == twice {
		again := errors.New("run it again")
		_ = p.sim.DB.Update(ctx, func(tx store.Unit) error { return errors.Join(fn(tx), again) })
	}
	err = p.sim.DB.Update(ctx, fn)
	if f == after && err == nil {
		err = fmt.Errorf("after it: %w", store.ErrUnknownCommit)
	}
	p.said(what.text, f, err)
	return err
}

// View implements [store.Store].
func (p *Process) View(ctx context.Context, fn func(store.Unit) error) error {
	what := p.sim.caller()
	f, err := p.wait(ctx, what)
	if err != nil {
		return err
	}
	if f == before || f == after {
		err = ErrLost
	} else {
		err = p.sim.DB.View(ctx, fn)
	}
	p.said(what.text, f, err)
	return err
}

// name is what a call is called. Two instances of one generic method have the same text, and are told
// apart by where their code is.
type name struct {
	text string
	code uintptr
}

// caller is the method of a service that calls the store.
func (s *Sim) caller() name {
	var at [24]uintptr
	n := runtime.Callers(3, at[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	is, ok := s.names[at]
	if !ok {
		for frames, more := runtime.CallersFrames(at[:n]), true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if method, yes := strings.CutPrefix(f.Function, "github.com/settlehq/settle/store.(*"); yes {
				is = name{strings.Replace(method, ")", "", 1), f.Entry}
			}
		}
		s.names[at] = is
	}
	return is
}
