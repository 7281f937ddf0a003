package switches

import "github.com/settlehq/settle/statemachine"

// Trigger is what moves a switch.
// Values: onStopBegin, onStopAll, onStopSend, onStart, onLowerBegin, onLowerAll, onRestored, onRecovered.
type Trigger = statemachine.Enum[trigger]

const (
	onStopBegin  Trigger = iota + 1 // nothing begins from now on
	onStopAll                       // no refund and no quarantine of a swap begins either
	onStopSend                      // nothing is handed out to be sent either
	onStart                         // everything runs
	onLowerBegin                    // a stop at all or send becomes one at begin
	onLowerAll                      // a stop at send becomes one at all
	onRestored                      // the database was put back to an earlier state
	onRecovered                     // an operator says that all is known that the database had forgotten
)

type trigger struct{}

func (trigger) Kind() string    { return "trigger of a switch" }
func (trigger) Names() []string { return triggerNames }

var triggerNames = []string{"stop beginning", "stop all", "stop sending", "start", "lower to begin",
	"lower to all", "restored", "recovered"}

// Machine is the table of a switch. Its state is the level that a person gave. No state is
// terminal, and none waits for anything: only a person or a restore changes it, and a crash leaves
// it as it is.
var Machine = statemachine.Must("switch", []statemachine.Edge[Level, Trigger]{
	{From: 0, Trigger: onStopBegin, To: Begin},
	{From: 0, Trigger: onStopAll, To: All},
	{From: 0, Trigger: onStopSend, To: Send},
	{From: 0, Trigger: onRestored, To: On},
	{From: 0, Trigger: onRecovered, To: On},

	{From: On, Trigger: onStopBegin, To: Begin},
	{From: On, Trigger: onStopAll, To: All},
	{From: On, Trigger: onStopSend, To: Send},
	{From: Begin, Trigger: onStopAll, To: All},
	{From: Begin, Trigger: onStopSend, To: Send},
	{From: All, Trigger: onStopSend, To: Send},

	{From: Begin, Trigger: onStart, To: On},
	{From: All, Trigger: onStart, To: On},
	{From: Send, Trigger: onStart, To: On},
	{From: All, Trigger: onLowerBegin, To: Begin},
	{From: Send, Trigger: onLowerBegin, To: Begin},
	{From: Send, Trigger: onLowerAll, To: All},

	{From: On, Trigger: onRestored, To: On},
	{From: Begin, Trigger: onRestored, To: Begin},
	{From: All, Trigger: onRestored, To: All},
	{From: Send, Trigger: onRestored, To: Send},
	{From: On, Trigger: onRecovered, To: On},
	{From: Begin, Trigger: onRecovered, To: Begin},
	{From: All, Trigger: onRecovered, To: All},
	{From: Send, Trigger: onRecovered, To: Send},
}, statemachine.Cyclic)
