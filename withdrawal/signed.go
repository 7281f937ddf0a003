package withdrawal

import (
	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Signed is what an event has put on file of a payment: bytes that may be sent from then on. After a
// restore the log of them says how far the lost span signed, see [Bound] and [PayerLog].
type Signed struct {
	Event    string // Prepared, Rebumped, BatchPrepared or BatchReplaced
	Chain    uuid.UUID
	Wallet   uuid.UUID
	Nonce    uint64 // if HasNonce
	HasNonce bool
	Input    string // where there is no nonce; it may be empty
	Hash     string
	Request  uuid.UUID // zero of a batch
	Batch    uuid.UUID // zero of a request
}

// Signed returns what ev, which the request has taken, has put on file.
func (w *Withdrawal) Signed(ev Event) (s Signed, is bool) {
	switch e := ev.(type) {
	case Prepared:
		s.Hash = e.Hash
	case Rebumped:
		s.Hash = e.Hash
	default:
		return s, false
	}
	i := w.find(s.Hash)
	if i < 0 {
		return s, false
	}
	tx := &w.Txs[i]
	return Signed{statemachine.EventName(ev), w.Request.Chain, tx.Wallet, tx.Nonce, tx.HasNonce, tx.Input, tx.Hash,
		w.Request.ID, uuid.Nil}, true
}

// Signed returns what ev, which the batch has taken, has put on file.
func (b *Payout) Signed(ev BatchEvent) (s Signed, is bool) {
	switch e := ev.(type) {
	case BatchPrepared:
		s.Hash = e.Hash
	case BatchReplaced:
		s.Hash = e.Hash
	default:
		return s, false
	}
	i, of := b.find(s.Hash), &b.Batch
	if i < 0 {
		return s, false
	}
	return Signed{statemachine.EventName(ev), of.Chain, of.Wallet, of.Nonce, of.HasNonce, of.Input, b.Txs[i].Hash, uuid.Nil, of.ID}, true
}
