package utxo

import (
	"slices"
	"strconv"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// count adds (+1) or takes away (-1) the live unspent outputs of e.
func (l *Ledger) count(e *keptRow, sign int64) {
	for i := range e.tx.Outputs {
		l.countOne(e, &e.tx.Outputs[i], sign)
	}
}

// countOne is count for one output of e.
func (l *Ledger) countOne(e *keptRow, out *Output, sign int64) {
	if !e.tx.Live() || out.Spent() {
		return
	}
	b := l.books[e.tx.ID.Wallet]
	b.unspent += int(sign)
	bucket := l.policy.bucket(e.tx.Status, e.tx.Height, e.tx.Coinbase, l.tip)
	b.total.add(bucket, sign*out.Amount, false)
	of := b.byTag[out.Tag]
	if of == nil {
		of = new(Balance)
		b.byTag[out.Tag] = of
	}
	of.add(bucket, sign*out.Amount, false)
}

// Balance implements [Queries]. It reads the running sums, the active leases, and, for more
// than one confirmation, the last blocks. The sums are kept for the maturity of the
// ledger's own policy: a policy with another maturity is [statemachine.ErrInvalid].
func (l *Ledger) Balance(p Policy, w WalletID, tag *string, minConfirmations int32, now time.Time) (Balance, error) {
	b := l.books[w]
	if b == nil {
		return Balance{}, unknownWallet(w)
	}
	if p.maturity() != l.policy.maturity() {
		return Balance{}, invalid("the ledger was made for a maturity of %d, not %d", l.policy.maturity(), p.maturity())
	}
	if err := CheckConfirmations(minConfirmations); err != nil {
		return Balance{}, err
	}
	bal := b.total
	if tag != nil {
		bal = Balance{}
		if of := b.byTag[*tag]; of != nil {
			bal = *of
		}
	}
	var behind map[string]bool
	if len(b.Behind) > 0 {
		behind = map[string]bool{}
	}
	for _, o := range b.Behind {
		for _, t := range o.Tags {
			of := b.byTag[t]
			if behind[t] = true; of == nil || tag != nil && *tag != t {
				continue
			}
			bal.Confirmed -= of.Confirmed
			bal.Unconfirmed -= of.Unconfirmed
			bal.Immature -= of.Immature
			bal.Pending -= of.Pending
			bal.Unscanned += of.Confirmed + of.Unconfirmed + of.Immature + of.Pending
		}
	}
	for h := l.tip; minConfirmations > 1 && h > l.tip-minConfirmations+1; h-- {
		if h < 0 {
			break
		}
		for _, e := range l.heights[h] {
			if e.tx.ID.Wallet != w || l.policy.bucket(e.tx.Status, e.tx.Height, e.tx.Coinbase, l.tip) != CoinConfirmed {
				continue
			}
			for i := range e.tx.Outputs {
				if out := &e.tx.Outputs[i]; !out.Spent() && !behind[out.Tag] && (tag == nil || *tag == out.Tag) {
					bal.BelowMin += out.Amount
				}
			}
		}
	}
	bal.Confirmed -= bal.BelowMin
	for _, lease := range slices.Backward(b.ends) {
		if !lease.Active(now) {
			break
		}
		op := lease.OutPoint
		e := l.row(TxID{w, op.Hash})
		if out := e.tx.Output(op.Index); e.tx.Live() && !out.Spent() && (tag == nil || *tag == out.Tag) {
			bal.Leased += out.Amount
		}
	}
	return bal, nil
}

// CheckConfirmations refuses less than 0 confirmations: [statemachine.ErrInvalid].
func CheckConfirmations(n int32) error {
	if n < 0 {
		return invalid("%d confirmations", n)
	}
	return nil
}

func unknownWallet(w WalletID) error {
	return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "utxo.wallet", ID: strconv.FormatInt(int64(w), 10)}
}
