package coinselect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// Why [Replace] finds nothing, beside what [Select] says.
var (
	// ErrDescendants: live transactions spend its outputs and would die.
	ErrDescendants = statemachine.NewSentinel("descendants", "live descendants would be evicted")
	// ErrTooManyEvicted: more than MaxEvicted transactions would be evicted.
	ErrTooManyEvicted = statemachine.NewSentinel("too-many-evicted", "a replacement would evict too many transactions")
	// ErrLowFeeRate: the rate is not above that of what is to be replaced.
	ErrLowFeeRate = statemachine.NewSentinel("low-fee-rate", "fee rate is not above that of what it replaces")
)

// DescendantsError names the transactions that a replacement would evict besides the
// versions of the original. It matches [ErrDescendants].
type DescendantsError struct {
	ID          utxo.TxID
	Descendants []chainhash.Hash
}

func (e *DescendantsError) Error() string {
	return fmt.Sprintf("replacement of %s: %v: %v", e.ID, ErrDescendants, e.Descendants)
}

// Unwrap returns ErrDescendants.
func (e *DescendantsError) Unwrap() error { return ErrDescendants }

// ReplaceRequest says how to pay more for a transaction.
type ReplaceRequest struct {
	// Change is the index of the change output. Replace lowers this output first, and
	// leaves it out if less than the dust limit would remain. nil: every output is a
	// payee's.
	Change *uint32
	// Shrink is the index of a payee's output that pays for the higher fee, as in a
	// transaction that sent all coins. No input is added then. nil: every payee keeps the
	// whole amount.
	Shrink *uint32
	// IncrementalRelay is the rate that nodes ask of a replacement on top of what the
	// evicted transactions have paid, from 0 to MaxFeeRate; 0 means 1000.
	IncrementalRelay FeeRate
	// Evict names descendants that may be evicted.
	Evict []chainhash.Hash
	// Evicted and EvictedFee, in satoshi, are what a node says that the replacement would
	// evict: "descendantcount" and "fees.descendant" of getmempoolentry, for the version
	// that the node holds. The ledger does not know the transactions of strangers that
	// spend a payee's output, and a node refuses a replacement that pays less than
	// everything that it evicts (BIP 125, rules 3 and 4), or that evicts more than
	// [MaxEvicted] transactions (rule 5). The larger of the ledger's figure and this one
	// counts, so 0 leaves it to the ledger.
	Evicted    int
	EvictedFee int64
	// Coins has the new FeeRate and says which coins may be added; only confirmed coins
	// are. ChangeScript may be nil where Change or Shrink names an output. Payment, All,
	// Pinned, Unconfirmed, PendingParents and PayAncestors have no meaning here: a request
	// that sets one is refused.
	Coins Request
}

// Rewrite is a replacement. Inputs has those of the original first, in its order.
type Rewrite struct {
	Selection
	// Tx has no signatures. Version, lock time, the sequences of the kept inputs and the
	// order of the outputs are the original's. A new change output comes last. An added
	// input signals that the transaction may be replaced.
	Tx       *wire.MsgTx
	Replaces []chainhash.Hash // for [utxo.Submitted]
	Added    []wire.OutPoint  // inputs that the original had not
}

// Replace builds a replacement that a mempool accepts. It keeps all inputs and payees,
// lowers the change first, and adds inputs only if lowering the change is not enough. It
// adds only confirmed coins, so that no added coin descends from an evicted transaction.
// The fee is at least that of the replacement's weight. It is also at least what all
// evicted transactions have paid (as far as the ledger, or [ReplaceRequest.EvictedFee],
// knows) and [ReplaceRequest.IncrementalRelay] for the replacement's own size on top. The
// rate is above that of each version that is replaced.
//
// Errors: [statemachine.ErrInvalid], with [ErrUnknownFee] where the value of an input, or
// the weight of an unsigned input, is unknown; [*DescendantsError]; [ErrTooManyEvicted];
// [ErrLowFeeRate]; then as [Select].
func Replace(o Original, candidates []Candidate, req ReplaceRequest) (Rewrite, error) {
	coins := req.Coins
	changeAt, err := req.check(o)
	if err != nil {
		return Rewrite{}, err
	}
	for _, hash := range o.Descendants {
		if !slices.Contains(req.Evict, hash) {
			return Rewrite{}, &DescendantsError{ID: o.ID, Descendants: o.Descendants}
		}
	}
	incremental := cmp.Or(req.IncrementalRelay, 1000)
	switch {
	case max(o.Evicted, req.Evicted) > MaxEvicted:
		return Rewrite{}, fmt.Errorf("replacement of %s: %w: more than %d", o.ID, ErrTooManyEvicted, MaxEvicted)
	case len(o.Unknown) > 0:
		return Rewrite{}, fmt.Errorf("replacement of %s: %w: %w: %v", o.ID, statemachine.ErrInvalid, ErrUnknownFee, o.Unknown)
	case coins.FeeRate <= o.FeeRate:
		return Rewrite{},
			fmt.Errorf("replacement of %s: %w: %d and %d satoshi per 1000 virtual bytes", o.ID, ErrLowFeeRate, coins.FeeRate, o.FeeRate)
	}
	var payees []*wire.TxOut
	for i, out := range o.Tx.TxOut {
		if i != changeAt {
			payees = append(payees, out)
		} else if coins.ChangeScript == nil || req.Shrink != nil {
			coins.ChangeScript = out.PkScript
		}
	}
	if coins.Payment, err = Pay(payees...); err != nil {
		return Rewrite{}, err
	}
	coins.FeeRate = max(coins.FeeRate, incremental)
	s, err := newSelector(candidates, coins, req.Shrink != nil || coins.Payment.Amount == 0)
	if dust := new(DustError); errors.As(err, &dust) && changeAt >= 0 && dust.Output >= changeAt {
		dust.Output++ // change is none of the payees
	}
	if err != nil {
		return Rewrite{}, err
	}
	s.evicted, s.incremental = max(o.EvictedFee, req.EvictedFee), incremental
	pools, err := s.filter(candidates, coins)
	if err != nil {
		return Rewrite{}, err
	}
	if req.Shrink != nil {
		pools = [tiers][]input{}
	}
	for i, in := range o.Tx.TxIn {
		op, out := in.PreviousOutPoint, o.Spends[i]
		kept := input{Candidate: &Candidate{Coin: utxo.Coin{Wallet: o.ID.Wallet, OutPoint: op, Amount: out.Value, Script: out.PkScript},
			State: utxo.CoinSpent}}
		weight, err := inputWeight(coins, out.PkScript)
		if err != nil {
			return Rewrite{}, err
		}
		if weight == 0 {
			return Rewrite{}, &PinnedError{OutPoint: op, Err: ErrNoWeight}
		}
		kept.weight, kept.value = int32(weight), kept.Amount*perSatoshi-s.rate.units(weight)
		s.pinned = append(s.pinned, kept)
	}
	sel, err := s.choose(pools, coins)
	if err != nil {
		return Rewrite{}, err
	}
	return rewrite(o, sel, changeAt, coins.ChangeScript), nil
}

// check returns the index of the output that pays for the fee, -1 for none.
func (req ReplaceRequest) check(o Original) (int, error) {
	c := req.Coins
	switch {
	case o.Tx == nil || len(o.Spends) != len(o.Tx.TxIn) || len(o.Unknown) == 0 && slices.Contains(o.Spends, nil):
		return 0, invalid("an original that was not read by ReadOriginal")
	case req.Change != nil && req.Shrink != nil:
		return 0, invalid("change and a payee that shrinks, of one transaction")
	case c.Payment != (Payment{}) || c.All || len(c.Pinned) > 0 || c.Unconfirmed != 0 || c.PendingParents || c.PayAncestors:
		return 0, invalid("a replacement keeps payees and inputs, and adds confirmed coins alone")
	case c.FeeRate < 0 || req.IncrementalRelay < 0 || req.IncrementalRelay > MaxFeeRate:
		return 0, invalid("fee rates of %d and %d satoshi per 1000 virtual bytes", c.FeeRate, req.IncrementalRelay)
	case req.Evicted < 0 || req.EvictedFee < 0 || req.EvictedFee > utxo.MaxMoney:
		return 0, invalid("%d evicted transactions that paid %d satoshi", req.Evicted, req.EvictedFee)
	case len(req.Evict) > MaxCandidates:
		return 0, invalid("%d descendants", len(req.Evict))
	}
	at := -1
	for _, index := range []*uint32{req.Change, req.Shrink} {
		if index == nil {
			continue
		}
		if int64(*index) >= int64(len(o.Tx.TxOut)) {
			return 0, invalid("output %d of %s, which has %d", *index, o.ID, len(o.Tx.TxOut))
		}
		at = int(*index)
	}
	return at, nil
}

// rewrite puts the replacement together.
func rewrite(o Original, sel Selection, changeAt int, changeScript []byte) Rewrite {
	tx := wire.NewMsgTx(o.Tx.Version)
	tx.LockTime = o.Tx.LockTime
	out := Rewrite{Selection: sel, Tx: tx, Replaces: slices.Clone(o.Versions)}
	for i, in := range sel.Inputs {
		sequence := uint32(maxReplaceable)
		if i < len(o.Tx.TxIn) {
			sequence = o.Tx.TxIn[i].Sequence
		} else {
			out.Added = append(out.Added, in.OutPoint)
		}
		tx.AddTxIn(&wire.TxIn{PreviousOutPoint: in.OutPoint, Sequence: sequence})
	}
	change := wire.NewTxOut(sel.Change, slices.Clone(changeScript))
	for i, payee := range o.Tx.TxOut {
		switch {
		case i != changeAt:
			tx.AddTxOut(wire.NewTxOut(payee.Value, slices.Clone(payee.PkScript)))
		case sel.Change > 0:
			tx.AddTxOut(change)
		}
	}
	if changeAt < 0 && sel.Change > 0 {
		tx.AddTxOut(change)
	}
	return out
}
