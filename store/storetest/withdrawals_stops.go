package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

func operatorAt(at time.Time) withdrawal.By { return by(withdrawal.Operator, at) }

// notSent is an operator's proof for a job in review.
func notSent(a *withdrawal.Withdrawal, at time.Time) withdrawal.Resolved {
	b := operatorAt(at)
	b.Version = a.Job.Version
	return withdrawal.Resolved{By: b, Job: a.Job.ID, Reason: "the signer has no such reference"}
}

// unclear is a job in review, whose dispatch under fence 1 nobody has answered.
func (w *withdrawals) unclear(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	t.Helper()
	a := w.processing(t, chain, start)
	return w.do(t, a.Request.ID, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "ref " + a.Job.ID.String()},
		withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Unclear, Error: "time-out"})
}

// declaredNotSent is a pending job whose dispatch under fence 1 was declared not sent.
func (w *withdrawals) declaredNotSent(t testing.TB, chain uuid.UUID) withdrawal.Withdrawal {
	t.Helper()
	a := w.unclear(t, chain)
	return w.do(t, a.Request.ID, notSent(&a, start))
}

// paidBy is another transaction that pays the request, at depth.
func paidBy(a *withdrawal.Withdrawal, hash string, at time.Time) withdrawal.PaidBy {
	return withdrawal.PaidBy{By: operatorAt(at), Tx: hash, Payee: a.Request.ToAddress, AssetOnChain: tokenOnChain,
		AmountRaw: a.Request.AmountRaw,
		Block:     withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 12}, Reason: "seen in the explorer"}
}

// switchedOff: all wallets of a chain in one call; who has an aggregate from
// before is refused.
func (w *withdrawals) switchedOff(t *testing.T) {
	pending, processing, out := w.pending(t, evm, start), w.processing(t, evm, start), w.processing(t, evm, start)
	out = w.do(t, out.Request.ID, prepared(&out, start))
	all := must(w.service.HotWallets(ctx, evm))(t)
	for i := range all {
		all[i].Status = "stopped"
	}
	noError(t, w.service.PutHotWallet(ctx, role(withdrawal.Operator), all...))
	send := func(a withdrawal.Withdrawal, ev withdrawal.Event) error {
		_, err := w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: a, Events: []withdrawal.Event{ev}})
		return err
	}
	refusedWith(t, send(pending, withdrawal.Claimed{By: workerAt(start)}), withdrawal.ErrOnHold, "a claim")
	refusedWith(t, send(processing, prepared(&processing, start)), withdrawal.ErrOnHold, "a preparation")
	refusedWith(t, send(processing, withdrawal.Dispatched{By: workerAt(start), Fence: 1, Reference: "r"}), withdrawal.ErrOnHold, "a dispatch")
	noError(t, send(processing, withdrawal.AttemptFailed{By: workerAt(start), Fence: 1, Failure: withdrawal.Retryable, Error: "x"}))
	if a := w.get(t, processing.Request.ID); a.Job.RetryCount != 0 || a.Attempt.Outcome != statemachine.Deferred {
		t.Errorf("the attempt is not given back: %+v", a.Job)
	}
	noError(t, send(out, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: out.Job.TxHash}), "what is out goes on: ")
}

// staleHead: what writes a job alone compares the request too (S26).
func (w *withdrawals) staleHead(t *testing.T) {
	for _, x := range []struct {
		from func(testing.TB, uuid.UUID, time.Time) withdrawal.Withdrawal
		ev   func(*withdrawal.Withdrawal) withdrawal.Event
	}{
		{w.pending, func(*withdrawal.Withdrawal) withdrawal.Event { return withdrawal.Claimed{By: workerAt(start)} }},
		{w.processing, func(a *withdrawal.Withdrawal) withdrawal.Event { return prepared(a, start) }},
		{w.processing, func(*withdrawal.Withdrawal) withdrawal.Event {
			return withdrawal.GivenBack{By: workerAt(start), Fence: 1, For: time.Minute}
		}},
	} {
		a := x.from(t, w.payingChain(t), start)
		old := a
		old.Request.Version--
		refusedWith(t, w.save(w.change(t, old, x.ev(&a))), statemachine.ErrConflict, "a job under an old request")
		same(t, "nothing is stored", plain(t, w.get(t, a.Request.ID)), plain(t, a))
		refusedWith(t, errOf(w.service.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: old, Events: []withdrawal.Event{x.ev(&a)}})),
			statemachine.ErrConflict, "the same, held")
		before := w.change(t, a, x.ev(&a))
		w.do(t, a.Request.ID, withdrawal.Held{By: operatorAt(start)})
		refusedWith(t, w.save(before), statemachine.ErrConflict, "a step that was decided before the hold (M7)")
	}
	a := w.confirming(t, utxos, start)
	old := a
	old.Request.Version--
	refusedWith(t, w.save(w.change(t, old, withdrawal.Looking{By: by(withdrawal.ConfirmationWorker, start.Add(time.Hour))})),
		statemachine.ErrConflict, "a touch under an old request")
}

// fillers: the nonces of a wallet with gaps, those that were told filled, and
// what refusals say of them.
func (w *withdrawals) fillers(t *testing.T) {
	live(w.Store)
	chain, hot := w.id(), w.id()
	w.putWallet(t, withdrawal.HotWallet{ID: hot, Chain: chain})
	free := func(chainNext, want uint64) {
		t.Helper()
		if got, err := w.service.FreeNonce(ctx, hot, chainNext); err != nil || got != want {
			t.Errorf("above %d: nonce %d, %v, expected %d", chainNext, got, err, want)
		}
	}
	free(702, 702)
	a := w.processing(t, chain, start)
	p := prepared(&a, start)
	p.Nonce, p.ChainNonce = 702, 702
	w.do(t, a.Request.ID, p, withdrawal.Broadcast{By: workerAt(start), Fence: 1, Hash: p.Hash})
	filler := withdrawal.Filler{Wallet: hot, Chain: chain, Nonce: 705, Hash: "0xF1", Actor: "olga", Reason: "a test transfer"}
	for range 2 {
		noError(t, w.service.PutFiller(ctx, filler))
	}
	free(702, 703)
	free(705, 706)
	free(0, 0)
	gaps := must(w.service.Gaps(ctx, map[uuid.UUID]uint64{hot: 702}, 10))(t)
	same(t, "gaps", gaps, map[uuid.UUID][]uint64{hot: {703, 704}})
	for of, want := range map[uuid.UUID]map[uuid.UUID][]uint64{chain: gaps, uuid.Nil: gaps, w.id(): nil} {
		stats := must(w.service.StatsOf(ctx, of, time.Hour, map[uuid.UUID]uint64{hot: 702, w.id(): 0}))(t)
		if len(stats.Gaps)+len(want) > 0 {
			same(t, "gaps in the statistics", stats.Gaps, want)
		}
	}
	if all, err := w.service.Stats(ctx, time.Hour); err != nil || all.Gaps != nil {
		t.Errorf("nobody told the chain's next nonce: gaps are %v, %v", all.Gaps, err)
	}
	b := w.processing(t, chain, start)
	if b.Wallet.NextNonce != 706 {
		t.Errorf("the next nonce on file is %d", b.Wallet.NextNonce)
	}
	q := prepared(&b, start)
	q.Nonce, q.ChainNonce, q.HasChainNonce = 705, 703, true
	refusedWith(t, errOf(w.service.Do(ctx, b.Request.ID, q)), withdrawal.ErrNonceUsed, "the nonce of a filler")
	q.Nonce = 702
	q.ChainNonce = 702
	w.refuses(t, b.Request.ID, q, withdrawal.ErrNonceTaken, a.Job.ID)
	q.Nonce = 703
	w.do(t, b.Request.ID, q) // fills the first gap
	for _, f := range []struct {
		change func(*withdrawal.Filler)
		want   error
	}{
		{func(f *withdrawal.Filler) { f.Nonce = 702 }, withdrawal.ErrNonceTaken},
		{func(f *withdrawal.Filler) { f.Hash = "0xF2" }, withdrawal.ErrNonceUsed},
		{func(f *withdrawal.Filler) { f.Hash, f.Nonce = q.Hash, 704 }, withdrawal.ErrPaymentTaken},
		{func(f *withdrawal.Filler) { f.Nonce = 704 }, withdrawal.ErrPaymentTaken}, // one transaction has one nonce
		{func(f *withdrawal.Filler) { f.Nonce = withdrawal.MaxNonce + 1 }, statemachine.ErrInvalid},
		{func(f *withdrawal.Filler) { f.Hash = "" }, statemachine.ErrInvalid},
		{func(f *withdrawal.Filler) { f.Hash, f.Nonce, f.Chain = "0xF6", 707, utxos }, statemachine.ErrInvalid},
		{func(f *withdrawal.Filler) { f.Wallet, f.Hash = w.id(), "0xF3" }, statemachine.ErrNotFound},
	} {
		other := filler
		f.change(&other)
		refusedWith(t, w.service.PutFiller(ctx, other), f.want, fmt.Sprintf("filler %+v", other))
	}
	c := w.pending(t, chain, start)
	other := paidBy(&c, "with the nonce of another", start)
	other.Nonce, other.HasNonce = 702, true
	w.refuses(t, c.Request.ID, other, withdrawal.ErrNonceTaken, a.Job.ID)
	refusedWith(t, errOf(w.service.Do(ctx, b.Request.ID, paidBy(&b, "f1", start))), withdrawal.ErrPaymentTaken, "a filler pays nobody")
	// What is said to be sent is not on file, and has its nonce all the same.
	stray := paidBy(&b, "beside what is live", start)
	stray.Nonce, stray.HasNonce = 704, true
	if b = w.do(t, b.Request.ID, stray); len(b.Strays) != 1 || b.Wallet.NextNonce != 706 {
		t.Fatalf("strays are %+v", b.Strays)
	}
	free(703, 706)
	filler.Nonce, filler.Hash = 704, "0xF4"
	taken(t, w.service.PutFiller(ctx, filler), withdrawal.ErrNonceTaken, b.Job.ID)
	other.Nonce = 704
	w.refuses(t, c.Request.ID, other, withdrawal.ErrNonceTaken, b.Job.ID)
	stray.Tx, stray.Nonce = "with the nonce of a job", 702
	w.refuses(t, b.Request.ID, stray, withdrawal.ErrNonceTaken, a.Job.ID)
	gone := withdrawal.ProvenDead{By: operatorAt(start), Tx: q.Hash, Cause: withdrawal.NonceUsed, Other: "another", Nonce: 703,
		NotThisPayment: true, Block: block(5)}
	if b = w.do(t, b.Request.ID, gone); b.Job.TxHash != "beside what is live" || b.Job.Nonce != 704 {
		t.Errorf("its own job has it: %+v", b.Job)
	}
	// What is declared dead holds its nonce no longer, though its job owns it.
	free(703, 706)
	for next, want := range map[uint64]map[uuid.UUID][]uint64{702: {hot: {703}}, 704: {}} {
		gaps, err := w.service.Gaps(ctx, map[uuid.UUID]uint64{hot: next}, 10)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("gaps from %d on", next), gaps, want)
	}
}

// bounds: what comes in passes one law (S15, U3), and sums do not overflow (S18).
func (w *withdrawals) bounds(t *testing.T) {
	good := withdrawal.HotWallet{ID: w.id(), Chain: w.id(), Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	bad := good
	bad.BalanceReserved = "1e5"
	refusedWith(t, w.service.PutHotWallet(ctx, role(withdrawal.Operator), good, bad), statemachine.ErrInvalid,
		"one of two hot wallets out of bounds")
	if all, err := w.service.HotWallets(ctx, good.Chain); err != nil || len(all) > 0 {
		t.Errorf("a refused call stored %+v, %v", all, err)
	}
	retired := withdrawal.HotWallet{ID: w.id(), Chain: utxos2, Role: withdrawal.WalletRoleHot, Status: "retired"}
	noError(t, w.service.PutHotWallet(ctx, role(withdrawal.Operator), retired))
	id := w.id()
	legacy := withdrawal.Imported{By: by(withdrawal.System, start), Request: id, User: aUser, Asset: anAsset,
		Chain: utxos2, ToAddress: "0xabc",
		Amount: "1", Decimals: 18, CreatedAt: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), Job: w.id(),
		AssetOnChain: tokenOnChain, Hash: "legacy"}
	refusedWith(t, errOf(w.service.Do(ctx, id, legacy)), statemachine.ErrInvalid, "a row of the year 20000")
	legacy.CreatedAt = start
	if a := w.do(t, id, legacy); a.Job.Wallet != retired.ID { // S10
		t.Errorf("imported as %+v", a.Job)
	}
	for range 2 {
		a := w.confirming(t, utxos, start)
		r := receipt(&a, start, 3)
		r.GasUsed = withdrawal.Raw(strings.Repeat("9", withdrawal.MaxDigits))
		w.do(t, a.Request.ID, r)
	}
	if s := w.stats(t, start.Add(time.Minute), time.Hour, uuid.Nil); s.GasUsed != withdrawal.Raw("1"+strings.Repeat("9",
		withdrawal.MaxDigits-1)+"8") {
		t.Errorf("gas used is %s", s.GasUsed)
	}
}

// acknowledged: an incident is open until an operator has settled it, once.
func (w *withdrawals) acknowledged(t *testing.T) {
	first, second := w.contradicted(t, start), w.contradicted(t, start)
	all, _, err := w.service.Incidents(ctx, 0, 10)
	if err != nil || len(all) != 2 {
		t.Fatalf("incidents are %v, %v", all, err)
	}
	open := func(want ...withdrawal.Incident) {
		t.Helper()
		same(t, "open incidents", everyPage(t, 1, w.service.OpenIncidents), want)
		stats, err := w.service.Stats(ctx, time.Hour)
		if err != nil || stats.OpenIncidents != int64(len(want)) {
			t.Errorf("%d are counted as open, want %d, %v", stats.OpenIncidents, len(want), err)
		}
		alerts := withdrawal.Alerts(stats, withdrawal.Thresholds{Incidents: 100})
		alert := slices.ContainsFunc(alerts, func(a statemachine.Alert) bool { return a.Name == "open incidents" })
		if alert != (len(want) > 0) {
			t.Errorf("an alert: %v, with %d open", alert, len(want))
		}
	}
	open(all...)
	ack := func(i withdrawal.Incident) withdrawal.Acknowledgement {
		return withdrawal.Acknowledgement{Request: i.Request, Hash: i.Hash, Claim: i.Claim, BlockHash: i.BlockHash,
			Actor: "olga", Role: withdrawal.Operator, Reason: "refunded by the exchange", At: start.Add(time.Minute)}
	}
	for name, c := range map[string]struct {
		change func(*withdrawal.Acknowledgement)
		err    error
	}{
		"a worker":            {func(a *withdrawal.Acknowledgement) { a.Role = withdrawal.WithdrawalWorker }, statemachine.ErrForbidden},
		"nobody":              {func(a *withdrawal.Acknowledgement) { a.Actor = "" }, statemachine.ErrInvalid},
		"no reason":           {func(a *withdrawal.Acknowledgement) { a.Reason = "" }, statemachine.ErrInvalid},
		"a reason with a NUL": {func(a *withdrawal.Acknowledgement) { a.Reason = "a\x00" }, statemachine.ErrInvalid},
		"a long reason": {func(a *withdrawal.Acknowledgement) {
			a.Reason = strings.Repeat("x",
				withdrawal.MaxText+1)
		}, statemachine.ErrInvalid},
		"the year 20000":  {func(a *withdrawal.Acknowledgement) { a.At = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC) }, statemachine.ErrInvalid},
		"another claim":   {func(a *withdrawal.Acknowledgement) { a.Claim = withdrawal.ClaimTaken }, statemachine.ErrNotFound},
		"another request": {func(a *withdrawal.Acknowledgement) { a.Request = w.id() }, statemachine.ErrNotFound},
	} {
		a := ack(all[0])
		c.change(&a)
		if err := w.service.Acknowledge(ctx, a); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
	open(all...)
	noError(t, w.service.Acknowledge(ctx, ack(all[0])))
	again := ack(all[0])
	again.Actor, again.Reason = "oscar", "me too"
	noError(t, w.service.Acknowledge(ctx, again), "once more: ")
	open(all[1])
	for request, want := range map[*withdrawal.Withdrawal][]withdrawal.Acknowledgement{&first: {ack(all[0])}, &second: nil} {
		got := must(w.service.Acknowledgements(ctx, request.Request.ID))(t)
		same(t, "acknowledgements", got, want)
	}
}
