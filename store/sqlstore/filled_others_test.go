package sqlstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap/swaptest"
)

// oldOthers are relays, a tenant and wallets that are refreshed, in every state.
type oldOthers struct {
	relays  *store.Relays
	tenants *store.Tenants
	wallets *store.Refreshes
}

const (
	relayRows  = 4
	walletRows = 3
)

func openOthers(t *testing.T, of database) (o oldOthers) {
	t.Helper()
	db := of.at(t, time.Time{})
	p := relaysync.DefaultPolicy()
	p.RelayDomain = "x.example"
	var err error
	if o.relays, err = store.NewRelays(db, p); err == nil {
		o.tenants, err = store.NewTenants(db, o.relays, dunning.DefaultPolicy())
	}
	if err == nil {
		o.wallets, err = store.NewRefreshes(of.at(t, swaptest.Start), refresh.DefaultPolicy())
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func relayOf(r relaysync.Role) relaysync.By {
	return relaysync.By{Actor: r.String(), Role: r, At: swaptest.Start}
}
func walletOf(r refresh.Role) refresh.By {
	return refresh.By{Actor: "w1", Role: r, At: swaptest.Start}
}

// syncs are what takes a relay with a fence that is to come to a state.
func syncs(fence int64, outcomes ...statemachine.Outcome) (all []relaysync.Event) {
	for _, o := range outcomes {
		if o == 0 {
			return append(all, relaysync.Claimed{By: relayOf(relaysync.Reactor)})
		}
		all = append(all, relaysync.Claimed{By: relayOf(relaysync.Reactor)}, relaysync.Finished{By: relayOf(relaysync.Reactor), Fence: fence, Outcome: o, Error: "no"})
		fence++
	}
	return all
}

func newOldOthers(t *testing.T, of database) oldOthers {
	t.Helper()
	ctx := context.Background()
	o := openOthers(t, of)
	config := relaysync.Config{Info: relaysync.Document(`{"name":"é世","pubkey":"` + strings.Repeat("ab", 32) + `"}`)}
	for k, more := range [relayRows][]relaysync.Event{nil, syncs(1, 0), syncs(1, statemachine.Done), syncs(1, statemachine.Failed)} {
		id := fmt.Sprint("relay_", k)
		first := relaysync.Created{By: relayOf(relaysync.Host), Relay: id, Tenant: "t1", Subdomain: fmt.Sprint("sub", k), Config: config}
		if _, err := o.relays.Do(ctx, id, append([]relaysync.Event{first}, more...)...); err != nil {
			t.Fatal(id, ": ", err)
		}
	}
	host := dunning.By(relayOf(relaysync.Host))
	_, err := o.tenants.Do(ctx, "t1", dunning.Enrolled{By: host, Tenant: "t1", Method: dunning.NWC}, dunning.Issued{By: host, Invoice: "t1/1", Amount: 5})
	if err != nil {
		t.Fatal(err)
	}
	for k := range walletRows {
		xpub := fmt.Sprint("xpub", k)
		job := uuid.NewSHA1(uuid.NameSpaceURL, []byte(xpub))
		job[6] = job[6]&0x0f | 0x40 // of version 4
		events := []refresh.Event{refresh.Enqueued{By: walletOf(refresh.API), Job: job, Cause: []refresh.Cause{refresh.Sync, refresh.Sync, refresh.InvoiceCreated}[k],
			Recipient: []string{"", "", "r"}[k], Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "é世", MasterFingerprint: "0"}}}
		if k > 0 {
			events = append(events, refresh.SlotClaimed{By: walletOf(refresh.Orchestrator), Slot: int32(k)}, refresh.JobClaimed{By: walletOf(refresh.Worker), Slot: 1})
		}
		if _, err := o.wallets.Do(ctx, xpub, events...); err != nil {
			t.Fatal(xpub, ": ", err)
		}
	}
	return o
}

// read is all that can be read, with replayed trails.
func (o oldOthers) read(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	var all []any
	keep := func(v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	for k := range relayRows {
		id := fmt.Sprint("relay_", k)
		s, err := o.relays.Get(ctx, id)
		keep(s, err)
		activities, err := o.relays.Activities(ctx, id, 100)
		keep(activities, err)
		trail, err := o.relays.Trail(ctx, id)
		keep(trail, err)
	}
	a, err := o.tenants.Get(ctx, "t1")
	keep(a, err)
	trail, err := o.tenants.Trail(ctx, "t1")
	keep(trail, err)
	for k := range walletRows {
		w, err := o.wallets.Get(ctx, fmt.Sprint("xpub", k))
		keep(w, err)
		trail, err := o.wallets.Trail(ctx, w.Wallet.ID())
		keep(trail, err)
	}
	text, err := json.Marshal(all)
	keep(nil, err)
	return string(text)
}

// goOn takes each row to its end.
func (o oldOthers) goOn(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	for k := range relayRows {
		id := fmt.Sprint("relay_", k)
		s, err := o.relays.Get(ctx, id)
		for range 3 {
			if _, due := s.DueAt(); err != nil || !due && s.Timer.Lease.Holder == "" {
				break
			}
			by := relayOf(relaysync.Reactor)
			by.At = swaptest.Start.Add(24 * time.Hour)
			s, err = o.relays.Do(ctx, id, relaysync.Claimed{By: by})
			if err == nil {
				s, err = o.relays.Do(ctx, id, relaysync.Finished{By: by, Fence: s.Timer.Lease.Fence, Outcome: statemachine.Done})
			}
		}
		if err != nil || !s.Relay.Synced {
			t.Errorf("%s ends as %+v, %v", id, s, err)
		}
	}
	for k := range walletRows {
		xpub := fmt.Sprint("xpub", k)
		w, err := o.wallets.Get(ctx, xpub)
		if err == nil && k == 0 {
			w, err = o.wallets.Do(ctx, xpub, refresh.SlotClaimed{By: walletOf(refresh.Orchestrator), Slot: 3}, refresh.JobClaimed{By: walletOf(refresh.Worker), Slot: 1})
		}
		if err == nil {
			j := w.Jobs[0]
			w, err = o.wallets.Do(ctx, xpub, refresh.JobDone{By: walletOf(refresh.Worker), Fences: refresh.Fences{Slot: 1, Job: j.ID, Fence: j.Lease.Fence, Lock: w.Lock.Lease.Fence},
				Listing: refresh.Listing{Answered: swaptest.Start}})
		}
		if err != nil || !slices.ContainsFunc(w.Jobs, func(j refresh.Job) bool { return j.Status == refresh.JobCompleted }) {
			t.Errorf("%s ends as %+v, %v", xpub, w, err)
		}
	}
}
