package dunning

import "time"

// longest is the longest time between two steps of a tenant that is owed something.
func (p *Policy) longest() time.Duration { return max(p.Tick, p.Hold) }

// ahead reports whether a time lies so far in the future that no clock has given it
// that goes like the present one. Either that clock was ahead, or the present one is
// behind: nothing here says which.
func (p *Policy) ahead(t, now time.Time) bool { return t.After(now.Add(2 * p.longest())) }

// late reports whether a step of the tenant comes so late that the clock may have
// jumped forward meanwhile.
func (p *Policy) late(t *Tenant, now time.Time) bool {
	return !t.DueAt.IsZero() && now.After(t.DueAt.Add(p.longest()))
}

// since is the time that counts: the second one, where it is set.
func since(dated, instead time.Time) time.Time {
	if instead.IsZero() {
		return dated
	}
	return instead
}

// redated reports whether an age of the account is of a time that counts instead of
// another one.
func (a *Account) redated() bool {
	for k := range a.Invoices {
		if !a.Invoices[k].Since.IsZero() {
			return true
		}
	}
	return !a.Tenant.Since.IsZero()
}

// redate mends what a clock that was ahead has left: from now on a time that lies in
// the future counts as if it were now. The time itself stays, since the present clock
// may be the wrong one: when a step comes late, as it does where a clock that was behind
// is set right, and the time lies in the past, it counts again. So no jump of a clock
// makes an invoice older than it is. The latest message is dated anew for good: at worst
// the next one comes early.
func (p *Policy) redate(c *step) error {
	t, now, moved := &c.New.Tenant, c.by.At, false
	if t.Status() != TenantActive {
		return nil
	}
	late := p.late(&c.Old.Tenant, now)
	mend := func(dated time.Time, instead *time.Time) bool {
		switch {
		case p.ahead(dated, now) && (instead.IsZero() || p.ahead(*instead, now)):
			*instead = now
		case late && !instead.IsZero() && !now.Before(dated):
			*instead = time.Time{}
		default:
			return false
		}
		return true
	}
	var changed []Invoice
	for _, i := range c.Old.Invoices {
		if !i.Owed() {
			continue
		}
		mended := mend(i.CreatedAt, &i.Since)
		if p.ahead(i.NotifiedAt, now) {
			i.NotifiedAt, mended = now, true
			if i.PriorNotifiedAt.After(now) {
				i.PriorNotifiedAt = now
			}
		}
		if mended {
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
	return c.move(OnRedate, changed...)
}

// reissue takes the right date of an invoice that a clock which was ahead has dated.
func (c *step) reissue(i Invoice, created time.Time) error {
	if i.Since == created {
		return nil
	}
	if err := c.version(); err != nil {
		return err
	}
	i.Since = created
	return c.move(OnRedate, i)
}
