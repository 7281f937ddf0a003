package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
	"github.com/settlehq/settle/withdrawal/withdrawaltest"
)

type (
	withdrawalService = service[uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Event]
	withdrawalSubject = subject[store.WithdrawalUnit, uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Event, withdrawal.Change]
	withdrawalStage   = stage[uuid.UUID, withdrawal.Withdrawal, withdrawal.Event]
)

// versionedWithdrawals says how to make withdrawals, for the rules of any
// versioned record.
func versionedWithdrawals(w *withdrawals, in store.Store[store.WithdrawalUnit]) *withdrawalSubject {
	s := &withdrawalSubject{
		Store:   in,
		service: w.service,
		within:  func(tx store.WithdrawalUnit) withdrawalService { return w.service.Within(tx) },
		records: func(tx store.WithdrawalUnit) records[uuid.UUID, uuid.UUID, withdrawal.Withdrawal, withdrawal.Change] {
			return tx.Withdrawals()
		},
		held: func(ctx context.Context, a withdrawal.Withdrawal, events ...withdrawal.Event) (withdrawal.Withdrawal, error) {
			all, err := w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: a, Events: events})
			if err != nil {
				return a, err
			}
			return all[0], nil
		},
		apply: w.policy.Apply,
		check: withdrawal.Check,
		states: func(a *withdrawal.Withdrawal) (all []stored[uuid.UUID]) {
			if a.Request.Status != 0 {
				all = append(all, stored[uuid.UUID]{a.Request.ID, a.Request.Version, a.Request.Status.String()})
			}
			if a.Job.Status != 0 {
				all = append(all, stored[uuid.UUID]{a.Job.ID, a.Job.Version, a.Job.Status.String()})
			}
			return all
		},
		newID:  w.id,
		id:     func(a *withdrawal.Withdrawal) uuid.UUID { return a.Request.ID },
		stages: w.stages(),
		speech: &speech[uuid.UUID, withdrawal.Withdrawal, withdrawal.Event]{store.DomainWithdrawals,
			withdrawal.RequestMachine.Name(), withdrawal.Events(),
			func(ev withdrawal.Event) uint8 { return uint8(withdrawal.Speakers(ev)) }, w.lives()},
		outside: map[string]func(*withdrawal.Withdrawal){
			"holder":      func(a *withdrawal.Withdrawal) { a.Job.Lease.Holder += "x" },
			"offer":       func(a *withdrawal.Withdrawal) { a.Job.OfferAt = start },
			"next check":  func(a *withdrawal.Withdrawal) { a.Job.NextCheckAt = a.Job.NextCheckAt.Add(tick) },
			"rebroadcast": func(a *withdrawal.Withdrawal) { a.Job.Rebroadcast = !a.Job.Rebroadcast },
			"fence":       func(a *withdrawal.Withdrawal) { a.Job.Lease.Fence-- },
			"fence and holder": func(a *withdrawal.Withdrawal) {
				a.Job.Lease.Fence--
				a.Job.Lease.Holder += "x"
			},
		},
		older: func(a *withdrawal.Withdrawal) { a.Job.Version-- },
		also: func(t testing.TB, add func(withdrawal.Withdrawal)) {
			for _, a := range w.queues(t) {
				add(a)
			}
		},
		lease: func(a *withdrawal.Withdrawal) *statemachine.Lease { return &a.Job.Lease },
		renew: func(tx store.WithdrawalUnit, now time.Time, a *withdrawal.Withdrawal, fence int64, until time.Time) (bool, error) {
			lost, err := tx.Withdrawals().Renew(now, store.Lease[uuid.UUID]{ID: a.Job.ID, Fence: fence, Until: until})
			return len(lost) > 0, err
		},
		revoke: func(ctx context.Context, of statemachine.Revocation) (int, error) {
			return w.service.Revoke(ctx, withdrawal.By{Actor: "op", Role: withdrawal.Operator}, of)
		},
		more: w.more,
		facts: func(tx store.WithdrawalUnit, a *withdrawal.Withdrawal) (map[string]any, error) {
			if a.Job.Status == 0 {
				return nil, nil
			}
			attempts, err := tx.Withdrawals().Attempts(a.Job.ID)
			return map[string]any{"Attempts": attempts}, err
		},
		world: func(tx store.WithdrawalUnit) (map[string]any, error) {
			requests, err1 := tx.Withdrawals().Requests(0, nil, 1000)
			incidents, _, err2 := tx.Withdrawals().Incidents(false, 0, 1000)
			evms, err3 := tx.HotWallets().OfChain(evm)
			utxo, err4 := tx.HotWallets().OfChain(utxos)
			return map[string]any{"Requests": requests, "Incidents": incidents, "HotWallets": append(evms, utxo...)},
				errors.Join(err1, err2, err3, err4)
		},
		money: withdrawalMoney,
		overdue: &overdue[store.WithdrawalUnit, withdrawal.Withdrawal]{
			states: slices.Concat(unfinished(withdrawal.RequestMachine), unfinished(withdrawal.JobMachine)),
			until:  overdueIn,
			alerts: waiting,
			again:  w.again,
		},
		limits: w.limits(),
		numbered: map[string]func(int64) error{
			"Incidents":     func(after int64) error { _, _, err := w.service.Incidents(ctx, after, 1); return err },
			"OpenIncidents": func(after int64) error { _, _, err := w.service.OpenIncidents(ctx, after, 1); return err },
		},
		source:    func(name string) source { return sourceOf(w.service.Payments(utxos, name)) },
		owed:      func(t testing.TB) withdrawal.Withdrawal { return w.pending(t, utxos, start) },
		selfCheck: func(ctx context.Context) error { return store.SelfCheckWithdrawals(ctx, in) },
		draw:      w.draw,
		setup:     func(t failer, x any) { w.putWallet(t, x.(withdrawal.HotWallet)) },
		sentinels: []error{withdrawal.ErrActiveJob, withdrawal.ErrNonceTaken, withdrawal.ErrSlotTaken, withdrawal.ErrNoHotWallet,
			withdrawal.ErrPaymentTaken, withdrawal.ErrNonceUsed, withdrawal.ErrNonceGap, withdrawal.ErrOnHold},
	}
	for _, chain := range []uuid.UUID{{}, utxos} {
		for _, kind := range withdrawal.DueKind(0).Values() {
			s.due = append(s.due, w.dueKind(kind, false, chain))
		}
	}
	s.due = append(s.due, w.dueKind(withdrawal.DueClaim, true, uuid.Nil), w.dueKind(withdrawal.DueClaim, true, evm))
	return s
}

// limits are the methods that take a limit, of the records and of the service.
func (w *withdrawals) limits() map[string]func(int) error {
	records := func(fn func(store.WithdrawalRecords, int) error) func(int) error {
		return func(n int) error {
			return w.Update(ctx, func(tx store.WithdrawalUnit) error { return fn(tx.Withdrawals(), n) })
		}
	}
	return map[string]func(int) error{
		"records: Requests": records(func(r store.WithdrawalRecords, n int) error { return errOf(r.Requests(0, nil, n)) }),
		"records: List": records(func(r store.WithdrawalRecords, n int) error {
			return errOf(r.List(store.ListWithdrawals{Now: start, Limit: n}))
		}),
		"records: Incidents": records(func(r store.WithdrawalRecords, n int) error { _, _, err := r.Incidents(false, 0, n); return err }),
		"Requests":           func(n int) error { return errOf(w.service.Requests(ctx, withdrawal.RequestPending, nil, n)) },
		"Incidents":          func(n int) error { _, _, err := w.service.Incidents(ctx, 0, n); return err },
		"OpenIncidents":      func(n int) error { _, _, err := w.service.OpenIncidents(ctx, 0, n); return err },
		"Audit":              func(n int) error { return errOf(w.service.Audit(ctx, "", n)) },
		"Rescue":             func(n int) error { _, _, err := w.service.Rescue(ctx, by(withdrawal.System, start), n); return err },
		"EnqueueDue": func(n int) error {
			_, _, err := w.service.EnqueueDue(ctx, evm, n, func(withdrawal.Request) withdrawal.Enqueued { return withdrawal.Enqueued{} })
			return err
		},
		"RefundsDue": func(n int) error { _, _, err := w.service.RefundsDue(ctx, n); return err },
		"Turn of Lookups": func(n int) error {
			if n == 0 { // claims nothing, and is no error
				return statemachine.ErrInvalid
			}
			_, _, err := w.service.Lookups(evm, worker1).Turn(ctx, nil, n)
			return err
		},
	}
}

// stages: of a request, of a job that waits, under way, and sent.
func (w *withdrawals) stages() []withdrawalStage {
	approved := func(id uuid.UUID) []withdrawal.Event {
		return []withdrawal.Event{submission(id, utxos, start), withdrawal.Approved{By: by(withdrawal.Approver, start)}}
	}
	pending := func(id uuid.UUID) []withdrawal.Event {
		return append(approved(id), w.enqueued(start, withdrawal.Normal))
	}
	claim := withdrawal.Claimed{By: workerAt(start)}
	processing := func(id uuid.UUID) []withdrawal.Event { return append(pending(id), claim) }
	hash := func(i int) string { return fmt.Sprint("transaction ", i) }
	out := func(id uuid.UUID) []withdrawal.Event {
		return append(processing(id), withdrawal.Prepared{By: workerAt(start), Fence: 1, Hash: hash(0) + id.String(), Raw: []byte{1, 2, 3},
			Input: "input of " + id.String()},
			withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: hash(0) + id.String()})
	}
	return []withdrawalStage{{
		name:   "a submitted request",
		events: func(id uuid.UUID) []withdrawal.Event { return approved(id)[:1] },
		rivals: func(a *withdrawal.Withdrawal, i int) withdrawal.Event {
			who := withdrawal.By{Actor: fmt.Sprint("somebody-", i), Role: withdrawal.Approver, At: start}
			if i%2 == 1 {
				return withdrawal.Approved{By: who}
			}
			return withdrawal.Rejected{By: who}
		},
	}, {
		name: "a failed request",
		events: func(id uuid.UUID) []withdrawal.Event {
			return append(processing(id), withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent,
				Error: "no such address"})
		},
		rivals: func(a *withdrawal.Withdrawal, i int) withdrawal.Event {
			if i%2 == 1 {
				return paidBy(a, fmt.Sprint("paid ", i, a.Request.ID), start)
			}
			return withdrawal.Refunded{By: by(withdrawal.System, start), Reference: fmt.Sprint("refund ", i)}
		},
	}, {
		name: "an approved request", events: approved,
		rivals: func(a *withdrawal.Withdrawal, i int) withdrawal.Event {
			if i%2 == 1 {
				return withdrawal.Enqueued{By: by(withdrawal.System, start), Job: uuid.NewSHA1(a.Request.ID, []byte{byte(i)}),
					AssetOnChain: tokenOnChain, Priority: withdrawal.Normal,
					Wallets: []withdrawal.HotWallet{{ID: utxoHot, Chain: utxos, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}}}
			}
			return withdrawal.Cancelled{By: withdrawal.By{Actor: fmt.Sprint("operator-", i), Role: withdrawal.Operator, At: start}}
		},
	}, {
		name: "a pending job", events: pending,
		rivals: func(a *withdrawal.Withdrawal, i int) withdrawal.Event {
			return withdrawal.Claimed{By: withdrawal.By{Actor: fmt.Sprint("worker-", i), Role: withdrawal.WithdrawalWorker, At: start},
				Fence: a.Job.Lease.Fence + 1}
		},
		back: func(a *withdrawal.Withdrawal) []withdrawal.Event {
			fence := a.Job.Lease.Fence + 1
			return []withdrawal.Event{claim, withdrawal.GivenBack{By: workerAt(start), Fence: fence}}
		},
	}, {
		name: "a job in processing", events: processing,
		rivals: func(a *withdrawal.Withdrawal, i int) withdrawal.Event {
			return withdrawal.Prepared{By: workerAt(start), Fence: 1, Hash: hash(i) + " of " + a.Job.ID.String(), Raw: []byte{1, 2, 3},
				Input: fmt.Sprint("input ", i, " of ", a.Job.ID)}
		},
		back: func(*withdrawal.Withdrawal) []withdrawal.Event {
			return []withdrawal.Event{withdrawal.GivenBack{By: workerAt(start), Fence: 1}, claim}
		},
	}, {
		name: "a job that is sent", events: out,
		rivals: func(a *withdrawal.Withdrawal, i int) withdrawal.Event {
			r := receipt(a, start, 3)
			r.GasUsed, r.Reverted = withdrawal.Raw(fmt.Sprint(21000+i)), i%2 == 1
			r.Block.Hash = fmt.Sprint("b", i)
			r.Canonical = r.Block.Hash
			return r
		},
		touch: func(a *withdrawal.Withdrawal, at time.Time) withdrawal.Event {
			return withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, at)}
		},
		claim: func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Claimed{By: workerAt(start)} },
	}}
}

// queues makes states that random histories seldom reach: several jobs of one wallet that are owed another broadcast,
// with nonces and without, and one in review; jobs of every priority at the same moments, on a chain and in the queue
// of a wallet whose slot is taken; executions that nobody may rescue; requests approved out of order; jobs that may not
// begin (wallet off, held, put off) beside jobs that may; requests outside of every window, and of another user or
// asset.
func (w *withdrawals) queues(t testing.TB) (all []withdrawal.Withdrawal) {
	chain := w.payingChain(t)
	for i, c := range []uuid.UUID{chain, chain, chain, utxos, utxos} {
		a := w.confirming(t, c, start.Add(-time.Duration(i)*time.Minute)) // the highest nonce is missed the longest
		all = append(all, w.do(t, a.Request.ID, withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, a.Job.BroadcastAt), Tx: a.Job.TxHash}))
	}
	review := w.contradicted(t, start) // which hides nothing of its wallet
	behind := w.confirming(t, review.Request.Chain, review.Job.NextCheckAt)
	behind = w.do(t, behind.Request.ID, withdrawal.Missing{By: by(withdrawal.ConfirmationWorker,
		behind.Job.BroadcastAt), Tx: behind.Job.TxHash})
	all = append(all, review, behind, w.processing(t, chain, start.Add(-time.Minute)))
	for _, c := range []uuid.UUID{utxos, evm, chain} {
		for i, p := range []withdrawal.Priority{withdrawal.Low, withdrawal.Normal, withdrawal.High, withdrawal.Normal, withdrawal.High} {
			at := start.Add(time.Duration(i%3) * tick)
			all = append(all, w.do(t, w.approved(t, c, at).Request.ID, w.enqueued(at, p)))
		}
	}
	off := all[len(all)-1]
	all[len(all)-1] = w.do(t, off.Request.ID, withdrawal.PutOff{By: by(withdrawal.System, start)})
	stops := w.payingChain(t)
	idle := w.pending(t, stops, start) // by a wallet that is off now
	idle.Wallet.Status = "retired"
	noError(t, w.service.PutHotWallet(ctx, role(withdrawal.System), idle.Wallet))
	w.putWallet(t, withdrawal.HotWallet{ID: w.id(), Chain: stops})
	flagged := w.declaredNotSent(t, stops)
	again := workerAt(flagged.Job.ScheduledAt)
	flagged = w.do(t, flagged.Request.ID, withdrawal.Claimed{By: again}, withdrawal.Dispatched{By: again, Fence: 2, Reference: "second"},
		withdrawal.Broadcast{By: workerAt(start.Add(time.Hour)), Fence: 1, Hash: "late"})
	held, putOff := withdrawal.Held{By: operatorAt(start), Reason: "fraud?"}, withdrawal.PutOff{By: by(withdrawal.System, start)}
	all = append(all, w.get(t, idle.Request.ID), w.do(t, flagged.Request.ID, notSent(&flagged, start)))
	for _, make := range []func(testing.TB, uuid.UUID, time.Time) withdrawal.Withdrawal{w.approved, w.pending} {
		a, b, c := make(t, stops, start), make(t, stops, start), make(t, stops, start)
		all = append(all, w.do(t, a.Request.ID, held), w.do(t, b.Request.ID, paidBy(&b, "0xAbC1"+b.Request.ID.String()[24:], start)),
			w.do(t, c.Request.ID, putOff), make(t, stops, start))
	}
	last := w.enqueued(start, withdrawal.Normal)
	last.MaxRetries = 1
	unsent := w.do(t, w.approved(t, utxos, start).Request.ID, last, withdrawal.Claimed{By: workerAt(start)},
		withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "last"},
		withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "time-out"})
	all = append(all, w.do(t, unsent.Request.ID, notSent(&unsent, start), withdrawal.Requeued{By: operatorAt(start), Job: last.Job,
		Reason: "again", NotRefunded: true},
		withdrawal.Broadcast{By: workerAt(start.Add(time.Hour)), Fence: 1, Hash: "late after all"}))
	for _, x := range []struct {
		user, asset uuid.UUID
		end         withdrawal.Event
	}{{aUser, anAsset, withdrawal.Rejected{By: by(withdrawal.Approver, start)}}, {aUser, anAsset, withdrawal.Cancelled{By: operatorAt(start)}},
		{w.id(), anAsset, withdrawal.Approved{By: by(withdrawal.Approver, start)}}, {aUser, w.id(),
			withdrawal.Approved{By: by(withdrawal.Approver, start)}}} {
		ev := submission(w.id(), utxos, start.Add(time.Minute))
		ev.User, ev.Asset = x.user, x.asset
		all = append(all, w.do(t, ev.Request, ev, x.end))
	}
	sent, failed, gone := w.confirming(t, utxos, start.Add(-7*tick)), w.processing(t, utxos, start), w.processing(t, utxos, start)
	w.do(t, failed.Request.ID, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Permanent,
		Error: "no such address"}) // saved, and counted
	all = append(all, w.importedReview(t, stops), w.do(t, sent.Request.ID, receipt(&sent, start.Add(time.Minute), 3)),
		w.do(t, gone.Request.ID, withdrawal.AttemptFailed{By: workerAt(start.Add(7 * tick)), Fence: 1,
			Failure: withdrawal.Permanent, Error: "no such address"}),
		w.do(t, failed.Request.ID, withdrawal.Requeued{By: operatorAt(start), Job: failed.Job.ID, Reason: "again", NotRefunded: true},
			w.enqueued(start, withdrawal.Normal)))
	for i := range 2 {
		review := w.processing(t, utxos, start.Add(time.Duration(i)*tick))
		all = append(all, w.do(t, review.Request.ID, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref"},
			withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "no answer"}), w.processing(t, utxos, start))
		late := w.id() // created first
		w.do(t, late, submission(late, utxos, start.Add(-time.Hour)))
		unapproved := submission(w.id(), utxos, start.Add(-time.Duration(i)*time.Hour))
		all = append(all, w.do(t, late, withdrawal.Approved{By: by(withdrawal.Approver, start.Add(time.Second))}), w.approved(t, utxos, start),
			w.do(t, unapproved.Request, unapproved))
	}
	return append(all, w.unpaid(t)...)
}

// switchOn switches a wallet on again that an unknown outbound has switched off.
func (w *withdrawals) switchOn(t testing.TB, id uuid.UUID) {
	t.Helper()
	noError(t, w.Update(ctx, func(tx store.WithdrawalUnit) error {
		found, err := tx.HotWallets().Get(id)
		if err != nil {
			return err
		}
		found[0].Status = withdrawal.WalletActive
		return tx.HotWallets().Put(found[0])
	}))
}

// contradicted makes a request of a chain of its own whose dead transaction was
// mined: it is in review with another transaction out, whose bytes are on file.
func (w *withdrawals) contradicted(t testing.TB, at time.Time) withdrawal.Withdrawal {
	t.Helper()
	chain := w.payingChain(t)
	a := w.confirming(t, chain, at)
	checker := by(withdrawal.ConfirmationWorker, at)
	dead := receipt(&a, at, 9)
	a = w.do(t, a.Request.ID, withdrawal.ProvenDead{By: checker, Tx: dead.Tx, Cause: withdrawal.NonceUsed, Other: "another",
		NotThisPayment: true, Nonce: a.Job.Nonce, Block: dead.Block})
	at = a.Job.ScheduledAt
	w.switchOn(t, a.Job.Wallet)
	a = w.do(t, a.Request.ID, withdrawal.Claimed{By: workerAt(at)})
	p := prepared(&a, at)
	p.Hash = "second"
	a = w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(at), Fence: p.Fence, Hash: p.Hash})
	dead.At, checker.At = at, at
	return w.do(t, a.Request.ID, dead, withdrawal.Missing{By: checker, Tx: p.Hash})
}

// importedReview is an imported payment, which nobody has claimed, in review.
func (w *withdrawals) importedReview(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	request := w.id()
	return w.do(t, request, withdrawal.Imported{By: by(withdrawal.System, start), Request: request, User: aUser, Asset: anAsset, Chain: chain,
		ToAddress: "0xabc", Amount: "1", Decimals: 18, Job: w.id(), AssetOnChain: tokenOnChain, Hash: "imported"},
		withdrawal.Missing{By: by(withdrawal.ConfirmationWorker, start.Add(w.policy.AlertAfter)), Tx: "imported"})
}

// more: a nonce with its slot, an incident, and a wallet.
func (w *withdrawals) more(tx store.WithdrawalUnit) error {
	s := w.service.Within(tx)
	request := w.id()
	a, err := s.Do(ctx, request, submission(request, evm, start), withdrawal.Approved{By: by(withdrawal.Approver, start)},
		w.enqueued(start, withdrawal.High), withdrawal.Claimed{By: workerAt(start)})
	if err != nil {
		return err
	}
	for _, event := range []func() withdrawal.Event{func() withdrawal.Event { return prepared(&a, start) },
		func() withdrawal.Event {
			return withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: a.Job.TxHash}
		},
		func() withdrawal.Event { return receipt(&a, start, 3) },
		func() withdrawal.Event { r := receipt(&a, start, 9); r.Reverted = true; return r }} {
		if a, err = s.Do(ctx, request, event()); err != nil {
			return err
		}
	}
	return s.PutHotWallet(ctx, role(withdrawal.System),
		withdrawal.HotWallet{ID: w.id(), Chain: evm, Role: "hot_wallet", Status: "active", BalanceReserved: "0"})
}

// elsewhere is a zone with another day.
var elsewhere = time.FixedZone("elsewhere", 13*60*60)

// grace is what the due look-ups of the suite leave to re-broadcasts.
const grace = time.Minute

// aheadBy is how much later than now the time is that they compare with what a clock that was
// ahead has put off.
const aheadBy = 20 * time.Second

// dueKind is a kind of due work of one chain, or of every one.
func (w *withdrawals) dueKind(kind withdrawal.DueKind, sequential bool,
	chain uuid.UUID) dueKind[store.WithdrawalUnit, withdrawal.Withdrawal] {
	q := store.DueWithdrawals{Kind: kind, Grace: grace, Sequential: sequential, Chain: chain}
	k := dueKind[store.WithdrawalUnit, withdrawal.Withdrawal]{
		name: fmt.Sprintf("%v, sequential %v, of one chain %v", kind, sequential, chain != uuid.Nil),
		find: func(tx store.WithdrawalUnit, now time.Time, limit int) ([]withdrawal.Withdrawal, error) {
			q := q
			if q.Now, q.Limit = now, limit; chain != uuid.Nil {
				q.Now = now.In(elsewhere)
			}
			return tx.Withdrawals().Due(q)
		},
		next: func(tx store.WithdrawalUnit, now time.Time) (time.Time, error) {
			q := q
			q.Now = now
			return tx.Withdrawals().NextDue(q)
		},
		ahead: func(tx store.WithdrawalUnit, later time.Time, limit int) ([]withdrawal.Withdrawal, error) {
			q := q
			q.Now, q.Ahead, q.Limit = later.Add(-aheadBy), later, limit
			return tx.Withdrawals().Due(q)
		},
		at: func(a *withdrawal.Withdrawal) (time.Time, bool) {
			at, ok := withdrawal.DueAt(kind, a, grace)
			return at, ok && (chain == uuid.Nil || chain == a.Request.Chain)
		},
		late: func(a *withdrawal.Withdrawal, later time.Time) bool {
			return (chain == uuid.Nil || chain == a.Request.Chain) && withdrawal.IsAhead(kind, a, grace, later.Add(-aheadBy), later)
		},
		compare: func(a, b *withdrawal.Withdrawal) int { return withdrawal.CompareDue(kind, a, b) },
	}
	if kind == withdrawal.DueRebroadcast {
		k.hides = func(a, b *withdrawal.Withdrawal) bool { return withdrawal.LowerNonce(&a.Job, &b.Job) }
	}
	if sequential {
		k.key = func(a *withdrawal.Withdrawal) any { return a.Job.Wallet }
		k.holds = func(a *withdrawal.Withdrawal) bool { return a.Job.Slot.Valid }
	}
	return k
}

// draw begins the history of one request on a wallet of its own. All ids in it
// are new, so that nothing depends on what earlier histories left behind.
func (w *withdrawals) draw(rt *rapid.T) history[uuid.UUID, withdrawal.Withdrawal, withdrawal.Event] {
	salt := w.id()
	fresh := func(id uuid.UUID) uuid.UUID { return uuid.NewSHA1(salt, id[:]) }
	first := withdrawaltest.Submissions().Draw(rt, "submission")
	first.Request, first.User, first.Asset = fresh(first.Request), fresh(first.User), fresh(first.Asset)
	first.Chain = rapid.SampledFrom([]uuid.UUID{evm, utxos}).Draw(rt, "chain")
	hot := withdrawal.HotWallet{ID: fresh(uuid.Nil), Chain: first.Chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	adversary, begun := &withdrawaltest.Adversary{Prefix: salt.String()[24:]}, false
	return history[uuid.UUID, withdrawal.Withdrawal, withdrawal.Event]{id: first.Request, setup: hot, steps: 40,
		next: func(a *withdrawal.Withdrawal) withdrawal.Event {
			if !begun {
				begun = true
				return first
			}
			ev := adversary.Next(rt, *a, []withdrawal.HotWallet{hot})
			if e, ok := ev.(withdrawal.Enqueued); ok { // the one that draws an id
				e.Job = fresh(e.Job)
				return e
			}
			return ev
		}}
}
