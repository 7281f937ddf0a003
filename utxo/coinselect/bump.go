package coinselect

import (
	"errors"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// ErrNoShortfall: neither the transaction nor an unconfirmed ancestor of it is
// below the rate, so that a child would pay for nothing.
var ErrNoShortfall = errors.New("no unconfirmed ancestor is below the fee rate")

// Bump selects for a child that pays for its parent: one coin of the parent,
// that with the least waste of those that do, and confirmed coins only if that
// does not bring enough. All but the fee goes to ChangeScript. Of the request,
// Payment, All, Pinned, Unconfirmed, PendingParents and PayAncestors are set
// here. The candidates need fees, see [Query.Fees]. What is pending
// above the child is to be broadcast first, see [Selection.Parents].
//
// Errors: [statemachine.ErrNotFound] if no candidate is a coin of the parent;
// [statemachine.ErrIllegal] if it is confirmed; [ErrNoShortfall]; then as
// [Select], with [ErrUnknownFee] in a [*PinnedError] where an ancestor's fee is
// not known.
func Bump(candidates []Candidate, parent chainhash.Hash, req Request) (Selection, error) {
	if req.Payment != (Payment{}) || req.All || len(req.Pinned) > 0 || req.Unconfirmed != 0 || req.PendingParents || req.PayAncestors || req.MinConfirmations < 0 {
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
		return Selection{}, &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: utxo.TxMachine.Name(), ID: parent.String(), Event: "bump", Reason: "it has no unspent coin of the wallet"}
	}
	if coins[0].Confirmations > 0 {
		return Selection{}, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: utxo.TxMachine.Name(), ID: parent.String(), Event: "bump", Reason: "it is confirmed"}
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
