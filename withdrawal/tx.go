package withdrawal

import (
	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// txFacts is what an event says of a transaction.
type txFacts struct {
	Hash     string
	Raw      []byte
	Nonce    uint64
	HasNonce bool
	Input    string
	Cancel   bool
	ByOutput bool
	Output   uint32
	Batch    uuid.UUID // of which it is a version
}

// filing is the memory of a step that puts a request's first transaction on file.
type filing struct {
	log [1]statemachine.Transition[uuid.UUID]
	txs [1]Tx
}

// answering is the same where its signer has answered the first dispatch.
type answering struct {
	filing
	dispatches [1]Attempt
}

// replacing is the same for the first replacement.
type replacing struct {
	log [1]statemachine.Transition[uuid.UUID]
	txs [2]Tx
}

// addTx puts a live transaction on file. Old.Txs is not written through but
// copied, in one allocation with the log for the first two.
func (c *step) addTx(f txFacts) {
	j := &c.New.Job
	n := len(c.Old.Txs)
	switch {
	case c.room: // an import, the request's first
	case n == 0 && c.Log == nil && !c.Old.Job.DispatchedAt.IsZero() && len(c.Old.Dispatches) == 0:
		m := new(answering)
		c.Log, c.New.Txs, c.ended = m.log[:0], m.txs[:0], m.dispatches[:0]
	case n == 0 && c.Log == nil:
		m := new(filing)
		c.Log, c.New.Txs = m.log[:0], m.txs[:0]
	case n == 1 && c.Log == nil:
		m := new(replacing)
		c.Log, c.New.Txs = m.log[:0], m.txs[:0]
	default:
		c.New.Txs = make([]Tx, 0, n+1)
	}
	c.New.Txs = append(c.New.Txs, c.Old.Txs...)
	c.New.Txs = append(c.New.Txs, Tx{Request: j.Request, Seq: j.TxsOnFile + 1, Job: j.ID, Hash: f.Hash, Raw: f.Raw, Wallet: j.Wallet,
		Nonce: f.Nonce, HasNonce: f.HasNonce, Input: f.Input, Cancel: f.Cancel, ByOutput: f.ByOutput, Output: f.Output,
		Batch: f.Batch, CreatedAt: c.by.At})
	c.Txs = c.New.Txs[n:]
	j.TxsOnFile++
	j.TxHash = f.Hash
	if c.New.Request.StraysOnFile > 0 {
		c.settle(f.Hash)
	}
	if f.HasNonce {
		j.Nonce, j.HasNonce = f.Nonce, true
		if w := &c.New.Wallet; w.ID == j.Wallet && w.NextNonce <= f.Nonce {
			w.NextNonce = f.Nonce + 1
		}
	}
}

// wellFormed checks the parts of a transaction that come from outside.
func (c *step) wellFormed(f *txFacts) error {
	switch {
	case !word(f.Hash) || f.Input != "" && !word(f.Input):
		return c.refuse(statemachine.ErrInvalid, "a hash of 1 to 100 bytes is needed, and an input has at most 100")
	case len(f.Raw) > MaxRaw:
		return c.refuse(statemachine.ErrInvalid, "a signed transaction has at most 128 KiB")
	case int(c.Old.Request.StraysOnFile) != len(c.Old.Strays) || int(c.Old.Job.Dispatches) != len(c.Old.Dispatches):
		return c.refuse(statemachine.ErrInvalid, notAllLoaded)
	case len(c.Old.Txs) >= 2*MaxTxs || len(c.Old.Strays) >= 2*MaxTxs:
		return c.refuse(statemachine.ErrInvalid, fileFull)
	case f.HasNonce && f.Input != "":
		return c.refuse(statemachine.ErrInvalid, "a transaction is exclusive by its nonce or by its input, not by both")
	case !f.HasNonce && f.Nonce != 0:
		return c.refuse(statemachine.ErrInvalid, "a nonce without HasNonce")
	case !f.ByOutput && f.Output != 0:
		return c.refuse(statemachine.ErrInvalid, "an output without ByOutput")
	case f.Nonce > MaxNonce:
		return c.refuse(statemachine.ErrInvalid, "the nonce is above 2^63 - 2")
	case c.Old.find(f.Hash) >= 0:
		return c.refuse(statemachine.ErrInvalid, "this transaction is on file and proven dead")
	}
	return nil
}

// wellAdded is wellFormed for a transaction that a worker makes, and need not.
func (c *step) wellAdded(f *txFacts) error {
	if len(c.Old.Txs) >= MaxTxs {
		return c.refuse(statemachine.ErrInvalid, fileFull)
	}
	return c.wellFormed(f)
}

const fileFull = "a request has at most 100 transactions of workers, and as many besides that others tell of"

const notAllLoaded = "not all strays and dispatches of the request were loaded"

// MaxNonce bounds a nonce, so that it and the next one fit a signed 64-bit column.
const MaxNonce = 1<<63 - 2

// find returns the index of a transaction on file, or -1. A spelling of a hash
// is never another transaction.
func (w *Withdrawal) find(hash string) int {
	for i := range w.Txs {
		if statemachine.SameHash(w.Txs[i].Hash, hash) {
			return i
		}
	}
	return -1
}

// NamesOthers reports whether hash is not on file, so that it may be another
// request's: see Withdrawal.Owner.
func (w *Withdrawal) NamesOthers(hash string) bool { return hash != "" && w.find(hash) < 0 }

// Names returns the transaction that an event names for w and that may belong to another request, see Withdrawal.Owner:
// one by which, or by an output of which, w is paid, or one that was mined in place of the transactions on file. ok is
// false for any other event.
func (w *Withdrawal) Names(ev Event) (hash string, byOutput bool, output uint32, ok bool) {
	switch e := ev.(type) {
	case Broadcast:
		hash = e.Hash
	case Resolved:
		if e.Sent {
			hash, byOutput, output = e.Hash, e.ByOutput, e.Output
		}
	case PaidBy:
		hash, byOutput, output = e.Tx, true, e.Output
	case CannotTell:
		hash = e.Other
	case ProvenDead:
		if e.Cause == NonceUsed {
			hash = e.Other
		}
	}
	return hash, byOutput, output, w.NamesOthers(hash)
}

// live reports whether hash is on file and not proven dead.
func (w *Withdrawal) live(hash string) bool {
	i := w.find(hash)
	return i >= 0 && i >= int(w.Job.TxsDead)
}
