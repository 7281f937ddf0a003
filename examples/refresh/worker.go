package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"

	"github.com/settlehq/settle/store/refresher"
)

// The program runs itself again as this.
const roleWorker = "worker"

// workerSettings is the first line on a worker's standard input: what the
// environment does not say. It may have a password, which the list of processes
// must not show.
type workerSettings struct {
	Database string        `json:"database"`
	API      string        `json:"api"`
	Second   time.Duration `json:"second"`
}

// child is a worker process. It ends with its parent: at the latest when its
// standard input ends.
func child(ctx context.Context, stdin io.Reader, stderr io.Writer) error {
	signal.Ignore(os.Interrupt) // of the terminal: the parent decides
	lines := bufio.NewReader(stdin)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return errors.New("a worker is a part of this program and not to be started by hand")
	}
	var s workerSettings
	if err := json.Unmarshal(line, &s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		cancel()
	}()
	c, err := configure(s.Second, s.API)
	if err != nil {
		return err
	}
	service, shut, err := openService(ctx, s.Database, c, false)
	if err != nil {
		return err
	}
	err = refresher.Run(ctx, service, newClient(c.APIURL), refresher.Options{
		Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	return errors.Join(err, shut())
}

// workers keeps worker processes running: one that ends is started again.
type workers struct {
	settings workerSettings
	log      io.Writer
	all      sync.WaitGroup

	mu      sync.Mutex
	running []*exec.Cmd
	kills   int
}

func (w *workers) start(ctx context.Context, n int) {
	for range n {
		w.all.Go(func() {
			for ctx.Err() == nil {
				if err := w.once(ctx); err != nil && ctx.Err() == nil {
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.ExitCode() >= 0 { // else it was killed
						fmt.Fprintln(w.log, "a worker ended and is started again:", err)
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
		})
	}
}

// once runs one worker to its end. After ctx is done it gets a while to end by
// itself.
func (w *workers) once(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, roleWorker)
	cmd.Stderr = w.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.mu.Lock()
	w.running = append(w.running, cmd)
	w.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		_ = stdin.Close()
		time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	})
	defer stop()
	line, err := json.Marshal(w.settings)
	if err != nil {
		return err
	}
	_, _ = stdin.Write(append(line, '\n')) // one that is gone says so below
	err = cmd.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.running {
		if w.running[i] == cmd {
			w.running = append(w.running[:i], w.running[i+1:]...)
			break
		}
	}
	return err
}

// kill ends the worker that runs longest as a crash does.
func (w *workers) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) > 0 && w.running[0].Process.Kill() == nil {
		w.kills++
	}
}
