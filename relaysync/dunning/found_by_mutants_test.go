package dunning_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
)

// A rule whose removal internal/mutants found to be noticed by no test.

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
