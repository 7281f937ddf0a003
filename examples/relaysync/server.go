package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// server hosts relays, by zooid's contract: POST makes one (201, or 409 with one
// of three texts), PATCH merges into one (200, or 404); each with a NIP-98
// signature of the service. It keeps secrets, and shows none.
type server struct {
	mu     sync.Mutex
	base   string // URL under which it is reached
	pubkey string // who may
	relays map[string]*hosted
	faults faults
	seen   map[string]int // requests for each relay
}

// hosted is a relay as the server has it.
type hosted struct {
	Config object `json:"config"` // without the secret
	Secret string `json:"secret"` // for the proof; a real server answers with none
	First  string `json:"first"`  // the secret that it was made with
	Posts  int    `json:"posts"`  // that were offered
}

type object = map[string]any

const maxBody = 1 << 20

var (
	validID  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	validKey = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
)

func newServer(base, pubkey string, f faults) *server {
	return &server{base: base, pubkey: pubkey, relays: map[string]*hosted{}, faults: f, seen: map[string]int{}}
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /relay/{id}", s.change)
	mux.HandleFunc("PATCH /relay/{id}", s.change)
	mux.HandleFunc("GET /proof", s.proof)
	mux.HandleFunc("POST /calm", func(http.ResponseWriter, *http.Request) { s.mu.Lock(); s.faults.over = true; s.mu.Unlock() })
	mux.ServeHTTP(w, q)
}

func (s *server) change(w http.ResponseWriter, q *http.Request) {
	id := q.PathValue("id")
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	if err := authorized(q, s.base+q.URL.Path, body, s.pubkey, time.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	s.seen[id]++
	f := s.faults.of(id, s.seen[id])
	s.mu.Unlock()
	switch f {
	case refuse:
		http.Error(w, "the disk is full", http.StatusInternalServerError)
		return
	case lose: // and apply nothing
		<-q.Context().Done()
		return
	case linger: // apply it long after the client has given up
		<-q.Context().Done()
		time.Sleep(s.faults.timeout / 10)
	case slow:
		time.Sleep(s.faults.timeout / 5)
	}
	status, text := s.apply(q.Method, id, body)
	if f == answerNot {
		<-q.Context().Done()
		return
	}
	http.Error(w, text, status)
}

// apply changes the records. A refusal changes nothing.
func (s *server) apply(method, id string, body []byte) (status int, text string) {
	var doc object
	if err := json.Unmarshal(body, &doc); err != nil {
		return http.StatusBadRequest, "the body is no JSON object"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.relays[id]
	if method == http.MethodPatch {
		if r == nil {
			return http.StatusNotFound, "no such relay"
		}
		if secret, ok := doc["secret"]; ok { // a null deletes it, as anything else that is null
			r.Secret, _ = secret.(string)
			delete(doc, "secret")
		}
		merge(r.Config, doc)
		return http.StatusOK, "{}"
	}
	secret, _ := doc["secret"].(string)
	info, _ := doc["info"].(object)
	pubkey, _ := info["pubkey"].(string)
	if r != nil {
		r.Posts++
		return http.StatusConflict, "relay with this id already exists"
	}
	for _, other := range s.relays {
		switch {
		case other.Config["schema"] == doc["schema"]:
			return http.StatusConflict, "schema is used by another relay"
		case other.Config["host"] == doc["host"]:
			return http.StatusConflict, "host is used by another relay"
		}
	}
	if !validID.MatchString(id) || len(id) > 63 || !validKey.MatchString(pubkey) || !validKey.MatchString(secret) {
		return http.StatusBadRequest, "id, info.pubkey or secret are malformed"
	}
	delete(doc, "secret")
	config := object{}
	merge(config, doc)
	s.relays[id] = &hosted{Config: config, Secret: secret, First: secret, Posts: 1}
	return http.StatusCreated, "{}"
}

// merge is JSON merge patch: null removes, objects merge, anything else replaces.
func merge(target, patch object) {
	for k, v := range patch {
		inner, is := v.(object)
		if v == nil {
			delete(target, k)
			continue
		}
		if !is {
			target[k] = v
			continue
		}
		old, ok := target[k].(object)
		if !ok {
			old = object{}
			target[k] = old
		}
		merge(old, inner)
	}
}

func (s *server) proof(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(s.relays)
}

// faults say how the server treats a request.
type faults struct {
	Seed    uint64
	timeout time.Duration // of a client's request
	over    bool
}

type fault int

const (
	none      fault = iota
	refuse          // 5xx
	lose            // neither applied nor answered
	answerNot       // applied, not answered
	linger          // applied after the client has given up
	slow            // applied and answered late
)

// of gives the first requests for a relay a fault each, the same ones for the
// same seed. One relay is refused until the faults are over.
func (f faults) of(id string, n int) fault {
	switch {
	case f.over:
		return none
	case id == stubborn:
		return refuse
	case n > 3:
		return none
	}
	h := fnv.New64a()
	fmt.Fprint(h, f.Seed, id, n)
	return []fault{none, refuse, none, answerNot, slow, refuse, linger, none, lose, none}[h.Sum64()%10]
}
