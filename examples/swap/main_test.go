package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// asProgram makes the test binary the program itself, so that it can start its
// processes and kill them.
const asProgram = "SETTLE_TEST_RUN_SWAP"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if err := run0(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Setenv(asProgram, "1") // for all children
	os.Exit(pgtest.Main(m))
}

// short is every sixth line of the sample, in a sixth of the time.
func short(t *testing.T) string {
	t.Helper()
	people, err := readFile("")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for i, o := range people {
		if i%6 == 0 {
			o.At, o.MappedAt = o.At/6, o.MappedAt/6
			line, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(append(line, '\n'))
		}
	}
	path := filepath.Join(t.TempDir(), "day.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestADayThroughFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	for _, where := range []string{"sqlite", "postgres"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := []string{"-json", "-dir", dir, "-file", short(t), "-workers", "2"}
			if where == "postgres" {
				url := pgtest.URL(t)
				db, err := sql.Open("pgx", url)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				name := pgtest.Schema(t, db)
				args = append(args, "-db", url, "-schema", name)
				for n := range 2 {
					defer db.Exec(fmt.Sprintf("DROP SCHEMA IF EXISTS %s_%d CASCADE", name, n))
				}
			}
			var out, log bytes.Buffer
			if err := run0(context.Background(), args, nil, &out, &log); err != nil {
				t.Fatalf("%v\n%s\n%s", err, log.String(), out.String())
			}
			var r report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil || !r.Pass || len(r.Proof) != 8 || r.Losses != 1 || r.Kills == 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// The day is killed as a whole, or its first process alone, whose children end then; it
// goes on in the same directory.
func TestAKilledDayGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	t.Parallel()
	args := []string{"-json", "-dir", t.TempDir(), "-file", short(t), "-workers", "2"}
	for i, after := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		program := exec.Command(os.Args[0], args...)
		program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with all of its children
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-program.Process.Pid, syscall.SIGKILL) })
		time.Sleep(after)
		if i != 1 {
			_ = syscall.Kill(-program.Process.Pid, syscall.SIGKILL)
		}
		_ = program.Process.Kill()
		_ = program.Wait()
	}
	var out, log bytes.Buffer
	if err := run0(context.Background(), args, nil, &out, &log); err != nil {
		t.Fatalf("%v\n%s\n%s", err, log.String(), out.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || !r.Pass || r.Losses == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if !strings.Contains(log.String(), "goes on") {
		t.Errorf("it began anew: %s", log.String())
	}
}

// A directory that is not there is said at once, before any process is started.
func TestADirectoryThatIsNotThere(t *testing.T) {
	var log bytes.Buffer
	err := run0(context.Background(), []string{"-dir", filepath.Join(t.TempDir(), "none")}, nil, &log, &log)
	if err == nil || !strings.Contains(err.Error(), "it must be a directory") || log.Len() > 0 {
		t.Errorf("%v, %s", err, log.String())
	}
}

// A day whose database was being rebuilt when it was killed goes on with another one.
func TestARebuildingThatWasCutOff(t *testing.T) {
	s := &story{options: options{dir: t.TempDir()}}
	for k, want := range []diary{{Run: 1}, {Run: 2, Losses: 2}, {Run: 3, Losses: 2, Whole: true}} {
		continued, err := s.recall()
		if err != nil || continued != (k > 0) || s.Run != want.Run || s.Losses != want.Losses || s.Whole != want.Whole {
			t.Errorf("%d: %+v, %v", k, s.diary, err)
		}
		s.Losses, s.Whole = max(s.Losses, 1), k == 1
		if err := s.note(); err != nil {
			t.Fatal(err)
		}
		s.diary = diary{}
	}
}

// A proof that cannot fail proves nothing: what the ledgers and the database do
// not agree in is found.
func TestTheProofFails(t *testing.T) {
	ctx := context.Background()
	open := func(t *testing.T) *story {
		t.Helper()
		s := &story{options: options{dir: t.TempDir()}, diary: diary{Began: time.Now(), Stopped: [2]time.Time{time.Now(), time.Now()}}}
		var err error
		if s.db, err = program.Open(ctx, filepath.Join(s.dir, "swap.db"), program.Options{Before: program.Migrate}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.db.Close() })
		if s.swaps, err = store.NewSwaps(s.db, policy); err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC()
		in := chain.Transfer{ID: "dep", Inbound: true, From: "alice", To: "solana-vault", Amount: 10_000_000, Time: now}
		out := chain.Transfer{ID: "out", Vault: true, To: "carol", Amount: 9_890_000, Token: "USDD", Reference: 1, Time: now}
		s.write(t, swap.Solana, in)
		s.write(t, swap.Nexus, out)
		seen := swap.Sighting{VaultSigned: true, Chain: swap.Nexus, TxID: "out", Reference: 1, Amount: out.Amount, Destination: "carol", Token: "USDD", Confirmations: 99}
		_, err = s.swaps.Deposits.Do(ctx, "dep", swap.Recovered{By: swap.By{Actor: "test", Role: swap.System}, Memo: "nexus:carol", Action: swap.Send, Seen: seen,
			Observed: swap.Observed{ID: "dep", Amount: in.Amount, From: "alice", Time: now, Success: true, Finalized: true}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	failing := func(t *testing.T, s *story, ended error) (failed []string) {
		t.Helper()
		r, err := s.report(ctx, ended)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Proof {
			if !c.Holds {
				failed = append(failed, c.Claim)
			}
		}
		return failed
	}
	if failed := failing(t, open(t), nil); len(failed) > 0 {
		t.Fatalf("a sound day fails: %v", failed)
	}
	for name, c := range map[string]struct {
		spoil func(*story)
		claim string
	}{
		"a second outbound": {func(s *story) {
			s.write(t, swap.Nexus, chain.Transfer{ID: "second", Vault: true, To: "carol", Amount: 9_890_000, Reference: 2})
		}, "every outbound"},
		"an inbound that is no item":                      {func(s *story) { s.write(t, swap.Solana, chain.Transfer{ID: "other", Inbound: true, Amount: 5}) }, "what came in"},
		"a paid item whose outbound is not on the ledger": {func(s *story) { os.Remove(s.ledger(swap.Nexus)) }, "per item: at most one"},
		"another amount": {func(s *story) {
			os.Remove(s.ledger(swap.Nexus))
			s.write(t, swap.Nexus, chain.Transfer{ID: "out", Vault: true, To: "carol", Amount: 9_890_001, Reference: 1})
		}, "in total"},
		"an item that was not finished": {func(s *story) {
			o := swap.Observed{By: observer, ID: "late", Amount: 5, Time: time.Now(), Success: true, Finalized: true}
			if _, err := s.swaps.Deposits.Do(ctx, "late", o); err != nil {
				t.Fatal(err)
			}
		}, "everything that came in"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			c.spoil(s)
			if failed := strings.Join(failing(t, s, nil), "; "); !strings.Contains(failed, c.claim) {
				t.Errorf("failed are %q, expected %q among them", failed, c.claim)
			}
		})
	}
	if failed := failing(t, open(t), errors.New("time is over")); len(failed) != 1 {
		t.Errorf("failed are %v", failed)
	}
}

func (s *story) write(t *testing.T, c swap.Chain, transfer chain.Transfer) {
	t.Helper()
	file, err := os.OpenFile(s.ledger(c), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := json.NewEncoder(file).Encode(transfer); err != nil {
		t.Fatal(err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON":          `x`,
		"an unknown field": `{"chain":"solana","id":"a","amount":"1","memo":"nexus:a"}`,
		"an exponent":      `{"chain":"solana","id":"a","amount":"1e3"}`,
		"another chain":    `{"chain":"bitcoin","id":"a","amount":"1"}`,
	} {
		path := filepath.Join(t.TempDir(), "day.jsonl")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readFile(path); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
