package utxo

import (
	"bytes"
	"cmp"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
)

// Stats is what a store counts of one wallet at the moment At. Confirmed and dead
// transactions stay for ever and wait for nothing, so they are not counted.
type Stats struct {
	At     time.Time
	Wallet WalletID
	// Txs are the live transactions that are in no block, by status: pending, or
	// published. Context is not counted.
	Txs map[Status]int64
	// OldestPending and OldestPublished are the transactions of Txs that were first seen
	// longest ago (by [Tx.FirstSeen], also where their block left the chain); zero: none.
	OldestPending, OldestPublished Waiting

	Leased    int64 // outputs in the state [CoinLeased]
	LastLease Lease // of these outputs the lease with the latest end; zero: none
	// OldestLease is the lease of these outputs that one lock has held for the longest
	// time, renewals included; zero: none.
	OldestLease Lease

	Owners    int64 // those of [Wallet.Behind]
	ScannedTo int32 // height up to which the coins of the wallet and of all its owners are complete
	Tip       int32 // height of the tip; -1 for an empty chain
}

// Waiting is a transaction that waits, since it was first seen.
type Waiting struct {
	Hash  chainhash.Hash
	Since time.Time
}

// Behind is how many blocks the wallet, or the slowest of its owners, is below the tip. A
// scan takes it to 0; where nobody scans, it stays.
func (s *Stats) Behind() int64 { return max(0, int64(s.Tip)-int64(s.ScannedTo)) }

// ReadStats counts what a store has of one wallet at now. It reads only unfinished work:
// live unconfirmed transactions, active leases, owners that are behind. An unknown wallet
// is [statemachine.ErrNotFound].
func ReadStats(r Source, id WalletID, now time.Time) (s Stats, err error) {
	wallets, err := r.Wallets(id)
	if err != nil {
		return s, err
	}
	tip, ok, err := r.Tip()
	if err != nil {
		return s, err
	}
	if !ok {
		tip.Height = -1
	}
	txs, err := r.LiveUnconfirmed(id)
	if err != nil {
		return s, err
	}
	leases, err := r.ActiveLeases(id, now)
	if err != nil {
		return s, err
	}
	ops := make([]wire.OutPoint, len(leases))
	for i, l := range leases {
		ops[i] = l.OutPoint
	}
	coins, err := r.Coins(id, ops...)
	return StatsOf(wallets[0], tip.Height, txs, coins, now), err
}

// StatsOf counts the transactions and outputs of a wallet at now. It defines the fields of
// [Stats]: given everything that is stored, it must count the same as [ReadStats].
func StatsOf(w Wallet, tip int32, txs []*Tx, coins []Coin, now time.Time) Stats {
	s := Stats{At: now, Wallet: w.ID, Txs: map[Status]int64{}, ScannedTo: w.ScannedTo, Tip: tip}
	for _, t := range txs {
		if !t.Live() || t.Confirmed() || t.Context {
			continue
		}
		s.Txs[t.Status]++
		oldest := &s.OldestPublished
		if t.Status == Pending {
			oldest = &s.OldestPending
		}
		if oldest.Since.IsZero() || cmp.Or(t.FirstSeen.Compare(oldest.Since), bytes.Compare(t.ID.Hash[:], oldest.Hash[:])) < 0 {
			*oldest = Waiting{t.ID.Hash, t.FirstSeen}
		}
	}
	for i := range coins {
		if (Policy{}).State(coins[i], tip, now) == CoinLeased { // whatever the policy
			s.Leased++
			l := coins[i].Lease
			if byEnd(*l, s.LastLease) > 0 {
				s.LastLease = *l
			}
			if old := s.OldestLease; old.Until.IsZero() || cmp.Or(l.Since.Compare(old.Since), CompareOutPoints(l.OutPoint, old.OutPoint)) < 0 {
				s.OldestLease = *l
			}
		}
	}
	for _, o := range w.Behind {
		s.Owners += int64(len(o.Tags))
		s.ScannedTo = min(s.ScannedTo, o.ScannedTo)
	}
	return s
}

// Thresholds are the limits of [Alerts], see [DefaultThresholds]. A zero duration switches
// its alert off; a count alerts when it exceeds its limit.
type Thresholds struct {
	PendingWait   time.Duration // no node takes a transaction, or nobody sends it
	PublishedWait time.Duration // no block takes a transaction, ours or a deposit: days, above [Policy.Rebroadcast]
	LeaseFor      time.Duration // from now to the end of a lease: above the longest that a host asks for
	LeaseWait     time.Duration // a payment has its coins leased, however often it renews that, and is not submitted
	Behind        int64         // blocks: above those of a scan under way
}

// DefaultThresholds leave nothing unwatched: everything that is under way raises an alert a
// bounded time after it began, whatever events repeat meanwhile. A wallet that is behind
// alerts at once, since a scan that nobody runs looks like one that is running: a host that
// scans for long raises the limit Behind for that time.
func DefaultThresholds() Thresholds {
	return Thresholds{PendingWait: time.Hour, PublishedWait: 72 * time.Hour, LeaseFor: 24 * time.Hour, LeaseWait: 24 * time.Hour}
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	// A time in the future was written by a clock that was ahead. If it is further away
	// than the limit, it alerts now, without waiting for that time to come.
	away := func(since time.Time) time.Duration { return s.At.Sub(since).Abs() }
	wait := func(name string, w Waiting, limit time.Duration, what string) {
		a.Add(limit > 0 && !w.Since.IsZero() && away(w.Since) > limit, name, "transaction %s %s since %s, longer than %v",
			TxID{s.Wallet, w.Hash}, what, w.Since.UTC().Format(time.RFC3339), limit)
	}
	wait("pending wait", s.OldestPending, t.PendingWait, "is pending")
	wait("published wait", s.OldestPublished, t.PublishedWait, "is published and in no block")
	l := s.LastLease
	a.Add(t.LeaseFor > 0 && l.Until.Sub(s.At) > t.LeaseFor, "lease", "%s, longer than %v from now; %d outputs are leased",
		l, t.LeaseFor, s.Leased)
	l = s.OldestLease
	a.Add(t.LeaseWait > 0 && !l.Until.IsZero() && away(l.Since) > t.LeaseWait, "lease wait",
		"%s, which has had it since %s, longer than %v; %d outputs are leased",
		l, l.Since.UTC().Format(time.RFC3339), t.LeaseWait, s.Leased)
	a.Add(s.Behind() > t.Behind, "behind", "wallet %d, %d late owners among it, is scanned to %d, %d blocks below the tip, more than %d",
		s.Wallet, s.Owners, s.ScannedTo, s.Behind(), t.Behind)
	return a.Alerts
}
