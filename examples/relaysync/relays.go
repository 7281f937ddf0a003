package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/store"
)

// stubborn is the relay that the server refuses until an operator asks again.
const stubborn = "relay_0"

// host is the service that owns the relays.
type host struct {
	options
	db      *program.Database
	relays  *store.Relays
	server  *process
	running []*process // reactors
	started int
	config  childConfig
	log     io.Writer
	report  report
}

// everything runs both parts and returns what was proved.
func everything(ctx context.Context, o options, log io.Writer) (r report, err error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return r, err
	}
	sign, err := newSigner(hex.EncodeToString(key))
	if err != nil {
		return r, err
	}
	db, err := program.Open(ctx, o.db, program.Options{Before: program.Migrate})
	if err != nil {
		return r, err
	}
	log = children.Log(log)
	h := &host{options: o, db: db, log: log, config: childConfig{Database: o.db, Key: hex.EncodeToString(key),
		Pubkey: sign.pubkey(), Seed: o.seed, Base: o.base}}
	defer func() { err = errors.Join(err, db.Close()) }()
	if h.relays, err = store.NewRelays(db, policy(o.base)); err != nil {
		return r, err
	}
	if h.server, err = start(roleServer, h.config, log); err != nil {
		return r, err
	}
	defer func() { _ = h.server.end() }()
	h.config.Server = h.server.first
	defer func() {
		for _, p := range h.running {
			_ = p.end()
		}
	}()
	if err := h.react(2); err != nil {
		return r, err
	}
	for _, step := range []func(context.Context) error{h.creates, h.changes, h.operator, h.dunning, h.churned, h.prove} {
		if err := step(ctx); err != nil {
			return r, err
		}
	}
	return h.report, nil
}

// react starts n reactors. They share the timers.
func (h *host) react(n int) error {
	for range n {
		h.started++
		h.config.Name = fmt.Sprint("reactor-", h.started)
		p, err := start(roleReactor, h.config, h.log)
		if err != nil {
			return err
		}
		h.running = append(h.running, p)
	}
	return nil
}

// kill ends n reactors in the middle of their work, and starts as many.
func (h *host) kill(n int) error {
	for _, p := range h.running[:n] {
		p.kill()
		h.report.Kills++
	}
	h.running = h.running[n:]
	return h.react(n)
}

func by(role relaysync.Role) relaysync.By {
	return relaysync.By{Actor: "host", Role: role}
}

// relay makes the i-th relay in its n-th form; later forms have less in them.
func relay(i, n int) (id, subdomain string, c relaysync.Config) {
	owner := fmt.Sprintf("%064x", 1000+i)
	doc := func(format string, args ...any) relaysync.Document {
		return relaysync.Document(fmt.Sprintf(format, args...))
	}
	c.Info = doc(`{"pubkey":"%s","name":"relay %d","form":%d}`, owner, i, n)
	c.Policy = doc(`{"public_join":%v}`, i%2 == 0)
	if n == 0 {
		c.Info = doc(`{"pubkey":"%s","name":"relay %d","icon":"https://example/%d.png"}`, owner, i, i)
		c.Roles = `{"admin":{"pubkeys":["x"],"can":["ban"]},"guest":{"can":[]}}`
		c.Groups = `{"enabled":true,"limit":10}`
	}
	if i%3 == 0 {
		c.BlossomEnabled, c.Blossom = int64(1-n), doc(`{"adapter":"s3","s3":{"bucket":"b%d","secret_key":"s3-secret-%d"}}`, i, i)
	}
	if i%4 == 0 {
		c.LivekitEnabled, c.Livekit = 1, `{"server":"wss://livekit.example","api_secret":"livekit-secret"}`
	}
	return fmt.Sprint("relay_", i), fmt.Sprint("sub", i), c
}

// creates makes the relays, kills a reactor while it sends them, and waits
// until all are synced or given up.
func (h *host) creates(ctx context.Context) error {
	for i := range h.options.relays {
		id, subdomain, c := relay(i, 0)
		if _, err := h.relays.Do(ctx, id, relaysync.Created{By: by(relaysync.Host), Relay: id, Tenant: "tenant",
			Subdomain: subdomain, Config: c}); err != nil {
			return err
		}
		if i == h.options.relays/2 {
			if err := wait(ctx, 300*time.Millisecond); err != nil {
				return err
			}
			if err := h.kill(1); err != nil {
				return err
			}
		}
	}
	return h.settled(ctx)
}

// changes updates all relays while they may be under way, and deactivates some.
func (h *host) changes(ctx context.Context) error {
	for i := range h.options.relays {
		id, subdomain, c := relay(i, 1)
		events := []relaysync.Event{relaysync.Updated{By: by(relaysync.Host), Subdomain: subdomain, Config: c}}
		if i%5 == 1 {
			events = append(events, relaysync.Deactivated{By: by(relaysync.Host)})
		}
		if _, err := h.relays.Do(ctx, id, events...); err != nil {
			return err
		}
	}
	if err := h.kill(2); err != nil {
		return err
	}
	return h.settled(ctx)
}

// operator asks for what was given up, once the server is well again.
func (h *host) operator(ctx context.Context) error {
	s, err := h.relays.Get(ctx, stubborn)
	if err != nil {
		return err
	}
	h.check(s.Phase() == relaysync.PhaseExhausted, "%s was given up, and is %v", stubborn, s.Phase())
	h.check(s.History.Streak == h.relays.Policy().MaxAttempts+1, "%s failed %d times", stubborn, s.History.Streak)
	resp, err := http.Post(h.config.Server+"/calm", "", nil)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if _, err := h.relays.Do(ctx, stubborn, relaysync.Retried{By: by(relaysync.Operator), Reason: "the server is well again"}); err != nil {
		return err
	}
	return h.settled(ctx)
}

// settled waits until no relay is due, waits or is sent.
func (h *host) settled(ctx context.Context) error {
	for {
		stats, err := h.relays.Stats(ctx, time.Hour)
		if err != nil {
			return err
		}
		h.check(stats.Untimed == 0, "%d relays are unsynced without a timer", stats.Untimed)
		if stats.Phases[relaysync.PhaseDue]+stats.Phases[relaysync.PhaseWaiting]+stats.Phases[relaysync.PhaseSyncing] == 0 {
			return nil
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("some relays are not synced: %+v", stats.Phases)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prove compares the database with what the server has.
func (h *host) prove(ctx context.Context) error {
	resp, err := http.Get(h.config.Server + "/proof")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var there map[string]hosted
	if err := json.NewDecoder(resp.Body).Decode(&there); err != nil {
		return err
	}
	stored, err := texts(ctx, h.db.DB)
	if err != nil {
		return err
	}
	stored = strings.ToLower(stored)
	for after := ""; ; {
		last, err := h.relays.Audit(ctx, after, 100)
		h.check(err == nil, "the audit is sound: %v", err)
		if last == "" {
			break
		}
		ids, err := h.relays.List(ctx, "", after, 100)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := h.proveRelay(ctx, id, there, stored); err != nil {
				return err
			}
		}
		after = last
	}
	h.check(len(there) == h.report.Relays, "the server has %d relays of %d", len(there), h.report.Relays)
	return nil
}

func (h *host) proveRelay(ctx context.Context, id string, there map[string]hosted, stored string) error {
	s, err := h.relays.Get(ctx, id)
	if err != nil {
		return err
	}
	trail, err := h.relays.Trail(ctx, id)
	h.check(err == nil, "the trail of %s replays: %v", id, err)
	h.report.Relays++
	row := relayRow{Relay: id, Status: s.Relay.Status.String(), Synced: s.Relay.Synced, Posts: there[id].Posts}
	for _, l := range trail {
		switch l.Trigger {
		case "claim":
			row.Syncs++
		case "failure", "stale failure", "retries exhausted":
			row.Failures++
		case "takeover":
			row.Takeovers++
		case "follow":
			row.Follows++
		}
	}
	h.report.Rows = append(h.report.Rows, row)
	has := there[id]
	// A relay that was never sent has a body without nulls.
	fresh := s
	fresh.Relay.Sent = ""
	a, err := h.relays.Policy().Attempt(fresh)
	if err != nil {
		return err
	}
	var want object
	if err := json.Unmarshal(a.Requests[len(a.Requests)-1].Body, &want); err != nil {
		return err
	}
	h.check(s.Relay.Synced && s.Phase() == relaysync.PhaseClean, "%s is synced, and is %v", id, s.Phase())
	h.check(reflect.DeepEqual(has.Config, want), "%s is as it was changed last: the server has %v, expected %v", id, has.Config, want)
	h.check(has.Secret != "" && has.Secret == has.First, "%s has its first secret", id)
	h.check(!strings.Contains(stored, has.Secret), "the secret of %s is in no table", id)
	return nil
}
