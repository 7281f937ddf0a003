package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/worker"
)

// Options say where relays go, and who sends them.
type Options struct {
	// Name of this reactor, 1 to 200 bytes; no other process may use it.
	Name string
	// URL is the base of the server's API, without user and query; slashes at its end are
	// ignored.
	URL string
	// Authorize signs an event for one request and returns the value of its
	// Authorization header, such as "Nostr " and the signed event in base64.
	Authorize func(context.Context, relaysync.AuthEvent) (string, error)
	// Secret makes the secret of a new relay, 64 hexadecimal digits; nil: random.
	Secret func() (string, error)
	// Transport sends requests; nil: http.DefaultTransport with a new connection for each
	// request, since Go repeats a request by itself on a connection that was used before.
	Transport http.RoundTripper

	Concurrency int           // relays that are sent at once, each by one request at a time, at most 10,000; 16 if zero
	Reconcile   time.Duration // how often to reconcile beside the start and after a lag; zero: never
	Grace       time.Duration // how long syncs may go on after a stop; 10 s if zero
	Log         *slog.Logger  // nil means slog.Default
}

// Run brings relays to the server. It returns nil when ctx is done, and [store.ErrClosed] when
// the broadcast is closed. Options that make no sense are [statemachine.ErrInvalid].
func Run(ctx context.Context, relays *store.Relays, o Options) error {
	base, err := url.Parse(o.URL)
	switch {
	case relays == nil || o.Authorize == nil || o.Reconcile < 0:
		return fmt.Errorf("%w: a reactor needs relays and a signer, and no negative time", statemachine.ErrInvalid)
	case statemachine.Actor(o.Name) != nil:
		return fmt.Errorf("the name of a reactor: %w", statemachine.Actor(o.Name))
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "":
		return fmt.Errorf("%w: the URL of a server is http or https with a host, and without user, query and fragment", statemachine.ErrInvalid)
	}
	r := &reactor{relays: relays, o: o, wake: make(chan struct{}, 1), log: cmp.Or(o.Log, slog.Default())}
	r.syncs = relays.Work(o.Name)
	r.syncs.Unreadable = r.unreadable
	r.client = newClient(o.Transport)
	news := relays.Subscribe() // before the reconcile: nothing falls between
	if err := r.reconcile(ctx, "startup"); err != nil {
		return nil // stopped
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	go func() {
		defer stop() // nobody listens for a worker that has ended
		worked <- worker.Run(run, r.syncs, r.sync, worker.Options[store.ClaimedRelay, store.HeldRelay]{
			Concurrency: o.Concurrency, Grace: o.Grace, Wake: r.wake, Log: r.log,
			CallTimeout: min(5*time.Second, relays.Policy().Lease/2),
			// The broadcast does not tell of the commits of other processes, so the reactor polls.
			Poll: statemachine.Backoff{Base: 20 * time.Millisecond, Cap: time.Second, JitterPercent: 50},
		})
	}()
	closed := r.listen(run, news)
	stop()
	return errors.Join(closed, <-worked)
}

type reactor struct {
	relays *store.Relays
	syncs  *store.RelayWork
	o      Options
	client *http.Client
	wake   chan struct{}
	log    *slog.Logger
	// reported is the text that unreadable logged last. Turns call unreadable one at a time.
	reported string
}

// listen handles messages, lags and the end of the broadcast, until ctx is done or the broadcast
// is closed.
func (r *reactor) listen(ctx context.Context, news *store.RelaySubscription) error {
	next := time.Now().Add(r.o.Reconcile)
	for {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if r.o.Reconcile > 0 {
			wait, cancel = context.WithDeadline(ctx, next)
		}
		n, err := news.Receive(wait)
		cancel()
		var lagged *store.LaggedError
		reason := ""
		switch {
		case errors.As(err, &lagged):
			r.log.Warn("the reactor lagged", "missed", lagged.Missed)
			reason = "lagged"
		case errors.Is(err, store.ErrClosed):
			r.log.Error("the broadcast is closed: the reactor ends")
			return err
		case ctx.Err() != nil:
			return nil
		case err != nil:
			reason = "periodic"
		case n.GivenUp:
			r.gaveUp(n.ResourceID)
		case relaysync.Handle(n.Activity) == relaysync.SyncNow: // a retry that is scheduled is due later: turns ask when
			r.awake()
		}
		if reason != "" {
			if r.reconcile(ctx, reason) != nil {
				return nil
			}
			next = time.Now().Add(r.o.Reconcile)
		}
	}
}

func (r *reactor) awake() {
	select {
	case r.wake <- struct{}{}:
	default: // it is told already
	}
}

func (r *reactor) gaveUp(relay string) {
	r.log.Error("retries exhausted; awaiting manual intervention", "relay", relay)
}

// unreadable logs the due relays that cannot be read, once as long as the text stays the same.
func (r *reactor) unreadable(err error) {
	if text := err.Error(); text != r.reported {
		r.reported = text
		r.log.Error("relays are due that cannot be read", "error", err)
	}
}

const page = 100

// reconcile gives a due time to every relay that needs one. It goes on until it has seen all
// relays or ctx is done.
func (r *reactor) reconcile(ctx context.Context, reason string) error {
	pause := statemachine.Backoff{Base: 100 * time.Millisecond, Cap: 5 * time.Second, JitterPercent: 50}
	jitter := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	found, fails := 0, 0
	for after := ""; ; {
		last, changed, refused, err := r.relays.Reconcile(ctx, r.syncs.By(), after, page)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.log.Warn("a reconcile failed", "reason", reason, "error", err)
			select {
			case <-time.After(pause.Delay(fails, jitter.Uint64())):
			case <-ctx.Done():
				return ctx.Err()
			}
			fails++
			continue
		case refused != nil:
			r.log.Error("relays that cannot be reconciled", "reason", reason, "error", refused)
		}
		fails = 0
		for _, s := range changed {
			if found++; s.Timer.Exhausted {
				r.gaveUp(s.Relay.ID)
			}
		}
		if after = last; last == "" {
			break
		}
	}
	if found > 0 {
		r.log.Info("relays without a timer have one", "reason", reason, "relays", found)
	}
	r.awake()
	return nil
}
