package refresh

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Status numbers of a [Transfer].
const (
	WaitingCounterparty  = 0
	WaitingConfirmations = 1
	TransferSettled      = 2
	TransferFailed       = 3
)

// Kind numbers of a [Transfer].
const (
	Issuance       = 0
	ReceiveBlind   = 1
	ReceiveWitness = 2
	Send           = 3
)

// Transfer is what the host lists of one transfer, in the numbers of the node.
type Transfer struct {
	Recipient  string // empty: none
	Asset      string // empty: none yet
	Status     int
	Kind       int
	Expiration int64 // unix seconds; 0: none
	Index      int32 // batch_transfer_idx, if HasIndex; 0 is an index
	HasIndex   bool
}

// Listing is the answer to a whole look-up: the transfers without asset first,
// then those of each asset.
type Listing struct {
	Answered  time.Time // the store's, at or before the last answer; after the event it counts as of its time
	Transfers []Transfer
}

// TransferError says that a transfer has a number or a text that the rules do not know. Such a
// transfer is never taken for ended and never cancelled. A transfer of an unknown status is watched
// like an incomplete one, until its expiration. Other transfers of the listing are not affected.
// TransferError matches [statemachine.ErrInvalid].
type TransferError struct {
	Transfer Transfer
	Reason   string
}

func (e *TransferError) Error() string {
	recipient := statemachine.Bounded(fmt.Sprintf("%q", e.Transfer.Recipient), 100)
	return fmt.Sprintf("transfer of recipient %s: %s", recipient, e.Reason)
}

// Is reports a match with [statemachine.ErrInvalid].
func (e *TransferError) Is(target error) bool { return target == statemachine.ErrInvalid }

// fault says what is wrong with t, "" if nothing.
func (t *Transfer) fault() string {
	switch {
	case t.Status < WaitingCounterparty || t.Status > TransferFailed:
		return fmt.Sprintf("unknown status %d", t.Status)
	case t.Kind < Issuance || t.Kind > Send:
		return fmt.Sprintf("unknown kind %d", t.Kind)
	case t.Expiration < 0:
		return fmt.Sprintf("negative expiration %d", t.Expiration)
	case t.HasIndex && t.Index < 0:
		return fmt.Sprintf("negative batch index %d", t.Index)
	case t.Recipient != "" && !word(t.Recipient) || t.Asset != "" && !word(t.Asset):
		return fmt.Sprintf("a recipient or an asset is no text of 1 to %d bytes", MaxID)
	}
	return ""
}

// open reports whether the transfer is incomplete. A status that the rules do not know counts
// as incomplete: the transfer is watched, never ended, and never cancelled.
func (t *Transfer) open() bool {
	return t.Status != TransferSettled && t.Status != TransferFailed
}

// CanCancel is the source's can_cancel_transfer: the transfer waits for its counterparty and
// has an expiration that is past; unless it is a blind receive, the expiration must be past by
// DURATION_RCV_TRANSFER. Whole unix seconds are compared, strictly.
func (c Policy) CanCancel(t Transfer, now time.Time) bool {
	return t.fault() == "" && t.Status == WaitingCounterparty && t.Expiration != 0 && t.Expiration < now.Unix() &&
		(t.Kind == ReceiveBlind || t.Expiration < now.Add(-c.DurationRcvTransfer).Unix())
}

// expiry is when a watcher that begins at from ends: late enough to see a payment that confirms
// late, or a cancellation.
func (c *Policy) expiry(from time.Time, expiration int64) time.Time {
	at := from.Add(c.WatcherTTL)
	if expiration > 0 {
		if end := time.Unix(expiration, 0).UTC().Add(c.DurationRcvTransfer + c.RefreshInterval); end.After(at) {
			return end
		}
	}
	return at
}

// Cancelled is what became of one call of failtransfers.
type Cancelled struct {
	Index   int32
	Outcome statemachine.Outcome // Done: it worked; Failed: it is refused for ever
}

// view is a listing, read for one decision.
type view struct {
	listing    *Listing
	recipients map[string]*seen
	order      []string // recipients as first listed
	indexes    []int32  // to cancel, one call each, as first listed
	faults     []error
}

// seen is what a listing says of one recipient.
type seen struct {
	open       bool   // a transfer is incomplete, those that were cancelled excepted
	asset      string // of the incomplete transfers if one has it, else of any
	assetOpen  bool
	expiration int64                         // the latest of the incomplete transfers; 0: none
	cancelDue  bool                          // a cancellation is due and is not known to have worked
	indexes    []int32                       // to cancel, perhaps one twice
	answers    map[statemachine.Outcome]bool // to the calls of indexes; 0: one was not called
	last       bool                          // the last one of indexes was called
	refused    map[int32]bool
	end        WatcherTrigger
	endIndex   int64 // of the transfer that decides the end; -1: it has none
}

func (s *seen) toCancel() []int32 {
	if s == nil {
		return nil
	}
	return s.indexes
}

// tried reports whether the due cancellations were tried: each was called, or none can be
// called. A call that was deferred or not made is no try. One exception: a call without a known
// answer may have hung and ended the round before the others. Since the next round begins with
// another index (see inTurn), each of the others was called between two rounds that called the
// last one.
func (s *seen) tried() bool {
	return s == nil || !s.answers[statemachine.Deferred] && (!s.answers[0] || s.answers[statemachine.Unknown] && s.last)
}

// read judges every transfer at the time of the answer. The answer to an index in worked holds
// for every listed transfer of that index.
func (c *Policy) read(l *Listing, worked []Cancelled) *view {
	v := &view{listing: l, recipients: map[string]*seen{}}
	answers, named := map[int32]statemachine.Outcome{}, map[int32]bool{}
	for _, w := range worked {
		if answers[w.Index] != statemachine.Done {
			answers[w.Index] = w.Outcome
		}
	}
	// failtransfers ends a whole batch, so an index is not called when one of its transfers may
	// still be paid, or is not due for cancellation yet.
	shared := map[int32]bool{}
	for i := range l.Transfers {
		t := &l.Transfers[i]
		if t.HasIndex && (t.fault() != "" || t.Status != TransferFailed && !c.CanCancel(*t, l.Answered)) {
			shared[t.Index] = true
		}
	}
	for i := range l.Transfers {
		t := l.Transfers[i]
		fault := t.fault()
		if fault != "" {
			v.faults = append(v.faults, &TransferError{t, fault})
		}
		if t.Expiration > l.Answered.Add(MaxAhead).Unix() {
			v.faults = append(v.faults, &TransferError{t,
				fmt.Sprintf("expiration %d is more than ten years ahead and taken as none", t.Expiration)})
			t.Expiration = 0
		}
		t.Expiration = max(t.Expiration, 0)
		cancel := fault == "" && c.CanCancel(t, l.Answered)
		callable := cancel && t.HasIndex && !shared[t.Index]
		switch {
		case callable && !named[t.Index]:
			named[t.Index] = true
			v.indexes = append(v.indexes, t.Index)
		case cancel && !t.HasIndex:
			v.faults = append(v.faults,
				&TransferError{t, "a cancellation is due and there is no batch_transfer_idx: it is not called"})
		case cancel && !callable:
			v.faults = append(v.faults, &TransferError{t,
				fmt.Sprintf("a cancellation is due and another transfer of batch %d may be paid: it is not called", t.Index)})
		}
		if !word(t.Recipient) {
			continue
		}
		s := v.recipients[t.Recipient]
		if s == nil {
			s = &seen{endIndex: -2, answers: map[statemachine.Outcome]bool{}}
			v.recipients[t.Recipient] = s
			v.order = append(v.order, t.Recipient)
		}
		answer := statemachine.Outcome(0)
		if t.HasIndex && fault == "" {
			answer = answers[t.Index]
		}
		s.add(&t, fault != "", cancel, callable, answer)
	}
	return v
}

// add takes one transfer of the recipient into account: any open transfer keeps the watcher;
// with none open, the transfer with the highest index decides how it ends.
func (s *seen) add(t *Transfer, faulty, cancelDue, callable bool, answer statemachine.Outcome) {
	cancelled := t.open() && answer == statemachine.Done
	open := t.open() && !cancelled
	if word(t.Asset) && (s.asset == "" || open && !s.assetOpen) {
		s.asset, s.assetOpen = t.Asset, open
	}
	if open {
		s.open = true
		s.expiration = max(s.expiration, t.Expiration)
		s.cancelDue = s.cancelDue || cancelDue
		if callable {
			s.indexes = append(s.indexes, t.Index)
			s.answers[answer], s.last = true, answer != 0
			if answer == statemachine.Failed {
				if s.refused == nil {
					s.refused = map[int32]bool{}
				}
				s.refused[t.Index] = true
			}
		}
		return
	}
	if faulty {
		return
	}
	end := watchSettled
	switch {
	case cancelled:
		end = watchCancelled
	case t.Status == TransferFailed:
		end = watchFailed
	}
	index := int64(-1)
	if t.HasIndex {
		index = int64(t.Index)
	}
	// Equal indexes: settled before failed before cancelled, in any order of the list.
	if c := cmp.Compare(index, s.endIndex); c > 0 || c == 0 && end < s.end {
		s.endIndex, s.end = index, end
	}
}

// PlanPass returns the indexes for which a pass, after its look-up, calls failtransfers, once
// each and in this order. An index is named when all listed transfers that have it can be
// cancelled or have failed. hungRounds is [Wallet].HungRounds.
func (c Policy) PlanPass(l Listing, hungRounds int32) (cancel []int32, faults []error) {
	v := c.read(&l, nil)
	return inTurn(v.indexes, hungRounds), v.faults
}

// inTurn rotates the indexes after each round that hung. A call that always hangs, and so ends
// its round, then keeps no other index from being called.
func inTurn(indexes []int32, hungRounds int32) []int32 {
	if len(indexes) == 0 {
		return nil
	}
	first := int(hungRounds) % len(indexes)
	return slices.Concat(indexes[first:], indexes[:first])
}
