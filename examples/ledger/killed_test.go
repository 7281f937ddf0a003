//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
)

// The program is killed again and again while callers ask and the chain loses answers.
// Whenever one looks, the book is what the records and the chain say.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killed(t, database(t))
		})
	}
}

func killed(t *testing.T, db string) {
	const lease = time.Second
	orders, kills := 20, 8
	if os.Getenv("SETTLE_SOAK") != "" {
		orders, kills = 40, 16
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, filepath.Join(t.TempDir(), "chain"), faults, 20*time.Millisecond)
	w.observe(ctx, db, lease)
	server := httptest.NewServer(w.chain)
	mined := make(chan error)
	go func() { mined <- w.chain.Mine(ctx) }()
	defer func() {
		cancel()
		if err := <-mined; err != nil {
			t.Error(err)
		}
		server.Close()
		if err := w.watch.close(); err != nil {
			t.Error(err)
		}
		if err := w.chain.Close(); err != nil {
			t.Error(err)
		}
	}()
	p := &program{args: []string{"-db", db, "-node", server.URL, "-listen", "127.0.0.1:0", "-lease", lease.String()}}
	kept := make(chan struct{})
	go func() { p.keep(ctx, t); close(kept) }()
	defer func() { cancel(); <-kept }()

	caller := http.Client{Timeout: 10 * time.Second}
	w.ask = func(ctx context.Context, method, path string, in, out any) int {
		for ; !w.over(ctx); children.Pause(ctx, 20*time.Millisecond) {
			r, err := http.NewRequestWithContext(ctx, method, "http://"+p.address()+path, bytes.NewReader(body(in)))
			if err != nil {
				continue
			}
			answer, err := caller.Do(r)
			if err != nil { // done or not
				continue
			}
			text, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode == http.StatusServiceUnavailable {
				continue
			}
			if out != nil {
				if err := json.Unmarshal(text, out); err != nil {
					t.Errorf("%s: %s", text, err)
				}
			}
			return answer.StatusCode
		}
		return 0
	}
	// An order waits until its share of the kills has been, however slow the machine is.
	var waits atomic.Bool
	w.before = func(ctx context.Context, i int) {
		for ; int(p.kills.Load()) < i*kills/orders && !w.over(ctx); children.Pause(ctx, 5*time.Millisecond) {
			waits.Store(true)
		}
	}
	over := make(chan bool)
	go func() {
		w.everything(ctx, 1, orders)
		close(over)
	}()
	// A life ends after a number of commits, so that each has done something, or when the
	// next order waits for a kill.
	random, lines, until := rand.New(rand.NewPCG(1, 2)), 0, 1
	for done := false; !done; {
		w.check(ctx)
		select {
		case <-over:
			done = true
		case <-time.After(5 * time.Millisecond):
		}
		if err := w.watch.conn.QueryRowContext(ctx, "SELECT count(*) FROM transitions").Scan(&lines); err != nil {
			t.Fatal(err)
		}
		if int(p.kills.Load()) < kills && (lines >= until || waits.Swap(false)) && p.kill() {
			w.check(ctx)
			until = lines + 1 + random.IntN(30)
		}
	}
	w.ended(ctx)
	if n := int(p.kills.Load()); n < kills {
		t.Errorf("it was killed %d times only", n)
	}
}

// program is the service as a process, which is started again whenever it ends.
type program struct {
	args  []string
	at    atomic.Pointer[string] // where the newest one listens
	child atomic.Pointer[os.Process]
	kills atomic.Int64
}

func (p *program) address() string {
	if at := p.at.Load(); at != nil {
		return *at
	}
	return ""
}

// kill ends it as a crash does, and reports whether there was one.
func (p *program) kill() bool {
	child := p.child.Swap(nil)
	if child == nil || child.Kill() != nil {
		return false
	}
	p.kills.Add(1)
	return true
}

func (p *program) keep(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, os.Args[0], p.args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		p.child.Store(cmd.Process)
		if line, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
			at := strings.TrimSpace(line)
			p.at.Store(&at)
		}
		err = cmd.Wait()
		if cmd.ProcessState.ExitCode() >= 0 && ctx.Err() == nil { // not killed
			t.Errorf("the program ends: %v: %s", err, &stderr)
			return
		}
	}
}
