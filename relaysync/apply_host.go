package relaysync

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

func (p *Policy) create(c *step, e *Created) error {
	r := &c.New.Relay
	if old := &c.Old.Relay; c.Old.Phase() != 0 {
		cfg, err := e.Config.canonical()
		if err == nil && old.ID == e.Relay && old.Tenant == e.Tenant && old.Revision == 1 && old.Subdomain == e.Subdomain && old.Config == cfg &&
			old.DeletedAt.IsZero() {
			return nil
		}
		why := "it was changed or deleted since"
		switch {
		case old.Tenant != e.Tenant:
			why = fmt.Sprintf("its tenant is %.100q, and not %.100q", old.Tenant, e.Tenant)
		case old.Subdomain != e.Subdomain:
			why = fmt.Sprintf("its subdomain is %.100q, and not %.100q", old.Subdomain, e.Subdomain)
		case err == nil && old.Revision == 1 && old.Config != cfg:
			why = "its configuration is another one"
		}
		return c.refuse(statemachine.ErrIllegal, "there is a relay of this id: "+why)
	}
	*r = Relay{ID: e.Relay, Tenant: e.Tenant, Status: Active, CreatedAt: c.by.At}
	c.New.Timer = Timer{}
	if err := c.version(); err != nil {
		return err
	}
	if !validID(e.Relay) {
		return c.refuse(statemachine.ErrInvalid, "an id is a letter or _, then letters, digits and _, at most 63 in all")
	}
	if e.Tenant == "" || len(e.Tenant) > MaxTenant || !statemachine.Storable(e.Tenant) {
		return c.refuse(statemachine.ErrInvalid, "a tenant of 1 to 100 bytes is needed")
	}
	if err := p.configure(c, e.Subdomain, &e.Config); err != nil {
		return err
	}
	r.Revision = 1
	c.append(CreateRelay)
	c.dueNow()
	return c.move(onCreate, "")
}

func (p *Policy) update(c *step, e *Updated) error {
	old := &c.Old.Relay
	if e.Revision != 0 && e.Revision == old.Revision && c.Old.Phase() != PhaseDeleted {
		if cfg, err := e.Config.canonical(); err == nil && cfg == old.Config && e.Subdomain == old.Subdomain {
			return nil
		}
	}
	if err := c.change(e.Revision, onUpdate); err != nil {
		return err
	}
	if err := p.configure(c, e.Subdomain, &e.Config); err != nil {
		return err
	}
	c.append(UpdateRelay)
	c.dueNow()
	return c.move(onUpdate, "")
}

// setStatus always makes the relay unsynced, as the source does.
func (c *step) setStatus(to Status, on Trigger, activity string, revision int64) error {
	if revision != 0 && revision == c.Old.Relay.Revision && c.Old.Relay.Status == to && c.Old.Phase() != PhaseDeleted {
		return nil
	}
	if err := c.change(revision, on); err != nil {
		return err
	}
	c.New.Relay.Status = to
	c.append(activity)
	c.dueNow()
	return c.move(on, "")
}

// change checks and counts a revision.
func (c *step) change(revision int64, on Trigger) error {
	r := &c.New.Relay
	if next := r.Revision + 1; revision != 0 && revision != next {
		return c.refuse(statemachine.ErrConflict, fmt.Sprintf("the next revision is %d", next))
	}
	if err := c.version(); err != nil {
		return err
	}
	if _, ok := Machine.Next(c.Old.Phase(), on); !ok {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	r.Revision++
	return nil
}

// configure sets what is sent, within the server's limits.
func (p *Policy) configure(c *step, subdomain string, cfg *Config) error {
	r := &c.New.Relay
	canonical, err := cfg.canonical()
	if err != nil {
		return c.refuse(statemachine.ErrInvalid, err.Error())
	}
	if !dnsLabel(subdomain) {
		return c.refuse(statemachine.ErrInvalid, "a subdomain is one DNS label")
	}
	r.Subdomain, r.Config = subdomain, canonical
	if err := p.fits(&c.Old.Relay, r); err != nil {
		return c.refuse(statemachine.ErrInvalid, err.Error())
	}
	return nil
}

// remove marks the relay as deleted and as synced. The row stays, so that its id and its versions
// are never used again, and is not listed among the relays that await a sync.
func (c *step) remove() error {
	if c.Old.Phase() == PhaseDeleted {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	r := &c.New.Relay
	r.DeletedAt, r.Synced, r.SyncError, r.Recreate = c.by.At, true, "", false
	c.New.Timer = Timer{}
	c.append(DeleteRelay)
	return c.move(onDelete, "")
}

// retry appends an activity of its own, so that the streak begins anew.
func (c *step) retry(e *Retried) error {
	if at := c.Old.Phase(); at == PhaseDue || at == PhaseSyncing {
		return nil
	}
	if err := c.operator(e.Reason); err != nil {
		return err
	}
	c.append(RetryRelaySync)
	c.dueNow()
	return c.move(onRetry, e.Reason)
}

func (c *step) recreate(e *Recreated) error {
	if at := c.Old.Phase(); c.Old.Relay.Recreate && (at == PhaseDue || at == PhaseSyncing) {
		return nil
	}
	if err := c.operator(e.Reason); err != nil {
		return err
	}
	c.New.Relay.Recreate = true
	c.append(RetryRelaySync)
	c.dueNow()
	return c.move(onRecreate, e.Reason)
}

func (c *step) operator(reason string) error {
	if err := c.version(); err != nil {
		return err
	}
	if c.Old.Phase() == PhaseDeleted {
		return c.refuse(statemachine.ErrIllegal, "")
	}
	if len(reason) > MaxError || !statemachine.Storable(reason) {
		return c.refuse(statemachine.ErrInvalid, "a reason is at most 1000 bytes")
	}
	return nil
}

// until bounds a time from above.
func until(t, latest time.Time) time.Time {
	if t.After(latest) {
		return latest
	}
	return t
}
