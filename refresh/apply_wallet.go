package refresh

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
)

// uuid4 reports whether id is a random identifier, version 4 of RFC 4122.
func uuid4(id uuid.UUID) bool { return id.Version() == 4 && id.Variant() == uuid.RFC4122 }

// find returns the index of a loaded job, or -1.
func find(jobs []Job, is func(*Job) bool) int {
	for i := range jobs {
		if is(&jobs[i]) {
			return i
		}
	}
	return -1
}

// enqueue makes a job, unless the wallet has one that takes its place: the job itself, a live
// recovery job, or a pending job that it may join.
func (s *step) enqueue(e *Enqueued) error {
	switch w := &s.Old.Wallet; {
	case !e.Credentials.valid():
		return s.refuse(statemachine.ErrInvalid,
			fmt.Sprintf("xpub_van, xpub_col and master_fingerprint of 1 to %d bytes are needed", MaxID))
	case w.Status != 0 && w.XpubVan != e.XpubVan:
		return s.refuse(statemachine.ErrInvalid, "the job is of another wallet")
	case !e.Cause.Valid():
		return s.refuse(statemachine.ErrInvalid, "unknown trigger")
	case !uuid4(e.Job):
		return s.refuse(statemachine.ErrInvalid, "a job id of version 4 is needed")
	case e.Recipient != "" && !word(e.Recipient) || e.Asset != "" && !word(e.Asset):
		return s.refuse(statemachine.ErrInvalid,
			fmt.Sprintf("a recipient or an asset is no text of at most %d bytes", MaxID))
	case e.Cause == InvoiceCreated && e.Recipient == "":
		return s.refuse(statemachine.ErrInvalid, "invoice_created needs a recipient")
	}
	job := Job{ID: e.Job, Credentials: e.Credentials, Cause: e.Cause, Recipient: e.Recipient, Asset: e.Asset}
	if i := find(s.Old.Jobs, func(j *Job) bool { return j.ID == e.Job }); i >= 0 {
		s.Job = e.Job
		j := &s.Old.Jobs[i]
		if j.Credentials != job.Credentials || j.Cause != job.Cause || j.Recipient != job.Recipient ||
			j.Asset != job.Asset {
			return s.refuse(statemachine.ErrConflict, fmt.Sprintf("job %s exists and is another one", e.Job))
		}
		return nil
	}
	return s.add(job)
}

func (s *step) recover(e *Recovering) error {
	if !uuid4(e.Job) {
		return s.refuse(statemachine.ErrInvalid, "a job id of version 4 is needed")
	}
	if i := find(s.Old.Jobs, func(j *Job) bool { return j.ID == e.Job }); i >= 0 {
		s.Job = e.Job
		return nil
	}
	newest := -1
	for i := range s.Old.Watchers {
		w := &s.Old.Watchers[i]
		if w.Active(s.by.At) && (newest < 0 || CompareWatchers(&s.Old.Watchers[newest], w) < 0) {
			newest = i
		}
	}
	if newest < 0 {
		return nil
	}
	return s.add(Job{ID: e.Job, Credentials: s.Old.Watchers[newest].Credentials, Cause: Recovery})
}

// add stores a job, or finds the one that stands for it.
func (s *step) add(job Job) error {
	if job.Cause == Recovery {
		if i := find(s.Old.Jobs, func(j *Job) bool { return j.Cause == Recovery && j.Live() }); i >= 0 {
			s.Job = s.Old.Jobs[i].ID
			return nil
		}
	}
	w := &s.New.Wallet
	w.WorkSeq++
	if w.Status == 0 {
		*w = Wallet{XpubVan: job.XpubVan, WorkSeq: 1, UnservedSince: s.by.At, CreatedAt: s.by.At}
		if err := s.moveWallet(walletFirstJob); err != nil {
			return err
		}
	}
	if s.c.Coalesce && (job.Cause == Sync || job.Cause == Recovery) {
		if i := find(s.Old.Jobs, (*Job).Joinable); i >= 0 {
			j := &s.New.Jobs[i]
			s.Job = j.ID
			if s.by.At.Before(j.AvailableAt) {
				j.AvailableAt = s.by.At
			}
			return nil
		}
	}
	return s.insert(job)
}

// insert is the only place that makes a job.
func (s *step) insert(job Job) error {
	job.AvailableAt, job.CreatedAt, job.Seq = s.by.At, s.by.At, s.New.Wallet.WorkSeq
	s.Job = job.ID
	s.New.Jobs = append(s.New.Jobs, job)
	return s.moveJob(&s.New.Jobs[len(s.New.Jobs)-1], jobEnqueue, job.Cause.String())
}

func (s *step) claimSlot(e *SlotClaimed) error {
	w := &s.New.Wallet
	l := w.Lease
	if e.Fence != 0 && e.Fence == l.Fence && l.Held(s.by.At) && l.Holder == s.by.Actor {
		return nil
	}
	switch {
	case e.Fence != 0 && e.Fence != l.Fence+1:
		return s.refuse(statemachine.ErrFenced, fmt.Sprintf("the next fence is %d", l.Fence+1))
	case w.Status == Served && l.Held(s.by.At):
		return s.refuse(statemachine.ErrHeld, "by "+l.Holder)
	case s.restored():
		return s.refuse(switches.ErrOnHold, restoredReason)
	}
	if err := s.moveWallet(walletClaim); err != nil {
		return err
	}
	if e.Slot < 1 || e.Slot > s.c.MaxWalletProcesses {
		return s.refuse(statemachine.ErrInvalid,
			fmt.Sprintf("slot %d, 1 to %d is possible", e.Slot, s.c.MaxWalletProcesses))
	}
	l, err := l.Claim(s.by.Actor, s.by.At, s.c.LockTTL)
	if err != nil {
		return s.refuse(statemachine.ErrInvalid, err.Error())
	}
	w.Lease, w.Slot, w.UnservedSince = l, e.Slot, time.Time{}
	return nil
}

// slotElapsed takes the slot from a worker whose lease has ended.
func (s *step) slotElapsed() error {
	w := &s.New.Wallet
	if w.Status == Unserved {
		return nil
	}
	if w.Status == Served && w.Lease.Held(s.by.At) {
		return s.refuse(statemachine.ErrHeld, "by "+w.Lease.Holder)
	}
	return s.giveBack(walletLost)
}

// giveBack frees the slot; its lease keeps the fence.
func (s *step) giveBack(t WalletTrigger) error {
	w := &s.New.Wallet
	if err := s.moveWallet(t); err != nil {
		return err
	}
	w.UnservedSince = s.by.At
	if t == walletLost && w.Lease.Until.Before(s.by.At) {
		w.UnservedSince = w.Lease.Until
	}
	w.Slot, w.Lease = 0, w.Lease.Release()
	return nil
}

func (s *step) endRound(e *RoundEnded) error {
	w := &s.New.Wallet
	if w.Status == Unserved && w.Lease.Fence == e.Slot {
		return nil
	}
	if err := s.slot(e.Slot); err != nil {
		return err
	}
	switch e.End {
	case EndYield, EndStop:
		return s.giveBack(walletYield)
	case EndHung:
		w.HungRounds++
		w.NotBefore = s.by.At.Add(s.c.HungPause(w.HungRounds))
		return s.giveBack(walletHung)
	case EndIdle:
		live := find(s.Old.Jobs, (*Job).Live) >= 0
		for i := range s.Old.Watchers {
			live = live || s.Old.Watchers[i].Status == Watching
		}
		if live || w.WorkSeq != e.WorkSeq {
			return s.refuse(statemachine.ErrIllegal, "there is work")
		}
		return s.giveBack(walletIdle)
	}
	return s.refuse(statemachine.ErrInvalid, "a reason is needed")
}

// revoke ends what a holder has, before the leases end.
func (s *step) revoke(e *Revoked) error {
	if err := e.Check(s.by.Actor, s.by.Role == Worker); err != nil {
		return s.refuse(err, "")
	}
	for i := range s.New.Jobs {
		if j := &s.New.Jobs[i]; j.Status == JobProcessing && j.Lease.Holder == e.Holder {
			if err := s.again(j, jobLeaseExpired, e.Because("lease revoked")); err != nil {
				return err
			}
		}
	}
	if s.New.Lock.Lease.Holder == e.Holder {
		s.New.Lock = Lock{}
	}
	if w := &s.New.Wallet; w.Status == Served && w.Lease.Holder == e.Holder {
		return s.giveBack(walletLost)
	}
	return nil
}

// answered ends a series of rounds that hung.
func (s *step) answered() error {
	w := &s.New.Wallet
	if w.HungRounds == 0 {
		return nil
	}
	w.HungRounds, w.NotBefore = 0, time.Time{}
	return s.moveWallet(walletAnswered)
}
