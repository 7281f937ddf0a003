package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// ending is a store whose next transaction ends as it is told: it is not committed, or nobody knows.
type ending struct {
	store.Store[store.Unit]
	failed, unknown error
}

func (e *ending) Update(ctx context.Context, fn func(store.Unit) error) error {
	failed, unknown := e.failed, e.unknown
	e.failed, e.unknown = nil, nil
	if err := e.Store.Update(ctx, func(tx store.Unit) error { return errors.Join(fn(tx), failed) }); err != nil {
		return err
	}
	return unknown
}

// logged returns the lines of [store.SignedMessage] that do writes, without their times.
func logged(t *testing.T, do func()) (lines []map[string]any) {
	t.Helper()
	var text bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&text, nil)))
	defer slog.SetDefault(before)
	do()
	for d := json.NewDecoder(&text); d.More(); {
		line := map[string]any{}
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line["msg"] == store.SignedMessage {
			delete(line, "time")
			lines = append(lines, line)
		}
	}
	return lines
}

// Behind the commit that puts signed bytes on file, and before the call returns, there is a line that
// says what was signed; there is none where nothing was committed or the event was refused.
func TestWhatIsSignedIsLogged(t *testing.T) {
	ctx := context.Background()
	by := withdrawal.By{Actor: "payer", Role: withdrawal.WithdrawalWorker}
	line := func(event, hash string, nonce float64, of string, id uuid.UUID) map[string]any {
		return map[string]any{"level": "INFO", "msg": store.SignedMessage, "event": event, "chain": chain.String(), "wallet": hot.String(),
			"nonce": nonce, "hash": hash, of: id.String()}
	}
	for _, event := range []string{"Prepared", "Prepared of a member", "Rebumped", "BatchPrepared", "BatchReplaced"} {
		t.Run(event, func(t *testing.T) {
			b := newBank(t)
			s := &ending{Store: b.store}
			b.open(t, s, b.Policy())
			var say func() error
			var want map[string]any
			switch event {
			case "Prepared":
				w := b.do(t, b.pending(t).Request.ID, withdrawal.Claimed{By: by})
				p := prepared(&w)
				p.Nonce, p.ChainNonce = 7, 7
				say, want = func() error { _, err := b.Do(ctx, w.Request.ID, p); return err }, line(event, p.Hash, 7, "request", w.Request.ID)
			case "Prepared of a member": // which a worker of batches pays alone
				b.pending(t)
				source := b.batches.Payments(chain, "payer", 10)
				w := claimBatch(t, source).Work.Members[0]
				p := prepared(&w)
				p.Nonce, p.ChainNonce = 7, 7
				held := []store.HeldWithdrawal{{Withdrawal: w, Events: []withdrawal.Event{p}}}
				say = func() error { _, _, err := source.Turn(ctx, []store.BatchResult{{Members: held}}, 0); return err }
				want = line("Prepared", p.Hash, 7, "request", w.Request.ID)
			case "Rebumped":
				w := b.confirming(t)
				b.now = b.now.Add(b.Policy().CheckEvery)
				w = b.do(t, w.Request.ID, withdrawal.Claimed{By: by})
				bump := withdrawal.Rebumped{By: by, Fence: w.Job.Lease.Fence, Hash: "bump", Raw: []byte{1}, Nonce: w.Job.Nonce, HasNonce: true}
				held := store.HeldWithdrawal{Withdrawal: w, Events: []withdrawal.Event{bump}}
				say, want = func() error { _, err := b.DoHeld(ctx, held); return err }, line(event, "bump", 0, "request", w.Request.ID)
			default:
				b.pending(t)
				b.pending(t)
				work := claimBatch(t, b.batches.Payments(chain, "payer", 10)).Work
				e := signedTogether(work.Members, 7)
				say, want = func() error { _, err := b.batches.Do(ctx, e.Batch, e); return err }, line(event, e.Hash, 7, "batch", e.Batch)
				if event == "BatchReplaced" {
					if err := say(); err != nil {
						t.Fatal(err)
					}
					p, err := b.batches.Get(ctx, e.Batch)
					if err != nil {
						t.Fatal(err)
					}
					r := withdrawal.BatchReplaced{By: by, Fence: p.Batch.Lease.Fence, Pays: e.Pays, Hash: "v2", Raw: []byte{2}}
					r.Version = p.Batch.Version
					say, want = func() error { _, err := b.batches.Do(ctx, e.Batch, r); return err }, line(event, "v2", 7, "batch", e.Batch)
				}
			}
			one := func(what string, want map[string]any, sentinel error) {
				t.Helper()
				var err error
				lines := logged(t, func() { err = say() })
				if !errors.Is(err, sentinel) {
					t.Errorf("%s: %v", what, err)
				}
				if len(lines) > 1 || (len(lines) == 1) != (want != nil) || want != nil && !maps.Equal(lines[0], want) {
					t.Errorf("%s: it logs %v, expected %v", what, lines, want)
				}
			}
			failed := errors.New("the disk is full")
			s.failed = failed
			one("not committed", nil, failed)
			s.unknown = store.ErrUnknownCommit
			one("nobody knows whether it is committed", want, store.ErrUnknownCommit)
			one("again", want, nil)
			b.now = b.now.Add(24 * time.Hour)
			if event == "Prepared" {
				w, err := b.Get(ctx, uuid.MustParse(want["request"].(string)))
				if err != nil {
					t.Fatal(err)
				}
				other := prepared(&w)
				other.Hash = "other"
				say = func() error { _, err := b.Do(ctx, w.Request.ID, other); return err }
				one("refused", nil, statemachine.ErrFenced)
			}
		})
	}
}

// A self-check takes back what it signs, so that no line of it stands among those that bound a wallet.
func TestASelfCheckLogsNothing(t *testing.T) {
	s := memory.New(memory.Options{})
	lines := logged(t, func() {
		if err := errors.Join(store.SelfCheckWithdrawals(t.Context(), s), store.SelfCheckBatches(t.Context(), s)); err != nil {
			t.Error(err)
		}
	})
	if len(lines) > 0 {
		t.Errorf("it logs %v", lines)
	}
}
