package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// Each action of the console is said by the command too, with the same forms; what has evidence is typed.
func TestAnyActionIsSaid(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		w := h.review()
		id, version := w.Request.ID.String(), fmt.Sprint(w.Job.Version)
		if text := h.settle(exitDone, "review"); !strings.Contains(text, "withdrawal review, 1: review") || !strings.Contains(text, id) {
			t.Error(text)
		}
		h.settle(exitDone, "stuck")
		if text := h.settle(exitDone, "item", "withdrawal", id); !strings.Contains(text, "reference r7 was called") ||
			strings.Contains(text, "of-the-customer") {
			t.Error(text)
		}
		if text := h.settle(exitDone, "item", "withdrawal", id, "--reveal"); !strings.Contains(text, "payee-of-the-customer") {
			t.Error(text)
		}
		if text := h.settle(exitDone, "offers", "withdrawal", id); !strings.Contains(text, "processing to pending") ||
			!strings.Contains(text, "Block.Height") {
			t.Error(text)
		}
		say := func(want int, action string, more ...string) string {
			return h.settle(want, append([]string{"say", "withdrawal", id, action, "--actor", "olga", "--reason", "the node has it"}, more...)...)
		}
		say(exitUsage, "Sent", "--field", "Hash=0xabc") // without the version of the job
		say(exitUsage, "Sent", "--version", version, "--field", "Hash")
		say(exitNotFound, "BatchMined")
		say(exitRefused, "Sent", "--version", version, "--field", "Job="+id)
		say(exitRefused, "ProvenDead", "--version", version, "--field", "Tx=0xabc", "--field", "NotThisPayment=yes", "--field", "Cause=window ended")
		say(exitForbidden, "Approved")
		say(exitDone, "Sent", "--version", version, "--field", "Hash=0xabc", "--dry-run")
		say(exitChanged, "Sent", "--version", "1", "--field", "Hash=0xabc")
		say(exitDone, "Sent", "--version", version, "--field", "Hash=0xabc")
		is, err := h.orders.Get(t.Context(), w.Request.ID)
		if h.check(err); is.Job.Status != withdrawal.JobConfirming || is.Job.TxHash != "0xabc" {
			t.Errorf("it is %+v", is.Job)
		}
		if text := h.settle(exitDone, "find", "0xABC"); !strings.Contains(text, id) {
			t.Error(text)
		}
	})
}

// What goes into a ticket shows nothing that a thief could use.
func TestBundleIsMasked(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		w := h.review()
		text := h.settle(exitDone, "bundle", w.Job.ID.String())
		var bundle struct {
			Records []struct {
				Record struct{ ID, Sentence string }
			}
			Migrations map[string]int64
		}
		h.check(json.Unmarshal([]byte(text), &bundle))
		if len(bundle.Records) != 1 || bundle.Records[0].Record.ID != w.Request.ID.String() || bundle.Migrations["withdrawals"] == 0 {
			t.Errorf("it is %+v", bundle)
		}
		for _, bad := range []string{"of-the-customer", w.Request.User.String(), "<script"} {
			if strings.Contains(text, bad) {
				t.Errorf("it shows %s", bad)
			}
		}
		h.settle(exitNotFound, "bundle", "nothing")
	})
}

func TestHotWalletsAndWorkers(t *testing.T) {
	both(t, func(t *testing.T, h *host) {
		h.request(append(h.queued(), withdrawal.Claimed{By: payer})...)
		if text := h.settle(exitDone, "wallet", "list"); !strings.Contains(text, "active") {
			t.Error(text)
		}
		put := func(want int, use string, more ...string) {
			h.settle(want, append([]string{"wallet", use, wallet.String(), "--chain", chain.String(), "--actor", "olga"}, more...)...)
		}
		put(exitUsage, "pause")
		put(exitDone, "pause", "--reason", "a question", "--dry-run")
		put(exitDone, "pause", "--reason", "a question")
		put(exitChanged, "resume", "--reason", "answered", "--seen", "unknown outbound")
		put(exitDone, "resume", "--reason", "answered", "--seen", "paused")
		h.settle(exitNotFound, "wallet", "pause", chain.String(), "--chain", chain.String(), "--reason", "x")
		h.settle(exitUsage, "worker", "revoke", "withdrawals", "payer")
		h.settle(exitNotFound, "worker", "revoke", "swaps", "payer", "--reason", "its machine burns")
		if text := h.settle(exitDone, "worker", "revoke", "withdrawals", "payer", "--reason", "its machine burns"); !strings.Contains(text, "1 records") {
			t.Error(text)
		}
		page, err := h.orders.List(t.Context(), store.ListWithdrawals{Filter: withdrawal.Filter{Holder: "payer"}, Limit: 9})
		if h.check(err); len(page) > 0 {
			t.Errorf("it holds %+v", page)
		}
	})
}

// The console on this machine is of whoever has its link, at its own address alone, and looks only.
func TestServe(t *testing.T) {
	h := newHost(t, 1)
	w := h.review()
	for _, listen := range []string{"0.0.0.0:0", "example.com:1", "nothing"} {
		h.settle(exitUsage, "serve", "--listen", listen)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var errs bytes.Buffer
	done := make(chan int)
	go func() { done <- run(ctx, []string{"--db", h.url, "serve"}, "", nil, in, &errs) }()
	var link string
	if _, err := fmt.Fscanln(out, &link); err != nil {
		t.Fatal(err, errs.String())
	}
	ask := func(method, url, host string) int {
		r, err := http.NewRequest(method, url, nil)
		h.check(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if r.Host = host; host == "" {
			r.Host = r.URL.Host
		}
		got, err := http.DefaultClient.Do(r)
		h.check(err)
		got.Body.Close()
		return got.StatusCode
	}
	base := link[:strings.LastIndexByte(strings.TrimSuffix(link, "/"), '/')]
	for _, c := range []struct {
		method, url, host string
		want              int
	}{
		{"GET", link, "", 200}, {"GET", link + "item/withdrawal/" + w.Request.ID.String(), "", 200}, {"GET", link, "rebound.example.com", 403},
		{"GET", base + "/", "", 403}, {"GET", base + "/review", "", 403}, {"GET", base + "/AAAAAAAAAAAAAAAAAAAAAAAAAA/", "", 403},
		{"POST", link + "stop", "", 403}, {"POST", link + "item/withdrawal/" + w.Request.ID.String() + "/Held", "", 403},
	} {
		if got := ask(c.method, c.url, c.host); got != c.want {
			t.Errorf("%s %s of %q: %d", c.method, c.url, c.host, got)
		}
	}
	stop()
	if code := <-done; code != exitDone {
		t.Errorf("it ends with %d: %s", code, errs.String())
	}
}
