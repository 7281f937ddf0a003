package statemachine

import (
	"fmt"
	"strings"
	"time"
)

// Lease is the right of one holder to work on one record, for a while. The
// zero value is free.
//
// The interval is half-open: the lease is held while now < Until. The fence
// grows with every claim and never repeats, so a holder that lost its lease
// without noticing is refused: each write names the fence that it works under,
// and [Lease.Fenced] compares. A lease is a value: its methods return the
// changed one.
type Lease struct {
	Holder string    // who; at most 200 bytes
	Fence  int64     // number of the claim, from 1
	Until  time.Time // first moment at which it is not held
}

// MaxHolder bounds the name of a holder, in bytes.
const MaxHolder = 200

// Held reports whether somebody holds l at now.
func (l Lease) Held(now time.Time) bool { return l.Holder != "" && now.Before(l.Until) }

// Claim gives l to holder for d under the next fence. It is [ErrHeld] while
// anybody holds it, the same holder included, and [ErrInvalid] for an empty or
// overlong holder or d <= 0.
func (l Lease) Claim(holder string, now time.Time, d time.Duration) (Lease, error) {
	if holder == "" || len(holder) > MaxHolder || d <= 0 {
		return l, fmt.Errorf("%w: a lease needs a holder of 1 to %d bytes and a positive duration", ErrInvalid, MaxHolder)
	}
	if l.Held(now) {
		return l, fmt.Errorf("%w: by %s until %s", ErrHeld, l.Holder, l.Until.Format(time.RFC3339Nano))
	}
	return Lease{Holder: holder, Fence: l.Fence + 1, Until: now.Add(d)}, nil
}

// Fenced returns [ErrFenced] unless l is held at now under fence.
func (l Lease) Fenced(fence int64, now time.Time) error {
	if fence != l.Fence || !l.Held(now) {
		return ErrFenced
	}
	return nil
}

// Renew sets Until to now + d. It is [ErrFenced] after expiry or with another
// fence, and [ErrInvalid] for d <= 0.
func (l Lease) Renew(fence int64, now time.Time, d time.Duration) (Lease, error) {
	if d <= 0 {
		return l, fmt.Errorf("%w: a lease needs a positive duration", ErrInvalid)
	}
	if err := l.Fenced(fence, now); err != nil {
		return l, err
	}
	l.Until = now.Add(d)
	return l, nil
}

// Release frees l and keeps the fence, so that the next claim gets a higher one.
func (l Lease) Release() Lease { return Lease{Fence: l.Fence} }

// Revocation ends the leases of a holder before their time: the holder has ended,
// or an operator knows that it is dead. What it does under its fence afterwards
// is [ErrFenced].
type Revocation struct {
	Holder string // 1 to MaxHolder bytes
	Reason string // required of an operator
}

// Because is text with the reason behind it, if there is one.
func (r Revocation) Because(text string) string {
	if reason := strings.TrimSpace(r.Reason); reason != "" {
		return text + ": " + reason
	}
	return text
}

// Check is [ErrForbidden] for a worker that revokes the leases of another one,
// and [ErrInvalid] without a holder, or without the reason of an operator.
func (r Revocation) Check(actor string, worker bool) error {
	switch {
	case r.Holder == "" || len(r.Holder) > MaxHolder || !Storable(r.Holder):
		return fmt.Errorf("%w: a holder of 1 to %d bytes is needed", ErrInvalid, MaxHolder)
	case worker && actor != r.Holder:
		return fmt.Errorf("%w: a worker gives back what is its own", ErrForbidden)
	case !worker && strings.TrimSpace(r.Reason) == "":
		return fmt.Errorf("%w: a reason is needed", ErrInvalid)
	}
	return nil
}
