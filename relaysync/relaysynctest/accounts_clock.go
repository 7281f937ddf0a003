package relaysynctest

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
)

// clocks measures with a clock that is always right, which no rule of package dunning has, how
// long each invoice was really owed.
type clocks struct {
	owed  map[string]time.Time // since when an invoice is owed by an active tenant
	ahead time.Duration        // of the store's clock, when DueAt was set
	small time.Duration        // sum of the jumps between two steps that are too small to be told from time that passes
}

// add checks that no tenant is churned before the oldest invoice was owed for Policy.Grace. The
// rules cannot see jumps of the clock by up to two of Policy.Tick, so these are allowed for.
func (k *clocks) add(p *dunning.Policy, ahead time.Duration, c *dunning.Change) error {
	if c.Empty() {
		return nil
	}
	if c.New.Tenant.DueAt != c.Old.Tenant.DueAt {
		if jump := (ahead - k.ahead).Abs(); jump <= 2*max(p.Tick, p.Hold) {
			k.small += jump
		}
		k.ahead = ahead
	}
	if len(c.Log) == 0 {
		return nil
	}
	now, back := c.Log[0].At.Add(-ahead), c.Old.Tenant.Status() != dunning.TenantActive
	longest := time.Duration(0)
	for i := range c.New.Invoices {
		is := &c.New.Invoices[i]
		if since, ok := k.owed[is.ID]; !ok || back {
			k.owed[is.ID] = now
			if old := c.Log[0].At.Sub(is.CreatedAt); !back && old > 0 {
				k.owed[is.ID] = now.Add(-old) // the host says so
			}
		} else if is.Owed() {
			longest = max(longest, now.Sub(since))
		}
	}
	if c.Churned() && longest < p.Grace-k.small-time.Second {
		return fmt.Errorf("churned after %v in truth, and %v in jumps of a clock that are too small to be seen", longest, k.small)
	}
	return nil
}
