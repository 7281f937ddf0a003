package withdrawal

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// FreeNonce is the nonce to offer to the next transaction of a wallet: the lowest at or above the chain's next one that
// nothing on file has. taken is ascending. FreeNonce fills gaps, since no transaction above a gap can be mined before
// the gap is filled.
//
// The chain's next nonce is how many transactions of the wallet are in blocks (eth_getTransactionCount at "latest"), or
// in blocks and in the node's mempool ("pending"): a nonce that is both in the mempool and on file is skipped anyway.
// It is never the count at "finalized" or "safe": a nonce that a later block has used, by a transaction that is not on
// file, would be offered again, and no node takes it.
func FreeNonce(chain uint64, taken []uint64) uint64 {
	for _, n := range taken {
		if n == chain {
			chain++
		}
	}
	return chain
}

// Gaps returns the nonces, from the chain's next one on, that nothing holds although a transaction holds a higher one:
// at most limit. held is ascending, see [Withdrawal.HoldsNonce].
func Gaps(chain uint64, held []uint64, limit int) (gaps []uint64) {
	for _, n := range held {
		for ; chain < n && len(gaps) < limit; chain++ {
			gaps = append(gaps, chain)
		}
		if n >= chain {
			chain = n + 1
		}
	}
	return gaps
}

// HoldsNonce reports whether a transaction that has the nonce of the wallet was mined or may still be. If all
// transactions with the nonce are declared dead, the chain should have used it; if it has not, a proof of death was
// wrong, and the nonce is a gap.
func (w *Withdrawal) HoldsNonce(wallet uuid.UUID, nonce uint64) bool {
	return slices.ContainsFunc(w.Live(), func(t Tx) bool { return t.exclusive(wallet, true, nonce, "") }) ||
		slices.ContainsFunc(w.Strays, func(s Stray) bool {
			return s.SettledAt.IsZero() && s.HasNonce && s.Wallet == wallet && s.Nonce == nonce
		})
}

// OwnedNonce is a nonce of a wallet that is on file.
type OwnedNonce struct {
	Nonce   uint64
	Request uuid.UUID // whose job owns it; zero for that of a filler
}

// reopened refuses a new transaction if another one of this request was declared dead since its nonce was used, and the
// chain's next nonce is not above that nonce: the proof was wrong, and both could be mined. A new transaction with the
// same nonce cannot be mined beside the dead one and fills the gap: it is accepted, with an [Incident] for the job that
// owns the nonce. Any other, as after a requeue, waits until the gap is filled from outside.
func (c *step) reopened(nonce, chainNext uint64, told bool) error {
	if !told {
		return nil
	}
	dead := func(hash string, wallet uuid.UUID, has bool, of uint64) error {
		switch {
		case !has || wallet != c.Old.Job.Wallet || of < chainNext:
			return nil
		case of != nonce:
			return c.refuse(ErrNonceGap, fmt.Sprintf("%s was declared dead, and its nonce %d is not used, says the chain: "+
				"only a transaction with that nonce cannot be mined beside it", hash, of))
		}
		return c.incident(hash, ClaimNotDead, Block{})
	}
	for i := range c.Old.Txs[:c.Old.Job.TxsDead] {
		tx := &c.Old.Txs[i]
		if err := dead(tx.Hash, tx.Wallet, tx.HasNonce, tx.Nonce); err != nil {
			return err
		}
	}
	for i := range c.Old.Strays {
		s := &c.Old.Strays[i]
		if s.Claim != ClaimSent || s.SettledAt.IsZero() || c.Old.find(s.Hash) >= 0 {
			continue
		}
		if err := dead(s.Hash, s.Wallet, s.HasNonce, s.Nonce); err != nil {
			return err
		}
	}
	return nil
}

// nonceFault refuses a nonce that is used or leaves a gap, and any nonce of a wallet of which the chain has mined a
// transaction that is on no file. Only the store's unique rule can say whether a nonce below the highest on file is
// owned by another job.
func (p *Policy) nonceFault(c *step, e *Prepared) error {
	w := &c.Old.Wallet
	chain := p.chain(c.Old.Job.Chain)
	loaded := w.ID != uuid.Nil && w.ID == c.Old.Job.Wallet
	switch {
	case !chain.Nonces:
		return nil
	case !e.HasChainNonce:
		return c.refuse(statemachine.ErrInvalid, "the chain's next nonce is needed")
	case e.ChainNonce > MaxNonce:
		return c.refuse(statemachine.ErrInvalid, "the chain's next nonce is above 2^63 - 2")
	}
	if loaded {
		if err := p.unknownBelow(c, e.ChainNonce); err != nil {
			return err
		}
	}
	switch {
	case e.Nonce < e.ChainNonce:
		return c.refuse(ErrNonceUsed, fmt.Sprintf("nonce %d, the chain's next is %d", e.Nonce, e.ChainNonce))
	case !loaded:
		return nil
	}
	next := max(w.NextNonce, e.ChainNonce)
	if e.Nonce > next && e.Nonce-next > chain.NonceGap {
		return c.refuse(ErrNonceGap, fmt.Sprintf("nonce %d, the next is %d", e.Nonce, next))
	}
	return nil
}

// unknownBelow refuses a payment of a wallet if nonces below the chain's next one are neither on file nor told as
// [Used]: transactions on no file have used them. The wallet's [Bound] says where its numbers begin, and the chain must
// have reached the bound. Without a bound the first nonce of the wallet says it, but not after a restore.
func (p *Policy) unknownBelow(c *step, chainNext uint64) error {
	w := &c.Old.Wallet
	known, based := w.NextNonce, w.NextNonce != 0
	if based && chainNext <= known {
		return nil
	}
	for i := range c.Old.Said {
		if s := &c.Old.Said[i]; s.Wallet == w.ID && s.Says == SaidThrough && w.NextNonce == 0 {
			known, based = s.Number, true
		}
	}
	open := Open{Chain: w.Chain, Wallet: w.ID, Point: OpenBound}
	if !based {
		if c.Old.Generation == 0 {
			return nil
		}
		return p.unsettled(c, open, nil)
	}
	if w.NextNonce == 0 && chainNext < known { // what was signed before may still be mined
		open.Point, open.Number = OpenNonce, chainNext
		return p.unsettled(c, open, nil)
	}
	said := c.unknownFrom(known, chainNext, fmt.Sprintf("the chain's next nonce is %d", chainNext))
	if len(said) == 0 {
		return nil
	}
	open.Point, open.Number = OpenUntold, said[0].Number
	return p.unsettled(c, open, said)
}

// skipped tells of the nonces between the wallet's next one on file and that of a payment which is mined at depth and is
// on no file: the chain has used them too, and once the payment is on file nothing would ask for them. After
// a restore [Unsettled] asks.
func (c *step) skipped(tx *txFacts) {
	w := &c.Old.Wallet
	if c.Old.Recovering || !tx.HasNonce || w.ID == uuid.Nil || w.ID != c.Old.Job.Wallet || w.NextNonce == 0 {
		return
	}
	c.Said = append(c.Said, c.unknownFrom(w.NextNonce, tx.Nonce, "what has nonce "+fmt.Sprint(tx.Nonce)+" is mined")...)
}

// unknownFrom are the nonces of the wallet from one to another that nobody has told as [Used], at most [MaxGaps].
func (c *step) unknownFrom(known, next uint64, why string) (said []Statement) {
	var used []uint64
	for i := range c.Old.Said {
		if s := &c.Old.Said[i]; s.Wallet == c.Old.Wallet.ID && s.Says == SaidUsed {
			used = append(used, s.Number)
		}
	}
	slices.Sort(used)
	for n := FreeNonce(known, used); n < next && len(said) < MaxGaps; n = FreeNonce(n+1, used) {
		said = append(said, c.unknown(c.Old.Wallet.ID, n, "", why+": was the database put back?"))
	}
	return said
}

// unsettled refuses a payment of a wallet that is not explained, and gives its execution back: it is no
// fault of the payment.
func (p *Policy) unsettled(c *step, open Open, said []Statement) error {
	e := &UnsettledError{Open: open, Said: said}
	if c.Old.Job.Status != JobProcessing {
		return c.refuse(e, "")
	}
	back := GivenBack{By: c.by, Fence: c.Old.Job.Lease.Fence, Reason: statemachine.Bounded(e.Error(), MaxText), refused: true}
	if _, stops := c.Old.outbound(); len(said) == 0 && !stops { // the wallet stays on, and the execution would be offered again at once
		back.For = max(p.holdUntil(c.Old.Job.Deferrals, c.by.At).Sub(c.by.At), p.EnqueueEvery) // HoldFor may be zero
	}
	back.Version = 0
	e.Back = []Ended{{c.Old.Request.ID, back}}
	return c.refuse(e, "")
}

// unknown is the row of an unknown outbound.
func (c *step) unknown(wallet uuid.UUID, nonce uint64, hash, reason string) Statement {
	return Statement{Chain: c.Old.Request.Chain, Wallet: wallet, Generation: c.Old.Generation, Says: SaidUnknown, Number: nonce, Hash: hash,
		Reason: statemachine.Bounded(reason, MaxText), Actor: c.by.Actor, At: c.by.At}
}

// UnknownOutbound is a nonce of a hot wallet that was used by a transaction on no file.
type UnknownOutbound struct {
	Wallet uuid.UUID
	Nonce  uint64
	Hash   string // empty if nobody knows it
}

// UnknownOutbounds returns the unknown outbounds among the statements that are still open: no [Used] of the nonce was
// said since, no filler has the nonce, and, if the hash is not known, no job has it either. holds looks that up; its
// error is returned. all are in the order in which they were said.
func UnknownOutbounds(all []Statement, holds func(wallet uuid.UUID, nonce uint64) (filler, job bool, err error)) (open []UnknownOutbound,
	err error) {
	for i := range all {
		s := &all[i]
		switch u := (UnknownOutbound{s.Wallet, s.Number, s.Hash}); s.Says {
		case SaidUsed:
			open = slices.DeleteFunc(open, func(o UnknownOutbound) bool { return o.Wallet == u.Wallet && o.Nonce == u.Nonce })
		case SaidUnknown:
			if !slices.Contains(open, u) {
				open = append(open, u)
			}
		}
	}
	open = slices.DeleteFunc(open, func(u UnknownOutbound) bool {
		filler, job := false, false
		if err == nil {
			filler, job, err = holds(u.Wallet, u.Nonce)
		}
		return filler || u.Hash == "" && job
	})
	return open, err
}

// Filler is a transaction of a hot wallet that pays no request: it fills a gap of nonces, or was made outside. It is
// recorded so that no job takes its nonce; nobody sends or watches it. A transaction that pays a request, or many, is
// no filler: say [PaidBy] for each request by its output, since a filler can never become a payment.
type Filler struct {
	Wallet    uuid.UUID
	Chain     uuid.UUID
	Nonce     uint64
	Hash      string
	Actor     string
	Reason    string // bounded
	CreatedAt time.Time
}

// Twice is the refusal of a filler whose hash another one has: a transaction has
// one nonce of one wallet, and a second one would be taken for ever.
func (f *Filler) Twice() error {
	return &statemachine.Refusal{Err: ErrPaymentTaken, Machine: "hot wallet", ID: f.Wallet.String(), Event: "filler",
		Reason: f.Hash + " is a filler with another nonce"}
}

// Fits is [statemachine.ErrInvalid] for a filler that is of another chain than its
// wallet: whoever names its hash would not be found by it.
func (f *Filler) Fits(wallet HotWallet) error {
	if f.Chain != wallet.Chain {
		return fmt.Errorf("%w: the filler is of chain %s, hot wallet %s of chain %s", statemachine.ErrInvalid, f.Chain, wallet.ID, wallet.Chain)
	}
	return nil
}

// Pays is [statemachine.ErrInvalid] for a filler that was told as [Used], and pays somebody: a filler never becomes a
// payment. said are the statements about the chain, of every generation.
func (f *Filler) Pays(said []Statement) error {
	for _, tx := range knownOf(said, f.Wallet).used {
		if len(tx.pays) > 0 && statemachine.SameHash(tx.Hash, f.Hash) {
			return fmt.Errorf("%w: %s was told as Used, and pays %s: say PaidBy of the request, or Unclaimed", statemachine.ErrInvalid, f.Hash,
				tx.pays[0].Text)
		}
	}
	return nil
}

// NewFiller returns f as it is stored; what is out of bounds is
// [statemachine.ErrInvalid].
func NewFiller(f Filler) (Filler, error) {
	at, err := statemachine.Time(f.CreatedAt)
	if err != nil {
		return f, err
	}
	switch {
	case f.Wallet == uuid.Nil || f.Chain == uuid.Nil:
		err = fmt.Errorf("%w: a filler has a wallet and a chain", statemachine.ErrInvalid)
	case !word(f.Hash):
		err = fmt.Errorf("%w: a hash has 1 to 100 bytes", statemachine.ErrInvalid)
	case f.Nonce > MaxNonce:
		err = fmt.Errorf("%w: the nonce is above 2^63 - 2", statemachine.ErrInvalid)
	default:
		err = statemachine.Actor(f.Actor)
	}
	f.CreatedAt, f.Reason = at, statemachine.Bounded(f.Reason, MaxText)
	return f, err
}
