package utxo

import (
	"math"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// DepositPolicy says what a deposit is and when it is credited. It is applied to deposits
// that wait and to those that were reversed. A credited deposit stays credited at the depth
// that it was credited at, however the policy changes.
type DepositPolicy struct {
	// Customer says whether an owner is a customer. The outputs of customers are deposits;
	// change and other outputs of the house are not. Who owns the inputs does not matter: a
	// withdrawal to a customer of the house is a deposit too.
	Customer func(Owner) bool
	// Depth returns how many blocks deep a deposit must be to be credited. The block that
	// holds the deposit counts, so the least value is 1.
	Depth func(o Owner, amount int64) int32
	// Minimum is the least amount that is credited, in satoshi, from 0. A smaller deposit
	// waits. An output of 0 satoshi is no deposit.
	Minimum int64
	// From is the first height whose outputs count as deposits, by wallet; 0 for a wallet
	// that is missing in the map. Outputs below it are in the host's books already. For a
	// wallet that is opened late, choose a height that no reorganisation will reach.
	From map[WalletID]int32
	// Maturity is the Maturity of [Policy]: a coinbase is not credited while tip - height
	// is less than it. 0 means 100.
	Maturity int32
}

// Validate reports a policy that makes no sense, as [statemachine.ErrInvalid].
func (p DepositPolicy) Validate() error {
	if p.Customer == nil || p.Depth == nil || p.Minimum < 0 || p.Maturity < 0 {
		return invalid("DepositPolicy needs Customer, Depth, a Minimum and a Maturity from 0: %v, %v, %d, %d",
			p.Customer != nil, p.Depth != nil, p.Minimum, p.Maturity)
	}
	for w, from := range p.From {
		if from < 0 {
			return invalid("DepositPolicy.From of wallet %d is %d", w, from)
		}
	}
	return nil
}

// Find makes a new deposit from an output of which no deposit is stored yet; false where
// the output is no deposit, or is in no block yet.
func (p DepositPolicy) Find(s DepositSight, now time.Time) (Deposit, bool) {
	if s.Status != Published || s.Height == Unconfirmed || s.Amount < 1 || !p.admits(s.Owner, s.Height) {
		return Deposit{}, false
	}
	d := Deposit{OutPoint: s.OutPoint, Owner: s.Owner, Amount: s.Amount, At: micros(now)}
	d.State, _ = DepositMachine.Next(d.State, onDeposited)
	return d.Seen(s), true
}

func (p DepositPolicy) admits(o Owner, height int32) bool {
	return height >= p.From[o.Wallet] && o.Tag != Forgotten && p.Customer(o)
}

// Seen returns d with the block that its output is in. It changes nothing else.
func (d Deposit) Seen(s DepositSight) Deposit {
	if d.InChain = s.Status == Published && s.Height != Unconfirmed; d.InChain {
		d.Height, d.Block = s.Height, s.Block
	}
	return d
}

// DeepAt is the least height of the tip at which a credited deposit is deep enough:
// [math.MaxInt32] for a deposit that is in no block of the best chain.
func (d Deposit) DeepAt() int32 {
	if !d.InChain {
		return math.MaxInt32
	}
	return int32(min(int64(d.Height)+int64(d.Depth)-1, math.MaxInt32))
}

// Shaken reports whether d is credited but no longer deep enough: it left the best chain,
// or the chain became shorter, or d came back in a higher block. Nothing is posted for a
// shaken deposit; it is a risk that somebody must know of.
func (d Deposit) Shaken(tip int32) bool { return d.State == DepositCredited && d.DeepAt() > tip }

// Due reports whether a new tip is a reason to look at d: d is in the best chain and not
// credited, or it is shaken.
func (d Deposit) Due(tip int32) bool {
	if d.State == DepositCredited {
		return d.Shaken(tip)
	}
	return d.InChain
}

// Suspect reports whether only [ProvablyDead], at d's Depth, can say whether d is to be
// reversed: d is credited and its transaction is stored and in no block.
func (d Deposit) Suspect(s DepositSight) bool {
	return d.State == DepositCredited && s.Status != 0 && s.Height == Unconfirmed && !s.Coinbase
}

// Judge makes the one step that is due for a deposit. It returns the fact that the host
// posts in the same commit, nil where there is nothing to post. A policy that asks for a
// depth below 1 is [statemachine.ErrInvalid].
func (p DepositPolicy) Judge(d Deposit, s DepositSight, now time.Time) (Deposit, *DepositFact, error) {
	d = d.Seen(s)
	if d.State == DepositCredited {
		switch {
		case s.Dead && d.Suspect(s):
			return d.reverse(onDead, "", onDead.String(), now)
		case s.Coinbase && s.Status == Orphaned && d.Height != Unconfirmed && int64(s.Tip)-int64(d.Height)+1 >= int64(d.Depth):
			// The fork is below the block that had it.
			return d.reverse(onForkedOff, "", onForkedOff.String(), now)
		}
		return d, nil, nil
	}
	if !d.InChain || s.Scanned < s.Tip || d.State == DepositWaiting && (d.Amount < p.Minimum || !p.admits(d.Owner, d.Height)) ||
		s.Coinbase && d.Height > (Policy{Maturity: p.Maturity}).MatureHeight(s.Tip) {
		return d, nil, nil
	}
	depth := p.Depth(d.Owner, d.Amount)
	if depth < 1 {
		return d, nil, invalid("DepositPolicy.Depth of %d satoshi to owner %q of wallet %d is %d", d.Amount, d.Tag, d.Wallet, depth)
	}
	if int64(s.Tip)-int64(d.Height)+1 < int64(depth) {
		return d, nil, nil
	}
	if err := d.step(onDeep, now); err != nil {
		return d, nil, err
	}
	d.Round, d.Depth, d.Actor, d.Reason = d.Round+1, depth, "", ""
	return d, d.fact(), nil
}

// Reverse takes a shaken deposit back on the word of an operator, who knows that it will
// not come back where the ledger cannot prove it (see [Disconnected]). A deposit that is
// not shaken is [statemachine.ErrIllegal]; an actor and a reason of 1 to 500 bytes are
// needed. A second Reverse with the same actor and reason changes nothing and returns the
// fact with the same key.
func (d Deposit) Reverse(s DepositSight, actor, reason string, now time.Time) (Deposit, *DepositFact, error) {
	if actor == "" || len(actor) > MaxActor || !statemachine.Storable(actor) || reason == "" || reason != statemachine.Bounded(reason, 500) {
		return d, nil, invalid("a deposit is reversed by an actor of 1 to %d bytes, with a reason of 1 to 500: %.50q, %.50q",
			MaxActor, actor, reason)
	}
	if d.State == DepositReversed && d.Actor == actor && d.Reason == reason {
		return d, d.fact(), nil
	}
	if d = d.Seen(s); !d.Shaken(s.Tip) {
		return d, nil, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: DepositMachine.Name(), ID: d.OutPoint.String(),
			State: d.State.String(), Event: onOrdered.String(), Reason: "only what is credited and not deep is reversed"}
	}
	return d.reverse(onOrdered, actor, reason, now)
}

func (d Deposit) reverse(on DepositTrigger, actor, reason string, now time.Time) (Deposit, *DepositFact, error) {
	if err := d.step(on, now); err != nil {
		return d, nil, err
	}
	d.Actor, d.Reason = actor, reason
	return d, d.fact(), nil
}

func (d *Deposit) step(on DepositTrigger, now time.Time) (err error) {
	d.State, err = DepositMachine.Step(d.State, on)
	d.At = micros(now)
	return err
}

func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
