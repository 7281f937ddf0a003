package swap

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/statemachine"
)

// Decimals of both tokens.
const Decimals = 6

// ParseAmount reads a decimal such as "0.000001" into units of 10^-6. Zero,
// negative, more than [MaxAmount], a seventh decimal and an exponent are
// [statemachine.ErrInvalid].
func ParseAmount(s string) (uint64, error) {
	bad := fmt.Errorf("%w: %.50q is no amount of 0.000001 to 9223372036854.775807", statemachine.ErrInvalid, s)
	if s == "" || len(s) > 50 {
		return 0, bad
	}
	for _, c := range s {
		if (c < '0' || c > '9') && c != '.' {
			return 0, bad
		}
	}
	d, err := decimal.NewFromString(s)
	if err != nil {
		return 0, bad
	}
	units := d.Shift(Decimals)
	if !units.IsInteger() || units.Sign() <= 0 || units.GreaterThan(decimal.NewFromInt(MaxAmount)) {
		return 0, bad
	}
	return units.BigInt().Uint64(), nil
}

// FormatAmount writes units of 10^-6 as a plain decimal with six places, such
// as "0.000001"; never with an exponent.
func FormatAmount(units uint64) string {
	return fmt.Sprintf("%d.%06d", units/1_000_000, units%1_000_000)
}

// Net returns what is paid of an amount, and the fee: net is amount - Flat - amount x BasisPoints / 10000, rounded
// down to a unit, or zero if nothing is left; the fee is the rest.
func (f Fees) Net(amount uint64) (net, fee uint64) {
	hi, lo := bits.Mul64(amount, min(f.BasisPoints, 10_000))
	q, r := bits.Div64(hi, lo, 10_000) // hi < 10000, since the basis points are
	if r > 0 {
		q++
	}
	return rest(rest(amount, f.Flat), q), amount - rest(rest(amount, f.Flat), q)
}

// pays returns what an action moves of an amount, and its fee.
func (f Fees) pays(a Action, amount uint64) (net, fee uint64) {
	switch a {
	case Refund:
		net = rest(amount, f.Refund)
	case Quarantine:
		net = rest(amount, f.Quarantine)
	default:
		return f.Net(amount)
	}
	return net, amount - net
}

func rest(amount, fee uint64) uint64 {
	if fee >= amount {
		return 0
	}
	return amount - fee
}

// sum ends at 2^64 - 1.
func sum(all ...uint64) (s uint64) {
	for _, n := range all {
		if s += n; s < n {
			return math.MaxUint64
		}
	}
	return s
}

// Money is where the amount of an item is.
type Money struct {
	Deposited, PaidOut, Refunded, Quarantined, Fees uint64
	// Held is the amount that is neither paid out nor kept. An outbound that is not final counts in it.
	Held uint64
	// GivenBack is what was held when an operator gave it back by hand, see [Settled].
	GivenBack uint64
	// Excess is the amount by which the sum of all final outbounds and of the fees that were kept exceeds Deposited; 0
	// if it does not. An outbound that is not final counts in Held instead. A second outbound keeps no fee if nothing
	// of Deposited was left for it. A discrepancy on file says why more went out, and names the transactions.
	Excess uint64
}

// money adds up the final outbounds of an item. gone: the inbound has vanished
// and was given up, so nothing was deposited.
func (i *Item) money(gone bool) Money {
	m := Money{Deposited: i.Amount, Fees: i.Fees}
	if gone {
		m.Deposited = 0
	}
	spent := i.Fees
	for k := range i.Intents {
		in := &i.Intents[k]
		if !in.Landed() || !in.Final {
			continue
		}
		switch in.Action {
		case Send:
			m.PaidOut = sum(m.PaidOut, in.Net)
		case Refund:
			m.Refunded = sum(m.Refunded, in.Net)
		default:
			m.Quarantined = sum(m.Quarantined, in.Net)
		}
		// The fee of a second outbound was not earned.
		fee := min(in.Fee, rest(m.Deposited, sum(spent, in.Net)))
		m.Fees += fee
		spent = sum(spent, in.Net, fee)
	}
	m.Held, m.Excess = rest(m.Deposited, spent), rest(spent, m.Deposited)
	if i.givenBack() {
		m.Held, m.GivenBack = 0, m.Held
	}
	return m
}
