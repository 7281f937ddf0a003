package reactor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/reactor"
)

// server is a relay-hosting server as a transport, in virtual time.
type server struct {
	mu      sync.Mutex
	secrets map[string]string // of the relays that exist
	bodies  map[string]map[string]any
	got     []request
	busy    map[string]int
	overlap bool
	fault   func(r request) (fault, bool) // nil: none
	made    []string                      // secrets that were sent
}

type request struct {
	method, relay string
	at            time.Time
}

type fault struct {
	status int           // 0: no answer at all; slow: that of the server
	body   string        // with a status
	apply  bool          // before
	takes  time.Duration // until the answer
	header http.Header
}

const slow = -1

func newServer() *server {
	return &server{secrets: map[string]string{}, bodies: map[string]map[string]any{}, busy: map[string]int{}}
}

// faults sets the fault, also of a server that is asked already.
func (s *server) faults(f func(request) (fault, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *server) RoundTrip(q *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(q.Body)
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	r := request{q.Method, path.Base(q.URL.Path), time.Now()}
	s.mu.Lock()
	s.got = append(s.got, r)
	s.busy[r.relay]++
	s.overlap = s.overlap || s.busy[r.relay] > 1
	if secret, ok := doc["secret"].(string); ok {
		s.made = append(s.made, secret)
	}
	f, faulty := fault{}, false
	if s.fault != nil {
		f, faulty = s.fault(r)
	}
	s.mu.Unlock()
	status := 0
	if !faulty || f.apply {
		status = s.apply(r, doc)
	}
	if faulty && f.status != slow {
		status = f.status
	}
	if status == 0 {
		f.takes = time.Hour
	}
	var err error
	select {
	case <-time.After(f.takes):
	case <-q.Context().Done():
		err = q.Context().Err()
	}
	s.mu.Lock()
	s.busy[r.relay]--
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: f.header, Body: io.NopCloser(strings.NewReader(f.body)), Request: q}, nil
}

func (s *server) apply(r request, doc map[string]any) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, exists := s.secrets[r.relay]
	switch {
	case r.method == http.MethodPost && exists:
		return http.StatusConflict
	case r.method == http.MethodPatch && !exists:
		return http.StatusNotFound
	case r.method == http.MethodPost:
		s.secrets[r.relay], _ = doc["secret"].(string)
		s.bodies[r.relay] = doc
		return http.StatusCreated
	}
	s.bodies[r.relay] = doc
	return http.StatusOK
}

// bench is a store with relays and a server, and reactors between them.
type bench struct {
	*testing.T
	*server
	db     *memory.Store
	relays *store.Relays
	log    bytes.Buffer
	start  time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db := memory.New(memory.Options{})
	relays, err := store.NewRelays(db, relaysynctest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, server: newServer(), db: db, relays: relays, start: time.Now()}
}

// ahead stores a relay that the store's clock, a day ahead then, has put off.
func (b *bench) ahead(id string) {
	b.Helper()
	ev := relaysync.Created{By: by(relaysync.Host), Relay: id, Tenant: "tenant", Subdomain: "sub", Config: config("a")}
	ev.At = time.Now().Add(24 * time.Hour)
	c, err := relaysynctest.Policy().Apply(relaysync.Sync{}, ev)
	if err == nil {
		err = b.db.Update(context.Background(), func(tx store.Unit) error { return tx.Relays().Save(c) })
	}
	if err != nil {
		b.Fatal(err)
	}
}

// run starts a reactor; stop ends it and returns its error.
func (b *bench) run(name string) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- reactor.Run(ctx, b.relays, reactor.Options{Name: name, URL: "http://zooid.example//", Transport: b.server,
			Authorize: func(_ context.Context, ev relaysync.AuthEvent) (string, error) {
				return "Nostr " + ev.Tags[0][1] + ev.Tags[1][1] + ev.Tags[2][1], nil
			},
			Log: slog.New(slog.NewTextHandler(&b.log, nil))})
	}()
	return func() error {
		cancel()
		return <-done
	}
}

func (b *bench) create(ids ...string) {
	b.Helper()
	for _, id := range ids {
		b.do(id, relaysync.Created{By: by(relaysync.Host), Relay: id, Tenant: "tenant", Subdomain: "sub", Config: config("a")})
	}
}

func (b *bench) do(id string, events ...relaysync.Event) relaysync.Sync {
	b.Helper()
	s, err := b.relays.Do(context.Background(), id, events...)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bench) get(id string) relaysync.Sync {
	b.Helper()
	s, err := b.relays.Get(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func by(role relaysync.Role) relaysync.By { return relaysync.By{Actor: "test", Role: role} }

func config(name string) relaysync.Config {
	return relaysync.Config{Info: relaysync.Document(`{"name":"` + name + `","pubkey":"` + strings.Repeat("ab", 32) + `"}`)}
}

// times are when requests for a relay came, in seconds from the start.
func (b *bench) times(relay string) (all []float64) {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	for _, r := range b.got {
		if r.relay == relay {
			all = append(all, r.at.Sub(b.start).Seconds())
		}
	}
	return all
}

func (b *bench) expectTimes(relay string, want ...float64) {
	b.Helper()
	got := b.times(relay)
	same := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		same = same && got[i] >= want[i] && got[i] < want[i]+0.1 // a poll may be on its way
	}
	if !same {
		b.Fatalf("%s was sent at %v, expected %v", relay, got, want)
	}
}
