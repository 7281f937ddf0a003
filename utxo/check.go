package utxo

import (
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// Check returns the first invariant that the facts break, as [statemachine.ErrCorrupt]; nil
// if they keep all of them:
//
//   - stored blocks of neighbouring heights link to each other
//   - a confirmed transaction is published and in a stored block; a coinbase is either
//     published and confirmed or orphaned and unconfirmed; only a coinbase is orphaned
//   - every descendant of a dead transaction is dead
//   - an owned output names its live spender, if it has one, and nothing else
//   - of several live transactions that spend one output, all but one are pending
//     declared replacements, and none of them stands beside a confirmed one
//   - an output is owned by one wallet
//   - replacement edges join two stored transactions
func Check(s Snapshot) error {
	c := checker{
		txs: map[TxID]*Tx{}, live: map[walletOutPoint][]*Tx{}, declared: map[Replacement]bool{}, blocks: map[int32]Block{},
		owners: map[wire.OutPoint]WalletID{},
	}
	for i, b := range s.Blocks {
		if i > 0 && s.Blocks[i-1].Height == b.Height-1 && s.Blocks[i-1].Hash != b.Prev {
			return corrupt("block %d does not continue block %d", b.Height, b.Height-1)
		}
		c.blocks[b.Height] = b
	}
	for _, t := range s.Txs {
		c.txs[t.ID] = t
		for _, op := range t.Inputs {
			if t.Live() {
				at := walletOutPoint{t.ID.Wallet, op}
				c.live[at] = append(c.live[at], t)
			}
		}
	}
	for _, r := range s.Replaced {
		loser, winner := c.txs[TxID{r.Wallet, r.Loser}], c.txs[TxID{r.Wallet, r.Winner}]
		if loser == nil || winner == nil || loser == winner {
			return corrupt("replacement edge %s -> %s of wallet %d joins nothing", r.Loser, r.Winner, r.Wallet)
		}
		r.Declared = false // old edges do not know
		c.declared[r] = true
	}
	for _, t := range s.Txs {
		if err := c.tx(t); err != nil {
			return err
		}
	}
	for at, txs := range c.live {
		if err := c.rivals(at, txs); err != nil {
			return err
		}
	}
	return nil
}

type walletOutPoint struct {
	w  WalletID
	op wire.OutPoint
}

type checker struct {
	txs      map[TxID]*Tx
	live     map[walletOutPoint][]*Tx
	declared map[Replacement]bool
	blocks   map[int32]Block
	owners   map[wire.OutPoint]WalletID
}

func (c *checker) tx(t *Tx) error {
	_, inChain := c.blocks[t.Height]
	switch {
	case t.Confirmed() && (t.Status != Published || !inChain):
		return corrupt("%s is %s at height %d", t.ID, t.Status, t.Height)
	case t.Coinbase && !t.Confirmed() && t.Status != Orphaned, !t.Coinbase && t.Status == Orphaned:
		return corrupt("%s is %s at height %d, coinbase %t", t.ID, t.Status, t.Height, t.Coinbase)
	}
	for _, op := range t.Inputs {
		p := c.txs[TxID{t.ID.Wallet, op.Hash}]
		if p != nil && t.Live() && !p.Live() {
			return corrupt("%s is %s, its parent %s is %s", t.ID, t.Status, p.ID, p.Status)
		}
	}
	for i := range t.Outputs {
		out := &t.Outputs[i]
		at := walletOutPoint{t.ID.Wallet, wire.OutPoint{Hash: t.ID.Hash, Index: out.Index}}
		if w := c.owners[at.op]; w != 0 {
			return corrupt("%s is owned by wallet %d and by wallet %d", at.op, w, at.w)
		}
		c.owners[at.op] = at.w
		if err := c.spender(at, out.SpentBy); err != nil {
			return err
		}
	}
	return nil
}

// spender checks the live-spender pointer of an owned output.
func (c *checker) spender(at walletOutPoint, by chainhash.Hash) error {
	if by == none {
		if len(c.live[at]) > 0 {
			return corrupt("%s of wallet %d names no spender, but %s spends it", at.op, at.w, c.live[at][0].ID)
		}
		return nil
	}
	for _, t := range c.live[at] {
		if t.ID.Hash == by {
			return nil
		}
	}
	return corrupt("%s of wallet %d names %s, which is no live spender", at.op, at.w, by)
}

// rivals checks the live transactions that spend one output: at most one of them may be
// anything but a pending, declared replacement of another, and a confirmed one has no live
// rival.
func (c *checker) rivals(at walletOutPoint, txs []*Tx) error {
	holders := 0
	for _, t := range txs {
		replaces := false
		for _, other := range txs {
			replaces = replaces || c.declared[Replacement{Wallet: at.w, Loser: other.ID.Hash, Winner: t.ID.Hash}]
		}
		if t.Status != Pending || !replaces {
			holders++
		}
		if t.Confirmed() && len(txs) > 1 {
			return corrupt("%s of wallet %d has a live rival beside the confirmed %s", at.op, at.w, t.ID)
		}
	}
	if holders > 1 {
		return corrupt("%s of wallet %d has %d live spenders", at.op, at.w, holders)
	}
	return nil
}

// Audit recomputes a wallet's balance from the facts and compares it with what
// the store answers, per owner and in total. A difference is
// [statemachine.ErrCorrupt]. It reads the whole history.
func (p Policy) Audit(s Source, w WalletID, now time.Time) error {
	tip, ok, err := s.Tip()
	if err != nil {
		return err
	}
	if !ok {
		tip.Height = -1
	}
	snap, err := s.Snapshot()
	if err != nil {
		return err
	}
	if err := Check(snap); err != nil {
		return err
	}
	leases := map[wire.OutPoint]Lease{}
	for _, l := range snap.Leases {
		if l.Wallet == w {
			leases[l.OutPoint] = l
		}
	}
	behind := map[string]bool{}
	for _, wallet := range snap.Wallets {
		for _, o := range wallet.Behind {
			for _, tag := range o.Tags {
				behind[tag] = behind[tag] || wallet.ID == w
			}
		}
	}
	var total Balance
	perTag := map[string]*Balance{}
	for _, t := range snap.Txs {
		if t.ID.Wallet != w {
			continue
		}
		for _, out := range t.Outputs {
			if perTag[out.Tag] == nil {
				perTag[out.Tag] = new(Balance)
			}
			if !t.Live() || out.Spent() {
				continue
			}
			leased := leases[wire.OutPoint{Hash: t.ID.Hash, Index: out.Index}].Active(now)
			for _, b := range []*Balance{&total, perTag[out.Tag]} {
				bucket := p.bucket(t.Status, t.Height, t.Coinbase, tip.Height)
				if behind[out.Tag] {
					bucket = 0
				}
				b.add(bucket, out.Amount, leased)
			}
		}
	}
	got, err := s.Balance(p, w, nil, 0, now)
	if err != nil {
		return err
	}
	if got != total {
		return corrupt("balance of wallet %d is %+v, its coins say %+v", w, got, total)
	}
	for tag, want := range perTag {
		got, err := s.Balance(p, w, &tag, 0, now)
		if err != nil {
			return err
		}
		if got != *want {
			return corrupt("balance of wallet %d, owner %q is %+v, its coins say %+v", w, tag, got, *want)
		}
	}
	return nil
}

// add puts the amount into its bucket; 0 is that of an owner who is behind.
func (b *Balance) add(bucket OutputState, amount int64, leased bool) {
	switch bucket {
	case CoinConfirmed:
		b.Confirmed += amount
	case CoinUnconfirmed:
		b.Unconfirmed += amount
	case CoinImmature:
		b.Immature += amount
	case CoinPending:
		b.Pending += amount
	case 0:
		b.Unscanned += amount
	}
	if leased {
		b.Leased += amount
	}
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", statemachine.ErrCorrupt, fmt.Sprintf(format, args...))
}

// Replay walks the audit trail of a transaction through [TxMachine]. A trail
// that does not end in the status and version of t is [statemachine.ErrCorrupt].
func Replay(t Tx, trail []statemachine.Transition[TxID]) error {
	status, err := statemachine.Replay(TxMachine, trail)
	if err != nil {
		return err
	}
	if status != t.Status || int64(len(trail)) != t.Version {
		return corrupt("%s is %s at version %d, its trail says %s at %d", t.ID, t.Status, t.Version, status, len(trail))
	}
	return nil
}
