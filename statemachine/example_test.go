package statemachine_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// A parcel waits, travels, and arrives or comes back.
const (
	Waiting status = iota + 1
	Travelling
	Delivered
	Returned
)

const (
	Accept trigger = iota + 1
	Dispatch
	Scan
	Deliver
	NotFound
	Recall
)

type (
	status  = statemachine.Enum[statusNames]
	trigger = statemachine.Enum[triggerNames]
	edge    = statemachine.Edge[status, trigger]

	statusNames  struct{}
	triggerNames struct{}
)

func (statusNames) Kind() string    { return "parcel status" }
func (statusNames) Names() []string { return statusTexts }

func (triggerNames) Kind() string    { return "parcel trigger" }
func (triggerNames) Names() []string { return triggerTexts }

var (
	statusTexts  = []string{"waiting", "travelling", "delivered", "returned"}
	triggerTexts = []string{"accept", "dispatch", "scan", "deliver", "receiver not found", "recall"}
)

// Parcels is the law: what may happen to a parcel.
var Parcels = statemachine.Must("parcel", []edge{
	{From: 0, Trigger: Accept, To: Waiting},
	{From: Waiting, Trigger: Dispatch, To: Travelling},
	{From: Travelling, Trigger: Scan, To: Travelling},
	{From: Travelling, Trigger: Deliver, To: Delivered},
	{From: Travelling, Trigger: NotFound, To: Returned},
	{From: Waiting, Trigger: Recall, To: Returned, Extension: "the sender may change their mind"},
})

// Parcel is one record, with the trail of all its versions.
type Parcel struct {
	ID      int
	Status  status
	Version int64
	Log     []statemachine.Transition[int]
}

// Move is the only way to change a parcel's status.
func (p Parcel) Move(on trigger, at time.Time) (Parcel, error) {
	line := statemachine.Transition[int]{ID: p.ID, At: at}
	if err := statemachine.Move(Parcels, &p.Status, &p.Version, on, &line); err != nil {
		return p, &statemachine.Refusal{
			Err: err, Machine: Parcels.Name(), ID: fmt.Sprint(p.ID), State: p.Status.String(), Event: on.String(),
		}
	}
	p.Log = append(p.Log, line)
	return p, nil
}

func Example() {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	parcel := Parcel{ID: 7}
	for _, on := range []trigger{Accept, Dispatch, Scan, Recall, Deliver} {
		next, err := parcel.Move(on, at)
		if errors.Is(err, statemachine.ErrIllegal) {
			fmt.Println(err)
			continue
		}
		parcel = next
	}
	fmt.Printf("version %d is %v, terminal: %v\n", parcel.Version, parcel.Status, Parcels.Terminal(parcel.Status))

	replayed, err := statemachine.Replay(Parcels, parcel.Log)
	fmt.Println("the trail proves:", replayed, err)

	parcel.Log[1].To = "delivered"
	_, err = statemachine.Replay(Parcels, parcel.Log)
	fmt.Println(err)

	// Output:
	// parcel 7 (travelling) refuses recall: illegal in this state
	// version 4 is delivered, terminal: true
	// the trail proves: delivered <nil>
	// stored record breaks an invariant: parcel 7 version 2 (waiting --dispatch--> delivered): the table has no such edge
}

func ExampleBackoff() {
	retry := statemachine.Backoff{Base: time.Second, Cap: time.Minute}
	for _, n := range []int{0, 1, 2, 10} {
		fmt.Println(retry.Delay(n, 0))
	}
	// Output:
	// 1s
	// 2s
	// 4s
	// 1m0s
}

func ExampleLease() {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	job, _ := statemachine.Lease{}.Claim("worker a", noon, time.Minute)
	mine := job.Fence

	// Worker a sleeps for too long, and worker b takes over.
	late := noon.Add(time.Minute)
	job, _ = job.Claim("worker b", late, time.Minute)

	fmt.Println(job.Holder, job.Fence)
	fmt.Println(job.Fenced(mine, late))
	// Output:
	// worker b 2
	// fenced off: the lease is no longer yours
}
