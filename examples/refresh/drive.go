package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/examples/internal/children"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
)

// scenario is one way that a wallet is used: which endpoint, and what becomes of
// the transfer. Durations are of the source's clock.
type scenario struct {
	name     string
	endpoint string
	body     requestBody
	ends     string // of the transfer and of its watcher
	syncJob  bool   // then /wallet/sync-job is called too
}

const minute = time.Minute

// scenarios are the four flows. expiry is in whole seconds, since expirations are.
func scenarios(expiry int64) []scenario {
	return []scenario{
		{"1 blind receive, paid", "blindreceive", requestBody{AssetID: "usd", PaidIn: minute, DoneIn: 2 * minute}, "settled", false},
		{"1 witness receive, paid late", "witnessreceive", requestBody{AssetID: "eur", PaidIn: 4 * minute, DoneIn: 6 * minute}, "settled", false},
		{"1 blind receive, never paid", "blindreceive", requestBody{AssetID: "usd", Expiration: expiry}, "cancelled", false},
		{"1 witness receive, never paid", "witnessreceive", requestBody{AssetID: "usd", Expiration: expiry}, "cancelled", false},
		{"2 invoice without asset, paid at once", "blindreceive", requestBody{Asset: "chf", AssetIn: minute, PaidIn: minute,
			DoneIn: 3 * minute}, "settled", false},
		{"2 invoice without asset, paid after 3 minutes", "blindreceive", requestBody{Asset: "chf", AssetIn: 5 * minute, PaidIn: 5 * minute,
			DoneIn: 7 * minute}, "settled", false},
		{"2 invoice without asset, never paid", "blindreceive", requestBody{Expiration: expiry}, "cancelled", false},
		{"3 send, confirmed", "sendend", requestBody{AssetID: "usd", DoneIn: 3 * minute}, "settled", false},
		{"3 send, failed at the node", "sendend", requestBody{AssetID: "usd", DoneIn: minute, Fails: true}, "failed", false},
		{"4 sync job", "", requestBody{AssetID: "jpy", PaidIn: minute, DoneIn: 2 * minute}, "settled", true},
		{"4 immediate sync, no job", "sync", requestBody{}, "none", false},
	}
}

// play runs everything and prints the report.
func play(ctx context.Context, o options, stdout, stderr io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	c, err := configure(o.second, url)
	if err != nil {
		return err
	}
	service, shut, err := openService(ctx, o.db, c, true)
	if err != nil {
		return err
	}
	defer shut()
	stderr = children.Log(stderr)
	node := newWallets()
	a := &api{wallets: node, service: service, log: slog.New(slog.NewTextHandler(stderr, nil)), took: o.second}
	server := http.Server{Handler: a.handler(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	r := newReport(o, c)
	running, stop := context.WithCancel(ctx)
	defer stop()
	var w workers
	w.start(running, o.workers, workerSettings{Database: o.db, API: url, Second: o.second}, stderr)
	defer w.running.Wait()
	defer stop()

	requested := time.Now()
	if err := r.request(ctx, newClient(url), a, o); err != nil {
		return err
	}
	r.Requested = time.Since(requested).Round(time.Millisecond).String()
	if err := r.watch(ctx, service, &w, o); err != nil {
		return err
	}
	stop()
	w.running.Wait()
	if err := r.prove(ctx, service, node); err != nil {
		return err
	}
	if err := r.print(stdout, o.json); err != nil {
		return err
	}
	if len(r.Failures) > 0 {
		return fmt.Errorf("%d failures", len(r.Failures))
	}
	return nil
}

// credentialsOf names wallet n of this run.
func (r *report) credentialsOf(n int) refresh.Credentials {
	return refresh.Credentials{XpubVan: fmt.Sprintf("xpub-van-%s-%04d", r.Run, n), XpubCol: fmt.Sprintf("xpub-col-%s-%04d", r.Run, n),
		MasterFingerprint: fmt.Sprintf("%08x", n)}
}

// request uses the API as its users do, one scenario for each wallet.
func (r *report) request(ctx context.Context, c *client, a *api, o options) error {
	all := scenarios(time.Now().Unix() + 3)
	for n := range o.wallets {
		s := all[n%len(all)]
		w := r.credentialsOf(n)
		body := s.body
		body.Flow = s.name
		for _, d := range []*time.Duration{&body.AssetIn, &body.PaidIn, &body.DoneIn} {
			*d = *d * o.second / time.Second
		}
		if s.syncJob { // the transfer was made elsewhere
			a.wallets.add(w.XpubVan, body.transfer(refresh.ReceiveBlind))
			a.wallets.add(w.XpubVan, transfer{flow: "issuance", apiTransfer: apiTransfer{AssetID: "jpy", Kind: refresh.Issuance,
				Status: refresh.TransferSettled}})
		}
		if s.endpoint != "" {
			if err := c.post(ctx, w, "/wallet/"+s.endpoint, body, nil); err != nil {
				return err
			}
		}
		if s.syncJob {
			var answer struct {
				Job uuid.UUID `json:"job_id"`
			}
			if err := c.post(ctx, w, "/wallet/sync-job", struct{}{}, &answer); err != nil {
				return err
			}
			if answer.Job == uuid.Nil {
				return errors.New("a sync job was not enqueued")
			}
		}
	}
	return nil
}

// watch kills workers now and then and waits until nothing is left to do.
func (r *report) watch(ctx context.Context, service *store.Refreshes, w *workers, o options) error {
	began := time.Now()
	every := max(100*time.Second*o.second/time.Second, time.Second)
	nextKill := began.Add(every)
	for {
		stats, err := service.Stats(ctx)
		if err != nil {
			return err
		}
		r.MostServed = max(r.MostServed, stats.Served)
		live := stats.Jobs[refresh.JobPending] + stats.Jobs[refresh.JobProcessing] + stats.Watchers[refresh.Watching]
		if r.Kills < o.kills && time.Now().After(nextKill) && w.kill() {
			r.Kills++
			nextKill = nextKill.Add(every)
		}
		if live == 0 && r.Kills >= o.kills {
			r.Took = time.Since(began).Round(time.Millisecond).String()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d jobs and watchers are left: %w", live, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
