package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// Payments are stopped and started again.
func ExampleSwitches_Stop() {
	ctx := context.Background()
	stop, err := store.NewSwitches(memory.New(memory.Options{}))
	if err != nil {
		log.Fatal(err)
	}
	by := switches.By{Actor: "olga", Role: switches.Operator}
	is, quiet, err := stop.Stop(ctx, switches.Stopped{By: by, Scope: switches.Everything, Level: switches.Send, Reason: "a key may be stolen"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(is.Scope, "is stopped at", is.Level, "and quiet:", !quiet.Since.IsZero() && len(quiet.Open) == 0)
	chain, err := stop.State(ctx, switches.Chain(uuid.New()))
	fmt.Println("so is a chain, at", chain.Level, err)
	is, err = stop.Start(ctx, switches.Started{By: by, Scope: switches.Everything, To: switches.Begin, Reason: "the key is safe, the wallets are looked at"})
	fmt.Println("then at", is.Level, err)
	// Output:
	// everything is stopped at send and quiet: true
	// so is a chain, at send <nil>
	// then at begin <nil>
}
