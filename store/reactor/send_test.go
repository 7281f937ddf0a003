package reactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

// claimed is a reactor with one relay that it has claimed.
func claimed(t *testing.T, send transport) (*reactor, store.ClaimedRelay) {
	t.Helper()
	relays, err := store.NewRelays(memory.New(memory.Options{}), relaysynctest.Policy())
	if err != nil {
		t.Fatal(err)
	}
	_, err = relays.Do(context.Background(), "a",
		relaysync.Created{By: relaysync.By{Actor: "host", Role: relaysync.Host}, Relay: "a", Tenant: "t", Subdomain: "s",
			Config: relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + strings.Repeat("ab", 32) + `"}`), BlossomEnabled: 1,
				Blossom: `{"s3":{"secret_key":"old-credential"}}`}})
	if err != nil {
		t.Fatal(err)
	}
	r := &reactor{relays: relays, syncs: relays.Work("r"), client: newClient(send), o: Options{URL: "http://z",
		Authorize: func(context.Context, relaysync.AuthEvent) (string, error) { return "Nostr token", nil }}}
	items, _, err := r.syncs.Turn(context.Background(), nil, 1)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	return r, items[0].Work
}

func finished(h store.HeldRelay) relaysync.Finished { return h.Events[0].(relaysync.Finished) }

// Nothing is sent that may not be answered under the lease as it was claimed.
func TestNothingIsSentUnderALeaseThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			left time.Duration // of the lease, when the first request is made
			sent int
			want statemachine.Outcome
		}{
			"enough": {5*time.Second + 1, 1, statemachine.Done}, "one request may outlast it": {5 * time.Second, 0, statemachine.Deferred},
			"it has ended": {-time.Second, 0, statemachine.Deferred},
		} {
			sent := 0
			r, c := claimed(t, func(q *http.Request) (*http.Response, error) {
				sent++
				return &http.Response{StatusCode: 201, Body: http.NoBody, Request: q}, nil
			})
			c.Until = time.Now().Add(tt.left)
			if got := finished(r.sync(context.Background(), c)); got.Outcome != tt.want || sent != tt.sent {
				t.Errorf("%s: %v after %d requests", name, got.Outcome, sent)
			}
		}
		// The second request of an attempt too.
		sent := 0
		r, c := claimed(t, func(q *http.Request) (*http.Response, error) {
			sent++
			time.Sleep(2 * time.Second)
			return &http.Response{StatusCode: 409, Body: http.NoBody, Request: q}, nil
		})
		c.Until = time.Now().Add(6 * time.Second)
		if got := finished(r.sync(context.Background(), c)); got.Outcome != statemachine.Failed || sent != 1 {
			t.Errorf("%v after %d requests", got.Outcome, sent)
		}
		// And none after a stop.
		stopped, cancel := context.WithCancel(context.Background())
		cancel()
		c.Until = time.Now().Add(time.Minute)
		if got := finished(r.sync(stopped, c)); got.Outcome != statemachine.Deferred || sent != 1 {
			t.Errorf("%v after %d requests", got.Outcome, sent)
		}
	})
}

// A transport that panics may have sent, and what it says shows no secret.
func TestATransportThatPanics(t *testing.T) {
	var body, header string
	r, c := claimed(t, func(q *http.Request) (*http.Response, error) {
		all, _ := io.ReadAll(q.Body)
		body, header = string(all), q.Header.Get("Authorization")
		panic(fmt.Sprintf("cannot send %s with %s", body, header))
	})
	got := finished(r.sync(context.Background(), c))
	_, secret, _ := strings.Cut(body, `"secret":"`)
	secret, _, _ = strings.Cut(secret, `"`)
	if len(secret) < 32 || got.Outcome != statemachine.Unknown || !strings.Contains(got.Error, "panicked") ||
		strings.Contains(got.Error, secret) || strings.Contains(got.Error, header) {
		t.Errorf("%v %q, of the secret %q", got.Outcome, got.Error, secret)
	}
}

// Each request has its own connection, its own signature over the bytes that are sent, and a body
// that cannot be sent again.
func TestRequests(t *testing.T) {
	var connections atomic.Int64
	type sent struct {
		method, path, auth string
		body               []byte
		length             int64
	}
	var got []sent
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		got = append(got, sent{q.Method, q.URL.Path, q.Header.Get("Authorization"), body, q.ContentLength})
		w.WriteHeader([]int{409, 200}[len(got)-1])
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	r, c := claimed(t, nil)
	own := newClient(nil)
	r.client = &http.Client{CheckRedirect: own.CheckRedirect, Transport: transport(func(q *http.Request) (*http.Response, error) {
		if q.GetBody != nil {
			t.Error("the body can be sent again")
		}
		return own.Transport.RoundTrip(q)
	})}
	r.o.URL = srv.URL + "//"
	var events []relaysync.AuthEvent
	r.o.Authorize = func(_ context.Context, ev relaysync.AuthEvent) (string, error) {
		events = append(events, ev)
		return fmt.Sprint("Nostr ", len(events)), nil
	}
	if f := finished(r.sync(context.Background(), c)); f.Outcome != statemachine.Done || len(got) != 2 || len(events) != 2 ||
		connections.Load() != 2 {
		t.Fatalf("%+v, %d requests, %d signatures, %d connections", f, len(got), len(events), connections.Load())
	}
	for i, q := range got {
		at := time.Unix(events[i].CreatedAt, 0)
		want := relaysync.Auth([]string{"POST", "PATCH"}[i], srv.URL+"/relay/a", q.body, at)
		if !reflect.DeepEqual(events[i], want) || time.Since(at).Abs() > time.Minute || q.method != want.Tags[1][1] || q.path != "/relay/a" ||
			q.auth != fmt.Sprint("Nostr ", i+1) || q.length != int64(len(q.body)) || bytes.Contains(q.body, []byte(`"secret":`)) != (i == 0) {
			t.Errorf("request %d is %+v, signed %+v", i, q, events[i])
		}
	}
}

// At most 64 KiB of an answer are read. An answer that breaks off counts with the bytes that
// came. The credentials of the relay that was sent are removed from the text.
func TestAnswers(t *testing.T) {
	long := bytes.NewReader(bytes.Repeat([]byte("x"), 1<<20))
	for name, tt := range map[string]struct {
		body io.Reader
		want string
	}{
		"long":        {long, strings.Repeat("x", 64<<10)},
		"broken off":  {io.MultiReader(strings.NewReader("begun"), broken{}), "begun"},
		"credentials": {strings.NewReader("bad key Old-Credential of Nostr token"), "bad key [redacted] of [redacted]"},
	} {
		r, c := claimed(t, func(q *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 500, Body: io.NopCloser(tt.body), Request: q}, nil
		})
		c.Until = time.Now().Add(time.Minute)
		if got := finished(r.sync(context.Background(), c)); got.Outcome != statemachine.Failed || got.Error != "status 500: "+tt.want {
			t.Errorf("%s: %v, %.100q (%d bytes)", name, got.Outcome, got.Error, len(got.Error))
		}
	}
	if left := long.Len(); left < 1<<20-128<<10 {
		t.Errorf("%d bytes were read", 1<<20-left)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }
