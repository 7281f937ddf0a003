package coinselect

import (
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// selector is a checked request. Values are in units of 1/4000 satoshi.
type selector struct {
	rate, longTerm FeeRate
	// evicted is what the transactions that a replacement evicts have paid, and incremental
	// the rate that it owes for its own relay on top. Both are zero unless it is a
	// replacement.
	evicted     int64
	incremental FeeRate

	amount       int64 // satoshi to pay, the smallest change included if rest is set
	base         int64 // weight of the transaction without inputs, their number and change
	changeWeight int64 // 0 if rest is set: base has it
	costOfChange int64 // units: to create it now and to spend it later
	minChange    int64 // satoshi
	rest         bool  // all that is left goes to the change script

	maxInputs    int
	maxWeight    int64 // of the transaction with change
	chains       chainLimits
	payAncestors bool

	pinned      []input
	barred      []LeftOut
	barredValue [len(barErrors)]int64
}

// newSelector checks the bounds of everything that comes from outside. With rest, all that
// payment and fee leave goes to the change script.
func newSelector(candidates []Candidate, req Request, rest bool) (*selector, error) {
	s := &selector{
		rate: req.FeeRate, longTerm: cmp.Or(req.LongTermFeeRate, 10_000), amount: req.Payment.Amount,
		base:         overheadWeight + cmp.Or(req.Payment.Weight, countWeight(1)),
		changeWeight: outputWeight(req.ChangeScript), rest: rest,
		maxInputs: cmp.Or(req.MaxInputs, MaxCandidates), maxWeight: cmp.Or(req.MaxWeight, MaxStandardWeight),
		chains: req.chains(), payAncestors: req.PayAncestors,
	}
	changeSpend, err := inputWeight(req, req.ChangeScript)
	switch {
	case len(candidates) > MaxCandidates || len(req.Pinned) > MaxCandidates || len(req.Exclude) > MaxCandidates:
		return nil, invalid("more than %d candidates, pinned or excluded coins", MaxCandidates)
	case s.amount < 0 || s.amount > utxo.MaxMoney || s.amount == 0 && !rest:
		return nil, invalid("payment of %d satoshi", s.amount)
	case req.Payment.Weight < 0 || req.Payment.Weight == 0 && s.amount > 0 || req.Payment.Weight > maxBlockWeight:
		return nil, invalid("payment of weight %d", req.Payment.Weight)
	case s.rate < 0 || s.rate > MaxFeeRate || s.longTerm < 0 || s.longTerm > MaxFeeRate:
		return nil, invalid("fee rates of %d and %d satoshi per 1000 virtual bytes", s.rate, s.longTerm)
	case s.maxInputs < 0 || s.maxWeight < 0 || s.maxWeight > maxBlockWeight:
		return nil, invalid("at most %d inputs and a weight of %d", s.maxInputs, s.maxWeight)
	case !s.chains.valid():
		return nil, invalid("limits of unconfirmed chains %+v, from 1 to %d transactions are possible", s.chains, MaxAncestorLimit)
	case req.DustRelay < 0 || req.DustRelay > MaxFeeRate:
		return nil, invalid("dust relay fee of %d satoshi per 1000 virtual bytes", req.DustRelay)
	case req.DustLimit < 0 || req.DustLimit > MaxDustLimit:
		return nil, invalid("dust limit of %d satoshi", req.DustLimit)
	case req.MinConfirmations < 0:
		return nil, invalid("%d confirmations", req.MinConfirmations)
	case req.Unconfirmed != 0 && (!req.Unconfirmed.Valid() || req.MinConfirmations > 0):
		return nil, invalid("%s unconfirmed coins with at least %d confirmations", req.Unconfirmed, req.MinConfirmations)
	case req.Algorithm != 0 && !req.Algorithm.Valid():
		return nil, invalid("%s", req.Algorithm)
	case req.Algorithm == SingleRandomDraw && req.Random == nil:
		return nil, invalid("%s without random numbers", req.Algorithm)
	case rest && req.Algorithm == BranchAndBound, req.All && (req.Algorithm != 0 || req.Random != nil):
		return nil, invalid("%s where all that is left goes to the change script", cmp.Or(req.Algorithm, SingleRandomDraw))
	case rest && (len(req.ChangeScript) == 0 || len(req.ChangeScript) > maxScript):
		return nil, invalid("%d bytes of the script that takes what is left", len(req.ChangeScript))
	case err != nil:
		return nil, err
	case changeSpend == 0 && !rest:
		return nil, invalid("change script without an input weight")
	}
	relay := cmp.Or(req.DustRelay, DefaultDustRelay)
	if err := req.Payment.dust(relay); err != nil {
		return nil, err
	}
	s.minChange = cmp.Or(req.DustLimit, DustThreshold(req.ChangeScript, relay))
	if rest { // what is left is the payee's output
		s.minChange = max(s.minChange, DustThreshold(req.ChangeScript, relay))
		s.amount, s.base, s.changeWeight = s.amount+s.minChange, s.base+s.changeWeight, 0
		return s, nil
	}
	if req.DustLimit == 0 {
		s.minChange = max(s.minChange, s.longTerm.units(changeSpend)/perSatoshi+1)
	}
	s.costOfChange = s.rate.units(s.changeWeight) + s.longTerm.units(changeSpend)
	return s, nil
}

// inputWeight returns 0 for a script that has none.
func inputWeight(req Request, script []byte) (int64, error) {
	f := req.InputWeight
	if f == nil {
		f = InputWeight
	}
	w, ok := f(script)
	if !ok {
		return 0, nil
	}
	if w < minInputWeight || w > maxBlockWeight {
		return 0, invalid("input weight %d of script %x, from %d to %d are possible", w, script[:min(len(script), 64)],
			minInputWeight, maxBlockWeight)
	}
	return w, nil
}

// need returns the least effective value, in units, that n inputs must have: the payment
// and the fee of the rest of the transaction, before rounding up.
func (s *selector) need(n int) int64 {
	return s.amount*perSatoshi + s.rate.units(s.base+countWeight(n))
}

// rounding is the most, in units, by which the fee of a whole transaction can exceed the
// sum of the fees of its parts: the weight is rounded up to virtual bytes, and then the fee
// to satoshi.
func (s *selector) rounding() int64 { return s.rate.units(3) + perSatoshi }

// Coins by the order in which Select falls back on them.
const (
	tierConfirmed    = iota
	tierOwn          // own unconfirmed change
	tierNotBroadcast // the same, with pending ancestors
	tierForeign
	tiers
)

// filter sets the pinned inputs, sums up the barred coins, and returns the selectable coins
// by tier.
func (s *selector) filter(candidates []Candidate, req Request) (selectable [tiers][]input, err error) {
	excluded := make(map[wire.OutPoint]bool, len(req.Exclude))
	for _, op := range req.Exclude {
		excluded[op] = true
	}
	pins := make(map[wire.OutPoint]int, len(req.Pinned))
	for i, op := range req.Pinned {
		if _, twice := pins[op]; twice {
			return selectable, invalid("coin %s is pinned twice", op)
		}
		pins[op] = i
	}
	s.pinned = make([]input, len(req.Pinned))
	pinBars := make([]Bar, len(req.Pinned))
	paid := map[chainhash.Hash]bool{} // ancestors of pinned coins
	for i := range candidates {
		if _, ok := pins[candidates[i].OutPoint]; ok && s.payAncestors {
			for _, a := range candidates[i].Ancestors {
				paid[a.Hash] = true
			}
		}
	}
	var sum int64
	for i := range candidates {
		in := input{Candidate: &candidates[i], confirmations: candidates[i].Confirmations}
		if err := in.check(); err != nil {
			return selectable, err
		}
		if in.Amount > utxo.MaxMoney-sum {
			return selectable, invalid("the candidates exceed all money")
		}
		sum += in.Amount
		weight, err := inputWeight(req, in.Script)
		if err != nil {
			return selectable, err
		}
		in.weight = int32(weight)
		pin, isPinned := pins[in.OutPoint]
		if s.payAncestors && !isPinned {
			for _, a := range in.Ancestors {
				if !paid[a.Hash] {
					in.shortfall += s.shortfall(a)
				}
			}
		}
		in.value = in.Amount*perSatoshi - s.rate.units(weight) - in.shortfall*perSatoshi
		bar := s.bar(in, req, excluded)
		if bar != 0 {
			s.barred = append(s.barred, LeftOut{OutPoint: in.OutPoint, Amount: in.Amount, Bar: bar})
			if bar > BarUneconomic {
				s.barredValue[bar] += in.value
			} else {
				s.barredValue[bar] += in.Amount * perSatoshi
			}
		}
		if isPinned {
			if s.pinned[pin].Candidate != nil {
				return selectable, invalid("coin %s is listed twice", in.OutPoint)
			}
			s.pinned[pin], pinBars[pin] = in, bar
		} else if bar == 0 {
			t := in.tier()
			selectable[t] = append(selectable[t], in)
		}
	}
	for i, in := range s.pinned {
		if in.Candidate == nil {
			return selectable, &PinnedError{OutPoint: req.Pinned[i], Err: statemachine.ErrNotFound}
		}
		if pinBars[i] != 0 {
			return selectable, &PinnedError{OutPoint: req.Pinned[i], Err: barErrors[pinBars[i]]}
		}
	}
	return selectable, nil
}

// check refuses candidates that [Candidates] does not make.
func (in input) check() error {
	unconfirmed := in.State == utxo.CoinUnconfirmed || in.State == utxo.CoinPending
	switch {
	case in.Amount < 0:
		return invalid("coin %s of %d satoshi", in.OutPoint, in.Amount)
	case slices.ContainsFunc(in.Ancestors, func(a Ancestor) bool {
		return a.Fee < 0 || a.Fee > utxo.MaxMoney || a.Weight < 0 || a.Weight > maxBlockWeight || !a.chained()
	}):
		return invalid("coin %s with an ancestor of impossible fee, weight or descendants", in.OutPoint)
	case !in.State.Valid():
		return invalid("coin %s without a state", in.OutPoint)
	case len(in.Ancestors) > MaxAncestorLimit, unconfirmed && len(in.Ancestors) == 0,
		in.State == utxo.CoinPending && !in.notBroadcast():
		return invalid("coin %s (%s) with %d ancestors", in.OutPoint, in.State, len(in.Ancestors))
	}
	return nil
}

// notBroadcast reports whether an ancestor is pending.
func (in input) notBroadcast() bool {
	return slices.ContainsFunc(in.Ancestors, func(a Ancestor) bool { return a.Pending })
}

func (in input) tier() int {
	switch {
	case in.State == utxo.CoinConfirmed:
		return tierConfirmed
	case !in.OwnChange:
		return tierForeign
	case in.notBroadcast():
		return tierNotBroadcast
	}
	return tierOwn
}

// bar returns the first reason against a coin, zero if there is none.
func (s *selector) bar(in input, req Request, excluded map[wire.OutPoint]bool) Bar {
	switch {
	case in.State == utxo.CoinDead, in.State == utxo.CoinRecoverable:
		return BarDead
	case in.State == utxo.CoinSpent:
		return BarSpent
	case excluded[in.OutPoint]:
		return BarExcluded
	case req.Tag != nil && *req.Tag != in.Tag:
		return BarOtherOwner
	case in.weight == 0:
		return BarNoWeight
	case in.Amount <= s.rate.Fee(int64(in.weight))+in.shortfall:
		return BarUneconomic
	case in.State == utxo.CoinLeased:
		return BarLeased
	case in.State == utxo.CoinImmature:
		return BarImmature
	case in.Replacing:
		return BarReplacing
	case !in.Scanned:
		return BarUnscanned
	case in.State == utxo.CoinConfirmed:
		if in.Confirmations < req.MinConfirmations {
			return BarUnconfirmed
		}
		return 0
	case in.notBroadcast() && !req.PendingParents:
		return BarNotBroadcast
	case req.Unconfirmed == 0, req.Unconfirmed == OwnChange && !in.OwnChange:
		return BarUnconfirmed
	}
	if bar := s.alone(in); bar != 0 {
		return bar
	}
	if s.payAncestors && slices.ContainsFunc(in.Ancestors, func(a Ancestor) bool { return a.Weight == 0 }) {
		return BarUnknownFee
	}
	return 0
}

// shortfall is what an unconfirmed ancestor lacks of the rate, in satoshi.
func (s *selector) shortfall(a Ancestor) int64 { return max(0, s.rate.Fee(a.Weight)-a.Fee) }

// failed makes the error with what there is, in satoshi: Have < Need exactly if all inputs
// of the pool together do not pay.
func (s *selector) failed(err error, pool []input) error {
	none, all := s.fee(&pick{}, 0), s.start(pool...)
	e := &Error{Err: err, Need: s.amount + none, Have: all.amount - s.fee(all, 0) + none, Barred: map[Bar]int64{}}
	for bar, value := range s.barredValue {
		if value > 0 {
			e.Barred[Bar(bar)] = value / perSatoshi
		}
	}
	return e
}
