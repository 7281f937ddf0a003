package swap

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Waterline is how far one history of one chain is known: everything before it was seen and is stored. The heartbeat of
// the source is this value; the host reads and writes it.
type Waterline struct {
	Chain Chain `json:",omitzero"`
	// Own: the history is the vault's own outbound transactions, which are scanned for ever. Otherwise it is the
	// inbound transactions.
	Own bool
	At  time.Time // zero: nothing is known yet
	// Seen is the time up to which the history was read without a gap; zero: up to At. The oldest unprocessed item
	// holds At back, however old it is, but not Seen, so that what was read is no gap that an operator would have to
	// accept.
	Seen    time.Time
	Version int64
}

// Scan is what a host has read of a history. The host reports it after it has stored all that it found.
type Scan struct {
	Began time.Time // by the clock of the store
	// Generation is [Control].Generation as it was then.
	Generation int64
	From       time.Time // all from here on was read
	// Complete: the scan reached the end without a gap, and each amount that came in is stored. An amount that was
	// refused, with any error but [ErrNothing], holds the waterline until it is stored or an operator accepts the gap.
	// A scan of the vault's own history is complete only if nothing that was handed over is still on its way, since a
	// transaction that a node has taken and no block has is missing in the history.
	Complete bool
	Empty    bool // nothing was found
	// Tip is the block time of the finalized tip that the scan reached; zero if
	// the node did not prove it.
	Tip time.Time
}

// CheckScan returns the scan with its times as every store keeps them. A scan that began after now (by a clock that is
// not the store's) is [statemachine.ErrInvalid]. So is a scan whose tip is more than [Policy.WaterlineMargin] ahead of
// now: then the store's clock is behind the chains' clocks, and a transfer from before a loss would look as if it came
// after the loss.
func (p Policy) CheckScan(s Scan, now time.Time) (Scan, error) {
	for _, at := range []*time.Time{&s.Began, &s.From, &s.Tip} {
		if at.IsZero() {
			continue
		}
		var err error
		if *at, err = statemachine.Time(*at); err != nil {
			return s, err
		}
	}
	if s.Began.IsZero() || s.Began.After(now) {
		return s, fmt.Errorf("%w: a scan began at %s, by the store's clock it is %s", statemachine.ErrInvalid, s.Began.Format(time.RFC3339Nano),
			now.Format(time.RFC3339Nano))
	}
	if s.Tip.After(now.Add(p.WaterlineMargin)) {
		return s, fmt.Errorf("%w: the tip is of %s, by the store's clock it is %s: mend that clock", statemachine.ErrInvalid,
			s.Tip.Format(time.RFC3339Nano), now.Format(time.RFC3339Nano))
	}
	return s, nil
}

// NextScan returns the scan to make next. The host fills in what it has read.
func (p Policy) NextScan(w Waterline, c Control, now time.Time) Scan {
	return Scan{Began: now, Generation: c.Generation, From: p.ScanFrom(w, now)}
}

// ScanFrom is the time from which the next scan reads. A scan of inbound transactions goes back [Policy.LookBack] at
// most.
func (p Policy) ScanFrom(w Waterline, now time.Time) time.Time {
	if !w.Own {
		return later(w.At, now.Add(-p.LookBack))
	}
	return w.At
}

// read is up to when the history was read without a gap.
func (w *Waterline) read() time.Time { return later(w.At, w.Seen) }

// Advance returns the waterline after a scan. Only a complete scan moves it: At to min(oldest, Tip) -
// [Policy.WaterlineMargin], Seen to Tip - WaterlineMargin, never backwards and never above now. oldest is the time of
// the oldest unprocessed item of the chain (see [Deposit.Waits]), zero if there is none; for the vault's own history it
// is zero. A scan that begins after Seen has a gap and moves nothing: see [AcceptGap]. Nor does a scan of an earlier
// generation: its findings were stored in a database that a restore has replaced. After a restore the inbound
// waterlines wait for MissingSaid.
func (p Policy) Advance(w Waterline, c Control, s Scan, oldest, now time.Time) Waterline {
	if !s.counts(w) || s.Generation != c.Generation || !w.Own && c.forgot() {
		return w
	}
	seen := s.Tip.Add(-p.WaterlineMargin)
	if seen.After(now) {
		seen = now
	}
	at := seen
	if !oldest.IsZero() && oldest.Add(-p.WaterlineMargin).Before(at) {
		at = oldest.Add(-p.WaterlineMargin)
	}
	moves := func(line *time.Time, to time.Time) bool {
		to, err := statemachine.Time(to)
		if err != nil || !to.After(*line) {
			return false
		}
		*line = to
		return true
	}
	if farther, higher := moves(&w.Seen, seen), moves(&w.At, at); farther || higher {
		w.Version++
	}
	return w
}

// counts reports whether the scan is complete, the node proved its tip, and there is no gap behind what was read
// before.
func (s Scan) counts(w Waterline) bool {
	return s.Complete && !s.Tip.IsZero() && (w.read().IsZero() || !s.From.After(w.read()))
}

// Counts reports whether a scan of the vault's own history has read everything that went out until the scan began:
// see [Control.Scanned].
func (s Scan) Counts(w Waterline) bool { return w.Own && s.counts(w) && !s.From.IsZero() }

// Scanned records a scan of the vault's own history that counts. After a loss the scan must be of the present
// generation, and must have begun when no sender can still send a transaction that was begun before the loss, whose
// reference number could then come up again.
func (p Policy) Scanned(c Control, w Waterline, s Scan) Control {
	if !s.Counts(w) || s.Generation != c.Generation || c.Generation > 0 && s.Began.Before(p.lookBackAt(c)) {
		return c
	}
	return c.Scanned(w.Chain)
}

// Waits returns the deposit's own time if the waterline waits for it.
func (d *Deposit) Waits(time.Time) (time.Time, bool) {
	return d.At, d.Place() == Unprocessed && d.Status != DepositQuarantineFailed
}

// Waits returns the credit's own time if the waterline waits for the credit. It does not wait for a credit that
// vanished before the given moment, see [Policy.GoneAfter].
func (c *Credit) Waits(vanished time.Time) (time.Time, bool) {
	return c.At, c.Place() == Unprocessed && (c.GoneAt.IsZero() || !c.GoneAt.Before(vanished))
}

// AcceptGap moves an inbound waterline over a span of time that can no longer be read. An operator answers for that;
// the discrepancy that AcceptGap returns has his name and reason.
func AcceptGap(w Waterline, from, to time.Time, by By, reason string) (Waterline, Discrepancy, error) {
	var d Discrepancy
	to, err := statemachine.Time(to)
	switch {
	case by.Role != Operator || statemachine.Actor(by.Actor) != nil:
		return w, d, fmt.Errorf("%w: an operator accepts a gap", statemachine.ErrForbidden)
	case err != nil || reason == "" || w.Own || from.After(w.read()) || !to.After(w.read()) || to.After(by.At):
		return w, d, fmt.Errorf("%w: a gap of an inbound history begins at or before what was read, %s, and ends after it, and has a reason",
			statemachine.ErrInvalid, w.read().Format(time.RFC3339))
	}
	d = Discrepancy{Kind: GapAccepted, Key: w.Chain.String() + " " + w.read().Format(time.RFC3339) + " " + to.Format(time.RFC3339),
		Chain: w.Chain,
		Text:  statemachine.Bounded(reason, MaxText), Actor: by.Actor, At: by.At, ClosedBy: by.Actor, ClosedAt: by.At}
	w.At, w.Seen = to, to
	w.Version++
	return w, d, nil
}
