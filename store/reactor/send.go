package reactor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// newClient neither follows redirects nor sends a request twice.
func newClient(t http.RoundTripper) *http.Client {
	if t == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.DisableKeepAlives = true
		t = own
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// sync sends one claimed relay.
func (r *reactor) sync(ctx context.Context, c store.ClaimedRelay) store.HeldRelay {
	finish := func(o statemachine.Outcome, text string) store.HeldRelay {
		return r.syncs.Finish(c, relaysync.Finished{Outcome: o, Error: text})
	}
	policy := r.relays.Policy()
	attempt, err := policy.Attempt(c.Sync)
	if err != nil {
		return finish(statemachine.Failed, err.Error())
	}
	var answers []relaysync.Answer
	for {
		next, outcome, text := attempt.Judge(answers...)
		if next == nil {
			return finish(outcome, text)
		}
		if ctx.Err() != nil || !before(time.Now().Add(policy.Timeout), c.Until) {
			if answers == nil {
				return finish(statemachine.Deferred, "nothing was sent: the lease ends, or the reactor stops")
			}
			return finish(statemachine.Failed, "the lease ended before the second request")
		}
		answer, failure := r.send(ctx, &c.Sync.Relay, *next, policy.Timeout)
		if failure != "" {
			return finish(statemachine.Failed, failure)
		}
		answers = append(answers, answer)
	}
}

// before compares by the monotonic clock, which stands still while the machine sleeps, and by the
// wall clock, which may be set; a must be before b by both.
func before(a, b time.Time) bool { return a.Before(b) && a.Round(0).Before(b.Round(0)) }

// send makes one request. failure is why nothing could be sent.
func (r *reactor) send(ctx context.Context, relay *relaysync.Relay, q relaysync.Request,
	timeout time.Duration) (answer relaysync.Answer, failure string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	secret := ""
	if q.NeedsSecret {
		made, err := r.secret()
		if err != nil {
			return answer, "no secret: " + err.Error()
		}
		secret = made
	}
	body, err := q.Bytes(secret)
	if err != nil {
		return answer, err.Error()
	}
	url := q.URL(r.o.URL)
	header, err := r.o.Authorize(ctx, relaysync.Auth(q.Method, url, body, time.Now()))
	_, token, _ := strings.Cut(header, " ")
	secrets := []string{secret, header, token}
	if err != nil {
		return answer, relay.Redact("no signature: "+err.Error(), secrets...)
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, url, io.NopCloser(bytes.NewReader(body))) // a reader that cannot be sent again
	if err != nil {
		return answer, relay.Redact(err.Error(), secrets...)
	}
	req.ContentLength = int64(len(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", header)
	resp, err := r.do(req)
	if err != nil {
		return relaysync.Answer{Text: relay.Redact(err.Error(), secrets...)}, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, relaysync.MaxAnswer)) // what came counts
	return relaysync.Answer{Status: resp.StatusCode, Text: relay.Redact(string(text), secrets...)}, ""
}

// do turns a panic of the host's transport into an error without an answer: the request may have
// been sent. The text is redacted like any other.
func (r *reactor) do(req *http.Request) (resp *http.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the transport panicked: %v", p)
		}
	}()
	return r.client.Do(req)
}

func (r *reactor) secret() (string, error) {
	if r.o.Secret != nil {
		return r.o.Secret()
	}
	var key [32]byte
	for {
		if _, err := rand.Read(key[:]); err != nil {
			return "", err
		}
		if key[0] != 0xff && key[31] != 0 { // below the order of the curve, and not zero
			return hex.EncodeToString(key[:]), nil
		}
	}
}
