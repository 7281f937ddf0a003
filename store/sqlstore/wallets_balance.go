package sqlstore

import (
	"database/sql"
	"sort"
	"time"

	"github.com/settlehq/settle/utxo"
)

// Sums of live unspent outputs are kept per wallet, owner and bucket, so that the cost of a balance does not grow with
// history. Amounts that depend on the tip are read from the last blocks: immature coinbases, and money with fewer
// confirmations than asked.
var (
	sums = statement{text: "SELECT CASE WHEN " + isBehind("u") + " THEN '" + unscanned +
		"' ELSE u.bucket END, sum(u.amount) FROM @wallet_balances u " +
		"WHERE u.wallet_id = $1 AND " + ofTag + " GROUP BY 1"}
	recent = statement{text: unspentSince + "NOT t.is_coinbase GROUP BY t.block_height"}
	// The coinbases have an index of their own.
	recentCoinbases = statement{text: unspentSince + "t.is_coinbase GROUP BY t.block_height"}
	// Each active lease finds its output by the key: asked as a condition, spent_by_tx_id
	// makes a server without statistics read all that is unspent for each.
	leased = statement{text: "SELECT coalesce(sum((SELECT CASE WHEN u.spent_by_tx_id IS NULL THEN u.amount END FROM @utxos u JOIN " +
		"@transactions t ON t.id = u.tx_id " +
		"WHERE " + isLeased + " AND " + live + " AND " + ofTag +
		")), 0) FROM @utxo_leases l WHERE l.wallet_id = $1 AND l.expires_at > $3"}
)

var unspentSince = "SELECT t.block_height, sum(coalesce((SELECT sum(u.amount) FROM @utxos u WHERE u.wallet_id = t.wallet_id AND u.tx_id " +
	"= t.id " +
	"AND u.spent_by_tx_id IS NULL AND " + ofTag + " AND NOT " + isBehind("u") +
	"), 0)) FROM @transactions t WHERE t.wallet_id = $1 AND t.block_height >= $3 AND NOT t.is_context AND "

// isBehind reports whether the owner of a row is.
func isBehind(row string) string {
	return "EXISTS (SELECT 1 FROM @wallet_owners o CROSS JOIN @wallet_scans c WHERE o.wallet_id = " + row + ".wallet_id AND o.owner_tag = " +
		row + ".owner_tag " +
		"AND c.wallet_id = o.wallet_id AND c.scan_id = o.scan_id)"
}

const unscanned = "unscanned"

// Balance implements [utxo.Queries].
func (w wallets) Balance(p utxo.Policy, id utxo.WalletID, tag *string, minConfirmations int32, now time.Time) (utxo.Balance, error) {
	var b utxo.Balance
	if err := utxo.CheckConfirmations(minConfirmations); err != nil {
		return b, err
	}
	tip, ok, err := w.Tip()
	if err != nil {
		return b, err
	}
	if !ok {
		tip.Height = -1
	}
	of := tagArg(tag)
	empty := true
	err = w.read(&sums, nil, func(rows *sql.Rows) error {
		empty = false
		var name string
		var sum int64
		if err := rows.Scan(&name, &sum); err != nil {
			return err
		}
		switch name {
		case utxo.CoinPending.String():
			b.Pending = sum
		case utxo.CoinUnconfirmed.String():
			b.Unconfirmed = sum
		case utxo.CoinConfirmed.String():
			b.Confirmed = sum
		case unscanned:
			b.Unscanned = sum
		}
		return nil
	}, int64(id), of)
	if err != nil || empty {
		if err == nil {
			err = w.known(id)
		}
		return b, err
	}
	since := func(st *statement, from int64, count func(height, sum int64)) {
		if err != nil || from > int64(tip.Height) {
			return
		}
		err = w.read(st, nil, func(rows *sql.Rows) error {
			var height, sum int64
			err := rows.Scan(&height, &sum)
			count(height, sum)
			return err
		}, int64(id), of, from)
	}
	belowMin := max(int64(tip.Height)-int64(max(minConfirmations, 1))+2, 0) // the first height with too few confirmations
	immature := int64(firstImmature(p, tip.Height))
	since(&recentCoinbases, min(immature, belowMin), func(height, sum int64) {
		b.Confirmed -= sum
		switch {
		case height >= immature:
			b.Immature += sum
		case height >= belowMin:
			b.BelowMin += sum
		}
	})
	since(&recent, belowMin, func(_, sum int64) {
		b.Confirmed -= sum
		b.BelowMin += sum
	})
	if err == nil {
		err = w.read(&leased, nil, func(rows *sql.Rows) error { return rows.Scan(&b.Leased) }, int64(id), of, now)
	}
	return b, err
}

// firstImmature is the lowest height whose coinbase the policy calls immature.
func firstImmature(p utxo.Policy, tip int32) int32 {
	return int32(sort.Search(int(tip)+1, func(h int) bool {
		c := utxo.Coin{Status: utxo.Published, Height: int32(h), Coinbase: true}
		return p.State(c, tip, time.Time{}) == utxo.CoinImmature
	}))
}

var (
	addBalances = statement{rows: "wallet_id int, owner_tag text, bucket text, amount int",
		text: "INSERT INTO @wallet_balances (wallet_id, owner_tag, bucket, amount) " +
			"SELECT r.wallet_id, r.owner_tag, r.bucket, r.amount FROM {rows} WHERE true " +
			"ON CONFLICT (wallet_id, owner_tag, bucket) DO UPDATE SET amount = @wallet_balances.amount + excluded.amount"}
)

// saveSums moves the sums by what a change set says.
func (w wallets) saveSums(set *utxo.ChangeSet) error {
	rows := new(batch)
	for _, s := range set.Sums {
		rows.add(int64(s.Wallet), s.Tag, s.State, s.Amount)
	}
	return w.some(&addBalances, rows)
}
