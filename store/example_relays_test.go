package store_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/reactor"
	"github.com/settlehq/settle/store/worker"
)

// A tenant gets a relay, which a reactor brings to its server, and an invoice,
// which a biller charges. A service runs both loops until it stops, in as many
// processes as it likes.
func ExampleTenants_Work() {
	ctx, db, policy := context.Background(), memory.New(memory.Options{}), relaysync.DefaultPolicy()
	policy.RelayDomain = "relays.example"
	relays, err := store.NewRelays(db, policy)
	if err != nil {
		log.Fatal(err)
	}
	tenants, err := store.NewTenants(db, relays, dunning.DefaultPolicy())
	if err != nil {
		log.Fatal(err)
	}
	host, desk := relaysync.By{Actor: "host", Role: relaysync.Host}, dunning.By{Actor: "host", Role: dunning.Host}
	info := relaysync.Config{Info: `{"name":"Alice","pubkey":"` + relaysync.Document(strings.Repeat("ab", 32)) + `"}`}
	err = db.Update(ctx, func(tx store.Unit) error { // in one transaction: a tenant who is churned gets no relay
		_, err := tenants.Within(tx).Do(ctx, "alice", dunning.Enrolled{By: desk, Tenant: "alice", Method: dunning.Stripe}, dunning.Provisioned{By: desk},
			dunning.Issued{By: desk, Invoice: "alice-january", Amount: 2100})
		if err == nil {
			_, err = relays.Within(tx).Do(ctx, "alice_1", relaysync.Created{By: host, Relay: "alice_1", Tenant: "alice", Subdomain: "alice", Config: info})
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	// bill does what a tenant owes, one effect at a time, each after its intent.
	steps := tenants.Work(worker.NewName("biller")) // no other process has the name
	bill := func(ctx context.Context, due store.DueTenant) store.HeldTenant {
		a, policy := due.Account, tenants.Policy()
		var err error
		for do := policy.Next(a, due.At).Action; do != nil && err == nil; do = policy.Next(a, due.At).Action {
			var answer dunning.Event
			switch do.Do {
			case dunning.DoCharge:
				if a, err = tenants.DoHeld(ctx, a, dunning.ChargeIntended{By: steps.By(), Invoice: do.Invoices[0], Key: do.Key}); err == nil {
					outcome, text := charge(ctx, do) // Unknown where no answer came
					answer = dunning.ChargeAnswered{By: steps.By(), Invoice: do.Invoices[0], Key: do.Key, Outcome: outcome, Error: text}
				}
			case dunning.DoLookUp: // ask the provider for do.Key, then ChargeAnswered or ChargeMissing with Asked: due.At
			case dunning.DoNotify: // NoticeIntended, the message, then NoticeAnswered
			case dunning.DoChurn:
				answer = dunning.Churned{By: steps.By()}
			}
			if answer == nil || err != nil {
				break // DoLookUp and DoNotify are in examples/relaysync
			}
			a, err = tenants.Do(ctx, "alice", answer) // whatever came between
		}
		if err != nil {
			log.Println(err) // what is stored is owed again in a moment
		}
		return store.HeldTenant{Account: due.Account}
	}
	err = worker.Run(ctx, steps, bill, worker.Options[store.DueTenant, store.HeldTenant]{Idle: time.Millisecond}) // without Idle it goes on
	if err != nil {
		log.Fatal(err)
	}

	running, stop := context.WithCancel(ctx)
	err = reactor.Run(running, relays, reactor.Options{Name: "reactor-1", URL: "https://zooid.example", Authorize: sign, Transport: server{stop}})
	if err != nil {
		log.Fatal(err)
	}
	alice, _ := tenants.Get(ctx, "alice")
	relay, _ := relays.Get(ctx, "alice_1")
	fmt.Println("the invoice is", alice.Invoices[0].Status(), "and the relay synced:", relay.Relay.Synced)
	// Output:
	// charge alice-january/0: 2100 by stripe
	// POST /relay/alice_1
	// the invoice is paid and the relay synced: true
}

// charge asks the provider. The same key again is the same charge.
func charge(_ context.Context, do *dunning.Action) (statemachine.Outcome, string) {
	fmt.Printf("charge %s: %d by %v\n", do.Key, do.Amount, do.Method)
	return statemachine.Done, ""
}

// sign returns the value of an Authorization header (NIP-98).
func sign(context.Context, relaysync.AuthEvent) (string, error) { return "Nostr ...", nil }

// server stands for the relay-hosting server; it stops the reactor.
type server struct{ stop func() }

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	fmt.Println(r.Method, r.URL.Path)
	s.stop()
	return &http.Response{StatusCode: http.StatusCreated, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}
