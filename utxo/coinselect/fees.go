package coinselect

import (
	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// payer is a stored transaction with what it spends and pays.
type payer struct {
	msg    *wire.MsgTx
	spends []*wire.TxOut // by input; nil where the value is not known
	weight int64
	fee    int64 // satoshi
	known  bool  // the fee is
}

// rate returns the fee rate as nodes compute it, rounded down.
func (p *payer) rate() FeeRate { return FeeRate(p.fee * 1000 / ((p.weight + 3) / 4)) }

// readPayers reads what transactions paid, in three batches. The value of an input is known
// if the transaction that it spends is stored, in any wallet.
func readPayers(r utxo.Reader, txs []*utxo.Tx) (map[chainhash.Hash]*payer, error) {
	payers := map[chainhash.Hash]*payer{}
	if err := readMessages(r, txs, func(hash chainhash.Hash, msg *wire.MsgTx) {
		payers[hash] = &payer{msg: msg}
	}); err != nil {
		return nil, err
	}
	parents := map[chainhash.Hash][]*utxo.Tx{} // rows of those that are not payers
	var ids []utxo.TxID
	for _, p := range payers {
		for _, in := range p.msg.TxIn {
			hash := in.PreviousOutPoint.Hash
			if _, asked := parents[hash]; !asked && payers[hash] == nil {
				parents[hash] = nil
				ids = append(ids, utxo.TxID{Hash: hash})
			}
		}
	}
	if len(ids) > 0 {
		rows, err := r.Txs(ids...)
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			parents[t.ID.Hash] = append(parents[t.ID.Hash], t)
		}
	}
	var foreign []*utxo.Tx // stored, but nobody owns the output
	for _, p := range payers {
		p.spends = make([]*wire.TxOut, len(p.msg.TxIn))
		for i, in := range p.msg.TxIn {
			op := in.PreviousOutPoint
			if parent := payers[op.Hash]; parent != nil {
				p.spends[i] = output(parent.msg, op.Index)
				continue
			}
			for _, t := range parents[op.Hash] {
				if o := t.Output(op.Index); o != nil {
					p.spends[i] = wire.NewTxOut(o.Amount, o.Script)
				}
			}
			if rows := parents[op.Hash]; p.spends[i] == nil && len(rows) > 0 {
				foreign = append(foreign, rows[0])
			}
		}
	}
	messages := map[chainhash.Hash]*wire.MsgTx{}
	if err := readMessages(r, foreign, func(hash chainhash.Hash, msg *wire.MsgTx) { messages[hash] = msg }); err != nil {
		return nil, err
	}
	for _, p := range payers {
		for i, in := range p.msg.TxIn {
			if p.spends[i] == nil && messages[in.PreviousOutPoint.Hash] != nil {
				p.spends[i] = output(messages[in.PreviousOutPoint.Hash], in.PreviousOutPoint.Index)
			}
		}
		p.sum()
	}
	return payers, nil
}

// sum derives the weight and the fee. What pays less than nothing is no transaction that we know enough of.
func (p *payer) sum() {
	p.weight, p.known = weigh(p.msg, p.spends)
	for _, o := range p.spends {
		if o == nil {
			p.known, p.fee = false, 0
			return
		}
		p.fee += o.Value
	}
	for _, o := range p.msg.TxOut {
		p.fee -= o.Value
	}
	p.known = p.known && p.fee >= 0
}

// weigh returns the weight of a transaction once it is signed. An input that lacks its
// signature counts with the largest that [InputWeight] knows for the output that it spends.
// Where InputWeight knows none, the input counts as one of P2WPKH, and known is false.
func weigh(msg *wire.MsgTx, spends []*wire.TxOut) (weight int64, known bool) {
	weight, known = int64(3*msg.SerializeSizeStripped()+msg.SerializeSize()), true
	unsigned := utxo.Unsigned(msg)
	if len(unsigned) > 0 && !msg.HasWitness() {
		weight += 2 + int64(len(msg.TxIn)) // marker, flag, and an empty witness for each input
	}
	for _, i := range unsigned {
		w, ok := int64(P2WPKHInputWeight), false
		if i < len(spends) && spends[i] != nil {
			if of, is := InputWeight(spends[i].PkScript); is {
				w, ok = of, true
			}
		}
		in := msg.TxIn[i]
		weight += w - int64(4*in.SerializeSize()) - 1
		known = known && ok
	}
	return weight, known
}

func output(msg *wire.MsgTx, index uint32) *wire.TxOut {
	if int64(index) >= int64(len(msg.TxOut)) {
		return nil
	}
	return msg.TxOut[index]
}

// readMessages parses transactions, each hash once.
func readMessages(r utxo.Reader, txs []*utxo.Tx, each func(chainhash.Hash, *wire.MsgTx)) error {
	var ids []utxo.TxID
	seen := map[chainhash.Hash]bool{}
	for _, t := range txs {
		if !seen[t.ID.Hash] {
			seen[t.ID.Hash] = true
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	raws, err := r.Raw(ids...)
	if err != nil {
		return err
	}
	for i, raw := range raws {
		msg, err := utxo.ParseTx(raw)
		if err != nil {
			return err
		}
		each(ids[i].Hash, msg)
	}
	return nil
}
