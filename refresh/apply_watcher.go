package refresh

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// watcher returns the index of the loaded watcher of a recipient, or -1.
func (s *step) watcher(recipient string) int {
	return slices.IndexFunc(s.New.Watchers, func(w Watcher) bool { return w.Recipient == recipient })
}

// watch is the only place that makes a watcher.
func (s *step) watch(w Watcher, t WatcherTrigger) error {
	s.New.Watchers = append(s.New.Watchers, w)
	return s.moveWatcher(&s.New.Watchers[len(s.New.Watchers)-1], t)
}

// pass applies a whole listing: the watchers of listed recipients are judged as in a tick, and
// each open transfer without a watching row gets a watcher.
func (s *step) pass(v *view, by Credentials) error {
	at := make(map[string]int, len(s.New.Watchers))
	for i := range s.New.Watchers {
		at[s.New.Watchers[i].Recipient] = i
	}
	for _, recipient := range v.order {
		seen := v.recipients[recipient]
		i, exists := at[recipient]
		var err error
		switch {
		case !exists && seen.open:
			w := Watcher{Credentials: by, Recipient: recipient, CreatedAt: s.by.At}
			err = s.watch(s.c.armed(w, seen, s.by.At), watchTransfer)
		case !exists:
		case s.New.Watchers[i].Status == Watching:
			w := &s.New.Watchers[i] // its second try of a cancellation waits for its time
			var goesOn bool
			goesOn, err = s.judge(i, seen, v.listing, seen.tried() && (!w.CancelTried || !s.by.At.Before(w.NextAt)))
			if goesOn && w.Provisional {
				_, err = s.expireProvisional(i)
			}
		case seen.open && s.New.Watchers[i].EndSeq <= s.Old.Lock.Seq: // so the listing, under this lock, began after the end
			w := &s.New.Watchers[i]
			*w = s.c.armed(*w, seen, s.by.At)
			err = s.moveWatcher(w, watchTransfer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// armed is w as a pass begins to watch it, again or for the first time.
func (c *Policy) armed(w Watcher, s *seen, now time.Time) Watcher {
	if w.Asset == "" {
		w.Asset = s.asset
	}
	w.Provisional, w.RefreshCount, w.NextAt, w.ExpiresAt = false, 0, now, c.expiry(now, s.expiration)
	w.CancelTried, w.Refused, w.EndedAt, w.EndReason, w.EndSeq, w.LastError = false, "", time.Time{}, 0, 0, ""
	return w
}

// judge takes one watching watcher through the order of a tick: asset, terminal status,
// cancellation, expiry. tried says that a cancellation which is still due was tried and did not
// work. That matters only at the expiry, where one more try follows after an interval. judge
// returns whether the watcher goes on; the caller ends a provisional watcher at its expiry.
func (s *step) judge(i int, seen *seen, l *Listing, tried bool) (goesOn bool, err error) {
	w := &s.New.Watchers[i]
	if w.Asset == "" && seen != nil && seen.asset != "" {
		w.Asset, w.Provisional = seen.asset, false
		if at := s.c.expiry(w.CreatedAt, seen.expiration); at.After(w.ExpiresAt) {
			w.ExpiresAt = at
		}
		if err := s.moveWatcher(w, watchAsset); err != nil {
			return false, err
		}
	}
	if seen != nil && !seen.open && seen.end != 0 {
		reason := EndTransfer
		if seen.end == watchCancelled {
			reason = EndCancelled
		}
		return false, s.end(w, seen.end, reason)
	}
	cancel := seen != nil && seen.cancelDue
	if l.Answered.Before(w.ExpiresAt) {
		if err := s.refusals(w, seen); err != nil {
			return false, err
		}
	}
	if w.Provisional || l.Answered.Before(w.ExpiresAt) {
		return true, nil
	}
	switch {
	case cancel && !tried:
		return true, nil
	case cancel && !w.CancelTried:
		w.CancelTried, w.NextAt = true, s.by.At.Add(s.c.RefreshInterval)
		return true, s.moveWatcher(w, watchCancelFailed)
	case seen != nil && seen.open:
		return false, s.end(w, watchOpen, EndOpen)
	}
	return false, s.end(w, watchGone, EndGone)
}

// refusals records, before the expiry, which cancellations the host refuses for ever; these are
// not asked for again at each tick. It removes a cancellation from the record when a later
// listing shows that the transfer has moved, which explains the refusal.
func (s *step) refusals(w *Watcher, seen *seen) error {
	if seen == nil {
		return nil
	}
	var all []string
	size := 0
	for _, index := range slices.Compact(slices.Sorted(slices.Values(seen.indexes))) {
		if n := strconv.Itoa(int(index)); seen.refused[index] || w.refuses(index) {
			if size += len(n) + 1; size > MaxText {
				break // these are asked at each tick
			}
			all = append(all, n)
		}
	}
	now := strings.Join(all, ",")
	if now == w.Refused {
		return nil
	}
	w.Refused = now
	if len(seen.refused) > 0 {
		return s.moveWatcher(w, watchCancelFailed)
	}
	return s.moveWatcher(w, watchMoved)
}

// refuses reports whether the host refused to cancel a batch.
func (w *Watcher) refuses(index int32) bool {
	return w.Refused != "" && strings.Contains(","+w.Refused+",", ","+strconv.Itoa(int(index))+",")
}

// expireProvisional ends a provisional watcher whose time is over, and makes the sync job that
// looks for the transfer. It needs no answer of the host.
func (s *step) expireProvisional(i int) (goesOn bool, err error) {
	w := &s.New.Watchers[i]
	if s.by.At.Before(w.ExpiresAt) {
		return true, nil
	}
	job := Job{ID: w.syncJob(), Credentials: w.Credentials, Cause: Sync}
	if err := s.end(w, watchUnanswered, EndProvisional); err != nil {
		return false, err
	}
	s.New.Wallet.WorkSeq++
	return false, s.insert(job)
}

func (s *step) end(w *Watcher, t WatcherTrigger, reason EndReason) error {
	s.New.Wallet.WorkSeq++
	w.EndedAt, w.EndReason, w.EndSeq, w.LastError = s.by.At, reason, s.New.Wallet.WorkSeq, ""
	return s.moveWatcher(w, t)
}

// elapsed ends what needs no look-up.
func (s *step) elapsed(slot int64) error {
	if err := s.slot(slot); err != nil {
		return err
	}
	for i := range s.Old.Watchers {
		if w := &s.New.Watchers[i]; w.Status == Watching && w.Provisional {
			if _, err := s.expireProvisional(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// postpone sets the next tick of a watcher one interval after began, the begin of this tick,
// but not past the expiry as long as the expiry is ahead.
func (s *step) postpone(w *Watcher, began time.Time) {
	w.NextAt = began.Add(s.c.RefreshInterval)
	if s.by.At.Before(w.ExpiresAt) && w.ExpiresAt.Before(w.NextAt) {
		w.NextAt = w.ExpiresAt
	}
}

// looked is the first half of a tick.
func (s *step) looked(e *Looked) error {
	if err := s.slot(e.Slot); err != nil {
		return err
	}
	began, err := s.began(e.Began)
	if err != nil {
		return err
	}
	if s.mine(e.Known) && !s.Old.working(s.by.At) {
		s.Tick = Tick{Refresh: true}
		return nil
	}
	var v *view
	if e.Error == "" {
		if v, err = s.view(&e.Listing, nil); err != nil {
			return err
		}
	}
	held := s.Old.held(s.by.At)
	jobDue := find(s.Old.Jobs, func(j *Job) bool { return !s.by.At.Before(j.Due(&s.Old.Wallet)) && j.Live() }) >= 0
	jobFirst := v != nil && e.JobFirst && jobDue && !held
	var tick Tick
	named := map[int32]bool{}
	for i := range s.Old.Watchers {
		w := &s.New.Watchers[i]
		if w.Status != Watching || began.Before(w.due()) {
			continue
		}
		goesOn := true
		var seen *seen
		if v == nil {
			w.LastError = statemachine.Bounded(e.Error, MaxText)
		} else {
			seen = v.recipients[w.Recipient]
			goesOn, err = s.judge(i, seen, v.listing, false)
		}
		if goesOn && w.Provisional && (jobFirst || held || seen == nil || !seen.cancelDue) {
			goesOn, err = s.expireProvisional(i) // which waits for a cancellation of this tick alone
		}
		switch {
		case err != nil:
			return err
		case !goesOn:
		case jobFirst:
			tick.JobFirst = true
		case v == nil || held:
			tick.Held = tick.Held || held
			s.postpone(w, began)
		default:
			tick.Recipients = append(tick.Recipients, w.Recipient)
			for _, index := range seen.toCancel() { // what was refused for ever, at the expiry alone
				if !named[index] && (!w.refuses(index) || !v.listing.Answered.Before(w.ExpiresAt)) {
					named[index] = true
					tick.Cancel = append(tick.Cancel, index)
				}
			}
			s.postpone(w, began)
		}
	}
	tick.Cancel = inTurn(tick.Cancel, s.Old.Wallet.HungRounds)
	s.Tick = tick
	if len(tick.Recipients) == 0 {
		if v == nil {
			return nil
		}
		return s.answered()
	}
	s.Tick.Refresh = true
	return s.lock(e.Lock)
}

// began brings the begin of a tick to the form of the store.
func (s *step) began(at time.Time) (time.Time, error) {
	t, err := statemachine.Time(at)
	if err != nil {
		return t, s.refuse(statemachine.ErrInvalid, "a tick needs the time of its begin")
	}
	return s.notAhead(t), nil
}

// ticked is the second half of a tick.
func (s *step) ticked(e *Ticked) error {
	if err := s.slot(e.Slot); err != nil {
		return err
	}
	if err := s.locked(e.Lock); err != nil {
		return err
	}
	if s.Old.working(s.by.At) {
		return s.refuse(statemachine.ErrIllegal, "a job works under this lock")
	}
	began, err := s.began(e.Began)
	if err != nil {
		return err
	}
	v, err := s.view(&e.Listing, e.Cancelled)
	if err != nil {
		return err
	}
	if e.Refreshed == statemachine.Done {
		if err := s.answered(); err != nil {
			return err
		}
	}
	for i := range s.Old.Watchers {
		w := &s.New.Watchers[i]
		if w.Status != Watching || !slices.Contains(e.Recipients, w.Recipient) {
			continue
		}
		seen := v.recipients[w.Recipient]
		goesOn, err := s.judge(i, seen, v.listing, seen.tried())
		if goesOn && w.Provisional {
			goesOn, err = s.expireProvisional(i) // whatever was tried
		}
		switch {
		case err != nil:
			return err
		case !goesOn:
		case e.Refreshed == 0 && !w.CancelTried: // a due job goes first: the refresh is still owed
			w.NextAt = began
		case e.Refreshed == 0:
			s.postpone(w, began)
		case e.Refreshed == statemachine.Done:
			w.RefreshCount++
			w.LastError = ""
			s.postpone(w, began)
		default:
			w.LastError = statemachine.Bounded(e.Error, MaxText)
			s.postpone(w, began)
		}
	}
	s.New.Lock = Lock{}
	return nil
}
