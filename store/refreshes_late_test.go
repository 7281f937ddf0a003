package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// failing is a store whose updates fail, or never return, until it is mended.
type failing struct {
	*memory.Store
	mu  sync.Mutex
	how string // empty: mended
	off string // a wallet that cannot be read
}

// mend leaves an unreadable wallet.
func (f *failing) mend(off string) { f.mu.Lock(); f.how, f.off = "", off; f.mu.Unlock() }

func (f *failing) Update(ctx context.Context, fn func(store.Unit) error) error {
	f.mu.Lock()
	how, off := f.how, f.off
	f.mu.Unlock()
	switch how {
	case "fails":
		return errors.New("the database is gone")
	case "hangs":
		<-ctx.Done()
		return ctx.Err()
	case "commits, and nobody knows":
		if err := f.Store.Update(ctx, fn); err != nil {
			return err
		}
		return errors.New("connection reset")
	}
	return f.Store.Update(ctx, func(tx store.Unit) error { return fn(offUnit{tx, off}) })
}

// offUnit is a unit of work in which a wallet cannot be read.
type offUnit struct {
	store.Unit
	xpub string
}

func (u offUnit) Refreshes() store.RefreshRecords { return offRecords{u.Unit.Refreshes(), u.xpub} }

type offRecords struct {
	store.RefreshRecords
	xpub string
}

func (r offRecords) Heads(xpubs ...string) ([]refresh.Work, error) {
	if xpubs[0] == r.xpub {
		return nil, errors.New("unreadable")
	}
	return r.RefreshRecords.Heads(xpubs...)
}

func lateEvent(xpub string) refresh.Enqueued {
	return refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Cause: refresh.Sync,
		Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "b", MasterFingerprint: "c"}}
}

// notEnqueued are the alerts of that name.
func notEnqueued(t *testing.T, s *store.Refreshes) (texts []string) {
	t.Helper()
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range refresh.Alerts(stats, refresh.DefaultThresholds()) {
		if a.Name == "not enqueued" {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

// A job that the store does not accept neither fails nor delays its request. An alert counts the
// job until it is stored, once, within half a minute after the store is back. A wallet that
// cannot be read keeps no other wallet's job from being stored.
func TestAJobThatIsNotEnqueuedIsOwned(t *testing.T) {
	for _, how := range []string{"fails", "hangs", "commits, and nobody knows"} {
		synctest.Test(t, func(t *testing.T) {
			db := &failing{Store: memory.New(memory.Options{}), how: how}
			s, err := store.NewRefreshes(db, refresh.DefaultPolicy())
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			log := slog.New(slog.NewTextHandler(&out, nil))
			for _, xpub := range []string{"unreadable", "a", "b"} {
				begin := time.Now()
				if id := s.EnqueueLogged(t.Context(), lateEvent(xpub), log); id != uuid.Nil || time.Since(begin) > time.Second {
					t.Errorf("%s: %v after %v", how, id, time.Since(begin))
				}
			}
			time.Sleep(10 * time.Minute)
			if got := notEnqueued(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "3 jobs") && how != "commits, and nobody knows" {
				t.Errorf("%s: %v", how, got)
			}
			db.mend("unreadable")
			time.Sleep(3 * time.Minute)
			for _, xpub := range []string{"a", "b"} {
				if w, err := s.Get(t.Context(), xpub); err != nil || len(w.Jobs) != 1 {
					t.Errorf("%s: %+v, %v", how, w.Jobs, err)
				}
			}
			if got := notEnqueued(t, s); how != "commits, and nobody knows" && (len(got) != 1 || !strings.HasPrefix(got[0], "1 jobs")) {
				t.Errorf("%s: %v", how, got)
			}
			db.mend("")
			time.Sleep(time.Minute)
			if got := notEnqueued(t, s); len(got) != 0 {
				t.Errorf("%s: %v", how, got)
			}
			if n := strings.Count(out.String(), "refresh job enqueued"); n != 3 {
				t.Errorf("%s: %d were stored later: %s", how, n, out.String())
			}
		})
	}
}

// A job that is refused for ever is not tried again. Jobs beyond the limit are dropped and stay
// counted. Within a transaction no job is kept for later.
func TestWhatIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &failing{Store: memory.New(memory.Options{}), how: "fails"}
		s, err := store.NewRefreshes(db, refresh.DefaultPolicy())
		if err != nil {
			t.Fatal(err)
		}
		for range 10_001 {
			s.EnqueueLogged(t.Context(), lateEvent("a"), nil)
		}
		if got := notEnqueued(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "10001 jobs") {
			t.Error(got)
		}
		db.mend("")
		time.Sleep(10 * time.Minute)
		if got := notEnqueued(t, s); len(got) != 1 || !strings.HasPrefix(got[0], "1 jobs") {
			t.Error(got)
		}
	})
	s, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	s.EnqueueLogged(t.Context(), lateEvent(""), nil)
	db := &failing{Store: memory.New(memory.Options{})}
	_ = db.Store.View(t.Context(), func(tx store.Unit) error { // which stores nothing
		s.Within(tx).EnqueueLogged(t.Context(), lateEvent("b"), nil)
		return nil
	})
	if got := notEnqueued(t, s); len(got) != 0 {
		t.Error(got)
	}
}
