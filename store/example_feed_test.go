package store_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/utxo"
)

// A deposit service credits each coin once, when it is two blocks deep. The feed
// says when to look; what is true is read from the output and the tip, in one
// View. The outpoint is the key of a credit: a coin that leaves the chain and
// comes back is not credited again, and one that stays away is the host's debit.
// A coin of an owner that was announced late waits until the scan has reached the
// tip: the feed says nothing of that. On a database follow.Deposits does all of it, and
// takes back what is double-spent.
func ExampleWallets_Follow() {
	ctx := context.Background()
	wallets, err := store.NewWallets(memory.New(memory.Options{}), utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		if string(script) == string(late) {
			return utxo.Owner{Wallet: 1, Tag: "bob"}, true
		}
		return utxo.Owner{Wallet: 1, Tag: "alice"}, string(script) == string(ours)
	}})
	if err != nil {
		log.Fatal(err)
	}
	// What a host keeps in its own tables, in one commit with the cursor.
	var cursor store.Cursor
	waiting := map[utxo.TxID]bool{}
	credited := map[wire.OutPoint]int64{}

	look := func(name string) {
		for { // whatever has moved is looked at again
			page, next, err := wallets.Follow(ctx, cursor, 100)
			if err != nil {
				log.Fatal(err)
			}
			for _, line := range page {
				waiting[line.ID] = true
			}
			if cursor = next; len(page) == 0 {
				break
			}
		}
		for id := range waiting {
			err := wallets.View(ctx, func(now *store.Wallets) error {
				d, err := now.Detail(ctx, id)
				if err != nil {
					return err
				}
				tip, _, err := now.Tip(ctx)
				if err != nil {
					return err
				}
				w, err := now.Wallet(ctx, id.Wallet)
				deep := d.Tx.Status == utxo.Published && d.Tx.Confirmed() && tip.Height-d.Tx.Height+1 >= 2
				wait := !deep && d.Tx.Live() // one that comes back is in the feed again
				for _, out := range d.Tx.Outputs {
					op := wire.OutPoint{Hash: id.Hash, Index: out.Index}
					switch _, again := credited[op]; {
					case !deep || again:
					case w.ScannedFor(out.Tag) < tip.Height:
						wait = true
					default:
						credited[op] = out.Amount
						fmt.Println(name, "credits", out.Amount, "to", out.Tag)
					}
				}
				if !wait {
					delete(waiting, id)
				}
				return err
			})
			if err != nil {
				log.Fatal(err)
			}
		}
	}
	do := func(name string, events ...utxo.Event) {
		if _, err := wallets.Do(ctx, events...); err != nil {
			log.Fatal(err)
		}
		look(name)
	}
	block3 := utxo.Block{Height: 3, Hash: chainhash.HashH([]byte("block 3")), Prev: block2.Hash}
	do("the mempool", utxo.WalletOpened{Wallet: 1, Birth: 1}, utxo.Observed{Txs: []*wire.MsgTx{deposit}})
	do("block 1", utxo.Connected{Block: block1, Txs: []*wire.MsgTx{deposit}})
	do("block 2", utxo.Connected{Block: block2})
	do("a reorg", utxo.Disconnected{Hash: block2.Hash}, utxo.Disconnected{Hash: block1.Hash})
	do("its end", utxo.Connected{Block: block1, Txs: []*wire.MsgTx{deposit}}, utxo.Connected{Block: block2}, utxo.Connected{Block: block3})
	do("a late owner", utxo.OwnersAnnounced{Wallet: 1, Tags: []string{"bob"}, Birth: 1},
		utxo.Connected{Block: block1, Txs: []*wire.MsgTx{older}, Positions: []int32{1}})
	do("the rescan", utxo.Connected{Block: block2}, utxo.Connected{Block: block3})
	fmt.Println(len(credited), "credits")
	// Output:
	// block 2 credits 100000 to alice
	// the rescan credits 70000 to bob
	// 2 credits
}

var (
	late  = append([]byte{0, 20}, bytes.Repeat([]byte{3}, 20)...) // P2WPKH
	older = &wire.MsgTx{                                          // than that its owner is known
		TxIn:  []*wire.TxIn{{PreviousOutPoint: wire.OutPoint{Hash: chainhash.HashH([]byte("foreign, older"))}}},
		TxOut: []*wire.TxOut{{Value: 70_000, PkScript: late}},
	}
)
