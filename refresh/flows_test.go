package refresh_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

const (
	done   = statemachine.Done
	failed = statemachine.Failed
)

// open is a transfer of a blind receive that waits for its counterparty.
func open(recipient, asset string) refresh.Transfer {
	return refresh.Transfer{Recipient: recipient, Asset: asset, Kind: refresh.ReceiveBlind, Index: 1, HasIndex: true}
}

func ended(recipient, asset string, status int) refresh.Transfer {
	t := open(recipient, asset)
	t.Status = status
	return t
}

func after(d time.Duration) time.Time { return t0.Add(d) }

// Flows 1, 3 and 4: one pass, then ticks every 30 s until the transfer ends.
func TestPassAndTicksUntilTheTransferEnds(t *testing.T) {
	for _, cause := range []refresh.Cause{refresh.InvoiceCreated, refresh.AssetSent, refresh.Sync, refresh.Manual} {
		x := newWorld(t)
		x.do(enqueued(t0, 1, cause, "r", "asset"))
		x.pass(t0, listing(t0, open("r", "asset"), open("other", ""), refresh.Transfer{Kind: refresh.Issuance}))
		if j := x.job(1); j.Status != refresh.JobCompleted || j.Attempts != 1 || x.w.Lock != (refresh.Lock{}) {
			t.Fatalf("%v: %+v, lock %+v", cause, j, x.w.Lock)
		}
		w := x.watcher("r")
		if len(x.w.Watchers) != 2 || w.Asset != "asset" || w.Provisional || x.watcher("other").Provisional ||
			!w.ExpiresAt.Equal(after(24*time.Hour)) || !w.NextAt.Equal(t0) {
			t.Fatalf("%v: %+v", cause, x.w.Watchers)
		}
		x.tick(t0, listing(t0, open("r", "asset")), done)
		for _, n := range []struct {
			at    time.Duration
			count int64
		}{{30*time.Second - time.Microsecond, 1}, {30 * time.Second, 2}, {60*time.Second - time.Microsecond, 2}, {61 * time.Second, 3},
			{90 * time.Second, 3}, {91 * time.Second, 4}} {
			x.tick(after(n.at), listing(after(n.at), open("r", "asset")), done)
			if w := x.watcher("r"); w.RefreshCount != n.count {
				t.Errorf("at %v: %d refreshes, want %d", n.at, w.RefreshCount, n.count)
			}
		}
		x.tick(after(130*time.Second), listing(after(130*time.Second), ended("r", "asset", refresh.TransferSettled)), done)
		w = x.watcher("r")
		if w.Status != refresh.Settled || w.EndReason != refresh.EndTransfer || w.RefreshCount != 4 || !w.EndedAt.Equal(after(130*time.Second)) {
			t.Errorf("%v: %+v", cause, w)
		}
		if o := x.watcher("other"); o.Status != refresh.Watching || o.RefreshCount != 5 {
			t.Errorf("one look-up and one refresh serve all due watchers, listed or not: %+v", o)
		}
	}
}

// Flow 2 takes no lock and no refresh of its own. The watcher is refreshed at 0, 30, ... 150 s,
// and expires at 180 s with exactly one sync job, in one commit.
func TestInvoiceWithoutAsset(t *testing.T) {
	x := newWorld(t)
	x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
	slot := x.serve(t0)
	x.w.Lock = refresh.Lock{XpubVan: "xpub-van", LockedAt: t0, Seq: 1,
		Lease: statemachine.Lease{Holder: "other", Fence: 9, Until: after(time.Second)}}
	c := x.do(refresh.JobClaimed{By: worker(t0), Slot: slot, Lock: 10})
	if j := x.job(1); j.Status != refresh.JobCompleted || j.Attempts != 1 || c.New.Lock != c.Old.Lock || c.Job != id(1) {
		t.Fatalf("%+v", j)
	}
	x.w.Lock, x.n = refresh.Lock{}, 20
	w := x.watcher("r")
	if !w.Provisional || !w.ExpiresAt.Equal(after(180*time.Second)) || !w.NextAt.Equal(t0) {
		t.Fatalf("%+v", w)
	}
	for s := range 180 {
		x.tick(after(time.Duration(s)*time.Second), listing(after(time.Duration(s)*time.Second)), done)
		if want := int64(s/30 + 1); x.watcher("r").RefreshCount != want {
			t.Fatalf("at %d s: %d refreshes, want %d", s, x.watcher("r").RefreshCount, want)
		}
	}
	just := after(180*time.Second - time.Microsecond)
	x.do(refresh.Elapsed{By: worker(just), Slot: x.serve(just)})
	if w := x.watcher("r"); w.Status != refresh.Watching {
		t.Fatal("expired early")
	}
	end := after(180 * time.Second)
	slot = x.serve(end)
	stale := x.load(refresh.Elapsed{}, end)
	c = x.do(refresh.Elapsed{By: worker(end), Slot: slot})
	w = x.watcher("r")
	if w.Status != refresh.Expired || w.EndReason != refresh.EndProvisional || len(x.w.Jobs) != 2 || len(c.Log) != 2 {
		t.Fatalf("%+v %+v", w, x.w.Jobs)
	}
	sync := x.w.Jobs[1]
	if sync.Cause != refresh.Sync || sync.Status != refresh.JobPending || sync.Credentials != alice || sync.Recipient != "" ||
		sync.Asset != "" || x.w.Wallet.WorkSeq != 3 || sync.ID.Version() != 4 {
		t.Errorf("%+v", sync)
	}
	again, err := config.Apply(stale, refresh.Elapsed{By: worker(end), Slot: slot})
	if err != nil || again.New.Jobs[0].ID != sync.ID {
		t.Error("a second worker would make another sync job")
	}
	x.do(refresh.Elapsed{By: worker(end), Slot: slot})
	if len(x.w.Jobs) != 2 {
		t.Error("expired twice")
	}
	// The listing of the sync job began later: watched again, no longer provisional.
	x.pass(after(181*time.Second), listing(after(181*time.Second), open("r", "")))
	if w := x.watcher("r"); w.Status != refresh.Watching || w.Provisional || w.RefreshCount != 0 ||
		!w.ExpiresAt.Equal(after(181*time.Second+24*time.Hour)) || !w.CreatedAt.Equal(t0) {
		t.Errorf("%+v", w)
	}
}

// A row of any status is left alone by an invoice.
func TestInvoiceWithAnExistingRow(t *testing.T) {
	for status := range 4 {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		x.pass(t0, listing(t0, open("r", "asset")))
		x.tick(t0, listing(t0, ended("r", "asset", status)), done)
		before := x.watcher("r")
		x.do(enqueued(t0, 2, refresh.InvoiceCreated, "r", ""))
		x.claim(t0)
		if x.watcher("r") != before || x.job(2).Status != refresh.JobCompleted {
			t.Errorf("status %d: %+v", status, x.watcher("r"))
		}
	}
}

// When an asset is listed, in a tick or in a pass, a provisional watcher becomes an ordinary one
// with the expiry of an ordinary one; an expiry never moves back.
func TestAssetFound(t *testing.T) {
	for _, c := range []struct {
		name       string
		expiration int64
		expires    time.Duration
	}{
		{"no expiration", 0, 24 * time.Hour},
		{"a near expiration", t0.Unix() - 31, 24 * time.Hour},
		{"exactly as long", t0.Unix() - 30, 24 * time.Hour},
		{"a far expiration", t0.Unix() + 3600, 25*time.Hour + 30*time.Second},
		{"ten years", t0.Add(refresh.MaxAhead).Unix(), refresh.MaxAhead + 24*time.Hour + 30*time.Second},
		{"more than ten years", t0.Add(refresh.MaxAhead).Unix() + 1, 24 * time.Hour},
	} {
		for _, pass := range []bool{false, true} {
			x := newWorld(t)
			x.do(enqueued(t0, 1, refresh.InvoiceCreated, "r", ""))
			x.claim(t0)
			listed := open("r", "asset")
			listed.Status, listed.Expiration = refresh.WaitingConfirmations, c.expiration
			if pass {
				x.do(enqueued(t0, 2, refresh.Sync, "", ""))
				x.pass(t0, listing(t0, listed))
			} else {
				x.tick(t0, listing(t0, listed), done)
			}
			if w := x.watcher("r"); w.Provisional || w.Asset != "asset" || w.ExpiresAt.Sub(t0) != c.expires {
				t.Errorf("%s, pass %v: %v %+v", c.name, pass, w.ExpiresAt.Sub(t0), w)
			}
			x.do(enqueued(after(time.Minute), 3, refresh.InvoiceCreated, "r", "")) // changes nothing
			later := after(time.Minute)
			x.claim(later)
			x.tick(later, listing(later, open("r", "another asset")), done)
			if w := x.watcher("r"); w.Asset != "asset" || w.ExpiresAt.Sub(t0) != c.expires {
				t.Errorf("%s: moved to %v, asset %s", c.name, w.ExpiresAt.Sub(t0), w.Asset)
			}
		}
	}
}
