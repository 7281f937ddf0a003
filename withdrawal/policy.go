package withdrawal

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Policy is what a host may choose. Start from [DefaultPolicy] and check with
// [Policy.Validate].
//
// The zero value is closed, not lenient: no job can be made (MaxRetries), no
// lease taken (Lease), nothing confirmed (Confirmations), and every approval
// is manual.
type Policy struct {
	// MaxRetries is how often a job is executed at most, at least 1.
	MaxRetries int32
	// Backoff delays execution k+1 by Base x 2^k after retryable failure of
	// execution k, up to Cap.
	Backoff statemachine.Backoff
	// Lease is how long a worker may work without renewal.
	Lease time.Duration
	// EnqueueEvery is when to ask again for a wallet where there was none.
	EnqueueEvery time.Duration
	// CheckEvery is the pause between two look-ups of a transaction.
	CheckEvery time.Duration
	// AlertAfter is how long after the broadcast an alert names an unconfirmed transaction. A transaction that is
	// missing by then and has no bytes on file is parked for review; no transaction fails by time.
	AlertAfter time.Duration
	// HoldInsufficient defers a job whose hot wallet cannot pay, at no cost of
	// an attempt: by HoldFor, and each further time in a row by twice as long
	// as before, up to HoldCap. False fails it, as the source does.
	HoldInsufficient bool
	// HoldFor is the first deferral of HoldInsufficient, positive and at most HoldCap where that is set. A payment of a
	// wallet that has no [Bound] after a restore is deferred in the same way, by EnqueueEvery at least.
	HoldFor time.Duration
	// HoldCap is the longest deferral of HoldInsufficient.
	HoldCap time.Duration
	// Chain has the rules of each chain that is not in Chains.
	Chain Chain
	// Chains has the rules of chains by their id. The map is only read.
	Chains map[uuid.UUID]Chain
	// Approval decides at submission how many approvals a request needs.
	Approval ApprovalPolicy
}

// Chain is what the rules need to know of a chain.
type Chain struct {
	// Nonces: transactions of a wallet are numbered and mined in that order.
	// Executions are then sequential per hot wallet. It is true by default: false for a chain
	// whose transactions spend inputs, such as Bitcoin. In a Chain that a host makes itself for
	// Policy.Chains it is false unless it is set.
	Nonces bool
	// Confirmations is the depth, head - block + 1, at which evidence is
	// final. At least 1.
	Confirmations uint64
	// NonceGap is how many nonces a prepared transaction may leave open below
	// its own.
	NonceGap uint64
	// AnswerWithin is how long after the end of a dispatched execution its signer may
	// still send, or answer. A refund waits for it. Zero: no time is enough, and only an
	// operator refunds what was dispatched: see [Policy.Refundable].
	AnswerWithin time.Duration
	// MinedWithin is within how many blocks of its signature a transaction can be mined,
	// on a chain whose transactions have neither nonces nor inputs. Zero: without nonces
	// they spend inputs. Only [Bound] asks for it.
	MinedWithin uint64
	// Paused: no payment of the chain begins. What is out is looked up, sent
	// again and replaced as before.
	Paused bool
}

// DefaultPolicy is the source's policy, with a depth of 12 on chains with
// nonces. Its only guess is the depth: set it per chain.
func DefaultPolicy() Policy {
	return Policy{
		MaxRetries:   5,
		Backoff:      statemachine.Backoff{Base: 30 * time.Second, Cap: 24 * time.Hour},
		Lease:        5 * time.Minute,
		EnqueueEvery: time.Minute,
		CheckEvery:   15 * time.Second,
		AlertAfter:   time.Hour,
		HoldFor:      10 * time.Minute,
		HoldCap:      24 * time.Hour,
		Chain:        Chain{Nonces: true, Confirmations: 12},
	}
}

// Validate returns [statemachine.ErrInvalid] with the first limit that is out of bounds.
func (p Policy) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: withdrawal policy: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if p.MaxRetries < 1 {
		return bad("MaxRetries is %d, at least 1 is needed", p.MaxRetries)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"Backoff.Base", p.Backoff.Base}, {"Backoff.Cap", p.Backoff.Cap}, {"Lease", p.Lease},
		{"EnqueueEvery", p.EnqueueEvery}, {"CheckEvery", p.CheckEvery}, {"AlertAfter", p.AlertAfter},
	} {
		if d.d <= 0 || d.d%time.Microsecond != 0 {
			return bad("%s is %v, it must be positive and of whole microseconds", d.name, d.d)
		}
	}
	if p.HoldInsufficient && (p.HoldFor <= 0 || p.HoldFor%time.Microsecond != 0 || p.HoldCap < p.HoldFor || p.HoldCap%time.Microsecond != 0) {
		return bad("HoldFor is %v up to %v: it must be positive, of whole microseconds, and not above HoldCap", p.HoldFor, p.HoldCap)
	}
	if p.Backoff.JitterPercent > 100 {
		return bad("Backoff.JitterPercent is %d, at most 100 is possible", p.Backoff.JitterPercent)
	}
	if why := p.Chain.malformed(); why != "" {
		return bad("Chain.%s", why)
	}
	for id, c := range p.Chains {
		if why := c.malformed(); why != "" {
			return bad("Chains[%s].%s", id, why)
		}
	}
	if err := p.Approval.validate(); err != nil {
		return bad("%v", err)
	}
	return nil
}

func (c *Chain) malformed() string {
	switch {
	case c.Confirmations < 1:
		return "Confirmations is 0, at least 1 is needed"
	case c.AnswerWithin < 0 || c.AnswerWithin%time.Microsecond != 0:
		return fmt.Sprintf("AnswerWithin is %v, it must not be negative, and of whole microseconds", c.AnswerWithin)
	case c.MinedWithin > 1<<32 || c.Nonces && c.MinedWithin != 0:
		return fmt.Sprintf("MinedWithin is %d, it must be at most 2^32, and 0 where there are nonces", c.MinedWithin)
	}
	return ""
}

// ChainOf returns the rules of one chain.
func (p *Policy) ChainOf(id uuid.UUID) Chain { return p.chain(id) }

func (p *Policy) chain(id uuid.UUID) Chain {
	if c, ok := p.Chains[id]; ok {
		return c
	}
	return p.Chain
}

// retryAt returns when execution k of job id may be followed by the next.
func (p *Policy) retryAt(id uuid.UUID, k int32, now time.Time) time.Time {
	return now.Add(p.Backoff.Delay(int(k), jitterHash(id, k)).Truncate(time.Microsecond))
}

// holdUntil returns when a job that was deferred k times in a row before may be
// tried again.
func (p *Policy) holdUntil(k int32, now time.Time) time.Time {
	return now.Add(statemachine.Backoff{Base: p.HoldFor, Cap: p.HoldCap}.Delay(int(k), 0))
}

// jitterHash spreads retries: evenly over id and k, the same for the same retry.
func jitterHash(id uuid.UUID, k int32) uint64 {
	h := binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:]) + uint64(k)*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9 // splitmix64
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
