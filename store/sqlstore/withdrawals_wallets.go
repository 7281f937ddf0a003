package sqlstore

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

var (
	selectWalletsOf = statement{text: "SELECT " + hotWalletTable.columns("w.") +
		", " + lastNonces + " FROM @operation_wallet_addresses w" + withNonces + "WHERE w.chain_id = $1 ORDER BY w.id"}
	// Not INSERT ... ON CONFLICT: SQLite could not tell it from a REPLACE, which
	// would set the reservation back.
	restateWallet = statement{text: "UPDATE @operation_wallet_addresses SET role = $2, status = $3 WHERE id = $1"}

	// In the order of ids, so that two transactions cannot deadlock.
	lockReserved = map[Dialect]*statement{
		SQLite:   {set: "id uuid", text: selectReserved},
		Postgres: {set: "id uuid", text: selectReserved + " FOR NO KEY UPDATE OF w"},
	}
	// A single wallet is not locked first: there is no order to keep.
	addReserved = map[Dialect]*statement{Postgres: {once: true, rows: "id uuid, delta num, used_at time",
		text: "UPDATE @operation_wallet_addresses AS w SET balance_reserved = w.balance_reserved + r.delta, " +
			"last_used_at = greatest(w.last_used_at, r.used_at) FROM {rows} WHERE w.id = r.id"}}
	updateReserved = statement{once: true, rows: "id uuid, balance_reserved num, last_used_at time",
		text: "UPDATE @operation_wallet_addresses AS w " +
			"SET balance_reserved = r.balance_reserved, last_used_at = r.last_used_at FROM {rows} WHERE w.id = r.id"}
)

const selectReserved = "SELECT w.id, w.balance_reserved, w.last_used_at FROM @operation_wallet_addresses w " +
	"WHERE w.id IN (SELECT r.id FROM {set}) ORDER BY w.id"

// hotWallets are the tables of withdrawals as records of the wallets that pay them.
type hotWallets struct{ withdrawals }

// HotWallets implements [store.WithdrawalUnit].
func (t *tx) HotWallets() store.HotWalletRecords {
	if none, lacks := t.lacks(store.DomainWithdrawals); lacks {
		return store.UnimplementedHotWallets{Unimplemented: none}
	}
	return hotWallets{t.withdrawals()}
}

// OfChain implements [store.HotWalletRecords].
func (w hotWallets) OfChain(chain uuid.UUID) ([]withdrawal.HotWallet, error) {
	return w.wallets(&selectWalletsOf, nil, chain.String())
}

// wallets returns those that a statement finds, with their next nonces.
func (w withdrawals) wallets(st *statement, set *batch, args ...any) (all []withdrawal.HotWallet, err error) {
	var row withdrawal.HotWallet
	fields, next := walletCells(&row)
	err = w.read(st, set, func(rows *sql.Rows) error {
		err := rows.Scan(fields...)
		next()
		all = append(all, row)
		return err
	}, args...)
	return all, err
}

// Put implements [store.HotWalletRecords].
func (w hotWallets) Put(wallet withdrawal.HotWallet) error {
	if wallet.BalanceReserved == "" {
		wallet.BalanceReserved = "0"
	}
	return w.save("hot wallet", func() error {
		n, err := w.write(&restateWallet, nil, wallet.ID.String(), wallet.Role, wallet.Status)
		if err != nil || n > 0 {
			return err
		}
		rows := new(batch)
		hotWalletTable.insertRow(rows, &wallet)
		return hotWalletTable.writeNew(w.tx, rows)
	})
}

// reserve applies differences to the rows of wallets. The rows are locked here,
// late in a commit, since every enqueued and every ended job passes through
// them.
func (w withdrawals) reserve(all []withdrawal.Reservation) error {
	if len(all) == 0 {
		return nil
	}
	set := new(batch)
	stored := map[uuid.UUID]*withdrawal.HotWallet{}
	for _, r := range all {
		if stored[r.Wallet] == nil {
			stored[r.Wallet] = new(withdrawal.HotWallet)
			set.add(r.Wallet)
		}
	}
	unknown := func(id uuid.UUID) error {
		return &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "hot wallet", ID: id.String(), Event: "reserve"}
	}
	if w.store.Dialect == Postgres && set.len() == 1 {
		sum, rows := withdrawal.HotWallet{BalanceReserved: "0"}, new(batch)
		for _, r := range all {
			sum.Reserve(r)
		}
		rows.add(all[0].Wallet, always(&sum.BalanceReserved), maybe(&sum.LastUsedAt))
		return w.later(stage{statement: addReserved[Postgres], rows: rows, few: func(int64) error { return unknown(all[0].Wallet) }})
	}
	var order []*withdrawal.HotWallet
	err := w.read(lockReserved[w.store.Dialect], set, func(rows *sql.Rows) error {
		var row withdrawal.HotWallet
		err := rows.Scan(always(&row.ID), always(&row.BalanceReserved), maybe(&row.LastUsedAt))
		if at := stored[row.ID]; at != nil {
			*at = row
			order = append(order, at)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range all {
		at := stored[r.Wallet]
		if at.ID == uuid.Nil {
			return unknown(r.Wallet)
		}
		at.Reserve(r)
	}
	rows := new(batch)
	for _, at := range order {
		rows.add(at.ID, always(&at.BalanceReserved), maybe(&at.LastUsedAt))
	}
	return w.allLater("hot wallets", &updateReserved, rows)
}

var (
	// The lock is the transaction's. Two users whose hashes are the same wait
	// for each other, and nothing else.
	lockUser    = statement{text: "SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawals of user ' || $1, 0))"}
	selectUsage = statement{text: "SELECT created_at, amount FROM @withdrawal_requests WHERE user_id = $1 AND asset_id = $2 " +
		"AND created_at >= $3 AND created_at < $4 AND status IN (" + countsForWindows() + ")"}
)

// countsForWindows are the statuses that [withdrawal.UsageOf] counts.
func countsForWindows() string {
	var all []string
	for _, s := range withdrawal.RequestStatus(0).Values() {
		if r := (withdrawal.Request{Status: s}); r.CountsForWindows() {
			all = append(all, "'"+s.String()+"'")
		}
	}
	return strings.Join(all, ", ")
}

// Usage implements [store.WithdrawalRecords].
func (w withdrawals) Usage(user, asset uuid.UUID, windows []withdrawal.Window, now time.Time) (withdrawal.Usage, error) {
	if w.store.Dialect == Postgres && !w.view {
		if err := w.read(&lockUser, nil, func(*sql.Rows) error { return nil }, user.String()); err != nil {
			return withdrawal.Usage{}, err
		}
	}
	if len(windows) == 0 {
		return withdrawal.Usage{}, nil
	}
	longest := slices.MaxFunc(windows, func(a, b withdrawal.Window) int { return cmp.Compare(a.Length, b.Length) }).Length
	var earlier []withdrawal.Request
	r := withdrawal.Request{User: user, Asset: asset, Status: withdrawal.RequestPending} // or another that counts
	err := w.read(&selectUsage, nil, func(rows *sql.Rows) error {
		err := rows.Scan(always(&r.CreatedAt), always(&r.Amount))
		earlier = append(earlier, r)
		return err
	}, user.String(), asset.String(), now.Add(-longest), now)
	return withdrawal.UsageOf(earlier, user, asset, windows, now, false), err
}
