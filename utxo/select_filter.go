package utxo

import (
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// selector is a checked request. Values are in units of 1/4000 satoshi.
type selector struct {
	rate, longTerm FeeRate
	amount         int64 // satoshi to pay
	base           int64 // weight of the transaction without inputs, their number and change
	changeWeight   int64
	costOfChange   int64 // units: to create it now and to spend it later
	minChange      int64 // satoshi
	maxInputs      int
	maxWeight      int64 // of the transaction with change
	ancestorLimit  int

	pinned []input
	have   int64
	barred [len(barErrors)]int64
}

// newSelector checks the bounds of everything that comes from outside.
func newSelector(candidates []Candidate, req SelectRequest) (*selector, error) {
	s := &selector{
		rate: req.FeeRate, longTerm: cmp.Or(req.LongTermFeeRate, 10_000), amount: req.Payment.Amount,
		base:         overheadWeight + req.Payment.Weight,
		changeWeight: outputWeight(req.ChangeScript),
		maxInputs:    cmp.Or(req.MaxInputs, MaxCandidates), maxWeight: cmp.Or(req.MaxWeight, MaxStandardWeight),
		ancestorLimit: cmp.Or(req.AncestorLimit, 25),
	}
	changeSpend, err := inputWeight(req, req.ChangeScript)
	switch {
	case len(candidates) > MaxCandidates || len(req.Pinned) > MaxCandidates || len(req.Exclude) > MaxCandidates:
		return nil, invalid("more than %d candidates, pinned or excluded coins", MaxCandidates)
	case s.amount <= 0 || s.amount > maxMoney:
		return nil, invalid("payment of %d satoshi", s.amount)
	case req.Payment.Weight <= 0 || req.Payment.Weight > maxBlockWeight:
		return nil, invalid("payment of weight %d", req.Payment.Weight)
	case s.rate < 0 || s.rate > MaxFeeRate || s.longTerm < 0 || s.longTerm > MaxFeeRate:
		return nil, invalid("fee rates of %d and %d satoshi per 1000 virtual bytes", s.rate, s.longTerm)
	case s.maxInputs < 0 || s.maxWeight < 0 || s.maxWeight > maxBlockWeight:
		return nil, invalid("at most %d inputs and a weight of %d", s.maxInputs, s.maxWeight)
	case s.ancestorLimit < 0 || s.ancestorLimit > MaxAncestorLimit:
		return nil, invalid("ancestor limit %d, from 1 to %d are possible", s.ancestorLimit, MaxAncestorLimit)
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
	case err != nil:
		return nil, err
	case changeSpend == 0:
		return nil, invalid("change script without an input weight")
	}
	s.costOfChange = s.rate.units(s.changeWeight) + s.longTerm.units(changeSpend)
	s.minChange = max(cmp.Or(req.DustLimit, dustThreshold(req.ChangeScript)), s.longTerm.units(changeSpend)/perSatoshi+1)
	return s, nil
}

// inputWeight returns 0 for a script that has none.
func inputWeight(req SelectRequest, script []byte) (int64, error) {
	f := req.InputWeight
	if f == nil {
		f = InputWeight
	}
	w, ok := f(script)
	if !ok {
		return 0, nil
	}
	if w < minInputWeight || w > maxBlockWeight {
		return 0, invalid("input weight %d of script %x, from %d to %d are possible", w, script[:min(len(script), 64)], minInputWeight, maxBlockWeight)
	}
	return w, nil
}

// need returns the effective value, in units, that n inputs must reach: the
// payment and the fee of the rest of the transaction. The 3 weight units stand
// for the rounding of the whole to virtual bytes, so that need is met only by
// sets that pay at least [FeeRate.Fee]; it may ask for up to 3/4 of a virtual
// byte more.
func (s *selector) need(n int) int64 {
	return s.amount*perSatoshi + s.rate.units(s.base+countWeight(n)+3)
}

// Coins by the order in which Select falls back on them.
const (
	tierConfirmed    = iota
	tierOwn          // own unconfirmed change
	tierNotBroadcast // the same, with pending ancestors
	tierForeign
	tiers
)

// filter sets the pinned inputs, sums up the barred coins, and returns the
// selectable ones by tier.
func (s *selector) filter(candidates []Candidate, req SelectRequest) (selectable [tiers][]input, err error) {
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
	var sum int64
	for i := range candidates {
		in := input{Candidate: &candidates[i], confirmations: candidates[i].Confirmations}
		if err := in.check(); err != nil {
			return selectable, err
		}
		if in.Amount > maxMoney-sum {
			return selectable, invalid("the candidates exceed all money")
		}
		sum += in.Amount
		if in.weight, err = inputWeight(req, in.Script); err != nil {
			return selectable, err
		}
		in.value = in.Amount*perSatoshi - s.rate.units(in.weight)
		bar := s.bar(in, req, excluded)
		if bar != 0 {
			value := in.value
			if bar <= BarUneconomic {
				value = in.Amount * perSatoshi
			}
			s.barred[bar] += value
		}
		if pin, ok := pins[in.OutPoint]; ok {
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

// check refuses candidates that [Policy.Candidates] does not make.
func (in input) check() error {
	unconfirmed := in.State == CoinUnconfirmed || in.State == CoinPending
	switch {
	case in.Amount < 0:
		return invalid("coin %s of %d satoshi", in.OutPoint, in.Amount)
	case !in.State.Valid():
		return invalid("coin %s without a state", in.OutPoint)
	case len(in.Ancestors) > MaxAncestorLimit, unconfirmed && len(in.Ancestors) == 0,
		in.State == CoinPending && !in.notBroadcast():
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
	case in.State == CoinConfirmed:
		return tierConfirmed
	case !in.OwnChange:
		return tierForeign
	case in.notBroadcast():
		return tierNotBroadcast
	}
	return tierOwn
}

// bar returns the first reason against a coin, zero if there is none.
func (s *selector) bar(in input, req SelectRequest, excluded map[wire.OutPoint]bool) Bar {
	switch {
	case in.State == CoinDead, in.State == CoinRecoverable:
		return BarDead
	case in.State == CoinSpent:
		return BarSpent
	case excluded[in.OutPoint]:
		return BarExcluded
	case req.Tag != nil && *req.Tag != in.Tag:
		return BarOtherOwner
	case in.weight == 0:
		return BarNoWeight
	case in.value <= 0:
		return BarUneconomic
	case in.State == CoinLeased:
		return BarLeased
	case in.State == CoinImmature:
		return BarImmature
	case in.Replacing:
		return BarReplacing
	case !in.Scanned:
		return BarUnscanned
	case in.State == CoinConfirmed:
		if in.Confirmations < req.MinConfirmations {
			return BarUnconfirmed
		}
		return 0
	case in.notBroadcast() && !req.PendingParents:
		return BarNotBroadcast
	case req.Unconfirmed == 0, req.Unconfirmed == OwnChange && !in.OwnChange:
		return BarUnconfirmed
	case len(in.Ancestors)+1 > s.ancestorLimit:
		return BarAncestors
	}
	return 0
}

// failed reports what there is, in satoshi.
func (s *selector) failed(err error) error {
	e := &SelectError{Err: err, Need: (s.need(len(s.pinned)) + perSatoshi - 1) / perSatoshi, Have: s.have / perSatoshi, Barred: map[Bar]int64{}}
	for bar, value := range s.barred {
		if value > 0 {
			e.Barred[Bar(bar)] = value / perSatoshi
		}
	}
	return e
}
