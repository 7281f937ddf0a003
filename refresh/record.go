package refresh

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Bounds of what comes from outside.
const (
	MaxID    = 500                   // bytes of an xpub, a fingerprint, a recipient, an asset
	MaxActor = statemachine.MaxActor // bytes
	MaxText  = 1000
	// MaxTransfers bounds one listing, with the transfers that ended long ago. Where a listing
	// has more, no pass of the wallet is stored, and its jobs fail.
	MaxTransfers = 100_000
	MaxTick      = 1000 // watchers of one tick; the others are due in the next
	MaxAhead     = 10 * 365 * 24 * time.Hour
)

// Credentials name a wallet. XpubVan alone is the key; all three are needed.
type Credentials struct {
	XpubVan           string
	XpubCol           string
	MasterFingerprint string
}

// Work is what commits together: a wallet, its lock, and the jobs and watchers that an event
// concerns. It is a pure value; Apply never writes through its slices. [Reads] says what must
// be loaded.
type Work struct {
	Wallet   Wallet
	Lock     Lock // zero: there is no row
	Jobs     []Job
	Watchers []Watcher
	// RestoredAt is when the database was last put back to an earlier state, by the store's clock;
	// zero: never. It is no column: the service sets it for SlotClaimed and Locked.
	RestoredAt time.Time `json:",omitzero"`
}

// Wallet is a row of refresh_wallets: who serves it.
//
// The columns of Lease and WorkSeq are outside the version.
type Wallet struct {
	XpubVan string
	Status  WalletStatus `json:",omitzero"`
	// WorkSeq grows by 1 with each job that is enqueued and each watcher that ends. It tells in
	// which order these things happened to the wallet, whatever the store's clock said.
	WorkSeq       int64
	UnservedSince time.Time // when it last lost or gave back its slot, or was made; zero while served
	Slot          int32     // 1 to MAX_WALLET_PROCESSES, unique over all wallets; 0: unserved
	Lease         statemachine.Lease
	HungRounds    int32     // rounds in a row that ended with a call timing out
	NotBefore     time.Time // before it neither jobs nor watchers are due, provisional expiry excepted
	Version       int64
	CreatedAt     time.Time
}

// Job is a row of refresh_jobs: one order to refresh a wallet.
//
// AvailableAt and Lease are outside the version.
type Job struct {
	ID uuid.UUID // version 4
	Credentials
	Cause     Cause  `json:",omitzero"` // column trigger
	Recipient string // needed for an invoice; stored and not used otherwise
	Asset     string // optional; empty: none

	Status      JobStatus `json:",omitzero"`
	Attempts    int32     // +1 at each claim
	AvailableAt time.Time // not claimed before
	Lease       statemachine.Lease
	Error       string    // of the latest failure, bounded
	ProcessedAt time.Time // terminal only

	Seq       int64 // WorkSeq of the wallet when the job was made
	EndSeq    int64 // WorkSeq when it ended; 0: it has not
	Version   int64
	CreatedAt time.Time
}

// Invoice reports whether j is for an invoice without asset, which needs a watcher and no refresh. The
// source calls this flow 2.
func (j *Job) Invoice() bool { return j.Cause == InvoiceCreated && j.Asset == "" }

// Watcher is a row of refresh_watchers: one transfer that is watched, unique by
// XpubVan and Recipient.
//
// RefreshCount, NextAt and LastError are outside the version.
type Watcher struct {
	Credentials
	Recipient   string
	Asset       string // empty while the transfer has none
	Provisional bool   // of an invoice without asset whose transfer has none yet

	Status       WatcherStatus `json:",omitzero"`
	ExpiresAt    time.Time
	RefreshCount int64
	NextAt       time.Time // when the next tick is due
	// CancelTried: a cancellation that was due at the expiry did not work. It is tried once
	// more, an interval later, and then the watcher ends.
	CancelTried bool
	// Refused has the batch indexes that the host refuses to cancel for ever, such as "1,7".
	// They are not asked for again before the expiry, and need an operator.
	Refused   string
	EndedAt   time.Time // ended only
	EndReason EndReason `json:",omitzero"`
	EndSeq    int64     // ended only: WorkSeq of the wallet, which the end has moved
	LastError string    // bounded

	Version   int64
	CreatedAt time.Time
}

// Lock is a row of wallet_locks: who may refresh the wallet. Its fence comes from a sequence of
// the store and not from the row, since rows are deleted.
type Lock struct {
	XpubVan  string
	Lease    statemachine.Lease // Until is the column expires_at
	LockedAt time.Time
	Seq      int64 // WorkSeq of the wallet when the lock was taken
}

// ID names the wallet in the audit trail.
func (w *Wallet) ID() uuid.UUID { return WalletID(w.XpubVan) }

// ID names the watcher in the audit trail.
func (w *Watcher) ID() uuid.UUID { return WatcherID(w.XpubVan, w.Recipient) }

// WalletID is the identifier under which the audit trail keeps a wallet. Every process derives
// the same identifier from the xpub.
func WalletID(xpub string) uuid.UUID { return named("wallet", xpub) }

// WatcherID is the identifier under which the audit trail keeps a watcher.
func WatcherID(xpub, recipient string) uuid.UUID { return named("watcher", xpub, recipient) }

// syncJob is the id of the job that the expiry of a provisional watcher makes. A row is
// provisional at most once, so no row makes two such jobs.
func (w *Watcher) syncJob() uuid.UUID {
	id := named("sync job", w.XpubVan, w.Recipient)
	id[6] = id[6]&0x0f | 0x40 // in the form of version 4
	return id
}

// named hashes texts without NUL to an identifier of version 8.
func named(parts ...string) uuid.UUID {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	var id uuid.UUID
	copy(id[:], h.Sum(nil))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return id
}

// word reports whether s is a storable text of 1 to MaxID bytes.
func word(s string) bool { return s != "" && len(s) <= MaxID && statemachine.Storable(s) }

func (c *Credentials) valid() bool {
	return word(c.XpubVan) && word(c.XpubCol) && word(c.MasterFingerprint)
}
