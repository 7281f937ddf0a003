package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/wire/v2"
)

// proof is what the node's chain says of the story.
type proof struct {
	Height                                 int32
	Deposits, Credits                      int
	Payouts                                int
	Replaced, Children, Again              int // payouts paid by a replacement; children mined; payouts paid in a later round
	Reorgs, DoubleSpends, Kills, NodeKills int
	Left                                   int64 // satoshi in the wallet
}

func (p proof) String() string {
	return fmt.Sprintf(`height %d: %d deposits credited once, %d coins; %d payouts paid once
%d of them by a replacement, %d after their coins were double-spent; %d children mined
%d reorgs, %d double spends, %d kills of the service, %d of its node; %d satoshi are left`,
		p.Height, p.Deposits, p.Credits, p.Payouts, p.Replaced, p.Again, p.Children, p.Reorgs, p.DoubleSpends, p.Kills, p.NodeKills, p.Left)
}

// prove reads the chain of the network from its first block, with no help of
// settle, and compares.
func (w *world) prove(ctx context.Context) (p proof, err error) {
	p = proof{Payouts: w.payouts, Deposits: len(w.deposits), Reorgs: w.reorgs, DoubleSpends: w.doubles,
		Kills: w.kills, NodeKills: w.node.kills}
	if p.Height, _, err = w.miner.tip(ctx); err != nil {
		return p, err
	}
	mined := map[string]bool{}
	coins := map[wire.OutPoint]*wire.TxOut{} // unspent ones of the wallet
	deposited := map[string]int64{}          // by outpoint
	paid := map[string][]int64{}             // by script
	for height := int32(1); height <= p.Height; height++ {
		hash, err := w.miner.hashAt(ctx, height)
		if err != nil {
			return p, err
		}
		block, err := w.miner.block(ctx, hash)
		if err != nil {
			return p, err
		}
		for _, tx := range block.Transactions {
			mined[tx.TxHash().String()] = true
			for _, in := range tx.TxIn {
				delete(coins, in.PreviousOutPoint)
			}
			for i, out := range tx.TxOut {
				op := wire.OutPoint{Hash: tx.TxHash(), Index: uint32(i)}
				paid[string(out.PkScript)] = append(paid[string(out.PkScript)], out.Value)
				if owner, ok := owners[string(out.PkScript)]; ok {
					coins[op] = out
					if owner != "change" {
						deposited[op.String()] = out.Value
					}
				}
			}
		}
	}
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }

	type credit struct {
		outpoint, customer string
		amount             int64
	}
	rows, err := w.db.QueryContext(ctx, "SELECT outpoint, min(customer), sum(amount) FROM credits GROUP BY outpoint HAVING sum(amount) <> 0")
	if err != nil {
		return p, err
	}
	defer rows.Close()
	for rows.Next() {
		var c credit
		if err := rows.Scan(&c.outpoint, &c.customer, &c.amount); err != nil {
			return p, err
		}
		if deposited[c.outpoint] != c.amount {
			fail("credited %d for %s, the chain says %d", c.amount, c.outpoint, deposited[c.outpoint])
		}
		delete(deposited, c.outpoint)
		p.Credits++
	}
	for op, amount := range deposited {
		fail("nobody was credited %d of %s", amount, op)
	}
	for id := 1; id <= w.payouts; id++ {
		amounts, err := column[int64](ctx, w.db, "SELECT amount FROM payouts WHERE id = $1 AND done = 1", id)
		got := paid[string(payee(id))]
		if err != nil || len(amounts) != 1 || len(got) != 1 || amounts[0] != 0 && got[0] != amounts[0] {
			fail("payout %d of %d was paid %d (%v)", id, amounts, got, err)
		}
	}
	refused, err := column[string](ctx, w.db, "SELECT reason || ': ' || hash FROM refused")
	if err != nil {
		return p, err
	}
	for _, r := range refused {
		fail("the node refused what was built: %s", r)
	}
	if err := w.compare(ctx, coins, &p); err != nil {
		wrong = append(wrong, err)
	}
	for kind, count := range map[string]*int{"replacement": &p.Replaced, "child": &p.Children} {
		hashes, err := column[string](ctx, w.db, "SELECT hash FROM versions WHERE kind = $1", kind)
		if err != nil {
			return p, err
		}
		for _, hash := range hashes {
			if mined[hash] {
				*count++
			}
		}
	}
	again, err := column[int](ctx, w.db, "SELECT count(*) FROM payouts WHERE round > 0")
	if err != nil {
		return p, err
	}
	p.Again = again[0]
	return p, errors.Join(wrong...)
}

// compare holds the wallet's own books against the unspent coins of the chain.
func (w *world) compare(ctx context.Context, coins map[wire.OutPoint]*wire.TxOut, p *proof) error {
	d, err := openDatabase(ctx, w.file)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.wallets.Audit(ctx, walletID); err != nil {
		return err
	}
	unspent, err := d.wallets.Unspent(ctx, walletID, nil)
	if err != nil {
		return err
	}
	var wrong []error
	for _, c := range unspent {
		out := coins[c.OutPoint]
		if out == nil || out.Value != c.Amount {
			wrong = append(wrong, fmt.Errorf("the wallet has %s of %d, the chain %v", c.OutPoint, c.Amount, out))
		}
		delete(coins, c.OutPoint)
		p.Left += c.Amount
	}
	for op, out := range coins {
		wrong = append(wrong, fmt.Errorf("the wallet misses %s of %d", op, out.Value))
	}
	balance, err := d.wallets.Balance(ctx, walletID, nil, 1)
	if err == nil && balance.Confirmed != p.Left {
		wrong = append(wrong, fmt.Errorf("balance %+v, the chain says %d", balance, p.Left))
	}
	return errors.Join(append(wrong, err)...)
}

// describe says what is open, for a person who looks at a failed run.
func (w *world) describe(ctx context.Context) error {
	open, err := column[string](ctx, w.db,
		`SELECT 'payout ' || p.id || ' of ' || p.amount || ', round ' || p.round || ', '
			|| coalesce(v.kind || ' ' || v.hash || ' ' || t.status || ' ' || coalesce(t.block_height, '-'), 'nothing')
		FROM payouts p LEFT JOIN versions v ON v.payout = p.id
		LEFT JOIN transactions t ON lower(hex(t.tx_hash)) = (SELECT group_concat(substr(v.hash, 65 - 2 * n, 2), '')
			FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 32) SELECT n FROM c))
		WHERE p.done = 0 ORDER BY p.id LIMIT 30`)
	for _, line := range open {
		err = errors.Join(err, errors.New(line))
	}
	waiting, e := column[string](ctx, w.db, "SELECT state ||"+
		" ' deposit of ' || owner_tag || ' in block ' || block_height FROM deposits WHERE state <> 'credited' LIMIT 30")
	for _, line := range waiting {
		e = errors.Join(e, errors.New(line))
	}
	return errors.Join(err, e)
}
