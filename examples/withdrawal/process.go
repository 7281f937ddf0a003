package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// process keeps a child running: one that ends is started again.
type process struct {
	role   string
	config func(start int) any // of each start
	ready  func(line string)   // told the first line of the child's output, if not nil
	log    io.Writer

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

// keep runs until ctx is done, then lets the child end.
func (p *process) keep(ctx context.Context) {
	wait := shortestPause
	for ctx.Err() == nil {
		started := time.Now()
		err := p.once(ctx)
		if err == nil || killed(err) || time.Since(started) > longestPause {
			wait = shortestPause
		} else if ctx.Err() == nil {
			fmt.Fprintf(p.log, "a %s ended and is started again in %v: %v\n", p.role, wait, err)
		}
		pause(ctx, wait)
		wait = min(2*wait, longestPause)
	}
}

func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() < 0
}

// once runs a child to its end. After ctx is done it gets a while to end by
// itself.
func (p *process) once(ctx context.Context) error {
	config, err := json.Marshal(p.config(p.starts))
	if err != nil {
		return err
	}
	p.starts++
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, p.role)
	cmd.Stderr = p.log
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
	if line, err := output.ReadString('\n'); err == nil && p.ready != nil {
		p.ready(strings.TrimSpace(line))
	}
	_, _ = io.Copy(io.Discard, output)
	err = cmd.Wait()
	p.mu.Lock()
	p.cmd = nil
	p.mu.Unlock()
	return err
}

// kill ends the child as a crash does, and reports whether there was one.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.cmd.Process.Kill() != nil {
		return false
	}
	p.kills.Add(1)
	return true
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
