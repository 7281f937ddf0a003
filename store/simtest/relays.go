package simtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Relays is a server that hosts relays, and a host that makes and changes them. A process reaches it
// by [Relays.Transport].
type Relays struct {
	*Sim
	Policy  relaysync.Policy
	service *store.Relays
	ids     []string
	config  map[string]string // the name in the latest configuration, by relay
	server  map[string]string // the name that the server has
	calls   map[string]string // who calls for a relay now
	n       int64
	down    bool // the server answers everything with an error
}

// NewRelays returns a server for hosts of a policy.
func NewRelays(p relaysync.Policy) *Relays {
	return &Relays{Policy: p, config: map[string]string{}, server: map[string]string{}, calls: map[string]string{}}
}

// Open implements [World].
func (r *Relays) Open(s *Sim) {
	r.Sim = s
	var err error
	r.service, err = store.NewRelays(s.DB, r.Policy)
	s.Must(err)
	for i := range 1 + s.IntN(3) {
		id := fmt.Sprint("relay", i)
		r.ids = append(r.ids, id)
		r.do(id, relaysync.Created{By: r.by(relaysync.Host), Relay: id, Tenant: "of the relays", Subdomain: "sub" + id, Config: r.next(id)})
	}
}

func (r *Relays) by(role relaysync.Role) relaysync.By {
	return relaysync.By{Actor: "world", Role: role}
}

func (r *Relays) next(id string) relaysync.Config {
	r.n++
	r.config[id] = fmt.Sprint("name", r.n)
	return relaysync.Config{Info: relaysync.Document(fmt.Sprintf(`{"name":"%s","pubkey":"%s"}`, r.config[id], strings.Repeat("ab", 32)))}
}

func (r *Relays) do(id string, ev relaysync.Event) {
	_, err := r.service.Do(context.Background(), id, ev)
	r.Say("%s: %T", id, ev)
	r.Must(err)
}

// Transport is how a process reaches the server.
func (r *Relays) Transport(p *Process) http.RoundTripper { return transport{r, p} }

type transport struct {
	*Relays
	p *Process
}

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(q *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(q.Body)
	var doc struct{ Info struct{ Name string } }
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	id, status := path.Base(q.URL.Path), 0
	if !t.enter(id, t.p) {
		t.Errorf("%s is sent by two processes", id)
	}
	err := t.p.CallLate(q.Context(), q.Method+" "+id, t.Policy.Linger, func() {
		_, exists := t.server[id]
		switch {
		case !t.calm && t.down:
			status = http.StatusBadGateway
		case q.Method == http.MethodPost && exists:
			status = http.StatusConflict
		case q.Method == http.MethodPatch && !exists:
			status = http.StatusNotFound
		default:
			status, t.server[id] = http.StatusOK, doc.Info.Name
		}
	})
	t.leave(id, t.p)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader(nil)), Request: q}, nil
}

// enter is false if another living process calls for the relay.
func (r *Relays) enter(id string, p *Process) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.dead {
		return true
	}
	other := r.calls[id]
	r.calls[id] = p.Name
	return other == "" || other == p.Name || !r.alive(other)
}

func (r *Relays) leave(id string, p *Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[id] == p.Name {
		delete(r.calls, id)
	}
}

// alive reports whether a process of this name has not been killed. The caller has the lock.
func (s *Sim) alive(name string) bool {
	for _, p := range s.lives {
		if p.Name == name && !p.dead {
			return true
		}
	}
	return false
}

// Move implements [World].
func (r *Relays) Move() {
	id := r.ids[r.IntN(len(r.ids))]
	s, err := r.service.Get(context.Background(), id)
	r.Must(err)
	switch r.IntN(10) {
	case 0, 1:
		r.do(id, relaysync.Updated{By: r.by(relaysync.Host), Subdomain: s.Relay.Subdomain, Config: r.next(id)})
	case 2:
		r.do(id, relaysync.Deactivated{By: r.by(relaysync.Biller)})
	case 3:
		r.do(id, relaysync.Activated{By: r.by(relaysync.Host)})
	case 4:
		r.down = !r.down
	case 5:
		if h := s.Timer.Lease.Holder; h != "" && !r.alive(h) {
			r.do(id, relaysync.Revoked{By: r.by(relaysync.Operator), Revocation: statemachine.Revocation{Holder: h, Reason: "dead"}})
			r.Ends["revoked"]++
		}
	}
}

// Settle implements [World].
func (r *Relays) Settle() bool {
	ended := true
	for _, id := range r.ids {
		s, err := r.service.Get(context.Background(), id)
		r.Must(err)
		if s.Timer.Exhausted {
			r.Ends["given up"]++
			r.do(id, relaysync.Retried{By: r.by(relaysync.Operator)})
		}
		ended = ended && s.Phase() == relaysync.PhaseClean
	}
	return ended
}

// Count implements [World].
func (r *Relays) Count() {
	for _, id := range r.ids {
		s, err := r.service.Get(context.Background(), id)
		r.Must(err)
		r.Must(relaysync.Check(s))
		r.Ends["relay synced"]++
		if r.server[id] != r.config[id] || !s.Relay.Synced {
			r.Errorf("%s is synced (%v), the server has %q, the host %q", id, s.Relay.Synced, r.server[id], r.config[id])
		}
	}
}
