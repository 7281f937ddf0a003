package looplab_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/looplab/fsm"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/looplab"
)

const (
	Waiting status = iota + 1
	Travelling
	Delivered
)

const (
	Accept trigger = iota + 1
	Dispatch
	Scan
	Deliver
)

type (
	status  = statemachine.Enum[statusNames]
	trigger = statemachine.Enum[triggerNames]
	edge    = statemachine.Edge[status, trigger]

	statusNames  struct{}
	triggerNames struct{}
)

func (statusNames) Kind() string     { return "parcel status" }
func (statusNames) Names() []string  { return []string{"waiting", "travelling", "delivered"} }
func (triggerNames) Kind() string    { return "parcel trigger" }
func (triggerNames) Names() []string { return []string{"accept", "dispatch", "scan", "deliver"} }

var parcels = statemachine.Must("parcel", []edge{
	{From: 0, Trigger: Accept, To: Waiting},
	{From: Waiting, Trigger: Dispatch, To: Travelling},
	{From: Travelling, Trigger: Scan, To: Travelling},
	{From: Travelling, Trigger: Deliver, To: Delivered},
})

// A host whose work hangs on looplab callbacks follows the table.
func Example() {
	ctx := context.Background()
	f, err := looplab.New(parcels, Waiting, fsm.Callbacks{
		"enter_delivered": func(_ context.Context, e *fsm.Event) { fmt.Println("thank you,", e.Args[0]) },
	})
	if err != nil {
		panic(err)
	}
	for _, on := range []trigger{Dispatch, Scan, Accept, Deliver} {
		err := looplab.Fire(ctx, f, on, "Ada")
		switch {
		case errors.Is(err, statemachine.ErrIllegal):
			fmt.Println(err)
		case err != nil:
			panic(err)
		}
	}
	fmt.Println(f.Current())
	// Output:
	// looplab machine (travelling) refuses accept: illegal in this state
	// thank you, Ada
	// delivered
}

// A host that has a looplab list makes a table of it. Its records are stored as waiting, so
// creation is the one edge that the list does not have.
func ExampleEdges() {
	edges, err := looplab.Edges[status, trigger](fsm.Events{
		{Name: "dispatch", Src: []string{"waiting"}, Dst: "travelling"},
		{Name: "scan", Src: []string{"travelling"}, Dst: "travelling"},
		{Name: "deliver", Src: []string{"travelling", "waiting"}, Dst: "delivered"},
	}, "none")
	if err != nil {
		panic(err)
	}
	edges = append(edges, edge{From: 0, Trigger: Accept, To: Waiting})
	m, err := statemachine.New("parcel", edges)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Next(Waiting, Deliver))

	_, err = looplab.Edges[status, trigger](fsm.Events{
		{Name: "deliver", Src: []string{"travelling"}, Dst: "delivered"},
		{Name: "deliver", Src: []string{"travelling"}, Dst: "waiting"},
	}, "none")
	fmt.Println(err)
	// Output:
	// delivered true
	// looplab event "deliver" leads from "travelling" to both "delivered" and "waiting"
}
