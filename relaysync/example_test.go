package relaysync_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

// A relay is created, and the answer to the create is lost. The next sync finds out that the
// relay at the server is ours.
func Example() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy := relaysync.DefaultPolicy()
	policy.RelayDomain = "relays.example"
	by := func(actor string, role relaysync.Role) relaysync.By {
		return relaysync.By{Actor: actor, Role: role, At: now}
	}
	var s relaysync.Sync // a host loads and stores it in a transaction
	apply := func(ev relaysync.Event) {
		c, err := policy.Apply(s, ev)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, line := range c.Log {
			fmt.Printf("%s -> %s (%s)\n", line.From, line.To, line.Trigger)
		}
		s = c.New
	}
	owner := strings.Repeat("ab", 32)
	apply(relaysync.Created{By: by("api", relaysync.Host), Relay: "cats", Tenant: "alice", Subdomain: "cats",
		Config: relaysync.Config{Info: relaysync.Document(`{"pubkey":"` + owner + `"}`)}})

	apply(relaysync.Claimed{By: by("reactor-1", relaysync.Reactor)})
	attempt, _ := policy.Attempt(s)
	request, _, _ := attempt.Judge()
	fmt.Println(request.Method, request.URL("https://zooid.example/"), "needs a secret:", request.NeedsSecret)
	now = now.Add(5 * time.Second) // no answer
	_, outcome, text := attempt.Judge(relaysync.Answer{Text: "time-out"})
	apply(relaysync.Finished{By: by("reactor-1", relaysync.Reactor), Fence: 1, Outcome: outcome, Error: text})

	next := policy.Next(s, now)
	fmt.Println("again in", next.Due.Sub(now))
	now = next.Due
	apply(relaysync.Claimed{By: by("reactor-1", relaysync.Reactor)})
	attempt, _ = policy.Attempt(s)
	conflict := relaysync.Answer{Status: 409, Text: "relay exists"}
	request, _, _ = attempt.Judge(conflict)
	fmt.Println(request.Method, "needs a secret:", request.NeedsSecret)
	_, outcome, _ = attempt.Judge(conflict, relaysync.Answer{Status: 200})
	apply(relaysync.Finished{By: by("reactor-1", relaysync.Reactor), Fence: 2, Outcome: outcome})
	fmt.Println(outcome == statemachine.Done, s.Relay.Synced)
	// Output:
	//  -> due (create)
	// due -> syncing (claim)
	// POST https://zooid.example/relay/cats needs a secret: true
	// syncing -> waiting (failure)
	// again in 30s
	// waiting -> syncing (claim)
	// PATCH needs a secret: false
	// syncing -> clean (success)
	// true true
}
