package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/examples/internal/program"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/reactor"
)

// The program runs itself again as these.
const (
	roleServer  = "server"
	roleReactor = "reactor"
)

// childConfig is the first line on a child's standard input: it has a key, and
// perhaps a password, which the list of processes must not show.
type childConfig struct {
	Database string
	Server   string // URL
	Key      string // of the service
	Pubkey   string
	Name     string
	Seed     uint64
	Base     time.Duration
}

// defaultBase is the first delay of a run that takes about a minute.
const defaultBase = 400 * time.Millisecond

// policy is the source's, with its delays scaled. The time-out of 5 s is too, to
// no less than 1 s, where they are shorter than usual; a lease is longer than two
// requests.
func policy(base time.Duration) relaysync.Policy {
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "relays.example"
	p.Backoff = statemachine.Backoff{Base: base, Cap: 30 * base}
	p.Timeout = max(time.Second, p.Timeout*min(base, defaultBase)/defaultBase)
	if base < 30*time.Second {
		p.Lease, p.Linger = p.Timeout*11/5, p.Timeout*6/5
	}
	return p
}

// child runs as a part of another process, and ends with it.
func child(ctx context.Context, role string, stdin io.Reader, stdout, stderr io.Writer) error {
	return children.Run(ctx, role, stdin, func(ctx context.Context, c childConfig) error {
		if role == roleServer {
			return serve(ctx, c, stdout)
		}
		return react(ctx, c, stdout, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError + 4})))
	})
}

// serve hosts relays until ctx is done, and prints its URL.
func serve(ctx context.Context, c childConfig, stdout io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + listener.Addr().String()
	s := http.Server{Handler: newServer(base, c.Pubkey, faults{Seed: c.Seed, timeout: policy(c.Base).Timeout}), ReadTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if _, err := fmt.Fprintln(stdout, base); err != nil {
		return err
	}
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// react runs a reactor until ctx is done.
func react(ctx context.Context, c childConfig, stdout io.Writer, log *slog.Logger) error {
	sign, err := newSigner(c.Key)
	if err != nil {
		return err
	}
	db, err := program.Open(ctx, c.Database, program.Options{})
	if err != nil {
		return err
	}
	relays, err := store.NewRelays(db, policy(c.Base))
	if err == nil {
		fmt.Fprintln(stdout, c.Name)
		err = reactor.Run(ctx, relays, reactor.Options{Name: c.Name, URL: c.Server + "/", Authorize: sign.authorize, Log: log})
	}
	return errors.Join(err, db.Close())
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	first string // line of its output
}

// start runs a child and waits for its first line.
func start(role string, c childConfig, log io.Writer) (*process, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program, role)}
	p.cmd.Stderr = log
	stdout, err1 := p.cmd.StdoutPipe()
	stdin, err2 := p.cmd.StdinPipe()
	if err := errors.Join(err1, err2, p.cmd.Start()); err != nil {
		return nil, err
	}
	p.stdin = stdin
	_, _ = stdin.Write(append(line, '\n')) // one that is gone says so below
	first, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the %s did not start: %w", role, errors.Join(err, p.cmd.Wait()))
	}
	p.first = strings.TrimSpace(first)
	return p, nil
}

// kill ends a child as a crash does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// end lets a child end.
func (p *process) end() error {
	timer := time.AfterFunc(20*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.stdin.Close()
	return p.cmd.Wait()
}
