package swap

import (
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// claim gives the item to one worker. If the worker reports nothing, the item is due again after LookEvery.
func (s *step) claim(e *Claimed) error {
	l := s.item.Lease
	switch {
	case e.Fence != 0 && e.Fence == l.Fence && l.Held(s.by.At) && l.Holder == s.by.Actor:
		return nil
	case e.Fence != 0 && e.Fence != l.Fence+1:
		return s.refuse(statemachine.ErrFenced, fmt.Sprintf("the next fence is %d", l.Fence+1))
	case l.Taken(s.by.At, s.p.Lease):
		return s.refuse(statemachine.ErrHeld, "by "+l.Holder)
	case s.item.CheckAt.IsZero() || !s.p.due(s.item.CheckAt, s.by.At):
		return s.refuse(statemachine.ErrIllegal, "nothing is due")
	}
	l, err := l.Release().Claim(s.by.Actor, s.by.At, s.p.Lease)
	if err != nil {
		return s.refuse(statemachine.ErrInvalid, err.Error())
	}
	s.item.Lease, s.later = l, true
	return s.rightTimes()
}

// rightTimes corrects the times of an item that a clock which was ahead has set: a time in the future becomes now.
// Times that are written only once, such as Stored and the commit of an intent, stay.
func (s *step) rightTimes() error {
	i, wrong := s.item, statemachine.Ahead(s.by.At, s.item.OverdueAt, s.p.Longest())
	times := []*time.Time{&i.Entered, &i.Hold.At}
	if c, ok := s.side.(*creditSide); ok {
		times = append(times, &c.c.CountedAt, &c.c.GoneAt)
	}
	for _, at := range times {
		if at.After(s.by.At) {
			*at, wrong = s.by.At, true
		}
	}
	if !wrong {
		return nil
	}
	return s.note("its times were of a clock that was ahead")
}

// giveBack frees the item; when it is due stays.
func (s *step) giveBack(e *GivenBack) error {
	if e.Fence == s.item.Lease.Fence && s.item.Lease.Holder == "" {
		return nil
	}
	if err := s.fenced(e.Fence); err != nil {
		return err
	}
	s.item.Lease = s.item.Lease.Release()
	return nil
}

// revoke frees the item; when it is due stays.
func (s *step) revoke(e *Revoked) error {
	if err := e.Check(s.by.Actor, s.by.Role == Worker); err != nil {
		return s.refuse(err, "")
	}
	if s.item.Lease.Holder == e.Holder {
		s.item.Lease = s.item.Lease.Release()
	}
	return nil
}

func (s *step) fenced(fence int64) error {
	if s.item.Lease.Fenced(fence, s.by.At) != nil || s.item.Lease.Holder != s.by.Actor {
		return s.refuse(statemachine.ErrFenced, "")
	}
	return nil
}
