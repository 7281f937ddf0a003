package utxo_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

func (b *desk) at(now time.Time, ev utxo.Event) {
	b.Helper()
	if _, err := b.DoAt(ev, now); err != nil {
		b.Fatal(err)
	}
}

// Stats counts and names what waits. It counts no confirmed, dead or context transaction,
// and no lease that has ended or whose output is spent.
func TestStats(t *testing.T) {
	hour := func(n int) time.Time { return utxotest.Start.Add(time.Duration(n) * time.Hour) }
	b := newDesk(t)
	coin := b.tx(nil, mine('a'), mine('a'), mine('a'), mine('a'), mine('a'))
	b.connect(coin)
	spent := b.tx(nil, mine('a'))
	b.connect(spent)
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2, Birth: 2})

	var sent []*wire.MsgTx
	for i, ev := range []func(*wire.MsgTx) utxo.Event{
		func(tx *wire.MsgTx) utxo.Event { return utxo.Submitted{Wallet: 1, Tx: tx} },
		func(tx *wire.MsgTx) utxo.Event { return utxo.Submitted{Wallet: 1, Tx: tx} },
		func(tx *wire.MsgTx) utxo.Event { return b.seen(1, tx) },
		func(tx *wire.MsgTx) utxo.Event { return b.seen(2, tx) },
	} {
		tx := b.tx(ins(out(coin, uint32(i))), mine('a'))
		sent = append(sent, tx)
		b.at(hour(4-i), ev(tx)) // each seen an hour before the one before
	}
	dead := b.tx(nil, mine('a'))
	b.at(hour(0), b.seen(3, dead))
	do(t, b.Ledger, utxo.Invalidated{ID: utxo.TxID{Wallet: 1, Hash: dead.TxHash()}})
	parent := b.tx(nil, mine('a'))
	b.at(hour(5), b.seen(4, parent))
	child := b.tx(ins(out(parent, 0)), utxotest.Script(2, "b"))
	b.at(hour(6), b.seen(5, child)) // in wallet 2 its parent is context

	lease := func(d time.Duration, ops ...wire.OutPoint) {
		b.at(hour(0), utxo.OutputsLeased{Wallet: 1, OutPoints: ops, Lock: utxo.LockID{1}, Duration: d})
	}
	lease(9*time.Hour, out(sent[3], 0))
	lease(10*time.Hour, out(coin, 4), out(spent, 0))
	b.at(hour(7), utxo.Submitted{Wallet: 1, Tx: b.tx(ins(out(spent, 0)), mine('a')), Lock: utxo.LockID{1}})

	stats := func(w utxo.WalletID, now time.Time) utxo.Stats {
		s, err := utxo.ReadStats(b, w, now)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := utxo.Stats{
		At: hour(9).Add(-1), Wallet: 1, Tip: 2, ScannedTo: 2, Leased: 2,
		Txs:             map[utxo.Status]int64{utxo.Pending: 3, utxo.Published: 4},
		OldestPending:   utxo.Waiting{Hash: sent[1].TxHash(), Since: hour(3)},
		OldestPublished: utxo.Waiting{Hash: sent[3].TxHash(), Since: hour(1)},
		LastLease:       utxo.Lease{Wallet: 1, OutPoint: out(coin, 4), Lock: utxo.LockID{1}, Until: hour(10), Since: hour(0)},
		OldestLease:     utxo.Lease{Wallet: 1, OutPoint: out(coin, 4), Lock: utxo.LockID{1}, Until: hour(10), Since: hour(0)},
	}
	if first := want.OldestLease.OutPoint; utxo.CompareOutPoints(out(sent[3], 0), first) < 0 { // of the same age the first counts
		want.OldestLease.OutPoint, want.OldestLease.Until = out(sent[3], 0), hour(9)
	}
	if got := stats(1, want.At); !reflect.DeepEqual(got, want) {
		t.Errorf("of wallet 1:\n%+v\nwant\n%+v", got, want)
	}
	if got := stats(1, hour(9)); got.Leased != 1 {
		t.Errorf("at the end of a lease %d are active", got.Leased)
	}
	if got := stats(1, hour(10)); got.Leased != 0 || got.LastLease != (utxo.Lease{}) || got.OldestLease != (utxo.Lease{}) {
		t.Errorf("at the end of the last: %+v", got)
	}
	if got := stats(2, want.At); got.Txs[utxo.Published] != 1 || got.OldestPublished.Hash != child.TxHash() {
		t.Errorf("of wallet 2: %+v", got)
	}

	// Owners that were announced late wait for the blocks from their birth on.
	do(t, b.Ledger, utxo.OwnersAnnounced{Wallet: 1, Birth: 2, Tags: []string{"b", "c"}})
	do(t, b.Ledger, utxo.OwnersAnnounced{Wallet: 1, Birth: 1, Tags: []string{"d"}})
	if got := stats(1, want.At); got.Owners != 3 || got.ScannedTo != 0 || got.Behind() != 2 {
		t.Errorf("with late owners: %+v", got)
	}
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 3, Birth: 5})
	if got := stats(3, want.At); got.Behind() != 0 {
		t.Errorf("a wallet that is not born: %+v", got)
	}
}

// An alert comes one above the limit, and a zero duration is not watched.
func TestAlerts(t *testing.T) {
	now := utxotest.Start
	hash := utxotest.External(1).Hash
	s := utxo.Stats{
		At: now, Wallet: 7, OldestPending: utxo.Waiting{Hash: hash, Since: now.Add(-time.Hour)},
		OldestPublished: utxo.Waiting{Hash: hash, Since: now.Add(-7 * 24 * time.Hour)}, Leased: 1,
		LastLease: utxo.Lease{Wallet: 7, OutPoint: utxotest.External(2), Lock: utxo.LockID{1}, Until: now.Add(time.Hour)},
		OldestLease: utxo.Lease{
			Wallet: 7, OutPoint: utxotest.External(3), Lock: utxo.LockID{1}, Until: now.Add(time.Hour), Since: now.Add(-2 * time.Hour),
		},
		Owners: 3, ScannedTo: 90, Tip: 100,
	}
	limits := utxo.Thresholds{
		PendingWait: time.Hour, PublishedWait: 7 * 24 * time.Hour, LeaseFor: time.Hour, LeaseWait: 2 * time.Hour, Behind: 10,
	}
	if got := utxo.Alerts(s, limits); got != nil {
		t.Errorf("at the limits: %v", got)
	}
	id := utxo.TxID{Wallet: 7, Hash: hash}.String()
	for _, above := range []struct {
		name string
		set  func(*utxo.Thresholds)
		says []string
	}{
		{"pending wait", func(l *utxo.Thresholds) { l.PendingWait-- }, []string{id}},
		{"published wait", func(l *utxo.Thresholds) { l.PublishedWait-- }, []string{id}},
		{"lease", func(l *utxo.Thresholds) { l.LeaseFor-- }, []string{s.LastLease.String()}},
		{"lease wait", func(l *utxo.Thresholds) { l.LeaseWait-- }, []string{s.OldestLease.String(), "since"}},
		{"behind", func(l *utxo.Thresholds) { l.Behind-- }, []string{"wallet 7", "3 late owners", "is scanned to 90"}},
	} {
		l := limits
		above.set(&l)
		got := utxo.Alerts(s, l)
		if len(got) != 1 || got[0].Name != above.name {
			t.Errorf("%s: %v", above.name, got)
			continue
		}
		for _, part := range above.says {
			if !strings.Contains(got[0].Text, part) {
				t.Errorf("%q does not say %q", got[0].Text, part)
			}
		}
	}
	if got := utxo.Alerts(s, utxo.Thresholds{Behind: 10}); got != nil {
		t.Errorf("not watched: %v", got)
	}
	short := utxo.Thresholds{PendingWait: 1, PublishedWait: 1, LeaseFor: 1, LeaseWait: 1}
	if got := utxo.Alerts(utxo.Stats{At: now, Tip: -1, ScannedTo: -1}, short); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
