package coinselect

import (
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// Algorithm is a way to choose coins.
// Values: Auto, BranchAndBound, LargestFirst, OldestFirst, SingleRandomDraw.
type Algorithm = statemachine.Enum[algorithm]

const (
	// Auto runs all others and takes the result with the lowest waste, the
	// first of them in case of a tie.
	Auto Algorithm = iota + 1
	// BranchAndBound looks for the least wasteful set without change: its
	// excess is at most the cost of change. It gives up after 100,000 tries.
	BranchAndBound
	// LargestFirst takes coins by effective value, descending, then by input
	// weight and outpoint.
	LargestFirst
	// OldestFirst takes coins by confirmations, descending, then as LargestFirst.
	OldestFirst
	// SingleRandomDraw takes coins at random.
	SingleRandomDraw
)

type algorithm struct{}

func (algorithm) Kind() string    { return "selection algorithm" }
func (algorithm) Names() []string { return algorithmNames }

var algorithmNames = []string{"auto", "branch_and_bound", "largest_first", "oldest_first", "single_random_draw"}

// Unconfirmeds says which unconfirmed coins may be selected; zero is none.
// Values: OwnChange, AnyUnconfirmed.
type Unconfirmeds = statemachine.Enum[unconfirmeds]

const (
	OwnChange      Unconfirmeds = iota + 1 // those that nobody else can double-spend
	AnyUnconfirmed                         // own change before foreign coins
)

type unconfirmeds struct{}

func (unconfirmeds) Kind() string    { return "unconfirmed coins" }
func (unconfirmeds) Names() []string { return unconfirmedNames }

var unconfirmedNames = []string{"own_change", "any"}

// MaxCandidates bounds the candidates, and each list of outpoints, of a selection.
const MaxCandidates = 1_000_000

// MaxDustLimit bounds [Request.DustLimit], in satoshi: what is less than
// the dust limit is lost to the fee.
const MaxDustLimit = 100_000

// Request is what to pay and with which coins. What is left zero is the
// conservative choice.
type Request struct {
	// Payment is what the outputs beside change take. With All, or with Pinned
	// coins, it may be zero: all that the fee leaves goes to ChangeScript.
	Payment Payment
	// All spends every coin that fits: to somebody else it is "send all", to
	// an own script it consolidates. What payment and fee leave goes to
	// ChangeScript, at least the dust limit; [Selection.LeftOut] names the
	// rest of the coins. No algorithm is wanted.
	All bool
	// ChangeScript is the output script that change would go to, or one of
	// the same kind. It must have an input weight, unless it takes all.
	ChangeScript []byte
	FeeRate      FeeRate // from 0 to MaxFeeRate
	// LongTermFeeRate is what spending a coin is expected to cost later; 0
	// means 10,000, Bitcoin Core's consolidation rate.
	LongTermFeeRate FeeRate
	Algorithm       Algorithm                    // zero means Auto
	Random          interface{ Uint64() uint64 } // for SingleRandomDraw; Auto without it does not draw
	// InputWeight returns the largest weight of an input that spends the
	// script, and false if it does not know; nil means [InputWeight]. It must
	// be pure. It includes one unit for the empty witness of an input that
	// has none.
	InputWeight func(script []byte) (weight int64, ok bool)

	Pinned           []wire.OutPoint // must be inputs; they obey all rules
	Exclude          []wire.OutPoint // must not be inputs
	Tag              *string         // only coins of this owner; nil for all
	MinConfirmations int32           // 0 and 1 are the same, unless unconfirmed coins are allowed
	Unconfirmed      Unconfirmeds    // needs MinConfirmations 0
	// PendingParents allows coins of transactions that are not broadcast yet,
	// as far as Unconfirmed does. See [Selection.Parents].
	PendingParents bool
	// PayAncestors adds to the fee what each unconfirmed ancestor lacks of
	// FeeRate, once for each, whatever the number of inputs below it; one above
	// the rate adds nothing. It needs candidates with fees, see
	// [Query.Fees]; an ancestor of unknown fee bars the coin.
	PayAncestors bool

	// AncestorLimit is the most unconfirmed transactions that the new one may
	// descend from, itself counted, over all inputs, each once. 0 means 25,
	// at most MaxAncestorLimit. Only stored ancestors count: those above a
	// foreign transaction are unknown.
	AncestorLimit int
	// AncestorSize is the most virtual bytes that the new transaction and these
	// ancestors have together. 0 means 101,000.
	AncestorSize int64
	// DescendantLimit is the most unconfirmed transactions, itself and the new one
	// counted, that may hang on each of the ancestors. 0 means 25, at most
	// MaxAncestorLimit. Only stored descendants count, in whichever wallet, those
	// that are pending too: what strangers make of an output is unknown. Versions
	// of which one replaces the other count each.
	DescendantLimit int
	// DescendantSize is the most virtual bytes that each ancestor and all that
	// hangs on it have together. 0 means 101,000.
	DescendantSize int64
	MaxInputs      int   // 0 means what the weight allows
	MaxWeight      int64 // of the transaction with change; 0 means MaxStandardWeight
	// DustLimit is the smallest change, in satoshi. 0 means what Bitcoin Core
	// makes: at least its dust threshold for ChangeScript, and more than
	// spending it costs at the long-term rate; where all goes to ChangeScript
	// the threshold alone.
	DustLimit int64
	// DustRelay is the rate of the node's dust threshold, see [DustThreshold]: a
	// payee below it is refused. 0 means DefaultDustRelay, at most MaxFeeRate.
	DustRelay FeeRate
}

// Selection is a set of coins that pays: the inputs sum up to the payment, the fee
// and the change exactly. Owed is FeeRate.Fee(Weight) + AncestorFee, or for a
// [Rewrite] what it evicts if that is more. With change Fee is what is owed; without
// it Fee is higher by what would have been too little for change.
type Selection struct {
	Inputs []Candidate // pinned ones as asked, then by outpoint
	Fee    int64       // satoshi
	// AncestorFee is the part of Fee that unconfirmed ancestors lack of the
	// rate, 0 without [Request.PayAncestors].
	AncestorFee int64
	// Change is 0, or at least the dust limit. What is less goes to the fee.
	Change int64
	// Waste is Bitcoin Core's measure, in satoshi, rounded down: the fee of
	// the inputs now minus their fee at the long-term rate, plus the cost of
	// change, or the excess if there is no change.
	Waste     int64
	Weight    int64     // of the signed transaction, at most
	Algorithm Algorithm // that found it; Auto if only the last search did
	// Parents are the transactions to broadcast first, in this order.
	Parents []chainhash.Hash
	// LeftOut are the candidates that All did not take, by outpoint.
	LeftOut []LeftOut
}

// LeftOut is a coin that was not taken, and why.
type LeftOut struct {
	OutPoint wire.OutPoint
	Amount   int64 // satoshi
	Bar      Bar
}

// Select chooses coins for a payment. It is pure: equal arguments, and an
// equal sequence of random numbers, give an equal result.
//
// Confirmed coins are tried alone; if they do not do, own unconfirmed change
// is added, then change that is not broadcast, then foreign coins, as far as
// the request allows each. A set pays if it reaches [FeeRate.Fee] of its weight,
// no more. A coin that costs as much as it brings, or more, is never selected:
// its fee is that of its weight, and with PayAncestors what all its ancestors
// lack, but for those of pinned coins. So every coin adds to what a set is
// worth, and if any set pays, limits aside, then all coins together do (but for
// the 253rd input, whose count takes two more virtual bytes).
//
// Without limits in the way every algorithm but BranchAndBound finds a
// selection if one exists, and so they do within MaxInputs where the coins are
// of one kind. With coins of different weights under MaxInputs or MaxWeight, or
// of shared ancestors under AncestorLimit, this is a packing problem: Auto and All
// end with a search of 100,000 tries. A coin that would exceed a limit of
// unconfirmed chains together with those taken before is skipped; room for a change
// output is kept within MaxWeight. All takes the largest coins first, tier by tier,
// and passes over what does not fit; if that does not pay, it takes what the search
// finds, and then what still fits beside.
//
// Errors: [statemachine.ErrInvalid], [*DustError] among them, then [*PinnedError],
// then [*Error].
func Select(candidates []Candidate, req Request) (Selection, error) {
	s, err := newSelector(candidates, req, req.All || req.Payment.Amount == 0)
	if err != nil {
		return Selection{}, err
	}
	if req.Payment.Amount == 0 && !req.All && len(req.Pinned) == 0 {
		return Selection{}, invalid("a payment of nothing, without pinned coins")
	}
	tiers, err := s.filter(candidates, req)
	if err != nil {
		return Selection{}, err
	}
	return s.choose(tiers, req)
}

// choose runs the algorithms, on one tier after the other, beside the pinned inputs.
func (s *selector) choose(tiers [tiers][]input, req Request) (Selection, error) {
	start := s.start()
	if s.tooMany(start) {
		return Selection{}, s.failed(ErrTooManyInputs, nil)
	}
	if bar := s.tooDeep(start); bar != 0 {
		return Selection{}, s.failed(barErrors[bar], nil)
	}
	if req.All {
		return s.takeAll(tiers)
	}
	var pool []input
	most, tried := start.value, false // what the pool brings at the best
	for _, tier := range tiers {
		pool = append(pool, tier...)
		for _, in := range tier {
			most += in.gross()
		}
		if most < s.need(len(s.pinned)) || tried && len(tier) == 0 {
			continue
		}
		tried = true
		slices.SortFunc(pool, largestFirst)
		if best, ok := s.run(pool, req); ok {
			return distinct(best)
		}
	}
	var err error
	switch {
	case !s.canPay(pool):
		err = ErrInsufficientFunds
	case req.Algorithm == BranchAndBound:
		err = ErrNoChangeless
	default:
		err = s.limitedBy(func() bool { return s.draw(pool) != nil })
	}
	return Selection{}, s.failed(err, pool)
}

// canPay reports whether all inputs of the pool pay, or one of them does.
func (s *selector) canPay(pool []input) bool {
	if s.pays(s.start(pool...)) {
		return true
	}
	p := s.start()
	return slices.ContainsFunc(pool, func(in input) bool {
		p.add(in)
		defer p.remove(in)
		return s.pays(p)
	})
}

// distinct refuses a selection that has a coin twice, as the candidates had.
func distinct(sel Selection) (Selection, error) {
	seen := make(map[wire.OutPoint]bool, len(sel.Inputs))
	for _, c := range sel.Inputs {
		if seen[c.OutPoint] {
			return Selection{}, invalid("coin %s is listed twice", c.OutPoint)
		}
		seen[c.OutPoint] = true
	}
	return sel, nil
}

// run applies the algorithms to a pool in the order of largestFirst, which it keeps.
func (s *selector) run(pool []input, req Request) (best Selection, ok bool) {
	found := func(a Algorithm, picked []*input) {
		if picked == nil {
			return
		}
		if sel := s.finish(a, picked); !ok || sel.Waste < best.Waste {
			best, ok = sel, true
		}
	}
	wanted := func(a Algorithm) bool { return req.Algorithm == a || req.Algorithm == Auto || req.Algorithm == 0 }
	if wanted(BranchAndBound) && !s.rest {
		found(BranchAndBound, s.search(pool, s.costOfChange, false))
	}
	if wanted(LargestFirst) {
		found(LargestFirst, s.draw(pool))
	}
	if wanted(OldestFirst) {
		found(OldestFirst, s.draw(oldestFirst(pool)))
	}
	if wanted(SingleRandomDraw) && req.Random != nil {
		found(SingleRandomDraw, s.draw(shuffled(pool, req.Random)))
	}
	if !ok && wanted(Auto) {
		found(Auto, s.search(pool, anyExcess, true))
	}
	return best, ok
}

// input is a selectable candidate. What sorting looks at is beside the rest.
type input struct {
	*Candidate
	value         int64 // effective value in units, > 0 unless pinned
	shortfall     int64 // satoshi, of its ancestors; part of value
	weight        int32
	confirmations int32
}

// gross is the effective value where somebody else pays for the ancestors.
func (in input) gross() int64 { return in.value + in.shortfall*perSatoshi }

func largestFirst(a, b input) int {
	switch {
	case a.value != b.value:
		return cmp.Compare(b.value, a.value)
	case a.weight != b.weight:
		return cmp.Compare(a.weight, b.weight)
	}
	return utxo.CompareOutPoints(a.OutPoint, b.OutPoint)
}

// oldestFirst returns the pool by confirmations, then as it is.
func oldestFirst(pool []input) []input {
	pool = slices.Clone(pool)
	slices.SortStableFunc(pool, func(a, b input) int { return cmp.Compare(b.confirmations, a.confirmations) })
	return pool
}
