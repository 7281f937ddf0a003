package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// made makes wallets with jobs and watchers in states that the rules allow and
// histories seldom come to, at few moments, so that many are at the same one.
func (r *refreshes) made(t testing.TB, add func(refresh.Work)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	at := func() time.Time { return start.Add(time.Duration(rnd.IntN(5)-2) * 20 * time.Second) }
	const seqs = 10 // so that ends and later jobs meet
	rarely := func() bool { return rnd.IntN(3) == 0 }
	for range 24 {
		xpub := r.xpub()
		c := r.change(t, refresh.Work{}, enqueuedJob(xpub, 0, refresh.Sync, "", ""))
		line := c.Log[0]
		stored := func(machine string, id uuid.UUID, status fmt.Stringer) {
			line.Machine, line.ID, line.To = machine, id, status.String()
			c.Log = append(c.Log, line)
		}
		leased := func() statemachine.Lease {
			return statemachine.Lease{Holder: fmt.Sprint("w", rnd.IntN(2)), Fence: int64(r.slot()), Until: at()}
		}
		by := c.New.Jobs[0].Credentials
		c.Log, c.New.Jobs = nil, nil
		w := &c.New.Wallet
		w.WorkSeq = seqs + 3
		if w.UnservedSince = at().Add(-20 * time.Second); rarely() {
			w.Status, w.Slot, w.Lease, w.UnservedSince = refresh.Served, r.slot(), leased(), time.Time{}
		}
		if rnd.IntN(2) == 0 {
			w.HungRounds, w.NotBefore = 1, at().Add(20*time.Second)
		}
		if rarely() {
			c.New.Lock = refresh.Lock{XpubVan: xpub, Lease: leased(), LockedAt: start.Add(-time.Hour), Seq: 1 + rnd.Int64N(seqs)}
		}
		stored(refresh.WalletMachine.Name(), w.ID(), w.Status)
		working, recovering := false, false
		for n := range rnd.IntN(9) {
			j := refresh.Job{ID: jobOf(xpub, n), Credentials: by, Recipient: "r", AvailableAt: at(), CreatedAt: at(), Seq: 1 + rnd.Int64N(seqs),
				Version: 1, Attempts: rnd.Int32N(2)}
			j.Cause, j.Status = refresh.Cause(1+rnd.IntN(5)), refresh.JobStatus(1+rnd.IntN(4))
			if rarely() {
				j.Cause = refresh.Sync
			}
			if rarely() {
				j.Asset = "a"
			}
			if j.Status == refresh.JobProcessing && working {
				j.Status = refresh.JobPending
			}
			if j.Cause == refresh.Recovery && j.Live() && recovering {
				j.Cause = refresh.Sync
			}
			recovering = recovering || j.Cause == refresh.Recovery && j.Live()
			switch {
			case j.Status == refresh.JobProcessing:
				working, j.Lease, j.Attempts = true, leased(), 1
			case j.Status != refresh.JobPending:
				j.ProcessedAt, j.EndSeq, j.Attempts = at(), j.Seq+rnd.Int64N(3), 1
			}
			c.New.Jobs = append(c.New.Jobs, j)
			stored(refresh.JobMachine.Name(), j.ID, j.Status)
		}
		for n := range rnd.IntN(5) {
			x := refresh.Watcher{Credentials: by, Recipient: fmt.Sprint("r", n), NextAt: at(), ExpiresAt: at(),
				CreatedAt: at().Add(-time.Hour), Version: 1}
			if x.Status = refresh.Watching; rarely() {
				x.Status, x.EndReason, x.EndedAt, x.EndSeq = refresh.Expired, refresh.EndReason(2+rnd.IntN(4)), at(), 1+rnd.Int64N(seqs)
			}
			if x.Provisional = rarely(); rarely() {
				x.Refused = "1"
			}
			c.New.Watchers = append(c.New.Watchers, x)
			stored(refresh.WatcherMachine.Name(), x.ID(), x.Status)
		}
		noError(t, r.save(c))
		add(r.get(t, xpub))
	}
}
