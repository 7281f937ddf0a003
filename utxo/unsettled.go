package utxo

import (
	"fmt"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine/switches"
)

// After a restore the database has forgotten payments. One that is signed and in no block can
// still be mined, until the coins that it spends are spent by something else, for good. So the
// wallet is unsettled: it pays itself alone, as a sweep or a child that pays for its parent does,
// until every coin that may have been spent before the restore is spent at depth.

// Forgotten is the tag of addresses that were handed out before a restore and are in no table:
// the host announces the span of numbers behind the last one that it knows, receive and change, as
// this owner. Its coins are seen, and swept where a [coinselect.Query] names the tag; no other
// selection takes them, and no deposit of this owner is credited. The tag has no other use.
const Forgotten = "forgotten"

// SettledDepth is how many blocks deep a spend must be before a wallet may pay others again after
// a restore. A block of the tip is one deep.
const SettledDepth = 6

// UnsettledError is what stands open before a wallet may pay others again after a restore. It is
// [switches.ErrUnsettled].
type UnsettledError struct {
	Wallet WalletID
	// Coin is the first one, in order of arrival, that may have been spent before the restore;
	// zero where something else stands open.
	Coin wire.OutPoint
	Why  string
}

func (e *UnsettledError) Error() string {
	if e.Coin != (wire.OutPoint{}) {
		return fmt.Sprintf("%v: wallet %d: %s: %s", switches.ErrUnsettled, e.Wallet, e.Coin, e.Why)
	}
	return fmt.Sprintf("%v: wallet %d: %s", switches.ErrUnsettled, e.Wallet, e.Why)
}

// Unwrap returns ErrUnsettled.
func (e *UnsettledError) Unwrap() error { return switches.ErrUnsettled }

// Unsettled returns the first condition that a wallet misses before it may pay others again, nil if
// it misses none, in a database whose restore was reported at the time restored. Unsettled does not
// see what a person has to do before: offer the mempool, announce the owners that were announced
// since the copy was made, and find out who was paid by the transactions that have spent the coins.
// The conditions:
//
//   - The wallet and all its owners are scanned to the tip.
//   - No coin is left that may have been spent before: one that the ledger knew at restored, one
//     of a block whose time is at most two hours later, and an output of a transaction that spends
//     a coin of the wallet and was not submitted since. The coins of strangers that came later
//     are new; a host that spends what strangers have not confirmed sweeps them too.
//   - Every transaction that spends a coin of the wallet is SettledDepth deep.
func Unsettled(s Source, w WalletID, restored time.Time) (*UnsettledError, error) {
	open := func(coin wire.OutPoint, why string, args ...any) *UnsettledError {
		return &UnsettledError{w, coin, fmt.Sprintf(why, args...)}
	}
	tip, chain, err := s.Tip()
	if err != nil {
		return nil, err
	}
	wallets, err := s.Wallets(w)
	if err != nil {
		return nil, err
	}
	if of := wallets[0]; !chain || of.ScannedTo < tip.Height || len(of.Behind) > 0 {
		return open(wire.OutPoint{}, "the wallet or an owner is not scanned to the tip"), nil
	}
	u := unsettled{s: s, w: w, restored: restored}
	coins, err := s.Unspent(w, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range coins {
		if fresh, err := u.fresh(c.OutPoint.Hash); err != nil || !fresh {
			return open(c.OutPoint, "it may have been spent before the restore: sweep it to the wallet itself"), err
		}
	}
	for after := (*HistoryKey)(nil); ; {
		page, err := s.History(w, after, 100)
		if err != nil || len(page) == 0 {
			return nil, err
		}
		for _, t := range page {
			if t.Confirmed() && tip.Height-t.Height+1 >= SettledDepth {
				return nil, nil // as is all that follows
			}
			if !t.Live() {
				continue
			}
			if spends, err := u.spends(t); err != nil || spends {
				return open(wire.OutPoint{}, "transaction %s spends its coins and is not %d blocks deep", t.ID.Hash, SettledDepth), err
			}
		}
		last := page[len(page)-1].Key()
		after = &last
	}
}

// unsettled is one run of [Unsettled].
type unsettled struct {
	s        Source
	w        WalletID
	restored time.Time
	known    map[chainhash.Hash]bool
}

// fresh reports whether nobody can have spent the outputs of a transaction before the restore.
func (u *unsettled) fresh(hash chainhash.Hash) (bool, error) {
	if is, known := u.known[hash]; known {
		return is, nil
	}
	id := TxID{u.w, hash}
	txs, err := u.s.Txs(id)
	if err != nil || len(txs) == 0 {
		return false, err
	}
	t := txs[0]
	is := t.FirstSeen.After(u.restored)
	if is && t.Confirmed() {
		// Consensus takes a block whose time is at most two hours ahead.
		blocks, err := u.s.Blocks(t.Height, t.Height)
		if err != nil {
			return false, err
		}
		is = len(blocks) == 1 && blocks[0].Time.After(u.restored.Add(2*time.Hour))
	}
	spends, err := u.spends(t)
	if err != nil {
		return false, err
	}
	if spends {
		trail, err := u.s.Transitions(id)
		if err != nil {
			return false, err
		}
		is = len(trail) > 0 && trail[0].Trigger == onSubmit.String() && trail[0].At.After(u.restored)
	}
	if u.known == nil {
		u.known = map[chainhash.Hash]bool{}
	}
	u.known[hash] = is
	return is, nil
}

// spends reports whether a transaction spends a coin of the wallet.
func (u *unsettled) spends(t *Tx) (bool, error) {
	coins, err := u.s.Coins(u.w, t.Inputs...)
	return len(coins) > 0, err
}

// payself refuses a new transaction of an unsettled wallet that pays somebody else.
func (pl *plan) payself(v *vertex, ev Submitted) error {
	if !ev.Unsettled {
		return nil
	}
	for i := range v.shown.msg.TxOut {
		own := func(o owned) bool { return o.index == uint32(i) && o.Wallet == ev.Wallet }
		if !slices.ContainsFunc(v.shown.owners, own) {
			why := fmt.Sprintf("output %d of %s is not the wallet's own", i, v.hash)
			return &UnsettledError{Wallet: ev.Wallet, Why: why}
		}
	}
	return nil
}
