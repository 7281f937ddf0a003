package store

import (
	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// HotWalletRecords stores the wallets that pay withdrawals, whose nonces are taken, and what is said
// of the wallets after a restore. It decides nothing.
type HotWalletRecords interface {
	// OfChain returns the wallets of a chain, by id, without a lock, each
	// with its NextNonce.
	OfChain(chain uuid.UUID) ([]withdrawal.HotWallet, error)
	// Put inserts a wallet, or sets role and status of a stored one,
	// which keeps its chain, LastUsedAt and BalanceReserved: they belong to the
	// withdrawals. NextNonce is derived and not stored; an empty BalanceReserved
	// is "0".
	Put(withdrawal.HotWallet) error
	// Get returns these wallets as OfChain does, without those that do
	// not exist.
	Get(ids ...uuid.UUID) ([]withdrawal.HotWallet, error)
	// NoncesFrom returns the nonces at or above one that are on file of a wallet, each
	// with the request whose job owns it, zero for that of a filler, ascending.
	NoncesFrom(wallet uuid.UUID, from uint64) ([]withdrawal.OwnedNonce, error)
	// PutFiller records a filler. The same again changes nothing; a nonce
	// of a job is [withdrawal.ErrNonceTaken] in a TakenError, one of another
	// filler [withdrawal.ErrNonceUsed], and a hash that has another nonce
	// [withdrawal.Filler.Twice].
	PutFiller(withdrawal.Filler) error

	// Say appends statements about the hot wallets of a database that was put back, in their
	// order. A wallet that does not exist is [statemachine.ErrNotFound]; in a View it is
	// [statemachine.ErrIllegal].
	Say(statements ...withdrawal.Statement) error
	// Statements returns those about a chain of a generation and of later ones, in the order in which they were
	// said. In an Update it keeps every other transaction that calls it for the chain out until it ends,
	// and reads behind that: what is said is seen by a Start, or comes after it.
	Statements(chain uuid.UUID, generation int64) ([]withdrawal.Statement, error)
	// Unclaimed returns, of every generation and in the order in which they were said, the
	// statements about a chain that [withdrawal.UnclaimedFor] looks at.
	Unclaimed(chain uuid.UUID) ([]withdrawal.Statement, error)
}
