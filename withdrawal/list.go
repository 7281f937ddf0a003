package withdrawal

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// ListKind names what people look for. Stores repeat each as a query.
// Values: ListOpen, ListReview, ListHeld, ListLeaseEnded, ListCheckOverdue, ListToRefund, ListPaidAndRefunded.
type ListKind = statemachine.Enum[listKind]

const (
	// ListOpen: the request has not ended.
	ListOpen ListKind = iota + 1
	// ListReview: the latest job is parked for an operator.
	ListReview
	// ListHeld: an operator has stopped the request, and it has not ended.
	ListHeld
	// ListLeaseEnded: an execution whose lease has ended, as [DueRescue].
	ListLeaseEnded
	// ListCheckOverdue: a look-up that was due before now, as [DueCheck].
	ListCheckOverdue
	// ListToRefund: the request has ended unpaid and is not [Refunded].
	ListToRefund
	// ListPaidAndRefunded: Request.PaidAfter is set and not acknowledged.
	ListPaidAndRefunded

	// Of batches see [Filter.HasBatch].
)

type listKind struct{}

func (listKind) Kind() string    { return "kind of list" }
func (listKind) Names() []string { return listNames }

var listNames = []string{"open", "review", "held", "lease ended", "check overdue", "to refund", "paid and refunded"}

// Filter says which requests to list: those for which all that is not zero
// holds. They come by created_at and id, see [CompareListed].
type Filter struct {
	Kind        ListKind
	User, Chain uuid.UUID
	// Wallet and Holder are of the job that is under way: the hot wallet that
	// pays, and who holds its lease.
	Wallet uuid.UUID
	Holder string
}

// Check is [statemachine.ErrInvalid] for a filter that no record can be held against.
func (f Filter) Check() error {
	if f.Kind != 0 && !f.Kind.Valid() || len(f.Holder) > MaxActor || !statemachine.Storable(f.Holder) {
		return fmt.Errorf("%w: a list of kind %v, of a holder of %d bytes", statemachine.ErrInvalid, f.Kind, len(f.Holder))
	}
	return nil
}

// Has reports whether the filter lists w at now.
func (f Filter) Has(w *Withdrawal, now time.Time) bool {
	underWay := w.Job.Status != 0 && !JobMachine.Terminal(w.Job.Status)
	switch {
	case f.User != uuid.Nil && f.User != w.Request.User,
		f.Chain != uuid.Nil && f.Chain != w.Request.Chain,
		f.Wallet != uuid.Nil && (!underWay || f.Wallet != w.Job.Wallet),
		f.Holder != "" && (!underWay || f.Holder != w.Job.Lease.Holder):
		return false
	}
	open := w.Request.Status == RequestPending || w.Request.Status == RequestApproved || w.Request.Status == RequestQueued
	switch f.Kind {
	case ListOpen:
		return open
	case ListReview:
		return w.Job.Review
	case ListHeld:
		return w.Request.Held && open
	case ListLeaseEnded:
		return IsDue(DueRescue, w, 0, now)
	case ListCheckOverdue:
		return IsDue(DueCheck, w, 0, now.Add(-time.Microsecond))
	case ListToRefund:
		return w.Request.toRefund()
	case ListPaidAndRefunded:
		return w.Request.paidAndRefunded()
	}
	return true
}

// HasBatch reports whether the filter lists b at now. All kinds but 0 list only confirming batches; ListReview and
// ListHeld list batches with a member in review or held. No batch is refunded. A filter of a user lists no batch, since
// a batch pays many users.
func (f Filter) HasBatch(b *Payout, now time.Time) bool {
	h := &b.Batch
	switch {
	case f.User != uuid.Nil || f.Chain != uuid.Nil && f.Chain != h.Chain || f.Wallet != uuid.Nil && f.Wallet != h.Wallet ||
		f.Holder != "" && f.Holder != h.Lease.Holder,
		f.Kind != 0 && h.Status != BatchConfirming:
		return false
	}
	switch f.Kind {
	case ListReview, ListHeld:
		return slices.ContainsFunc(b.Members, func(w Withdrawal) bool {
			return b.Has(&w) && (f.Kind == ListReview && w.Job.Review || f.Kind == ListHeld && w.Request.Held)
		})
	case ListLeaseEnded:
		return h.Lease.Holder != "" && !h.Lease.Held(now)
	case ListCheckOverdue:
		return h.NextCheckAt.Before(now)
	case ListToRefund, ListPaidAndRefunded:
		return false
	}
	return true
}

// CompareListedBatches is the order of their lists: by created_at and id.
func CompareListedBatches(a, b *Batch) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// CompareListed is the order of lists: by created_at and id.
func CompareListed(a, b *Request) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
}
