package sqlstore

import (
	"cmp"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// refreshRows are the rows of a Save, by what happens to them.
type refreshRows struct {
	freed          batch // before those that may take their slots
	wallets        rowsOf[refresh.Wallet]
	locks, unlocks batch
	jobs           rowsOf[refresh.Job]
	watchers       rowsOf[refresh.Watcher]
	log            []statemachine.Transition[uuid.UUID]
}

// Save implements [store.RefreshRecords].
func (r refreshes) Save(changes ...refresh.Change) error {
	return r.save(refresh.WalletMachine.Name(), func() error {
		s := refreshRows{wallets: rowsOf[refresh.Wallet]{table: refreshWalletTable}, jobs: rowsOf[refresh.Job]{table: refreshJobTable},
			watchers: rowsOf[refresh.Watcher]{table: watcherTable}}
		for i := range changes {
			if err := changes[i].Complete(); err != nil {
				return err
			}
			s.add(&changes[i])
		}
		return s.write(r.tx)
	})
}

func (s *refreshRows) add(c *refresh.Change) {
	switch o, n := &c.Old.Wallet, &c.New.Wallet; {
	case *o == *n:
	case o.Version > 0 && o.Version != n.Version && c.FreesSlot():
		refreshWalletTable.updateRow(&s.freed, o, n)
	default:
		s.wallets.add(o, n)
	}
	switch o, n := &c.Old.Lock, &c.New.Lock; {
	case *o == *n:
	case *n == refresh.Lock{}:
		s.unlocks.add(o.XpubVan, o.Lease.Fence)
	default:
		walletLockTable.insertRow(&s.locks, n)
	}
	c.Written(s.jobs.add, s.watchers.add)
	s.log = append(s.log, c.Log...)
}

var (
	takeLocks = statement{once: true, rows: walletLockTable.all,
		text: "INSERT INTO @wallet_locks AS x (" + walletLockTable.columns("") + ") SELECT " +
			walletLockTable.columns("r.") +
			" FROM {rows} WHERE true ON CONFLICT (xpub_van) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, locked_at = " +
			"excluded.locked_at, " +
			"seq = excluded.seq, expires_at = excluded.expires_at WHERE x.expires_at <= excluded.locked_at OR x.fence = excluded.fence"}
	freeLocks = statement{once: true, rows: "xpub_van text, fence int",
		text: "DELETE FROM @wallet_locks WHERE (xpub_van, fence) IN (SELECT r.xpub_van, r.fence FROM {rows})"}
)

// write locks no rows in an order first: whoever writes rows of a wallet has its row,
// see Heads and Free, which lock in one order or wait for nobody.
func (s *refreshRows) write(x *tx) error {
	return inTurn(
		func() error { return refreshWalletTable.writeChanged(x, &s.freed) },
		func() error { return s.wallets.write(x) },
		func() error { return s.jobs.write(x) },
		func() error { return s.watchers.write(x) },
		func() error { return lockRows(x, &takeLocks, &s.locks, statemachine.ErrHeld) },
		func() error { return lockRows(x, &freeLocks, &s.unlocks, statemachine.ErrFenced) },
		func() error { return logTransitions(x, s.log) },
	)
}

// lockRows takes or frees locks; refused is why one could not be.
func lockRows(x *tx, st *statement, rows *batch, refused error) error {
	if rows.len() == 0 {
		return nil
	}
	n, err := x.write(st, rows)
	if err == nil && n != int64(rows.len()) {
		err = &statemachine.Refusal{Err: refused, Machine: "wallet lock", Event: "save"}
	}
	return err
}

const heldLock = "x.xpub_van = r.xpub_van AND x.fence = r.fence AND x.expires_at > r.at"

var (
	refreshSlotLeases = leaseTable(refreshWalletTable)
	refreshJobLeases  = leaseTable(refreshJobTable)
	walletLockLeases  = &leases{
		lock: func(*tx, ...writing) error { return nil }, // the wallet's row is locked
		renew: statement{once: true, rows: "xpub_van text, fence int, until time, at time",
			text: "UPDATE @wallet_locks AS x SET expires_at = r.until FROM {rows} WHERE " + heldLock},
		lost: statement{once: true, set: "xpub_van text, fence int, at time",
			text: "SELECT r.xpub_van FROM {set} WHERE NOT EXISTS (SELECT 1 FROM @wallet_locks x WHERE " + heldLock + ")"},
	}
)

// Renew implements [store.RefreshRecords].
func (r refreshes) Renew(now, until time.Time, held ...store.RefreshLease) (lost []string, err error) {
	if err := r.writes("renew"); err != nil {
		return nil, err
	}
	var slots, jobs []store.Lease[uuid.UUID]
	var locks []store.Lease[string]
	of := map[uuid.UUID]string{}
	for _, h := range held {
		if id := refresh.WalletID(h.XpubVan); h.Slot != 0 {
			slots, of[id] = append(slots, store.Lease[uuid.UUID]{ID: id, Fence: h.Slot, Until: until}), h.XpubVan
		}
		if h.Job != uuid.Nil {
			jobs = append(jobs, store.Lease[uuid.UUID]{ID: h.Job, Fence: h.Fence, Until: until})
			of[h.Job] = h.XpubVan
		}
		if h.Lock != 0 {
			locks = append(locks, store.Lease[string]{ID: h.XpubVan, Fence: h.Lock, Until: until})
		}
	}
	gone := map[string]bool{}
	for _, l := range []struct {
		*leases
		machine string
		all     []store.Lease[uuid.UUID]
	}{{refreshSlotLeases, refresh.WalletMachine.Name(), slots}, {refreshJobLeases, refresh.JobMachine.Name(), jobs}} {
		ids, err := renew(r.tx, l.leases, l.machine, now, l.all)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			gone[of[id]] = true
		}
	}
	xpubs, err := renew(r.tx, walletLockLeases, "wallet lock", now, locks)
	for _, xpub := range xpubs {
		gone[xpub] = true
	}
	for _, h := range held {
		if gone[h.XpubVan] {
			lost = append(lost, h.XpubVan)
		}
	}
	return lost, err
}

var sweepLocks = func() map[Dialect]*statement {
	const text = "DELETE FROM @wallet_locks WHERE xpub_van IN (SELECT x.xpub_van FROM @wallet_locks x WHERE x.expires_at <= $1 ORDER BY " +
		"x.xpub_van LIMIT $2"
	return map[Dialect]*statement{SQLite: {text: text + ")"}, Postgres: {text: text + " FOR UPDATE SKIP LOCKED)"}}
}()

// Sweep implements [store.RefreshRecords].
func (r refreshes) Sweep(now time.Time, limit int) (int, error) {
	if err := cmp.Or(r.writes("sweep"), store.CheckLimit(limit)); err != nil {
		return 0, err
	}
	if err := r.flush(); err != nil {
		return 0, err
	}
	n, err := r.write(sweepLocks[r.store.Dialect], nil, now, int64(limit))
	return int(n), err
}
