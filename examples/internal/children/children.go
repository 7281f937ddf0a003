// Package children runs parts of an example as processes of their own, and kills them, since only a killed
// process shows what a crash does. The examples share the package; a user does not copy it.
package children

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Log is w for several processes: each of them copies its child's errors there.
func Log(w io.Writer) io.Writer { return &locked{w: w} }

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Process keeps a child running: one that ends is started again. The program
// runs itself with the role as its only argument, and gets its configuration as
// the first line of its standard input.
type Process struct {
	Role   string
	Config func(start int) any // of each start, written as JSON
	Ready  func(line string)   // told the first line of the child's output, if not nil
	Log    io.Writer           // see the function Log

	mu     sync.Mutex
	cmd    *exec.Cmd
	starts int
	kills  atomic.Int64
}

// The pause before a child is started again: the longest is for one that ends at
// once each time, as while the database is down.
const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 5 * time.Second
)

// Keep runs until ctx is done, then lets the child end.
func (p *Process) Keep(ctx context.Context) {
	wait := shortestPause
	for ctx.Err() == nil {
		started := time.Now()
		err := p.once(ctx)
		if err == nil || killed(err) || time.Since(started) > longestPause {
			wait = shortestPause
		} else if ctx.Err() == nil {
			fmt.Fprintf(p.Log, "a %s ended and is started again in %v: %v\n", p.Role, wait, err)
		}
		Pause(ctx, wait)
		wait = min(2*wait, longestPause)
	}
}

// Kills is how often the child was killed.
func (p *Process) Kills() int64 { return p.kills.Load() }

func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() < 0
}

// once runs a child to its end. After ctx is done it gets a while to end by
// itself.
func (p *Process) once(ctx context.Context) error {
	config, err := json.Marshal(p.Config(p.starts))
	if err != nil {
		return err
	}
	p.starts++
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, p.Role)
	cmd.Stderr = p.Log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.cmd = cmd
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = stdin.Close() })
	defer stop()
	end := context.AfterFunc(ctx, func() {
		time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	})
	defer end()
	_, _ = stdin.Write(append(config, '\n')) // one that is gone says so below
	output := bufio.NewReader(stdout)
	if line, err := output.ReadString('\n'); err == nil && p.Ready != nil {
		p.Ready(strings.TrimSpace(line))
	}
	_, _ = io.Copy(io.Discard, output)
	err = cmd.Wait()
	p.mu.Lock()
	p.cmd = nil
	p.mu.Unlock()
	return err
}

// Kill ends the child as a crash does, and reports whether there was one.
func (p *Process) Kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process.Kill() != nil {
		return false
	}
	p.kills.Add(1)
	return true
}

// Pause waits for d, or until ctx is done.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Run is what a child does: it reads its configuration and runs until stdin
// ends, which it does at the latest when the parent is gone.
func Run[C any](ctx context.Context, role string, stdin io.Reader, run func(context.Context, C) error) error {
	signal.Ignore(os.Interrupt) // of the terminal: the parent decides
	lines := bufio.NewReader(stdin)
	line, err := lines.ReadBytes('\n')
	var config C
	if err != nil || json.Unmarshal(line, &config) != nil {
		return fmt.Errorf("%s is a part of this program and not to be started by hand", role)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		cancel()
	}()
	return run(ctx, config)
}
