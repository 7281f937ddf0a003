package dunning_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// Rules whose removal internal/mutants found to be noticed by no test.

// After a restore nobody is asked about what is paid or void: only what is owed may be charged again.
func TestWhatIsOwedNoLongerIsNotLookedBackFor(t *testing.T) {
	for name, ends := range map[string]dunning.Event{
		"paid": dunning.Paid{By: by(dunning.Host, after(hour/2)), Invoice: "i1", Method: dunning.Manual},
		"void": dunning.Voided{By: by(dunning.Host, after(hour/2)), Invoice: "i1"},
	} {
		t.Run(name, func(t *testing.T) {
			x := open(t, dunning.Stripe)
			x.do(ends)
			x.p.RecoveredAt = after(hour)
			x.do(dunning.Issued{By: by(dunning.Host, after(3*hour)), Invoice: "i2", Amount: 1, CreatedAt: after(3*hour + time.Microsecond)})
			x.expect(3*hour+time.Microsecond, "charge i2")
		})
	}
}

// The same answer of the same moment changes nothing, and nor does one that says too late that a charge was not tried:
// a look-up has found meanwhile that it never arrived.
func TestAnUnclearAnswerIsTakenOnce(t *testing.T) {
	x := open(t, dunning.Stripe)
	x.do(intended(0, "i1/0"), answered(0, "i1/0", statemachine.Unknown))
	x.nothing(answered(0, "i1/0", statemachine.Unknown))
	x.do(asked(2*hour, 2*hour, "i1/0"))
	x.nothing(answered(2*hour, "i1/0", statemachine.Deferred))
}
