package utxo_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// A ledger takes no set of which a part was planned on another state.
func TestALedgerComparesEveryPart(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	do(t, b.Ledger, b.seen(3, b.tx(nil, mine('a'))))
	id := utxo.TxID{Wallet: 1, Hash: deposit.TxHash()}
	nobody, op := chainhash.Hash{9}, out(deposit, 0)
	wallets, _ := b.Wallets(1)
	later := wallets[0]
	later.Announced++
	block := func(height int32, hash chainhash.Hash) *utxo.Block { return &utxo.Block{Height: height, Hash: hash} }
	lease := func(w utxo.WalletID) utxo.Lease { return utxo.Lease{Wallet: w, OutPoint: op, Until: utxotest.Start} }
	for name, set := range map[string]utxo.ChangeSet{
		"another block leaves":             {Disconnect: []utxo.Block{*block(1, nobody)}},
		"a second block that is not below": {Disconnect: []utxo.Block{b.tip, *block(0, nobody)}},
		"the tip leaves another height":    {Disconnect: []utxo.Block{*block(2, b.tip.Hash)}},
		"a height is taken":                {Connect: []utxo.Block{*block(1, nobody)}},
		"a block beyond the next":          {Connect: []utxo.Block{*block(3, nobody)}},
		"a block beyond the next of two":   {Connect: []utxo.Block{*block(2, nobody), *block(4, chainhash.Hash{8})}},
		"another sequence":                 {Seq: utxo.SeqChange{Old: 2, New: 4}},
		"a wallet that is open":            {Wallets: []utxo.WalletChange{{New: later}}},
		"a wallet that is not":             {Wallets: []utxo.WalletChange{{Old: utxo.Wallet{ID: 5}, New: utxo.Wallet{ID: 5}}}},
		"another state of a wallet":        {Wallets: []utxo.WalletChange{{Old: later, New: later}}},
		"an owner of a closed wallet":      {Owners: []utxo.OwnerChange{{New: utxo.Owned{Wallet: 5, Tag: "a"}}}},
		"another birth of an owner": {Owners: []utxo.OwnerChange{{Old: utxo.Owned{Wallet: 1, Tag: "a"},
			New: utxo.Owned{Wallet: 1, Tag: "a"}}}},
		"a row that is there":            {Inserts: []*utxo.Tx{{ID: id}}},
		"a row of a closed wallet":       {Inserts: []*utxo.Tx{{ID: utxo.TxID{Wallet: 5, Hash: id.Hash}}}},
		"a row that is not there":        {Updates: []utxo.TxUpdate{{ID: utxo.TxID{Wallet: 1, Hash: nobody}, FromVersion: 1}}},
		"another version":                {Updates: []utxo.TxUpdate{{ID: id, FromVersion: 2}}},
		"a credit of a row not there":    {Joined: []utxo.JoinedOutput{{ID: utxo.TxID{Wallet: 1, Hash: nobody}}}},
		"a credit that is there":         {Joined: []utxo.JoinedOutput{{ID: id}}},
		"a spend of a row not there":     {Spends: []utxo.Spend{{Wallet: 1, OutPoint: wire.OutPoint{Hash: nobody}, New: nobody}}},
		"a spend of an output not there": {Spends: []utxo.Spend{{Wallet: 1, OutPoint: wire.OutPoint{Hash: id.Hash, Index: 7}, New: nobody}}},
		"another spender":                {Spends: []utxo.Spend{{Wallet: 1, OutPoint: op, Old: nobody}}},
		"an edge that is not there":      {Declared: []utxo.Replacement{{Wallet: 1, Loser: id.Hash, Winner: nobody, Declared: true}}},
		"a lease of a closed wallet":     {Leases: []utxo.LeaseChange{{New: lease(5)}}},
		"another lease":                  {Leases: []utxo.LeaseChange{{Old: lease(1), New: lease(1)}}},
	} {
		before, _ := b.Snapshot()
		if err := b.Apply(set); !errors.Is(err, statemachine.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := b.Snapshot(); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: something changed", name)
		}
	}
	low := utxo.NewLedger(utxotest.Policy()) // an empty one takes any block, and then the next
	if err := low.Apply(utxo.ChangeSet{Connect: []utxo.Block{*block(0, nobody)}}); err != nil {
		t.Error(err)
	}
	if err := low.Apply(utxo.ChangeSet{Connect: []utxo.Block{*block(2, chainhash.Hash{8})}}); !errors.Is(err, statemachine.ErrConflict) {
		t.Errorf("block 2 above block 0: %v", err)
	}
	paid := b.tx(nil, utxotest.Script(5, "a"))
	opened, err := utxotest.Policy().PlanAll(b, utxotest.Start, utxo.WalletOpened{Wallet: 5}, b.seen(4, paid),
		utxo.OwnersAnnounced{Wallet: 5, Tags: []string{"b"}},
		utxo.OutputsLeased{Wallet: 5, OutPoints: ins(out(paid, 0)), Lock: utxo.LockID{1}, Duration: time.Hour})
	if opened = utxo.Merge(opened...); err != nil || len(opened) != 1 {
		t.Fatal(opened, err)
	}
	edge := utxo.Replacement{Wallet: 1, Loser: id.Hash, Winner: nobody}
	declared := edge
	declared.Declared = true
	for name, set := range map[string]utxo.ChangeSet{
		"an older block and two that follow": {Connect: []utxo.Block{*block(0, chainhash.Hash{7}), *block(2, nobody),
			*block(3, chainhash.Hash{8})}},
		"a wallet with all that it has":            opened[0],
		"an edge that is declared in the same set": {Replaced: []utxo.Replacement{edge}, Declared: []utxo.Replacement{declared}},
	} {
		if err := b.Apply(set); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The ledger lists in a fixed order what it keeps in maps: transactions by arrival, leases
// by outpoint.
func TestListsHaveAnOrder(t *testing.T) {
	b := newDesk(t)
	var coins []wire.OutPoint
	for range 12 {
		coins = append(coins, out(b.submit(b.tx(nil, mine('a'))), 0))
	}
	txs, err := b.LiveUnconfirmed(1)
	if err != nil || len(txs) != len(coins) {
		t.Fatalf("%d transactions, %v", len(txs), err)
	}
	for i, tx := range txs {
		if tx.ID.Hash != coins[i].Hash {
			t.Errorf("transaction %d is not the one that came then", i)
		}
	}
	lock := utxo.LockID{1}
	do(t, b.Ledger, utxo.OutputsLeased{Wallet: 1, OutPoints: coins, Lock: lock, Duration: time.Minute})
	for name, read := range map[string]func() ([]utxo.Lease, error){
		"of a lock": func() ([]utxo.Lease, error) { return b.LeasesOf(1, lock) },
		"active":    func() ([]utxo.Lease, error) { return b.ActiveLeases(1, benchNow) },
	} {
		leases, err := read()
		sorted := slices.IsSortedFunc(leases, func(a, b utxo.Lease) int { return utxo.CompareOutPoints(a.OutPoint, b.OutPoint) })
		if err != nil || len(leases) != len(coins) || !sorted {
			t.Errorf("%s: %d leases, sorted %t, %v", name, len(leases), sorted, err)
		}
	}
}
