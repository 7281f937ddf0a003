package refresh_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// What the wallets of a page wait for, by cause.
func TestByCause(t *testing.T) {
	fresh := func() *world {
		x := newWorld(t)
		x.do(enqueued(t0, 1, refresh.Sync, "", ""))
		return x
	}
	failed := fresh().w
	failed.Jobs[0].Error, failed.Jobs[0].AvailableAt = "no route", t0.Add(time.Minute)
	later := fresh().w
	later.Jobs[0].AvailableAt = t0.Add(time.Minute)
	held := fresh().w
	held.Lock = refresh.Lock{Lease: statemachine.Lease{Holder: "w2", Fence: 1, Until: t0.Add(time.Minute)}}
	hung := fresh().w
	hung.Wallet.NotBefore = t0.Add(time.Minute)
	served := fresh()
	served.do(slotClaimed(t0, 1))
	page := []refresh.Work{fresh().w, failed, later, failed, hung, served.w, held, {}}
	want := []string{"[1 3] orchestrator its next try: no route", "[0] orchestrator job", "[2] orchestrator its time",
		"[4] orchestrator the pause after a round that hung", "[5] wallet-worker job", "[6] orchestrator what holds its lock"}
	var got []string
	for _, c := range config.ByCause(page, t0) {
		got = append(got, fmt.Sprint(c.Items, " ", c.Cause.Party, " ", strings.TrimSuffix(c.Cause.Reason+": "+c.Cause.Error, ": ")))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
