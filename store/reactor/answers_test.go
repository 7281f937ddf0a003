package reactor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/store/reactor"
)

// What is sent, what is not, and what of the answer is kept.

// The secret and the signature are in no record, trail, log or error, even where the answer of
// the server contains them.
func TestSecretsStayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		echo := func(cut int) func(request) (fault, bool) {
			return func(r request) (fault, bool) {
				secret := b.made[len(b.made)-1]
				text := `{"error":"bad \u0073ecret ` + strings.ToUpper(secret) + ` and ` + secret
				if cut > 0 {
					text = strings.Repeat("x", 64<<10-cut) + secret // the end is not read
				}
				return fault{status: 400, body: text}, true
			}
		}
		stop := b.run("reactor-1")
		b.fault = echo(0)
		b.create("a")
		time.Sleep(10 * time.Second)
		synctest.Wait() // for what the server reads
		b.fault = echo(30)
		b.create("b")
		time.Sleep(time.Hour)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		trace := b.log.String()
		for _, id := range []string{"a", "b"} {
			trail, err := b.relays.Trail(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			trace += fmt.Sprintf("%+v %+v", b.get(id), trail)
		}
		if len(b.made) != 14 {
			t.Errorf("%d secrets were made", len(b.made))
		}
		for _, secret := range b.made {
			for n := len(secret); n >= 16; n-- {
				if strings.Contains(strings.ToLower(trace), secret[:n]) {
					t.Fatalf("%d digits of a secret are in a record or a log", n)
				}
			}
		}
	})
}

// A redirect is an answer like others that are not 2xx.
func TestRedirectsAreNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		status := 0
		b.fault = func(r request) (fault, bool) {
			return fault{status: status, header: http.Header{"Location": {"http://zooid.example/relay/other"}}}, true
		}
		stop := b.run("reactor-1")
		for i, code := range []int{301, 302, 303, 307, 308} {
			status = code
			id := fmt.Sprint("a", code)
			b.create(id)
			time.Sleep(time.Second)
			synctest.Wait() // for what the server wrote
			if len(b.got) != i+1 || !strings.HasPrefix(b.get(id).Relay.SyncError, fmt.Sprint("status ", code)) {
				t.Errorf("%v, %q", b.got, b.get(id).Relay.SyncError)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A sync that cannot be signed, or whose signer panics, fails at once, with the reason.
func TestNothingSent(t *testing.T) {
	for text, sign := range map[string]func() (string, error){
		"no signature: the signer is locked":      func() (string, error) { return "", errors.New("the signer is locked") },
		"the handler panicked: no key is plugged": func() (string, error) { panic("no key is plugged") },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			b.create("a")
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() {
				done <- reactor.Run(ctx, b.relays,
					reactor.Options{Name: "r", URL: "http://z", Transport: b.server, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
						Authorize: func(context.Context, relaysync.AuthEvent) (string, error) { return sign() }})
			}()
			time.Sleep(time.Second)
			cancel()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			panicked := strings.Contains(text, "panicked")
			if s := b.get("a"); len(b.got) != 0 || s.Relay.SyncError != text || s.Phase() != relaysync.PhaseWaiting ||
				s.Timer.UnansweredAt.IsZero() == panicked {
				t.Errorf("%d requests, %+v", len(b.got), s)
			}
			if strings.Contains(b.log.String(), "handler panicked") != panicked {
				t.Errorf("the log says %s", b.log.String())
			}
		})
	}
}
