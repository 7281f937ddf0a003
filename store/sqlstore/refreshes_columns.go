package sqlstore

import (
	"database/sql/driver"

	"github.com/google/uuid"
	"github.com/settlehq/settle/refresh"
)

// The records of package refresh, see [table].

// madeID is a key that is made from other columns.
type madeID struct{ from func() uuid.UUID }

// Scan implements [sql.Scanner].
func (madeID) Scan(any) error { return nil }

// Value implements [driver.Valuer].
func (m madeID) Value() (driver.Value, error) { return m.from().Value() }

var refreshWalletTable = newTable(table[refresh.Wallet]{
	name:    "refresh_wallets",
	machine: refresh.WalletMachine.Name(),
	version: func(w *refresh.Wallet) int64 { return w.Version },
	fixed: func(w *refresh.Wallet) list {
		return list{{"id uuid", madeID{w.ID}}, {"xpub_van text", always(&w.XpubVan)}, {"created_at time", always(&w.CreatedAt)}}
	},
	state: func(w *refresh.Wallet) list {
		return list{{"status text", always(&w.Status)}, {"unserved_since time", maybe(&w.UnservedSince)}, {"slot int", maybe(&w.Slot)},
			{"hung_rounds int", always(&w.HungRounds)}, {"not_before time", maybe(&w.NotBefore)}, {"version int", always(&w.Version)}}
	},
	outside: func(w *refresh.Wallet) list {
		return list{{"lease_holder text", maybe(&w.Lease.Holder)}, {"lease_fence int", always(&w.Lease.Fence)},
			{leaseUntil, maybe(&w.Lease.Until)},
			{"work_seq int", always(&w.WorkSeq)}}
	},
	unique: []unique{{[]string{"slot"}, "", refreshTaken(refresh.ErrSlotTaken)}},
})

var refreshJobTable = newTable(table[refresh.Job]{
	name:    "refresh_jobs",
	machine: refresh.JobMachine.Name(),
	version: func(j *refresh.Job) int64 { return j.Version },
	fixed: func(j *refresh.Job) list {
		return list{{"job_id uuid", always(&j.ID)}, {"xpub_van text", always(&j.XpubVan)}, {"xpub_col text", always(&j.XpubCol)},
			{"master_fingerprint text", always(&j.MasterFingerprint)}, {"trigger text", always(&j.Cause)},
			{"recipient_id text", maybe(&j.Recipient)},
			{"asset_id text", maybe(&j.Asset)}, {"seq int", always(&j.Seq)}, {"created_at time", always(&j.CreatedAt)}}
	},
	state: func(j *refresh.Job) list {
		return list{{"status text", always(&j.Status)}, {"attempts int", always(&j.Attempts)}, {"error text", maybe(&j.Error)},
			{"processed_at time", maybe(&j.ProcessedAt)}, {"end_seq int", maybe(&j.EndSeq)}, {"version int", always(&j.Version)}}
	},
	outside: func(j *refresh.Job) list {
		return list{{"lease_holder text", maybe(&j.Lease.Holder)}, {"lease_fence int", always(&j.Lease.Fence)},
			{leaseUntil, maybe(&j.Lease.Until)},
			{"available_at time", always(&j.AvailableAt)}}
	},
	unique: []unique{{[]string{"xpub_van", "trigger"}, "x.trigger = 'recovery' AND x.status IN ('pending', 'processing')",
		refreshTaken(refresh.ErrRecovering)}},
})

var watcherTable = newTable(table[refresh.Watcher]{
	name:    "refresh_watchers",
	machine: refresh.WatcherMachine.Name(),
	version: func(w *refresh.Watcher) int64 { return w.Version },
	fixed: func(w *refresh.Watcher) list {
		return list{{"id uuid", madeID{w.ID}}, {"xpub_van text", always(&w.XpubVan)}, {"xpub_col text", always(&w.XpubCol)},
			{"master_fingerprint text", always(&w.MasterFingerprint)}, {"recipient_id text", always(&w.Recipient)},
			{"created_at time", always(&w.CreatedAt)}}
	},
	state: func(w *refresh.Watcher) list {
		return list{{"asset_id text", maybe(&w.Asset)}, {"provisional bool", always(&w.Provisional)}, {"status text", always(&w.Status)},
			{"expires_at time", always(&w.ExpiresAt)}, {"cancel_tried bool", always(&w.CancelTried)}, {"refused text", maybe(&w.Refused)},
			{"ended_at time", maybe(&w.EndedAt)},
			{"end_reason text", maybe(&w.EndReason)}, {"end_seq int", maybe(&w.EndSeq)}, {"version int", always(&w.Version)}}
	},
	outside: func(w *refresh.Watcher) list {
		return list{{"refresh_count int", always(&w.RefreshCount)}, {"next_at time", always(&w.NextAt)}, {"last_error text", maybe(&w.LastError)}}
	},
})

var walletLockTable = newTable(table[refresh.Lock]{
	name: "wallet_locks",
	fixed: func(l *refresh.Lock) list {
		return list{{"xpub_van text", always(&l.XpubVan)}, {"holder text", always(&l.Lease.Holder)}, {"fence int", always(&l.Lease.Fence)},
			{"locked_at time", always(&l.LockedAt)}, {"seq int", always(&l.Seq)}, {"expires_at time", always(&l.Lease.Until)}}
	},
})

// refreshTaken is the error of a rule that gave what was asked for to another.
func refreshTaken(rule error) func(string) error {
	return func(holder string) error { return &refresh.TakenError{Err: rule, By: holder} }
}
