package utxo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// overdue is one case: begin leads a transaction, an output or a wallet into a state that
// somebody has to end, and returns an event that can repeat there without ending it.
type overdue struct {
	name   string
	tx     utxo.Status // or the phase of an output, or neither for a wallet
	phase  utxo.Phase
	begin  func(*desk) (repeat func(now time.Time))
	alert  string
	within time.Duration // of the entry into the state, with the default thresholds
}

// finished are the states in which nothing is under way, and why.
var (
	finishedTxs = map[utxo.Status]string{
		utxo.Replaced: "another transaction pays, which is in a state of its own",
		utxo.Failed:   "it holds no input; only evidence revives it",
		utxo.Orphaned: "only a block revives it, and nobody waits for one",
	}
	finishedPhases = map[utxo.Phase]string{
		utxo.Unspent:  "money at rest",
		utxo.Immature: "blocks end it, and a wallet that gets none of them is behind, or its published transactions wait",
		utxo.Spent:    "its spender is a transaction, in a state of its own",
		utxo.Dead:     "its transaction is dead",
	}
)

func overdues() []overdue {
	id := func(tx *wire.MsgTx) utxo.TxID { return utxo.TxID{Wallet: 1, Hash: tx.TxHash()} }
	funded := func(b *desk) wire.OutPoint {
		deposit := b.tx(nil, mine('a'))
		b.connect(deposit)
		return out(deposit, 0)
	}
	deposited := func(b *desk) *wire.MsgTx { return b.observe(b.tx(nil, mine('a'))) }
	return []overdue{
		{name: "submitted", tx: utxo.Pending, alert: "pending wait", within: time.Hour,
			begin: func(b *desk) func(time.Time) {
				tx := b.submit(b.tx(ins(funded(b)), mine('a')))
				return func(now time.Time) { b.at(now, utxo.Submitted{Wallet: 1, Tx: tx}) }
			}},
		{name: "submitted, signed differently again and again", tx: utxo.Pending, alert: "pending wait", within: time.Hour,
			begin: func(b *desk) func(time.Time) {
				tx := b.submit(bare(b.tx(ins(funded(b)), mine('a')))).Copy()
				return func(now time.Time) {
					tx = tx.Copy()
					tx.TxIn[0].Witness = wire.TxWitness{[]byte(now.String())}
					b.at(now, utxo.Submitted{Wallet: 1, Tx: tx})
				}
			}},
		{name: "never signed, labelled again and again", tx: utxo.Pending, alert: "pending wait", within: time.Hour,
			begin: func(b *desk) func(time.Time) {
				tx := b.submit(bare(b.tx(ins(funded(b)), mine('a'))))
				return func(now time.Time) { b.at(now, utxo.Labelled{ID: id(tx), Label: now.String()}) }
			}},
		{name: "broadcast again and again", tx: utxo.Published, alert: "published wait", within: 72 * time.Hour,
			begin: func(b *desk) func(time.Time) {
				tx := b.submit(b.tx(ins(funded(b)), mine('a')))
				again := func(now time.Time) { b.at(now, utxo.Broadcasted{ID: id(tx)}) }
				again(utxotest.Start)
				return again
			}},
		{name: "a deposit that is observed again and again", tx: utxo.Published, alert: "published wait", within: 72 * time.Hour,
			begin: func(b *desk) func(time.Time) {
				tx := deposited(b)
				seq := int64(1)
				return func(now time.Time) {
					seq++
					b.at(now, b.seen(seq, tx))
				}
			}},
		{name: "mined and reorganised out again and again", tx: utxo.Published, alert: "published wait", within: 72 * time.Hour,
			begin: func(b *desk) func(time.Time) {
				tx := deposited(b)
				return func(now time.Time) {
					ev := b.next(tx)
					b.at(now, ev)
					b.at(now, utxo.Disconnected{Hash: ev.Block.Hash})
				}
			}},
		{name: "leased, renewed again and again", phase: utxo.Leased, alert: "lease wait", within: 24 * time.Hour,
			begin: func(b *desk) func(time.Time) {
				lease := utxo.OutputsLeased{Wallet: 1, OutPoints: ins(funded(b)), Lock: utxo.LockID{1}, Duration: 10 * time.Hour}
				b.at(utxotest.Start, lease)
				return func(now time.Time) { b.at(now, utxo.LeasesRenewed(lease)) }
			}},
		{name: "leased, taken again and again by its lock", phase: utxo.Leased, alert: "lease wait", within: 24 * time.Hour,
			begin: func(b *desk) func(time.Time) {
				lease := utxo.OutputsLeased{Wallet: 1, OutPoints: ins(funded(b)), Lock: utxo.LockID{1}, Duration: 10 * time.Hour}
				b.at(utxotest.Start, lease)
				return func(now time.Time) { b.at(now, lease) }
			}},
		{name: "leased for a year", phase: utxo.Leased, alert: "lease", begin: func(b *desk) func(time.Time) {
			b.at(utxotest.Start, utxo.OutputsLeased{Wallet: 1, OutPoints: ins(funded(b)), Lock: utxo.LockID{1}, Duration: 365 * 24 * time.Hour})
			return func(time.Time) {}
		}},
		{name: "a wallet behind", alert: "behind", begin: func(b *desk) func(time.Time) {
			funded(b)
			funded(b)
			b.at(utxotest.Start, utxo.OwnersAnnounced{Wallet: 1, Birth: 1, Tags: []string{"late"}})
			return func(now time.Time) { b.at(now, b.next()); b.tip = b.next().Block }
		}},
	}
}

// In each state of the tables either nothing is under way, or an alert names the
// transaction or output a bounded time after it entered the state, both in silence and when
// events repeat.
func TestWhatIsUnfinishedIsTold(t *testing.T) {
	var txs []utxo.Status
	var phases []utxo.Phase
	for _, o := range overdues() {
		txs, phases = append(txs, o.tx), append(phases, o.phase)
		for _, silent := range []bool{true, false} {
			t.Run(o.name, func(t *testing.T) {
				b := newDesk(t)
				repeat := o.begin(b)
				told := func(now time.Time) bool {
					s, err := utxo.ReadStats(b, 1, now)
					if err != nil {
						t.Fatal(err)
					}
					alerts := utxo.Alerts(s, utxo.DefaultThresholds())
					return slices.ContainsFunc(alerts, func(a statemachine.Alert) bool { return a.Name == o.alert })
				}
				start := utxotest.Start
				if o.within > 0 && told(start.Add(o.within)) {
					t.Errorf("told at the limit of %v", o.within)
				}
				for at := time.Duration(0); !silent && at <= o.within; at += max(o.within/8, 1) {
					repeat(start.Add(at))
				}
				if silent && o.phase == utxo.Leased && o.within > 0 {
					return // it ends by itself
				}
				if !told(start.Add(o.within + 1)) {
					t.Errorf("nobody is told %v after it began, silent %v", o.within, silent)
				}
			})
		}
	}
	for _, s := range utxo.Status(0).Values() {
		if (finishedTxs[s] != "") == slices.Contains(txs, s) {
			t.Errorf("a transaction that is %s is under way %v", s, slices.Contains(txs, s))
		}
	}
	for _, p := range utxo.Phase(0).Values() {
		if (finishedPhases[p] != "") == slices.Contains(phases, p) {
			t.Errorf("an output that is %s is under way %v", p, slices.Contains(phases, p))
		}
	}
}

// A time that a clock ahead of the store's has written raises the alert as soon as it is
// further away than the limit. A renewal of a lease keeps the time when it began.
func TestWhatAClockAheadHasSeenIsTold(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'), mine('a'))
	b.connect(deposit)
	hour := func(n int) time.Time { return utxotest.Start.Add(time.Duration(n) * time.Hour) }
	b.at(hour(240), utxo.Submitted{Wallet: 1, Tx: b.tx(ins(out(deposit, 0)), mine('a'))})
	lease := utxo.OutputsLeased{Wallet: 1, OutPoints: ins(out(deposit, 1)), Lock: utxo.LockID{1}, Duration: 10 * time.Hour}
	b.at(hour(240), lease)
	told := func(at time.Time, want ...string) {
		t.Helper()
		s, err := utxo.ReadStats(b, 1, at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range utxo.Alerts(s, utxo.DefaultThresholds()) {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	told(hour(0), "pending wait", "lease", "lease wait")
	b.at(hour(0), lease)
	told(hour(0), "pending wait")
	b.at(hour(9), utxo.LeasesRenewed(lease))
	b.at(hour(18), utxo.LeasesRenewed(lease))
	told(hour(24), "pending wait")
	told(hour(24).Add(1), "pending wait", "lease wait")
}

// A lease that is over is taken anew, by whichever lock.
func TestLeaseSince(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	b.connect(deposit)
	minute := func(n int) time.Time { return utxotest.Start.Add(time.Duration(n) * time.Minute) }
	for _, c := range []struct {
		at    int
		lock  byte
		renew bool
		since int
	}{{0, 1, false, 0}, {9, 1, false, 0}, {18, 1, true, 0}, {28, 1, false, 28}, {38, 2, false, 38}, {47, 2, true, 38}} {
		ev := utxo.OutputsLeased{Wallet: 1, OutPoints: ins(out(deposit, 0)), Lock: utxo.LockID{c.lock}, Duration: 10 * time.Minute}
		if c.renew {
			b.at(minute(c.at), utxo.LeasesRenewed(ev))
		} else {
			b.at(minute(c.at), ev)
		}
		leases, err := b.Leases(1, out(deposit, 0))
		if err != nil || len(leases) != 1 || leases[0].Since != minute(c.since) || leases[0].Until != minute(c.at+10) {
			t.Errorf("at %d: %v, %v, want it since %d", c.at, leases, err, c.since)
		}
	}
}

// Of leases of one age the first outpoint counts, in whichever order a store lists them.
func TestOldestLease(t *testing.T) {
	var coins []utxo.Coin
	for _, n := range []uint32{3, 1, 2, 0} {
		l := utxo.Lease{
			Wallet: 1, OutPoint: utxotest.External(n), Lock: utxo.LockID{1}, Until: utxotest.Start.Add(time.Hour), Since: utxotest.Start,
		}
		if n == 0 {
			l.Since = l.Since.Add(time.Microsecond)
		}
		coins = append(coins, utxo.Coin{Wallet: 1, OutPoint: l.OutPoint, Status: utxo.Published, Lease: &l})
	}
	s := utxo.StatsOf(utxo.Wallet{ID: 1}, 0, nil, coins, utxotest.Start)
	if s.OldestLease != *coins[1].Lease {
		t.Errorf("the oldest is %v", s.OldestLease)
	}
}

// Where the ledger has a clock, the clock counts, as a store's does, and an event needs no
// time; without a clock the event's own time counts.
func TestLedgerClock(t *testing.T) {
	l := utxo.NewLedger(utxotest.Policy())
	_, err := l.Do(utxo.WalletOpened{Wallet: 1})
	if !errors.Is(err, statemachine.ErrInvalid) || !strings.Contains(err.Error(), "neither the event nor a clock") {
		t.Errorf("without any time: %v", err)
	}
	b := &desk{TB: t, Ledger: l, worth: map[wire.OutPoint]int64{}}
	now := utxotest.Start
	l.SetClock(func() time.Time { return now })
	do := func(ev utxo.Event) {
		t.Helper()
		if _, err := l.Do(ev); err != nil {
			t.Fatal(err)
		}
	}
	do(utxo.WalletOpened{Wallet: 1})
	tx := b.tx(nil, mine('a'))
	do(b.seen(1, tx))
	lease := utxo.OutputsLeased{Wallet: 1, OutPoints: ins(out(tx, 0)), Lock: utxo.LockID{1}, Duration: time.Minute}
	lease.At = now.Add(-time.Hour) // the host's clock gives no lease
	do(lease)
	leases, err := l.Leases(1, out(tx, 0))
	if err != nil || len(leases) != 1 || leases[0].Until != now.Add(time.Minute) {
		t.Errorf("leased are %v, %v", leases, err)
	}
	if txs, _ := l.Txs(utxo.TxID{Wallet: 1, Hash: tx.TxHash()}); txs[0].FirstSeen != now {
		t.Errorf("first seen at %v", txs[0].FirstSeen)
	}
	lease.At = now.Add(statemachine.MaxAhead + time.Microsecond)
	if _, err := l.Do(lease); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("an event from the future: %v", err)
	}
}
