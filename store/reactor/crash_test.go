package reactor_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/relaysynctest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
)

// The database server is stopped abruptly, twice, while two reactors send. Each relay ends as its
// last change says, with the secret that it was made with, and was never sent by both reactors at
// once.
func TestDatabaseCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("it stops a database server")
	}
	cluster := pgtest.Private(t)
	db, err := sql.Open("pgx", cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxIdleConns(8)
	err = sqlstore.Migrate(t.Context(), db, sqlstore.Postgres, sqlstore.Options{})
	s, err2 := sqlstore.Open(t.Context(), db, sqlstore.Postgres, sqlstore.Options{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p := relaysynctest.Policy()
	p.MaxAttempts, p.Backoff = 1000, statemachine.Backoff{Base: 50 * time.Millisecond, Cap: 400 * time.Millisecond}
	p.Timeout, p.Lease, p.Linger = 300*time.Millisecond, 1500*time.Millisecond, 300*time.Millisecond
	b := &bench{T: t, server: newServer(), start: time.Now()}
	if b.relays, err = store.NewRelays(s, p); err != nil {
		t.Fatal(err)
	}
	n := 0
	b.fault = func(request) (fault, bool) { // a third of the answers are lost, of what was applied or not
		n++
		if n%3 == 0 {
			return fault{apply: n%2 == 0}, true
		}
		return fault{status: slow, apply: true, takes: 50 * time.Millisecond}, n%3 == 1
	}
	stop1, stop2 := b.run("reactor-1"), b.run("reactor-2")
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprint("relay_", i))
	}
	// repeated sends a command until it is there: its answer may be lost too.
	repeated := func(id string, ev relaysync.Event) {
		for range 200 {
			if _, err = b.relays.Do(t.Context(), id, ev); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatal(err)
	}
	for round := range 2 {
		for _, id := range ids {
			if round == 0 {
				repeated(id, relaysync.Created{By: by(relaysync.Host), Relay: id, Tenant: "tenant", Subdomain: "sub", Config: config("a")})
			} else {
				repeated(id, relaysync.Updated{By: by(relaysync.Host), Revision: 2, Subdomain: "sub", Config: config("b")})
			}
		}
		time.Sleep(200 * time.Millisecond)
		if err := cluster.Crash(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if err := cluster.Start(); err != nil {
			t.Fatal(err)
		}
	}
	var stats relaysync.Stats
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) &&
		(stats.Phases[relaysync.PhaseClean] != int64(len(ids)) || stats.Untimed > 0); time.Sleep(50 * time.Millisecond) {
		if stats, err = b.relays.Stats(t.Context(), time.Hour); err != nil {
			t.Log(err)
		}
	}
	if err := errors.Join(stop1(), stop2()); err != nil {
		t.Error(err)
	}
	posts := 0
	for _, r := range b.got {
		if r.method == "POST" {
			posts++
		}
	}
	if b.overlap || posts != len(b.made) {
		t.Errorf("a relay was sent by two at once: %v; %d secrets in %d POSTs", b.overlap, len(b.made), posts)
	}
	for _, id := range ids {
		r := b.get(id)
		info, _ := b.bodies[id]["info"].(map[string]any)
		if _, err := b.relays.Trail(t.Context(), id); err != nil || !r.Relay.Synced || info["name"] != "b" ||
			!slices.Contains(b.made, b.secrets[id]) {
			t.Errorf("%s: %v, the server has %v: %v", id, r.Phase(), info, err)
		}
	}
}
