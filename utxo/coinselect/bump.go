package coinselect

import (
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// ErrNoShortfall: the transaction and its unconfirmed ancestors are all at the rate or
// above, so that a child would pay for nothing.
var ErrNoShortfall = statemachine.NewSentinel("no-shortfall", "no unconfirmed ancestor is below the fee rate")

// Bump selects coins for a child that pays for its parent. It spends one coin of the
// parent, of those that suffice the one with the least waste, and adds confirmed coins only
// if no coin of the parent suffices. All but the fee goes to ChangeScript. Bump sets
// Payment, All, Pinned, Unconfirmed, PendingParents and PayAncestors of the request itself.
// The candidates need fees, see [Query.Fees]. The host broadcasts the pending ancestors of
// the child first, see [Selection.Parents].
//
// Errors: [statemachine.ErrNotFound] if no candidate is a coin of the parent;
// [statemachine.ErrIllegal] if the parent is confirmed; [ErrNoShortfall]; then as [Select],
// with [ErrUnknownFee] in a [*PinnedError] where an ancestor's fee is unknown.
func Bump(candidates []Candidate, parent chainhash.Hash, req Request) (Selection, error) {
	if req.Payment != (Payment{}) || req.All || len(req.Pinned) > 0 || req.Unconfirmed != 0 || req.PendingParents || req.PayAncestors ||
		req.MinConfirmations < 0 {
		return Selection{}, invalid("a child that pays for its parent pays nobody else, and takes confirmed coins beside it")
	}
	req.Unconfirmed, req.PendingParents, req.PayAncestors = AnyUnconfirmed, true, true
	least := max(req.MinConfirmations, 1)
	req.MinConfirmations = 0
	var pool, coins []Candidate
	for _, c := range candidates {
		switch {
		case c.OutPoint.Hash == parent:
			coins = append(coins, c)
		case c.Confirmations >= least:
			pool = append(pool, c)
		}
	}
	if len(coins) == 0 {
		return Selection{}, &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: utxo.TxMachine.Name(), ID: parent.String(),
			Event: "bump", Reason: "it has no unspent coin of the wallet"}
	}
	if coins[0].Confirmations > 0 {
		return Selection{}, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: utxo.TxMachine.Name(), ID: parent.String(),
			Event: "bump", Reason: "it is confirmed"}
	}
	slices.SortFunc(coins, func(a, b Candidate) int { return utxo.CompareOutPoints(a.OutPoint, b.OutPoint) })
	var best Selection
	var refusal error
	for _, c := range coins {
		req.Pinned = []wire.OutPoint{c.OutPoint}
		switch sel, err := Select(append(slices.Clip(pool), c), req); {
		case err == nil && (best.Inputs == nil || sel.Waste < best.Waste):
			best = sel
		case err != nil && refusal == nil:
			refusal = err
		}
	}
	switch {
	case best.Inputs == nil:
		return Selection{}, refusal
	case best.AncestorFee == 0:
		return Selection{}, ErrNoShortfall
	}
	return best, nil
}
