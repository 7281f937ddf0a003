package dunning

import "time"

// longest is the longest time between two steps of a tenant that is owed something.
func (p *Policy) longest() time.Duration { return max(p.Tick, p.Hold) }

// ahead reports whether a time is further in the future than any clock in step with the present one would have set it.
// Either the clock that set it was ahead, or the present one is behind: the record does not say which.
func (p *Policy) ahead(t, now time.Time) bool { return t.After(now.Add(2 * p.longest())) }

// late reports whether a step of the tenant comes so late that the clock may have
// jumped forward meanwhile.
func (p *Policy) late(t *Tenant, now time.Time) bool {
	return !t.DueAt.IsZero() && now.After(t.DueAt.Add(p.longest()))
}

// since returns the second time where it is set, else the first.
func since(dated, instead time.Time) time.Time {
	if instead.IsZero() {
		return dated
	}
	return instead
}

// unseen is how far the present clock is from the latest step of a tenant if that step and this one are too far apart:
// a step comes late, or the clock went back. Zero: neither. A late step does not say how much time has passed, since
// the clock may have jumped or no biller may have been there; so none of that time counts. The time of the latest step
// is not stored: it was not before DueAt less the longest time between two steps, and this earliest time is taken for
// it. A step at most that longest time after its DueAt is not late.
//
// A clock that went back counts as a gap where its way forward again would be one, so that a jump back and forth leaves
// all ages as they were. The exception is an invoice that is no older than its date says, see redate.
func (p *Policy) unseen(t *Tenant, now time.Time) time.Duration {
	if p.late(t, now) || t.DueAt.After(now.Add(3*p.longest())) {
		return now.Sub(t.DueAt.Add(-p.longest()))
	}
	return 0
}

// redate takes time that no step has seen out of the ages of what is owed: the date from which an age counts moves with
// the clock, and a date in the future becomes now. So neither a jump of a clock nor time without a biller makes
// anything older. The invoice's own dates stay, and no clock that goes back makes an invoice older than its date says,
// unless the date lies in the future. The date of the latest message is overwritten: at worst the next message comes
// early by as much as the clock went back. The date of a charge's intent is overwritten too, where the charge may still
// arrive and a clock that was ahead set the date: the biller that stored the intent may send the charge for Policy.Hold
// from now on.
func (p *Policy) redate(c *step) error {
	t, now, moved := &c.New.Tenant, c.by.At, false
	if t.Status() != TenantActive {
		return nil
	}
	gap := p.unseen(&c.Old.Tenant, now)
	moves := func(t time.Time) time.Time {
		at := t.Add(gap)
		switch {
		case gap > 0 && t.After(now) && !p.ahead(t, now):
			return t // it is waited for
		case at.After(now) && (gap != 0 || p.ahead(t, now)):
			return now
		}
		return at
	}
	mend := func(dated time.Time, instead *time.Time) bool {
		if dated.IsZero() {
			return false
		}
		at, was := moves(since(dated, *instead)), *instead
		if gap < 0 && at.Before(dated) && !dated.After(now) && (was.IsZero() || !was.Before(dated)) {
			at = dated
		}
		if *instead = at; at.Equal(dated) {
			*instead = time.Time{}
		}
		return !was.Equal(*instead)
	}
	stamp := func(at *time.Time) bool { // of a message
		was := *at
		switch {
		case p.ahead(was, now):
			*at = now
		case gap > 0 && !was.IsZero():
			*at = moves(was)
		}
		return !was.Equal(*at)
	}
	var changed []Invoice
	for _, i := range c.Old.Invoices {
		if !i.Owed() {
			continue
		}
		dated, told, before := mend(i.CreatedAt, &i.Since), stamp(&i.NotifiedAt), stamp(&i.PriorNotifiedAt)
		if i.PriorNotifiedAt.After(i.NotifiedAt) {
			i.PriorNotifiedAt = i.NotifiedAt
		}
		meant := i.unsure() && p.ahead(i.ChargeAt, now)
		if meant {
			i.ChargeAt = now
		}
		if meant && i.Charge == ChargeOpen { // nor is it sent later
			i.ChargeAfter = p.lookAt(now)
		}
		if dated || told || before || meant {
			changed, moved = append(changed, i), true
		}
	}
	if mend(t.ReinstatedAt, &t.Since) {
		moved = true
	}
	if p.ahead(t.NoticeAfter, now) {
		t.NoticeAfter, moved = p.heldUntil(now), true
	}
	if !moved {
		return nil
	}
	return c.move(onRedate, changed...)
}

// reissue takes the right date of an invoice whose date was set by a clock that was ahead.
func (c *step) reissue(i Invoice, created time.Time) error {
	if i.Since == created {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	i.Since = created
	return c.move(onRedate, i)
}
