package ops_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/ops/opstest"
	"github.com/settlehq/settle/swap"
)

// Each kind of record is shown, listed, found and tried in the same way, its trail replays, and asking leaves nothing behind.
func TestEachKindIsAskedTheSame(t *testing.T) {
	opstest.Both(t, func(t *testing.T, h *opstest.House) {
		ctx := t.Context()
		h.HotWallet()
		records := h.Others()
		records["batch"] = h.Batch(0).Batch.ID.String()
		records["withdrawal"] = h.Review().Request.ID.String()
		journal := len(h.Lines())
		var names []string
		for _, k := range h.Kinds() {
			names = append(names, k.Name)
			is, err := k.Get(ctx, records[k.Name])
			h.Check(err)
			if is.Sentence == "" || is.Seen == "" || is.Version < 1 || len(is.Trail) == 0 || is.Unsound != "" || is.State == "" {
				t.Errorf("%s is %+v", k.Name, is)
			}
			listed := false
			for _, name := range k.Lists {
				page, err := k.List(ctx, ops.List{Name: name, Limit: 10})
				h.Check(err)
				listed = listed || slices.ContainsFunc(page.Rows, func(r ops.Row) bool { return r.ID == is.ID })
			}
			if !listed {
				t.Errorf("no list has the %s", k.Name)
			}
			found, err := h.Find(ctx, " "+records[k.Name]+" ")
			h.Check(err)
			if len(found) != 1 || found[0].Kind.Name != k.Name || found[0].ID != is.ID {
				t.Errorf("%s is found as %+v", records[k.Name], found)
			}
			offers, err := k.Offers(ctx, is, "olga")
			h.Check(err)
			if len(offers) != len(k.Actions()) {
				t.Errorf("%s: %d offers of %d actions", k.Name, len(offers), len(k.Actions()))
			}
			for _, o := range offers {
				for _, in := range is.Inputs(o.Action) {
					if in.Needed && len(in.Choices) == 0 {
						t.Errorf("%s.%s: %s cannot be answered", k.Name, o.As(), in.Name)
					}
				}
				if o.Form && o.Why == "" && len(is.Inputs(o.Action)) == 0 {
					t.Errorf("%s.%s is a form without a field", k.Name, o.As())
				}
			}
		}
		if len(names) != 8 {
			t.Errorf("the kinds are %q", names)
		}
		if got := h.Lines(); len(got) != journal {
			t.Errorf("asking is in the journal: %+v", got[journal:])
		}
		if _, err := h.Kind("none"); !errors.Is(err, statemachine.ErrNotFound) {
			t.Errorf("an unknown kind: %v", err)
		}
	})
}

// said are one action of each domain that is taken of what is seeded.
var said = map[string]ops.Said{
	"withdrawal": {Action: "NotSent", Fields: map[string]string{"Reason": "the signer has never heard of r7"}},
	"deposit":    {Action: "Released", Fields: map[string]string{"Reason": "answered"}},
	"credit":     {Action: "Held", Fields: map[string]string{"Reason": "a question"}},
	"relay":      {Action: "Retried", Fields: map[string]string{"Reason": "the server is back"}},
	"tenant":     {Action: "Acknowledged", Fields: map[string]string{"Invoice": "january", "Key": "stripe:pi_1", "Reason": "given back"}},
	"wallet":     {Action: "Invalidated", Fields: map[string]string{"Reason": "no node takes it"}},
}

// What is said of any domain moves the record that was seen, once, and the journal has it; what was seen otherwise is refused.
func TestEventsOfEachDomainAreSaid(t *testing.T) {
	opstest.Both(t, func(t *testing.T, h *opstest.House) {
		ctx := t.Context()
		h.HotWallet()
		records := h.Others()
		records["withdrawal"] = h.Review().Request.ID.String()
		for _, name := range slices.Sorted(maps.Keys(said)) {
			k, err := h.Kind(name)
			h.Check(err)
			is, err := k.Get(ctx, records[name])
			h.Check(err)
			s := said[name]
			s.Actor, s.Via, s.Seen, s.Version = "olga", "test", is.Seen, is.Version
			if name == "withdrawal" {
				s.Version = is.Job
			}
			moves, err := k.Try(ctx, is, s)
			if err != nil || len(moves) == 0 {
				t.Errorf("%s: tried, %+v, %v", name, moves, err)
			}
			other := s
			other.Seen = "another"
			if err := k.Say(ctx, is, other); !errors.Is(err, statemachine.ErrConflict) {
				t.Errorf("%s: seen otherwise, %v", name, err)
			}
			h.Check(k.Say(ctx, is, s))
			after, err := k.Get(ctx, records[name])
			h.Check(err)
			if after.Seen == is.Seen || after.Unsound != "" {
				t.Errorf("%s is as before: %+v", name, after)
			}
			if err := k.Say(ctx, after, s); err != nil && !errors.Is(err, statemachine.ErrConflict) {
				t.Errorf("%s: said twice, %v", name, err)
			}
			if again, err := k.Get(ctx, records[name]); err != nil || again.Seen != after.Seen {
				t.Errorf("%s: said twice moves it: %v", name, err)
			}
		}
		got := h.Lines()
		for domain := range map[string]bool{"withdrawals": true, "swaps": true, "relays": true, "wallets": true} {
			if !slices.ContainsFunc(got, func(l statemachine.JournalLine) bool {
				return l.Domain == domain && l.Actor == "olga" && l.Via == "test" && l.Outcome == statemachine.JournalDone
			}) {
				t.Errorf("the journal has nothing of %s: %+v", domain, got)
			}
		}
	})
}

// A hand of a form cannot set what it does not ask for, nor answer with what is no answer.
func TestFormsTakeWhatTheyAskFor(t *testing.T) {
	h := opstest.New(t, 1)
	h.HotWallet()
	w := h.Review()
	k, err := h.Kind("withdrawal")
	h.Check(err)
	is, err := k.Get(t.Context(), w.Request.ID.String())
	h.Check(err)
	taken := map[string]string{"Reason": "it is in block 7", "Hash": "0xabc"}
	if _, err := k.Try(t.Context(), is, ops.Said{Action: "Sent", Actor: "olga", Version: is.Job, Fields: taken}); err != nil {
		t.Fatal(err)
	}
	for _, fields := range []map[string]string{{"Actor": "somebody"}, {"Job": w.Job.ID.String()}, {"Sent": "no"}, {"Nonce": "many"}, {"Raw": "xyz"}} {
		maps.Copy(fields, taken)
		if _, err := k.Try(t.Context(), is, ops.Said{Action: "Sent", Actor: "olga", Version: is.Job, Fields: fields}); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%v: %v", fields, err)
		}
	}
	for _, s := range []ops.Said{
		{Action: "Requeued", Fields: map[string]string{"Reason": "again"}}, // whether it was refunded is not answered
		{Action: "Requeued", Fields: map[string]string{"Reason": "again", "NotRefunded": "perhaps"}},
		{Action: "ProvenDead", Fields: map[string]string{"Reason": "x", "NotThisPayment": "yes", "Cause": "boredom"}},
	} {
		s.Actor = "olga"
		if _, err := k.Try(t.Context(), is, s); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if _, err := k.Try(t.Context(), is, ops.Said{Action: "BatchMined", Actor: "olga"}); !errors.Is(err, statemachine.ErrNotFound) {
		t.Errorf("what is not offered: %v", err)
	}
	offers, err := k.Offers(t.Context(), is, "olga")
	h.Check(err)
	for _, o := range offers {
		if o.As() == "Requeued" && o.Why == "" {
			t.Error("what the law refuses is a form")
		}
	}
}

// The sentence of a review says since when, and why paying again is not safe.
func TestSentenceOfReview(t *testing.T) {
	h := opstest.New(t, 1)
	h.HotWallet()
	k, err := h.Kind("withdrawal")
	h.Check(err)
	is, err := k.Get(t.Context(), h.Review().Request.ID.String())
	h.Check(err)
	since := is.Trail[len(is.Trail)-1].At.UTC().Format(time.RFC3339)
	want := "In review since " + since + ". An operator must decide; nothing happens before. Paying again is not safe: reference r7 was called."
	if is.Sentence != want {
		t.Errorf("%s\nnot\n%s", is.Sentence, want)
	}
	m := is.Masked()
	if strings.Contains(m.Payee, "customer"[:4]) || m.Payee != "payee-...omer" {
		t.Errorf("masked, it is %q", m.Payee)
	}
	for _, f := range m.Fields {
		if f.Text == opstest.Payee || f.Text == opstest.Hostile || f.Secret {
			t.Errorf("%+v is not masked", f)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Get(ctx, is.ID); err == nil {
		t.Error("a read that was called off is answered")
	}
}

// A watcher that expired while its transfer was open rests with a person until a job settles it.
func TestASettledWatcherIsNotForReview(t *testing.T) {
	opstest.Both(t, func(t *testing.T, h *opstest.House) {
		const xpub = "xpub-van-of-a-wallet"
		h.Others() // has a job for the wallet
		say := func(events ...refresh.Event) {
			t.Helper()
			_, err := h.Refreshes.Do(t.Context(), xpub, events...)
			h.Check(err)
		}
		worker := refresh.By{Actor: "w", Role: refresh.Worker}
		listing := func() refresh.Listing {
			return refresh.Listing{Answered: h.Opts.Now(), Transfers: []refresh.Transfer{{Recipient: "r", Asset: "a", Kind: refresh.ReceiveBlind, Index: 1,
				HasIndex: true}}}
		}
		held := func() refresh.Fences {
			w, err := h.Refreshes.Get(t.Context(), xpub)
			h.Check(err)
			f := refresh.Fences{Slot: w.Wallet.Lease.Fence, Lock: w.Lock.Lease.Fence}
			for _, j := range w.Jobs {
				if j.Lease.Holder != "" {
					f.Job, f.Fence = j.ID, j.Lease.Fence
				}
			}
			return f
		}
		work := func(l refresh.Listing) {
			say(refresh.SlotClaimed{By: refresh.By{Actor: "w", Role: refresh.Orchestrator}, Slot: 1})
			say(refresh.JobClaimed{By: worker, Slot: held().Slot})
			say(refresh.JobDone{By: worker, Fences: held(), Listing: l})
		}
		open := func(want int) {
			t.Helper()
			k, err := h.Kind("refresh")
			h.Check(err)
			page, err := k.List(t.Context(), ops.List{Name: k.Review[0], Limit: 10})
			if h.Check(err); len(page.Rows) != want {
				t.Errorf("%d rest with a person, not %d: %+v", len(page.Rows), want, page.Rows)
			}
		}
		work(listing())
		open(0)
		h.Later(48 * time.Hour)
		say(refresh.SlotElapsed{By: refresh.By{Actor: "w", Role: refresh.Orchestrator}},
			refresh.SlotClaimed{By: refresh.By{Actor: "w", Role: refresh.Orchestrator}, Slot: 1})
		say(refresh.Looked{By: worker, Slot: held().Slot, Began: h.Opts.Now(), Listing: listing()})
		open(1)
		h.Later(time.Hour)
		say(refresh.SlotElapsed{By: refresh.By{Actor: "w", Role: refresh.Orchestrator}},
			refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Job: uuid.New(), Cause: refresh.Manual,
				Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "xpub-col-of-a-wallet", MasterFingerprint: "0"}})
		open(1)
		work(refresh.Listing{Answered: h.Opts.Now()}) // the node does not know the transfer any more, so nothing is watched again
		open(0)
	})
}

// What is open is found by the address of who pays it or is paid: no index has any, so it is looked for in all pages of what is open.
func TestOpenIsFoundByAddress(t *testing.T) {
	opstest.Both(t, func(t *testing.T, h *opstest.House) {
		ctx := t.Context()
		h.HotWallet()
		records := h.Others()
		records["withdrawal"] = h.Review().Request.ID.String()
		const sig = "5Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"
		worker := swap.By{Actor: "w", Role: swap.Worker}
		_, err := h.Swaps.Deposits.Do(ctx, sig, swap.Observed{By: swap.By{Actor: "watcher", Role: swap.Observer}, ID: sig, Amount: 7_000_000,
			From: "another-sender", Time: h.Opts.Now().Truncate(time.Second), Success: true, Finalized: true},
			swap.Claimed{By: worker}, swap.MemoFetched{By: worker, Memos: []string{"nexus:carol"}})
		h.Check(err)
		_, err = h.Refreshes.Do(ctx, records["refresh"], refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Job: uuid.New(),
			Cause: refresh.InvoiceCreated, Recipient: "recipient-of-an-invoice", Credentials: refresh.Credentials{XpubVan: records["refresh"],
				XpubCol: "xpub-col-of-a-wallet", MasterFingerprint: "0"}})
		h.Check(err)
		for _, want := range []struct{ text, kind, id string }{
			{opstest.Payee, "withdrawal", records["withdrawal"]}, {"sender-of-the-deposit", "deposit", records["deposit"]},
			{"sender-of-the-credit", "credit", records["credit"]}, {"carol", "deposit", sig},
			{"recipient-of-an-invoice", "refresh", records["refresh"]},
		} {
			found, err := h.Find(ctx, want.text)
			if h.Check(err); len(found) != 1 || found[0].Kind.Name != want.kind || found[0].ID != want.id {
				t.Errorf("%s: found %+v", want.text, found)
			}
		}
		for _, text := range []string{"nobody", "recipient-of"} {
			if found, err := h.Find(ctx, text); err != nil || len(found) != 0 {
				t.Errorf("%s: found %+v, %v", text, found, err)
			}
		}
	})
}
