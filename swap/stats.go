package swap

import (
	"strconv"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Stats is what a store counts at the moment At, and in the window
// [At - window, At): its start is in it, its end is not.
type Stats struct {
	At time.Time
	// Deposits and Credits count, by status, the unprocessed items, and the items that entered a status
	// that ends them in the window.
	Deposits map[DepositStatus]int64
	Credits  map[CreditStatus]int64
	// DepositDwell and CreditDwell are for how long the unprocessed items of a
	// status have been in it, on average, cut to microseconds.
	DepositDwell map[DepositStatus]time.Duration
	CreditDwell  map[CreditStatus]time.Duration
	// Backlog is how many items are unprocessed, and not given back by hand.
	Backlog int64
	// Money is the amount that came in as the items of the backlog, by direction: USDC of deposits, USDD of credits.
	// Review: of held items. Unknown: of items with an intent whose result nobody knows yet. Stuck: of overdue items.
	Money map[Direction]statemachine.Money
	// OldestAwaiting is when the item entered its state that has waited longest for a confirmation, of the
	// unprocessed items in debited, refund sent and awaiting; zero: none waits.
	OldestAwaiting time.Time
	OldestHeld     time.Time // since when the longest hold is; zero: none
	Held           int64     // unprocessed
	Overdue        int64     // in any table, see [Item.Overdue]
	Discrepancies  int64     // that nobody has dealt with
	OldestScan     time.Time // up to when the history was read that is furthest behind, see [Waterline].Seen; zero: none was read
	// Unread are the histories that were never read whole, in a store where swaps have begun: it
	// has a backlog, or [Control.Restored] was said, or another history was read.
	Unread []string

	// In the window, by when they were stored or entered their status.
	Created     int64
	Processed   int64 // as fees included
	Refunded    int64
	Quarantined int64
	GivenBack   int64 // items for which an operator said in the window that they were given back by hand: see [Settled]
}

// Tally adds up items to [Stats].
type Tally struct {
	s                Stats
	from             time.Time
	begun            bool // something of swaps is on file
	read             [4]bool
	deposits, credit map[uint8]int64 // sums of dwell times, microseconds
}

// NewTally begins a count.
func NewTally(now time.Time, window time.Duration) *Tally {
	return &Tally{from: now.Add(-window), deposits: map[uint8]int64{}, credit: map[uint8]int64{},
		s: Stats{At: now, Deposits: map[DepositStatus]int64{}, Credits: map[CreditStatus]int64{},
			Money: map[Direction]statemachine.Money{}}}
}

// Deposit counts one.
func (c *Tally) Deposit(d *Deposit) {
	if c.item(ToUSDD, &d.Item, depositStages[d.Status]) {
		c.s.Deposits[d.Status]++
		c.deposits[uint8(d.Status)] += c.s.At.Sub(d.Entered).Microseconds()
	}
}

// Credit counts one.
func (c *Tally) Credit(cr *Credit) {
	if c.item(ToUSDC, &cr.Item, creditStages[cr.Status]) {
		c.s.Credits[cr.Status]++
		c.credit[uint8(cr.Status)] += c.s.At.Sub(cr.Entered).Microseconds()
	}
}

// item counts an item, and reports whether it belongs into the counts by status.
func (c *Tally) item(d Direction, i *Item, g stage) bool {
	inWindow := func(at time.Time) bool { return !at.Before(c.from) && at.Before(c.s.At) }
	if inWindow(i.Stored) {
		c.s.Created++
	}
	if i.Overdue(c.s.At) {
		c.s.Overdue++
	}
	if inWindow(i.ByHand.At) {
		c.s.GivenBack++
	}
	earliest := func(p *time.Time, at time.Time) {
		if p.IsZero() || at.Before(*p) {
			*p = at
		}
	}
	if g.finished() {
		switch {
		case !inWindow(i.Entered):
			return false
		case g.place == Processed:
			c.s.Processed++
		case g.place == Refunded:
			c.s.Refunded++
		default:
			c.s.Quarantined++
		}
		return true
	}
	if i.givenBack() {
		return false
	}
	c.s.Backlog++
	m := c.s.Money[d]
	m.Add(statemachine.Sum(strconv.FormatUint(i.Amount, 10)), i.Hold.Kind != 0, i.openIntent() != 0, i.Overdue(c.s.At))
	c.s.Money[d] = m
	if g.awaits != 0 {
		earliest(&c.s.OldestAwaiting, i.Entered)
	}
	if i.Hold.Kind != 0 {
		c.s.Held++
		earliest(&c.s.OldestHeld, i.Hold.At)
	}
	return true
}

// Discrepancy counts one.
func (c *Tally) Discrepancy(d *Discrepancy) {
	if d.ClosedBy == "" {
		c.s.Discrepancies++
	}
}

// Waterline counts one.
func (c *Tally) Waterline(w *Waterline) {
	at := w.read()
	if at.IsZero() {
		return
	}
	if c.begun = true; c.s.OldestScan.IsZero() || at.Before(c.s.OldestScan) {
		c.s.OldestScan = at
	}
	for k, h := range histories {
		c.read[k] = c.read[k] || h.chain == w.Chain && h.own == w.Own
	}
}

// Control counts the row.
func (c *Tally) Control(row Control) { c.begun = c.begun || row.Version > 0 }

// histories are all that are read, see [Waterline].
var histories = [4]struct {
	chain Chain
	own   bool
	name  string
}{{Solana, false, "what came in on solana"}, {Nexus, false, "what came in on nexus"},
	{Solana, true, "the vault's own on solana"}, {Nexus, true, "the vault's own on nexus"}}

// Stats is the result.
func (c *Tally) Stats() Stats {
	s := c.s
	for k, h := range histories {
		if (c.begun || s.Backlog > 0) && !c.read[k] {
			s.Unread = append(s.Unread, h.name)
		}
	}
	s.DepositDwell, s.CreditDwell = map[DepositStatus]time.Duration{}, map[CreditStatus]time.Duration{}
	for status, n := range s.Deposits {
		if !depositStages[status].finished() {
			s.DepositDwell[status] = time.Duration(c.deposits[uint8(status)]/n) * time.Microsecond
		}
	}
	for status, n := range s.Credits {
		if !creditStages[status].finished() {
			s.CreditDwell[status] = time.Duration(c.credit[uint8(status)]/n) * time.Microsecond
		}
	}
	return s
}

// Ended is how many items ended in the window.
func (s *Stats) Ended() int64 { return s.Processed + s.Refunded + s.Quarantined }

// SuccessRate, RefundRate and QuarantineRate are shares of the items that ended
// in the window, in basis points (10 000 = all), rounded down; 0 of 0 is 0.
func (s *Stats) SuccessRate() int64 { return basisPoints(s.Processed, s.Ended()) }

// RefundRate is the share that was refunded.
func (s *Stats) RefundRate() int64 { return basisPoints(s.Refunded, s.Ended()) }

// QuarantineRate is the share that was quarantined; it should be near 0.
func (s *Stats) QuarantineRate() int64 { return basisPoints(s.Quarantined, s.Ended()) }

func basisPoints(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return part * 10_000 / whole
}

// Thresholds are the limits of [Alerts]. A zero duration is not watched.
type Thresholds struct {
	RefundRate int64         // basis points; more than that alerts
	Awaiting   time.Duration // longer than that alerts
	Held       time.Duration
	Scan       time.Duration // a history that was not read for longer alerts, and one that never was at once
}

// DefaultThresholds are the source's, a day for a hold, and an hour for a scan.
func DefaultThresholds() Thresholds {
	return Thresholds{RefundRate: 500, Awaiting: 10 * time.Minute, Held: 24 * time.Hour, Scan: time.Hour}
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	// The rate is rounded down, so the comparison is made with the counts.
	a.Add(s.Refunded*10_000 > t.RefundRate*s.Ended(), "refund rate",
		"%d of %d were refunded, more than %s", s.Refunded, s.Ended(), statemachine.Percent(t.RefundRate))
	a.Add(s.Quarantined > 0, "quarantine", "%d were quarantined", s.Quarantined)
	a.Add(s.Created > s.Ended(), "backlog", "%d came in and %d ended; %d are unprocessed", s.Created, s.Ended(), s.Backlog)
	a.Wait("confirmation", s.OldestAwaiting, t.Awaiting, "an item waits for its confirmation")
	a.Wait("hold", s.OldestHeld, t.Held, "an item is held")
	if len(s.Unread) > 0 {
		a.Add(t.Scan > 0, "scan", "never read whole: %s", strings.Join(s.Unread, ", "))
	} else {
		a.Wait("scan", s.OldestScan, t.Scan, "a history was not read whole (what no node has any more is a gap to accept)")
	}
	a.Add(s.Discrepancies > 0, "discrepancies", "%d discrepancies nobody has dealt with", s.Discrepancies)
	a.Add(s.Overdue > 0, "overdue", "%d items are overdue", s.Overdue)
	return a.Alerts
}
