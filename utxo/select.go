package utxo

import (
	"cmp"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// Algorithm is a way to choose coins.
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

// MaxDustLimit bounds [SelectRequest.DustLimit], in satoshi: what is less than
// the dust limit is lost to the fee.
const MaxDustLimit = 100_000

// SelectRequest is what to pay and with which coins. What is left zero is the
// conservative choice.
type SelectRequest struct {
	Payment Payment
	// ChangeScript is the output script that change would go to, or one of
	// the same kind. It must have an input weight.
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

	// AncestorLimit is the most unconfirmed transactions that the new one may
	// descend from, itself counted, over all inputs, each once. 0 means 25,
	// at most MaxAncestorLimit. Only stored ancestors count: those above a
	// foreign transaction are unknown.
	AncestorLimit int
	MaxInputs     int   // 0 means what the weight allows
	MaxWeight     int64 // of the transaction with change; 0 means MaxStandardWeight
	DustLimit     int64 // satoshi, smallest change; 0 means Bitcoin Core's dust threshold for ChangeScript
}

// Selection is a set of coins that pays: the inputs sum up to the payment, the
// fee and the change exactly, and Fee >= FeeRate.Fee(Weight), with equality if
// there is change.
type Selection struct {
	Inputs []Candidate // pinned ones as asked, then by outpoint
	Fee    int64       // satoshi
	// Change is 0, or at least the dust limit and more than spending it costs
	// at the long-term rate. What is less goes to the fee.
	Change int64
	// Waste is Bitcoin Core's measure, in satoshi, rounded down: the fee of
	// the inputs now minus their fee at the long-term rate, plus the cost of
	// change, or the excess if there is no change.
	Waste     int64
	Weight    int64     // of the signed transaction, at most
	Algorithm Algorithm // that found it; Auto if only the last search did
	// Parents are the transactions to broadcast first, in this order.
	Parents []chainhash.Hash
}

// Select chooses coins for a payment. It is pure: equal arguments, and an
// equal sequence of random numbers, give an equal result.
//
// Confirmed coins are tried alone; if they do not do, own unconfirmed change
// is added, then change that is not broadcast, then foreign coins, as far as
// the request allows each. A coin whose effective value (amount minus the fee
// of its input) is not positive is never selected.
//
// Without limits in the way every algorithm but BranchAndBound finds a
// selection if one exists, and so they do within MaxInputs. With coins of
// different weights under MaxWeight, or of shared ancestors under
// AncestorLimit, this is a packing problem: Auto ends with a search of 100,000
// tries. A coin that would exceed AncestorLimit together with those taken
// before is skipped; room for a change output is kept within MaxWeight.
//
// Errors: [statemachine.ErrInvalid], then [*PinnedError], then [*SelectError].
func Select(candidates []Candidate, req SelectRequest) (Selection, error) {
	s, err := newSelector(candidates, req)
	if err != nil {
		return Selection{}, err
	}
	tiers, err := s.filter(candidates, req)
	if err != nil {
		return Selection{}, err
	}
	start := s.start()
	s.have = start.value
	if s.tooMany(start) {
		return Selection{}, s.failed(ErrTooManyInputs)
	}
	if s.tooDeep(start) {
		return Selection{}, s.failed(ErrTooManyAncestors)
	}
	var pool []input
	tried := false
	for _, tier := range tiers {
		pool = append(pool, tier...)
		for _, in := range tier {
			s.have += in.value
		}
		if s.have < s.need(len(s.pinned)) || tried && len(tier) == 0 {
			continue
		}
		tried = true
		slices.SortFunc(pool, largestFirst)
		if best, ok := s.run(pool, req); ok {
			return distinct(best)
		}
	}
	switch {
	case s.have < s.need(len(s.pinned)+len(pool)):
		err = ErrInsufficientFunds
	case req.Algorithm == BranchAndBound:
		err = ErrNoChangeless
	default:
		err = ErrTooManyInputs
		if s.ancestorLimit = MaxCandidates * MaxAncestorLimit; s.draw(pool) != nil {
			err = ErrTooManyAncestors
		}
	}
	return Selection{}, s.failed(err)
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
func (s *selector) run(pool []input, req SelectRequest) (best Selection, ok bool) {
	found := func(a Algorithm, picked []*input) {
		if picked == nil {
			return
		}
		if sel := s.finish(a, picked); !ok || sel.Waste < best.Waste {
			best, ok = sel, true
		}
	}
	wanted := func(a Algorithm) bool { return req.Algorithm == a || req.Algorithm == Auto || req.Algorithm == 0 }
	if wanted(BranchAndBound) {
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
	weight        int64
	value         int64 // effective value in units, > 0
	confirmations int32
}

func largestFirst(a, b input) int {
	switch {
	case a.value != b.value:
		return cmp.Compare(b.value, a.value)
	case a.weight != b.weight:
		return cmp.Compare(a.weight, b.weight)
	}
	return compareOutPoints(a.OutPoint, b.OutPoint)
}

// oldestFirst returns the pool by confirmations, then as it is.
func oldestFirst(pool []input) []input {
	pool = slices.Clone(pool)
	slices.SortStableFunc(pool, func(a, b input) int { return cmp.Compare(b.confirmations, a.confirmations) })
	return pool
}
