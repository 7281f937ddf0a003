package utxo

import (
	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
)

// ChangeSet is everything that one event changes. Inserts, Updates and Log each name
// parents before their children. A store applies a set as it is, all or nothing; an empty
// set means that the event was known already. Each part names the value that it replaces,
// so that a store can compare before it writes, and can undo.
type ChangeSet struct {
	Disconnect []Block // leave the best chain, each the tip
	Connect    []Block // join it, in this order
	Wallets    []WalletChange
	Owners     []OwnerChange
	Inserts    []*Tx // new transactions, with Raw, Inputs and Outputs
	Updates    []TxUpdate
	Joined     []JoinedOutput // outputs that join a stored transaction, which is in Updates too
	Spends     []Spend        // of outputs that were stored before; new ones come with their spender
	Replaced   []Replacement  // new edges
	Declared   []Replacement  // edges that evidence had made, and that are declared now
	Leases     []LeaseChange
	Sums       []SumChange // what the above does to the sums of coins
	Seq        SeqChange
	Log        []statemachine.Transition[TxID] // one per new version

	// Refused are the transactions of a mempool list that were refused; the set holds the
	// changes of all the others.
	Refused []Refused
	// Wide: the set was planned from rows of wallets outside [Scope], or changes some. A
	// store that locks wallet by wallet must discard such a set, and the error if there was
	// one, and plan the event again under the lock of all wallets.
	Wide bool
}

// SeqChange moves the highest sequence number of a mempool observation. A zero SeqChange
// changes nothing.
type SeqChange struct{ Old, New int64 }

// Refused is a transaction of a mempool list that was refused, and why.
type Refused struct {
	Index int // in the list
	Hash  chainhash.Hash
	Err   error
}

// WalletChange: Old is the zero Wallet for a new one.
type WalletChange struct{ Old, New Wallet }

// OwnerChange: Old is the zero Owned for one that is new to the wallet.
type OwnerChange struct{ Old, New Owned }

// TxUpdate changes a stored transaction's own columns, not its inputs or outputs. A store
// applies it only to the version FromVersion.
type TxUpdate struct {
	ID          TxID
	FromVersion int64
	Old, New    TxState
	// Raw are new bytes of the same hash, with other signatures, and OldRaw the bytes that
	// they replace; both are nil where the bytes stay.
	OldRaw, Raw []byte
}

// TxState is what can change about a stored transaction.
type TxState struct {
	Status   Status
	Height   int32
	Position int32
	Seq      int64
	Label    string
	Context  bool
	Public   bool
	Version  int64
}

// JoinedOutput adds an owned output to a stored transaction.
type JoinedOutput struct {
	ID     TxID
	Output Output
}

// Spend moves the live-spender pointer of an owned output; the zero hash is none.
type Spend struct {
	Wallet   WalletID
	OutPoint wire.OutPoint
	Old, New chainhash.Hash
}

// LeaseChange sets a lease. A zero Until of New removes it.
type LeaseChange struct{ Old, New Lease }

// Empty reports whether nothing changes.
func (c *ChangeSet) Empty() bool {
	return len(c.Connect) == 0 && len(c.Disconnect) == 0 && len(c.Wallets) == 0 && len(c.Owners) == 0 && len(c.Inserts) == 0 &&
		len(c.Updates) == 0 && len(c.Joined) == 0 && len(c.Spends) == 0 && len(c.Replaced) == 0 && len(c.Declared) == 0 &&
		len(c.Leases) == 0 && c.Seq == SeqChange{}
}

func (t *Tx) state() TxState {
	return TxState{t.Status, t.Height, t.Position, t.Seq, t.Label, t.Context, t.Public, t.Version}
}

func (t *Tx) setState(s TxState) {
	t.Status, t.Height, t.Position, t.Seq, t.Label, t.Context, t.Public, t.Version =
		s.Status, s.Height, s.Position, s.Seq, s.Label, s.Context, s.Public, s.Version
}

// Complete checks that Log has exactly one line for each new version of a
// transaction, see [statemachine.Complete].
func (c *ChangeSet) Complete() error {
	moved := make([]statemachine.Versions[TxID], 0, len(c.Inserts)+len(c.Updates))
	for _, t := range c.Inserts {
		moved = append(moved, statemachine.Versions[TxID]{Machine: TxMachine.Name(), ID: t.ID, New: t.Version})
	}
	for i := range c.Updates {
		u := &c.Updates[i]
		moved = append(moved, statemachine.Versions[TxID]{Machine: TxMachine.Name(), ID: u.ID, Old: u.FromVersion, New: u.New.Version})
	}
	return statemachine.Complete(c.Log, moved...)
}
