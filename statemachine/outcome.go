package statemachine

// Outcome is what an effect on the outside world can answer. A caller has to tell all four values
// apart: an Unknown that is taken for Failed pays twice. The zero value means that there is no
// answer yet.
// Values: Done, Failed, Unknown, Deferred.
type Outcome = Enum[outcome]

const (
	// Done: proof that it happened.
	Done Outcome = iota + 1
	// Failed: there is proof that the effect did not happen and never will. No other outcome
	// allows another send.
	Failed
	// Unknown: the effect may have happened: a time-out, a lost reply, an answer that cannot be
	// parsed. It leads to a look-up, never to another send.
	Unknown
	// Deferred: the effect was not tried: no liquidity, a pause, a limit, a busy peer. It costs
	// no attempt.
	Deferred
)

type outcome struct{}

func (outcome) Kind() string    { return "outcome" }
func (outcome) Names() []string { return outcomeNames }

var outcomeNames = []string{"done", "failed", "unknown", "deferred"}
