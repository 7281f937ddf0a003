package linear_test

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/cutdb"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/storetest/linear"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const limit = 20 * time.Second

// rounds is how many histories a test makes: each is short, since a search grows with what is unknown.
func rounds() uint64 {
	if os.Getenv("SETTLE_SOAK") != "" {
		return 60
	}
	return 3
}

func TestMemoryIsLinearizable(t *testing.T) {
	s := memory.New(memory.Options{})
	refused := 0
	for seed := range 20 * rounds() {
		sum, err := linear.Check(t, s, limit, linear.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		refused += sum.Refused
	}
	if refused == 0 {
		t.Error("it proves little: no two clients met")
	}
}

// reopened is a store that a new process opens after each cut.
type reopened struct {
	*sqlstore.Store
	process *cutdb.Process
	end     func()
	open    func() (*sqlstore.Store, *cutdb.Process, func())
}

func (r *reopened) again() {
	if r.end != nil {
		r.end()
	}
	r.Store, r.process, r.end = r.open()
}

// The connections are cut meanwhile, before a statement or after it, COMMIT included.
func TestDatabasesAreLinearizable(t *testing.T) {
	for name, d := range map[string]sqlstore.Dialect{"sqlite": sqlstore.SQLite, "pgx": sqlstore.Postgres} {
		t.Run(name, func(t *testing.T) {
			url, opts := pgtest.FileURL(filepath.Join(t.TempDir(), "settle.db")), sqlstore.Options{}
			if d == sqlstore.Postgres {
				url = pgtest.URL(t)
			}
			whole, err := sql.Open(name, url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { whole.Close() })
			if d == sqlstore.Postgres {
				opts.Schema = pgtest.Schema(t, whole)
			}
			if err := sqlstore.Migrate(t.Context(), whole, d, opts); err != nil {
				t.Fatal(err)
			}
			s := &reopened{open: func() (*sqlstore.Store, *cutdb.Process, func()) {
				db, process, err := cutdb.Open(name, url)
				if err != nil {
					t.Fatal(err)
				}
				db.SetMaxIdleConns(16)
				s, err := sqlstore.Open(context.Background(), db, d, opts)
				if err != nil {
					t.Fatal(err)
				}
				return s, process, func() {
					process.Revive()
					s.Close()
					db.Close()
				}
			}}
			s.again()
			t.Cleanup(func() { s.end() })
			var all linear.Summary
			for seed := range rounds() {
				rng := rand.New(rand.NewPCG(seed, 1))
				sum, err := linear.Check(t, s, limit, linear.Options{Seed: seed, Calls: 40, Cut: func(stop <-chan struct{}, alone func(func())) {
					for range 6 { // each cut leaves up to six calls without an answer
						only := [...]string{"", "COMMIT"}[rng.IntN(2)]
						process := s.process
						process.Cut(1+rng.IntN(40), rng.IntN(2) == 0, only)
						for !process.Dead() {
							select {
							case <-stop:
								if process.Cut(0, false, ""); process.Dead() {
									alone(s.again)
								}
								return
							case <-time.After(time.Millisecond):
							}
						}
						alone(s.again)
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", sum)
				all.Saved, all.Refused, all.Unknown = all.Saved+sum.Saved, all.Refused+sum.Refused, all.Unknown+sum.Unknown
			}
			if all.Saved == 0 || all.Refused == 0 || all.Unknown == 0 {
				t.Errorf("it proves little: %+v", all)
			}
		})
	}
}

// blind is a store whose saves of relays compare no version: what is saved is put on top of whatever
// is stored.
type blind struct{ *memory.Store }

type blindUnit struct{ store.Unit }

type blindRelays struct{ store.RelayRecords }

func (b blind) Update(ctx context.Context, fn func(store.Unit) error) error {
	return b.Store.Update(ctx, func(tx store.Unit) error { return fn(blindUnit{tx}) })
}

func (u blindUnit) Relays() store.RelayRecords { return blindRelays{u.Unit.Relays()} }

func (r blindRelays) Save(changes ...relaysync.Change) error {
	for i, c := range changes {
		stored, err := r.Get(c.New.Relay.ID)
		if err != nil {
			return err
		}
		if at := stored[0]; at.Relay.Version > 0 {
			policy := relaysync.DefaultPolicy()
			policy.RelayDomain = "relays.example"
			by := relaysync.By{Actor: c.Log[0].Actor, Role: relaysync.Host, At: c.Log[0].At}
			if changes[i], err = policy.ApplyAt(at, relaysync.Updated{By: by, Subdomain: c.New.Relay.Subdomain, Config: c.New.Relay.Config},
				by.At); err != nil {
				return err
			}
		}
	}
	return r.RelayRecords.Save(changes...)
}

func TestAStoreThatComparesNoVersionIsFound(t *testing.T) {
	for seed := range uint64(20) {
		if _, err := linear.Check(t, blind{memory.New(memory.Options{})}, limit, linear.Options{Seed: seed}); err != nil {
			t.Log(err)
			return
		}
	}
	t.Error("20 histories did not find it")
}
