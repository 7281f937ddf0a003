//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/internal/pgtest"
)

// scene is one database, one chain and one batch, on which the program is run,
// as real processes.
type scene struct {
	t    *testing.T
	args []string
}

func newScene(t *testing.T, db string, rows int) *scene {
	t.Helper()
	dir := t.TempDir()
	batch := filepath.Join(dir, "batch.csv")
	if err := os.WriteFile(batch, []byte(generated(rows)), 0o600); err != nil {
		t.Fatal(err)
	}
	if db == "" {
		db = filepath.Join(dir, "withdrawal.db")
	}
	return &scene{t, []string{"-db", db, "-ledger", filepath.Join(dir, "ledger"), "-batch", batch, "-json"}}
}

func (s *scene) start(args ...string) (program *exec.Cmd, stdout, stderr *bytes.Buffer) {
	s.t.Helper()
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	program = exec.Command(os.Args[0], append(s.args[:len(s.args):len(s.args)], args...)...)
	program.Env = append(os.Environ(), asProgram+"=1")
	program.Stdout, program.Stderr = stdout, stderr
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with all of its children
	program.WaitDelay = 5 * time.Second
	if err := program.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = syscall.Kill(-program.Process.Pid, syscall.SIGKILL) })
	return program, stdout, stderr
}

// killAll runs the program for a while and kills all of its processes at once,
// or the first alone: its children then find themselves without it.
func (s *scene) killAll(after time.Duration, firstAlone bool, args ...string) {
	s.t.Helper()
	program, _, _ := s.start(args...)
	time.Sleep(after)
	who := -program.Process.Pid
	if firstAlone {
		who = -who
	}
	_ = syscall.Kill(who, syscall.SIGKILL)
	_ = program.Wait()
}

// finish runs it to its end and returns the report, which must be a proof.
func (s *scene) finish(args ...string) *report {
	s.t.Helper()
	program, stdout, stderr := s.start(args...)
	return s.wait(program, stdout, stderr)
}

func (s *scene) wait(program *exec.Cmd, stdout, stderr *bytes.Buffer) *report {
	s.t.Helper()
	err := program.Wait()
	var r report
	if jsonErr := json.Unmarshal(stdout.Bytes(), &r); err != nil || jsonErr != nil || !r.Pass {
		s.t.Fatalf("%v, %v: %+v\n%s", err, jsonErr, r.Proof, stderr)
	}
	s.t.Logf("%d rows in %.1f s: %d kills, requests %v, attempts %v, signed %d, bumped %d, dead %d, incidents %d, faults %+v",
		r.Rows, r.Run.Seconds, r.Run.Kills, r.Requests, r.Attempts, r.Transactions, r.Bumped, r.Dead, r.Incidents, r.Run.Faults)
	return &r
}

// onEachDatabase runs a test on SQLite and PostgreSQL, at once: it waits most of
// the time.
func onEachDatabase(t *testing.T, test func(t *testing.T, db string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.Empty(t, "pgx", pgtest.URL(t)))
	})
}

// Workers and the node are killed at random moments, and in between everything
// is, the program that the user started too.
func TestKilledProcessesPayOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	t.Parallel()
	rows, kills, after := 20, 2, 800*time.Millisecond
	if os.Getenv("SETTLE_SOAK") != "" {
		rows, kills, after = 120, 5, 2*time.Second
	}
	onEachDatabase(t, func(t *testing.T, db string) {
		s := newScene(t, db, rows)
		for i := range kills {
			s.killAll(500*time.Millisecond+rand.N(after), i == 1, "-chaos", "-seed", strconv.Itoa(i))
		}
		r := s.finish("-chaos", "-seed", "9", "-timeout", "9m")
		if r.Requests["completed"]+r.Requests["cancelled"] != rows {
			t.Errorf("%v of %d", r.Requests, rows)
		}
		if again := s.finish(); again.Transactions != r.Transactions { // nothing is left to do
			t.Errorf("%d transactions, and %d when it is run again", r.Transactions, again.Transactions)
		}
	})
}

// The same where one transaction pays up to eight requests.
func TestKilledProcessesPayTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	t.Parallel()
	rows, kills := 40, 1
	var shared atomic.Int64
	t.Cleanup(func() {
		if shared.Load() < 2 {
			t.Error("nothing was paid together")
		}
	})
	pay := func(t *testing.T, db string) {
		s := newScene(t, db, rows)
		for i := range kills {
			s.killAll(time.Second+rand.N(time.Second), i == 1, "-together", "8", "-chaos", "-seed", strconv.Itoa(i))
		}
		r := s.finish("-together", "8", "-chaos", "-seed", "9", "-timeout", "9m")
		if r.Requests["completed"]+r.Requests["cancelled"] != rows {
			t.Errorf("%v of %d", r.Requests, rows)
		}
		t.Logf("%d payments together, batches %v, %d replaced", r.Shared, r.Batches, r.Replaced)
		shared.Add(int64(r.Shared))
	}
	if os.Getenv("SETTLE_SOAK") != "" {
		rows, kills = 200, 6
		onEachDatabase(t, pay)
		return
	}
	for range 3 { // beside the workers that pay each alone, which get more or less of it by chance
		if pay(t, ""); shared.Load() >= 2 {
			return
		}
	}
}

// The server crashes in the middle: what it has confirmed stays, and
// what was under way is found out.
func TestPostgresStoppedImmediately(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	t.Parallel()
	server := pgtest.Private(t)
	rows, crashes := 24, 1
	if os.Getenv("SETTLE_SOAK") != "" {
		rows, crashes = 150, 3
	}
	url := pgtest.Empty(t, "pgx", server.URL())
	if db, err := program.Open(t.Context(), url, program.Options{Before: program.Migrate}); err != nil { // with its tables, which are none of the test
		t.Fatal(err)
	} else if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := newScene(t, url, rows)
	if err := server.Crash(); err != nil {
		t.Fatal(err)
	}
	program, stdout, stderr := s.start("-chaos", "-seed", "3", "-timeout", "9m") // it waits for the server
	for i := range 1 + crashes {
		if i > 0 {
			time.Sleep(time.Second)
			if err := server.Crash(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(500 * time.Millisecond)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.wait(program, stdout, stderr); r.Requests["completed"]+r.Requests["cancelled"] != rows {
		t.Errorf("%v of %d", r.Requests, rows)
	}
}

// SETTLE_SOAK is 1, or how many withdrawals: thousands take minutes.
func TestSoak(t *testing.T) {
	rows, err := strconv.Atoi(os.Getenv("SETTLE_SOAK"))
	if err != nil || rows < 1 {
		t.Skip("SETTLE_SOAK=1 pays 600, or more if it is a larger number, under kills")
	}
	rows = max(rows, 600)
	soak := func(t *testing.T, s *scene, during func(ctx context.Context)) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); during(ctx) }()
		for i := range 3 {
			s.killAll(5*time.Second+rand.N(5*time.Second), i == 1, "-chaos", "-seed", strconv.Itoa(i), "-workers", "8")
		}
		program, stdout, stderr := s.start("-chaos", "-seed", "9", "-workers", "8", "-timeout", "30m")
		time.Sleep(10 * time.Second)
		stop()
		<-ended
		if r := s.wait(program, stdout, stderr); r.Requests["completed"]+r.Requests["cancelled"] != rows {
			t.Errorf("%v of %d", r.Requests, rows)
		}
	}
	t.Run("sqlite", func(t *testing.T) { soak(t, newScene(t, "", rows), func(context.Context) {}) })
	t.Run("postgres", func(t *testing.T) {
		server := pgtest.Private(t)
		soak(t, newScene(t, pgtest.Empty(t, "pgx", server.URL()), rows), func(ctx context.Context) {
			for ctx.Err() == nil {
				children.Pause(ctx, 4*time.Second+rand.N(4*time.Second))
				if err := server.Crash(); err != nil {
					t.Error(err)
				}
				if err := server.Start(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	})
}
