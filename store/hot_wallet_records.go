package store

import (
	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// HotWalletRecords stores the wallets that pay withdrawals, whose nonces are taken, and what is said
// of the wallets after a restore. It decides nothing.
type HotWalletRecords interface {
	// OfChain returns the wallets of a chain, by id, without a lock, each with its NextNonce and with Outbound, which
	// [withdrawal.OutboundOf] derives from the wallets of the chain.
	OfChain(chain uuid.UUID) ([]withdrawal.HotWallet, error)
	// Put inserts a wallet, or sets role and status of a stored one,
	// which keeps its chain, LastUsedAt and BalanceReserved: they belong to the
	// withdrawals. NextNonce and Outbound are derived and not stored; an empty
	// BalanceReserved is "0".
	Put(withdrawal.HotWallet) error
	// Get returns these wallets as OfChain does, without those that do
	// not exist.
	Get(ids ...uuid.UUID) ([]withdrawal.HotWallet, error)
	// NoncesFrom returns the nonces at or above one that are on file of a wallet, each
	// with the request whose job owns it, zero for that of a filler, ascending.
	NoncesFrom(wallet uuid.UUID, from uint64) ([]withdrawal.OwnedNonce, error)
	// PutFiller records a filler. The same filler again changes nothing. A nonce that a job has is
	// [withdrawal.ErrNonceTaken] in a TakenError, a nonce of another filler is [withdrawal.ErrNonceUsed], and for a
	// hash that has another nonce the error is [withdrawal.Filler.Twice]. For a hash that a request has on file or among
	// its strays it is [withdrawal.ErrPaymentTaken] in a TakenError, and for a wallet that does not exist
	// [statemachine.ErrNotFound].
	PutFiller(withdrawal.Filler) error

	// Say appends statements about the hot wallets of a database that was put back, in their
	// order. A wallet that does not exist is [statemachine.ErrNotFound]; in a View it is
	// [statemachine.ErrIllegal].
	Say(statements ...withdrawal.Statement) error
	// Statements returns the statements about a chain that were said in a generation or later ones, in their order. In
	// an Update it keeps every other transaction that calls it for the chain out until this one ends, and reads only
	// then: so a Start either sees a statement or comes before it.
	Statements(chain uuid.UUID, generation int64) ([]withdrawal.Statement, error)
	// Unclaimed returns, of every generation and in the order in which they were said, the
	// statements about a chain that [withdrawal.UnclaimedFor] looks at.
	Unclaimed(chain uuid.UUID) ([]withdrawal.Statement, error)
}
