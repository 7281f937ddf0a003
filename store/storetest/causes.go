package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
)

// caused compares what the items of a page wait for.
func caused[C comparable](t *testing.T, what string, got func() ([]statemachine.Caused[C], error), want ...statemachine.Caused[C]) {
	t.Helper()
	if all := must(got())(t); fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("%s wait for %+v, not for %+v", what, all, want)
	}
}

func (r *relays) causes(t *testing.T) {
	waits, syncs, unknown := r.id(), r.id(), r.id()
	r.do(t, waits, relayCreated(waits, start))
	r.do(t, syncs, relayCreated(syncs, start), relaysync.Claimed{By: relayBy(relaysync.Reactor, start)})
	dated(r.Store, start.Add(time.Second))
	of := func() ([]statemachine.Caused[relaysync.Cause], error) {
		return r.service.ByCause(ctx, syncs, unknown, waits)
	}
	server := statemachine.Caused[relaysync.Cause]{Cause: relaysync.Cause{Party: relaysync.Reactor, Reason: "the server"}, Items: []int{0}}
	at := func(by relaysync.Role, reason string) statemachine.Caused[relaysync.Cause] {
		return statemachine.Caused[relaysync.Cause]{Cause: relaysync.Cause{Party: by, Reason: reason}, Items: []int{2}}
	}
	caused(t, "relays", of, server, at(relaysync.Reactor, "a reactor"))
	noError(t, errOf(must(store.NewSwitches(r.Store))(t).Do(ctx, switches.Relays, stopEvent(switches.Relays, switches.Begin))))
	caused(t, "relays that are stopped", of, server, at(relaysync.Operator, "the switch of relays"))
	tooMany(t, r.service.ByCause)
}

func (r *tenants) causes(t *testing.T) {
	first, second, idle := r.id(), r.id(), r.id()
	for _, id := range []string{first, second} {
		r.do(t, id, enrolled(id, dunning.Stripe), issued(id))
	}
	r.do(t, idle, enrolled(idle, dunning.Stripe))
	dated(r.Store, start.Add(time.Second))
	of := func() ([]statemachine.Caused[dunning.Cause], error) {
		return r.service.ByCause(ctx, first, idle, r.id(), second)
	}
	both := func(by dunning.Role, reason string) statemachine.Caused[dunning.Cause] {
		return statemachine.Caused[dunning.Cause]{Cause: dunning.Cause{Party: by, Reason: reason}, Items: []int{0, 3}}
	}
	service := must(store.NewSwitches(r.Store))(t)
	caused(t, "tenants", of, both(dunning.Biller, dunning.DoCharge.String()))
	noError(t, errOf(service.Do(ctx, switches.Charges, stopEvent(switches.Charges, switches.Begin))))
	caused(t, "tenants whose charges are stopped", of, both(dunning.Operator, "the switch of charges"))
	noError(t, errOf(service.Do(ctx, switches.Charges, startEvent(switches.Charges, 0))))
	_, err := service.Do(ctx, switches.Everything, recoveringEvent(switches.Everything, switches.Send, 1))
	noError(t, err)
	caused(t, "tenants after a restore", of, both(dunning.Operator, "the switch of charges"))
	tooMany(t, r.service.ByCause)
}

func (r *refreshes) causes(t *testing.T) {
	live(r.Store)
	queue := func(xpub string) {
		noError(t, errOf(r.service.Enqueue(ctx, refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API},
			Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "c", MasterFingerprint: "f"}, Cause: refresh.Sync})))
	}
	first, second := r.xpub(), r.xpub()
	queue(first)
	queue(second)
	want := statemachine.Caused[refresh.WaitCause]{Items: []int{0, 2}}
	step, _, err := r.service.Next(ctx, first)
	noError(t, err)
	want.Cause = refresh.WaitCause{Party: step.Party, Reason: step.Do.String()}
	caused(t, "wallets", func() ([]statemachine.Caused[refresh.WaitCause], error) {
		return r.service.ByCause(ctx, first, r.xpub(), second)
	}, want)
	tooMany(t, r.service.ByCause)
}

// tooMany: what is asked is a page at most, and nothing of nobody.
func tooMany[C any](t *testing.T, causes func(context.Context, ...string) ([]C, error)) {
	t.Helper()
	all, err := causes(ctx)
	noError(t, err)
	refusedWith(t, errOf(causes(ctx, make([]string, store.MaxPage+1)...)), statemachine.ErrInvalid, "more than a page")
	if len(all) > 0 {
		t.Errorf("nobody waits for %v", all)
	}
}
