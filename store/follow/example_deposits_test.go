package follow_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	_ "modernc.org/sqlite" // registers "sqlite"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// A customer is credited in the host's table, in the commit that moves the deposit.
func ExampleDeposits() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "settle-deposits-")
	must(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "host.db")))
	must(err)
	defer db.Close()
	must(sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}))
	settle, err := sqlstore.Open(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	must(err)
	defer settle.Close()
	_, err = db.ExecContext(ctx, "CREATE TABLE postings (key TEXT PRIMARY KEY, customer TEXT, amount INTEGER)")
	must(err)

	alice := []byte("the script of alice's address")
	wallets, err := store.NewWallets(settle, utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1, Tag: "alice"}, string(script) == string(alice)
	}})
	must(err)
	deposit := &wire.MsgTx{
		TxIn:  []*wire.TxIn{{PreviousOutPoint: wire.OutPoint{Hash: chainhash.HashH([]byte("somebody's coin"))}}},
		TxOut: []*wire.TxOut{{Value: 100_000, PkScript: alice}},
	}
	block1 := utxo.Block{Height: 1, Hash: chainhash.HashH([]byte("block 1"))}
	block2 := utxo.Block{Height: 2, Hash: chainhash.HashH([]byte("block 2")), Prev: block1.Hash}
	_, err = wallets.Do(ctx, utxo.WalletOpened{Wallet: 1, Birth: 1},
		utxo.Connected{Block: block1, Txs: []*wire.MsgTx{deposit}, Positions: []int32{1}}, utxo.Connected{Block: block2})
	must(err)

	policy := utxo.DepositPolicy{
		Customer: func(o utxo.Owner) bool { return o.Tag != "change" },
		Depth:    func(utxo.Owner, int64) int32 { return 2 }, // on a public chain 6 or more
		Minimum:  1_000,
	}
	post := func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, facts []follow.Fact) error {
		for _, f := range facts {
			amount := f.Amount
			if f.Kind == utxo.FactReversed {
				amount = -amount
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO postings VALUES ($1, $2, $3)", f.DepositKey.String(), f.Tag, amount)
			if err != nil {
				return err
			}
			fmt.Println(f.Kind, f.Amount, "to", f.Tag, "from block", f.Height)
		}
		stop() // a service goes on
		return nil
	}
	must(follow.Deposits(ctx, settle, follow.Consumer{}, policy, post))
	// Output: credited 100000 to alice from block 1
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
