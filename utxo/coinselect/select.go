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
	// Auto runs all other algorithms and takes the result with the lowest waste, of equal
	// ones the first.
	Auto Algorithm = iota + 1
	// BranchAndBound looks for the least wasteful set that needs no change: its excess is
	// at most the cost of change. It gives up after 100,000 tries.
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

// MaxDustLimit bounds [Request.DustLimit], in satoshi: change below the dust limit is lost
// to the fee.
const MaxDustLimit = 100_000

// Request says what to pay and with which coins. The zero value of each field is its
// conservative choice.
type Request struct {
	// Payment is what the outputs other than change take. With All, or with Pinned coins,
	// it may be zero: then everything that the fee leaves goes to ChangeScript.
	Payment Payment
	// All spends every coin that fits. With somebody else's ChangeScript it is "send all";
	// with an own one it consolidates. What payment and fee leave, at least the dust limit,
	// goes to ChangeScript; [Selection.LeftOut] names the coins that were not taken.
	// Algorithm must be zero.
	All bool
	// ChangeScript is the output script of the change, or any script of the same kind. Its
	// input weight must be known, unless it takes all.
	ChangeScript []byte
	FeeRate      FeeRate // from 0 to MaxFeeRate
	// LongTermFeeRate is the rate at which a coin is expected to be spent later; 0 means
	// 10,000, Bitcoin Core's consolidation rate.
	LongTermFeeRate FeeRate
	Algorithm       Algorithm                    // zero means Auto
	Random          interface{ Uint64() uint64 } // for SingleRandomDraw; Auto without it does not draw
	// InputWeight returns the largest weight of an input that spends the script, or false
	// if it does not know the script; nil means [InputWeight]. It must be pure. The weight
	// of an input without a witness includes one unit for the empty witness.
	InputWeight func(script []byte) (weight int64, ok bool)

	Pinned           []wire.OutPoint // must be inputs; they obey all rules
	Exclude          []wire.OutPoint // must not be inputs
	Tag              *string         // only coins of this owner; nil for all
	MinConfirmations int32           // 0 and 1 are the same, unless unconfirmed coins are allowed
	Unconfirmed      Unconfirmeds    // needs MinConfirmations 0
	// PendingParents allows, within what Unconfirmed allows, coins of transactions that are
	// not broadcast yet. See [Selection.Parents].
	PendingParents bool
	// PayAncestors adds to the fee what each unconfirmed ancestor lacks of FeeRate. Each
	// ancestor is paid for once, whatever the number of inputs that descend from it; one
	// above the rate adds nothing. The candidates need fees, see [Query.Fees]; an ancestor
	// of unknown fee bars the coin.
	PayAncestors bool

	// AncestorLimit is the most unconfirmed ancestors that the new transaction may have,
	// itself included, each counted once over all inputs. 0 means 25, at most
	// MaxAncestorLimit. Only stored ancestors count: the ancestors of a foreign transaction
	// are unknown.
	AncestorLimit int
	// AncestorSize is the most virtual bytes of the new transaction and its unconfirmed
	// ancestors together. 0 means 101,000.
	AncestorSize int64
	// DescendantLimit is the most unconfirmed descendants that each of the ancestors may
	// have, itself and the new transaction included. 0 means 25, at most MaxAncestorLimit.
	// Only stored descendants count, in whichever wallet, also pending ones: descendants
	// that strangers made are unknown. A transaction and its replacement count as two.
	DescendantLimit int
	// DescendantSize is the most virtual bytes of each ancestor together with all its
	// descendants. 0 means 101,000.
	DescendantSize int64
	MaxInputs      int   // 0 means what the weight allows
	MaxWeight      int64 // of the transaction with change; 0 means MaxStandardWeight
	// DustLimit is the smallest change, in satoshi. 0 means Bitcoin Core's rule: at least
	// the dust threshold of ChangeScript, and more than the cost of spending it at the
	// long-term rate. Where all goes to ChangeScript, which is a payee's then, it is never
	// less than the threshold, and 0 means the threshold alone.
	DustLimit int64
	// DustRelay is the rate of the node's dust threshold, see [DustThreshold]. A payee's
	// output below the threshold is refused. 0 means DefaultDustRelay, at most MaxFeeRate.
	DustRelay FeeRate
}

// PaysSelf reports whether all that the request pays goes to the wallet itself: a sweep, or a child
// that pays for its parent.
func (r *Request) PaysSelf(p utxo.Policy, w utxo.WalletID) bool {
	if p.Owner == nil || r.Payment.Amount != 0 {
		return false
	}
	owner, is := p.Owner(r.ChangeScript)
	return is && owner.Wallet == w
}

// Selection is a set of coins that pays: the inputs sum up to the payment, the fee and the
// change exactly. What is owed as a fee is FeeRate.Fee(Weight) + AncestorFee, or, for a
// [Rewrite] that evicts transactions that paid more, what Replace says. With change, Fee is
// what is owed; without change, Fee is higher by the rest that was too small for change.
type Selection struct {
	Inputs []Candidate // pinned ones as asked, then by outpoint
	Fee    int64       // satoshi
	// AncestorFee is the part of Fee that makes up for unconfirmed ancestors below the
	// rate, 0 without [Request.PayAncestors].
	AncestorFee int64
	// Change is 0, or at least the dust limit. What is less goes to the fee.
	Change int64
	// Waste is Bitcoin Core's measure, in satoshi, rounded down: the fee of the inputs now
	// minus their fee at the long-term rate, plus the cost of change, or plus the excess if
	// there is no change.
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

// Select chooses coins for a payment. It is pure: equal arguments, and an equal sequence of
// random numbers, give an equal result.
//
// Select tries confirmed coins alone. If they are not enough, it adds own unconfirmed
// change, then change that is not broadcast, then foreign coins, as far as the request
// allows each of these tiers. A set pays if it brings the payment and [FeeRate.Fee] of its weight.
// A coin that costs as much as it brings, or more, is never selected: it costs the fee of
// its weight and, with PayAncestors, what its ancestors lack, except ancestors of pinned
// coins. So every coin adds value to a set, and, limits aside, if any set pays then all
// coins together pay (except for the 253rd input, whose count takes two more virtual
// bytes).
//
// Where no limit is in the way, every algorithm but BranchAndBound finds a selection if one
// exists; under MaxInputs too, if all coins are of one kind. Coins of different weights
// under MaxInputs or MaxWeight, and shared ancestors under AncestorLimit, make a packing
// problem: Auto and All then end with a search of 100,000 tries. A coin that would exceed a
// limit of unconfirmed chains, together with the coins taken before, is skipped. Room for a
// change output is kept within MaxWeight. All takes the largest coins first, tier by tier,
// and passes over those that do not fit; if these do not pay, it takes the set that the
// search finds, and adds what still fits.
//
// Errors: [statemachine.ErrInvalid], [*DustError] among them, then [*PinnedError], then
// [*Error].
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
