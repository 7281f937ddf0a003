package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/relaysync"
)

// asProgram makes the test binary the program itself, so that tests can start
// its processes and kill them.
const asProgram = "SETTLE_TEST_RUN_RELAYSYNC"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	_ = os.Setenv(asProgram, "1") // for the processes of the program
	os.Exit(pgtest.Main(m))
}

func runs(t *testing.T, args ...string) report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute) // only what hangs reaches it
	defer cancel()
	var out, log bytes.Buffer
	if err := run(ctx, append(args, "-json"), nil, &out, &log); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.Bytes(), log.Bytes())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRelaysync(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for time-outs")
	}
	relays, base := 9, "50ms"
	if os.Getenv("SETTLE_SOAK") != "" {
		relays, base = 36, "400ms"
	}
	for name, seed := range map[string]string{"sqlite": "2", "postgres": "3"} {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "a.db")
			if name == "postgres" {
				db = pgtest.Empty(t, "pgx", pgtest.URL(t))
			}
			t.Parallel() // most of it is waiting
			r := runs(t, "-db", db, "-seed", seed, "-relays", strconv.Itoa(relays), "-base", base)
			failures := 0
			for _, row := range r.Rows {
				failures += row.Failures
			}
			if r.Relays != relays+len(tenantNames) || r.Kills != 3 || len(r.Tenants) != len(tenantNames) || r.Checks < 200 || failures < 10 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A proof that fails is an error, and an error ends the program with 1.
func TestBrokenProof(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		sound := report{Checks: 1}
		if err := sound.conclude(asJSON, &out); err != nil {
			t.Error(err)
		}
		broken := report{Checks: 2, Broken: []string{"relay_1 has its first secret"}}
		if err := broken.conclude(asJSON, &out); err == nil || !strings.Contains(out.String(), broken.Broken[0]) {
			t.Errorf("%v, and the report is %s", err, out.String())
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := exec.Command(program, "-relays", "3").Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("an error ends the program with %v", err)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-relays", "3"}, {"-base", "1h"}, {"-timeout", "0s"}, {"x"}, {"-db"}, {roleServer}, {roleReactor}} {
		if err := run(t.Context(), args, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

// client is a service with a key, and a server.
type client struct {
	t    *testing.T
	sign *signer
	http *httptest.Server
	s    *server
}

func newClient(t *testing.T) *client {
	t.Helper()
	sign, err := newSigner(strings.Repeat("11", 32))
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, sign: sign, s: newServer("", sign.pubkey(), faults{over: true})}
	c.http = httptest.NewServer(c.s)
	c.s.base = c.http.URL
	t.Cleanup(c.http.Close)
	return c
}

// send signs a body, lets tamper change the request, and returns the status and
// the text.
func (c *client) send(method, id, body string, tamper func(*http.Request)) (int, string) {
	c.t.Helper()
	url := c.http.URL + "/relay/" + id
	header, err := c.sign.authorize(c.t.Context(), relaysync.Auth(method, url, []byte(body), time.Now()))
	if err != nil {
		c.t.Fatal(err)
	}
	q, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("Authorization", header)
	if tamper != nil {
		tamper(q)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	_, _ = text.ReadFrom(resp.Body)
	return resp.StatusCode, strings.TrimSpace(text.String())
}

func created(host, schema string) string {
	return `{"host":"` + host + `","schema":"` + schema + `","secret":"` + strings.Repeat("5e", 32) + `","info":{"pubkey":"` + strings.Repeat("ab", 32) + `","name":"a"},"roles":{"admin":{"x":1}}}`
}

// The server has zooid's contract.
func TestServer(t *testing.T) {
	c := newClient(t)
	for _, tt := range []struct {
		name, method, id, body, text string
		status                       int
	}{
		{"a PATCH of none", "PATCH", "a", `{}`, "no such relay", 404},
		{"a new one", "POST", "a", created("h1", "a"), "{}", 201},
		{"the same id", "POST", "a", created("h2", "b"), "relay with this id already exists", 409},
		{"the same schema", "POST", "b", created("h2", "a"), "schema is used by another relay", 409},
		{"the same host", "POST", "b", created("h1", "b"), "host is used by another relay", 409},
		{"a bad id", "POST", "1b", created("h3", "1b"), "id, info.pubkey or secret are malformed", 400},
		{"no secret", "POST", "c", strings.Replace(created("h4", "c"), "5e", "xx", 1), "id, info.pubkey or secret are malformed", 400},
		{"no JSON", "POST", "c", `[`, "the body is no JSON object", 400},
		{"a merge", "PATCH", "a", `{"info":{"name":null,"icon":"i"},"roles":{"admin":[1]},"policy":{"a":{"b":null,"c":2}}}`, "{}", 200},
		{"too large", "PATCH", "a", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, "the body is too large", 413},
	} {
		if status, text := c.send(tt.method, tt.id, tt.body, nil); status != tt.status || text != tt.text {
			t.Errorf("%s: %d %q, expected %d %q", tt.name, status, text, tt.status, tt.text)
		}
	}
	want := object{"host": "h1", "schema": "a", "info": object{"pubkey": strings.Repeat("ab", 32), "icon": "i"}, "roles": object{"admin": []any{1.0}}, "policy": object{"a": object{"c": 2.0}}}
	if got := c.s.relays["a"]; !reflect.DeepEqual(got.Config, want) || got.Secret != strings.Repeat("5e", 32) || got.Posts != 2 {
		t.Errorf("%+v", got)
	}
	if _, _ = c.send("PATCH", "a", `{"secret":null}`, nil); c.s.relays["a"].Secret != "" {
		t.Error("a null keeps the secret: the proof would see nothing")
	}
}

// Only a fresh signature of this very request by the one key counts.
func TestSignatures(t *testing.T) {
	c := newClient(t)
	other, err := newSigner(strings.Repeat("22", 32))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(s *signer, method, path, body string, at time.Time) func(*http.Request) {
		return func(q *http.Request) {
			header, err := s.authorize(t.Context(), relaysync.Auth(method, c.http.URL+path, []byte(body), at))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Authorization", header)
		}
	}
	body := created("h", "a")
	for name, tamper := range map[string]func(*http.Request){
		"none":                 func(q *http.Request) { q.Header.Del("Authorization") },
		"no base64":            func(q *http.Request) { q.Header.Set("Authorization", "Nostr !") },
		"another key":          sign(other, "POST", "/relay/a", body, time.Now()),
		"another method":       sign(c.sign, "PATCH", "/relay/a", body, time.Now()),
		"another URL":          sign(c.sign, "POST", "/relay/b", body, time.Now()),
		"another body":         sign(c.sign, "POST", "/relay/a", body+" ", time.Now()),
		"an old one":           sign(c.sign, "POST", "/relay/a", body, time.Now().Add(-2*time.Minute)),
		"one of the future":    sign(c.sign, "POST", "/relay/a", body, time.Now().Add(2*time.Minute)),
		"another body is sent": func(q *http.Request) { q.Body = http.NoBody; q.ContentLength = 0 },
	} {
		if status, _ := c.send("POST", "a", body, tamper); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, text := c.send("POST", "a", body, nil); status != http.StatusCreated {
		t.Errorf("%d %s", status, text)
	}
}
