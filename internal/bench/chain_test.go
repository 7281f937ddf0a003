package bench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	oldhash "github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/chainhash/v2"
	oldwire "github.com/btcsuite/btcd/wire"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/btcsuite/btcwallet/wtxmgr"

	"github.com/settlehq/settle/utxo"
)

// block is a block of the chain in both dialects of the Bitcoin types; so is tx.
// Both sides get messages and make their own records of them.
type block struct {
	utxo.Connected
	meta wtxmgr.BlockMeta
	txs  []tx
}

type tx struct {
	*wire.MsgTx
	old *oldwire.MsgTx
}

var (
	ours    = append([]byte{0, 20}, make([]byte, 20)...) // a witness key hash
	theirs  = append([]byte{0, 20}, bytes.Repeat([]byte{1}, 20)...)
	genesis = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy  = utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: 1, Tag: "main"}, bytes.Equal(script, ours)
	}}
)

func spend(from wire.OutPoint, outputs ...*wire.TxOut) tx {
	msg := wire.NewMsgTx(2)
	msg.AddTxIn(wire.NewTxIn(&from, nil, wire.TxWitness{make([]byte, 72), make([]byte, 33)}))
	for _, out := range outputs {
		msg.AddTxOut(out)
	}
	var raw bytes.Buffer
	old := new(oldwire.MsgTx)
	if err := errors.Join(msg.Serialize(&raw), old.Deserialize(&raw)); err != nil {
		panic(err)
	}
	return tx{msg, old}
}

// chain makes blocks.
type chain struct {
	tip  utxo.Block
	seen uint64 // transactions
}

func (c *chain) block(txs ...tx) block {
	c.tip = utxo.Block{Height: c.tip.Height + 1, Prev: c.tip.Hash, Time: genesis.Add(time.Duration(c.tip.Height) * 10 * time.Minute)}
	c.tip.Hash = chainhash.HashH(fmt.Append(nil, "block ", c.tip.Height))
	b := block{utxo.Connected{Block: c.tip, By: utxo.By{At: c.tip.Time}},
		wtxmgr.BlockMeta{Block: wtxmgr.Block{Hash: oldhash.Hash(c.tip.Hash), Height: c.tip.Height}, Time: c.tip.Time}, txs}
	for i, tx := range txs {
		b.Txs = append(b.Txs, tx.MsgTx)
		b.Positions = append(b.Positions, int32(i)+1)
	}
	return b
}

// deposit pays the wallet two coins.
func (c *chain) deposit() tx {
	c.seen++
	var foreign wire.OutPoint
	binary.LittleEndian.PutUint64(foreign.Hash[:], c.seen)
	return spend(foreign, wire.NewTxOut(1000, ours), wire.NewTxOut(2000, ours))
}

func (c *chain) deposits(blocks, each int) []block {
	all := make([]block, blocks)
	for i := range all {
		txs := make([]tx, each)
		for j := range txs {
			txs[j] = c.deposit()
		}
		all[i] = c.block(txs...)
	}
	return all
}

// conflict returns a block with a coin, unconfirmed transactions that spend it,
// each the one before, and a block whose transaction fails them all.
func (c *chain) conflict(descendants int) (coin block, spends []tx, rival block) {
	coin = c.block(c.deposit())
	from := wire.OutPoint{Hash: coin.Txs[0].TxHash()}
	rival = c.block(spend(from, wire.NewTxOut(900, theirs)))
	for range descendants + 1 {
		next := spend(from, wire.NewTxOut(1000, ours))
		spends = append(spends, next)
		from = wire.OutPoint{Hash: next.TxHash()}
	}
	return coin, spends, rival
}
