package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/settlehq/settle/examples/internal/children"
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

// work is what a worker process does.
func work(ctx context.Context, s workerSettings, stderr io.Writer) error {
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

// workers are processes, each of which is started again when it ends.
type workers struct {
	all     []*children.Process
	running sync.WaitGroup
	next    int // that is killed
}

func (w *workers) start(ctx context.Context, n int, settings workerSettings, log io.Writer) {
	for range n {
		p := &children.Process{Role: roleWorker, Log: log, Config: func(int) any { return settings }}
		w.all = append(w.all, p)
		w.running.Go(func() { p.Keep(ctx) })
	}
}

// kill ends a worker as a crash does: each in turn. There may be none at this
// moment.
func (w *workers) kill() bool {
	p := w.all[w.next%len(w.all)]
	w.next++
	return p.Kill()
}
