package dunning

import (
	"slices"

	"github.com/settlehq/settle/statemachine"
)

// Complete checks that the log has one line for each new version of the tenant
// and of each invoice, see [statemachine.Complete].
func (c *Change) Complete() error {
	records := []statemachine.Versions[string]{{Machine: TenantMachine.Name(), ID: c.New.Tenant.ID,
		Old: c.Old.Tenant.Version, New: c.New.Tenant.Version}}
	c.Changed(func(old, now *Invoice) {
		records = append(records, statemachine.Versions[string]{Machine: InvoiceMachine.Name(), ID: now.ID, Old: old.Version, New: now.Version})
	})
	return statemachine.Complete(c.Log, records...)
}

// Changed visits the invoices whose version moved; old is the zero Invoice for a
// new one.
func (c *Change) Changed(visit func(old, now *Invoice)) {
	for k := range c.New.Invoices {
		now := &c.New.Invoices[k]
		old := &Invoice{}
		if k < len(c.Old.Invoices) && c.Old.Invoices[k].ID == now.ID {
			old = &c.Old.Invoices[k]
		} else if i := c.Old.Invoice(now.ID); i != nil {
			old = i
		}
		if old.Version != now.Version {
			visit(old, now)
		}
	}
}

// Merge takes the following change into this one, so that both are saved as one.
func (c *Change) Merge(next *Change) bool {
	c.New = next.New
	c.Log = slices.Concat(c.Log, next.Log)
	return true
}
