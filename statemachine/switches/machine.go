package switches

import "github.com/settlehq/settle/statemachine"

// Trigger is what moves a switch.
// Values: OnStopBegin, OnStopAll, OnStopSend, OnStart, OnLowerBegin, OnLowerAll, OnRestored, OnRecovered.
type Trigger = statemachine.Enum[trigger]

const (
	OnStopBegin  Trigger = iota + 1 // nothing begins from now on
	OnStopAll                       // no refund and no quarantine of a swap begins either
	OnStopSend                      // nothing is handed out to be sent either
	OnStart                         // everything runs
	OnLowerBegin                    // a stop at all or send becomes one at begin
	OnLowerAll                      // a stop at send becomes one at all
	OnRestored                      // the database was put back to an earlier state
	OnRecovered                     // an operator says that all is known that the database had forgotten
)

type trigger struct{}

func (trigger) Kind() string    { return "trigger of a switch" }
func (trigger) Names() []string { return triggerNames }

var triggerNames = []string{"stop beginning", "stop all", "stop sending", "start", "lower to begin", "lower to all", "restored", "recovered"}

// Machine is the law of a switch. Its state is the level that a person gave. No state
// is an end, and none waits for anything: a person moves it, and a crash leaves it as
// it is.
var Machine = statemachine.Must("switch", []statemachine.Edge[Level, Trigger]{
	{From: 0, Trigger: OnStopBegin, To: Begin},
	{From: 0, Trigger: OnStopAll, To: All},
	{From: 0, Trigger: OnStopSend, To: Send},
	{From: 0, Trigger: OnRestored, To: On},
	{From: 0, Trigger: OnRecovered, To: On},

	{From: On, Trigger: OnStopBegin, To: Begin},
	{From: On, Trigger: OnStopAll, To: All},
	{From: On, Trigger: OnStopSend, To: Send},
	{From: Begin, Trigger: OnStopAll, To: All},
	{From: Begin, Trigger: OnStopSend, To: Send},
	{From: All, Trigger: OnStopSend, To: Send},

	{From: Begin, Trigger: OnStart, To: On},
	{From: All, Trigger: OnStart, To: On},
	{From: Send, Trigger: OnStart, To: On},
	{From: All, Trigger: OnLowerBegin, To: Begin},
	{From: Send, Trigger: OnLowerBegin, To: Begin},
	{From: Send, Trigger: OnLowerAll, To: All},

	{From: On, Trigger: OnRestored, To: On},
	{From: Begin, Trigger: OnRestored, To: Begin},
	{From: All, Trigger: OnRestored, To: All},
	{From: Send, Trigger: OnRestored, To: Send},
	{From: On, Trigger: OnRecovered, To: On},
	{From: Begin, Trigger: OnRecovered, To: Begin},
	{From: All, Trigger: OnRecovered, To: All},
	{From: Send, Trigger: OnRecovered, To: Send},
}, statemachine.Cyclic)
