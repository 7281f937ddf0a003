package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/examples/internal/claims"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/shopspring/decimal"
)

// tally is how far everything is, from the book and from the records.
type tally struct {
	tip                                int32
	credited                           int
	requests, paid, givenBack          int
	swaps, swapsEnded, swapsWithPerson int
	watched, settled, jobs             int64
	relays, unsynced                   int64
	bills, billsPaid, churned          int
	kills                              int
	lag                                time.Duration // of the book behind the records
}

func (d *day) count(ctx context.Context) (t tally, err error) {
	d.mu.Lock()
	t.kills = d.kills
	d.mu.Unlock()
	tip, _, err := d.Wallets.Tip(ctx)
	if err != nil {
		return t, err
	}
	t.tip = tip.Height
	err = d.conn.QueryRowContext(ctx, "SELECT count(*) FILTER (WHERE kind = 'credited') - count(*) FILTER (WHERE kind = 'reversed'), "+
		"count(*) FILTER (WHERE kind = 'hold'), count(*) FILTER (WHERE kind = 'capture'), count(*) FILTER (WHERE kind = 'release') "+
		"FROM custody_postings").Scan(&t.credited, &t.requests, &t.paid, &t.givenBack)
	if err != nil {
		return t, err
	}
	book, err := follow.StatsOf(ctx, d.DB, "book")
	if err != nil && !errors.Is(err, statemachine.ErrNotFound) { // the first worker has not begun
		return t, err
	}
	t.lag = book.Lag
	t.swaps = 2 * swapsIn
	err = d.eachSwap(ctx, func(r swap.Record, _ swap.Money) {
		switch {
		case r.Head().CheckAt.IsZero() && (r.Place() == swap.Unprocessed || r.Head().Hold.Kind != 0 || r.Head().Lost != 0):
			t.swapsWithPerson++
		case r.Head().CheckAt.IsZero():
			t.swapsEnded++
		}
	})
	if err != nil {
		return t, err
	}
	fresh, err := d.Refreshes.Stats(ctx)
	if err != nil {
		return t, err
	}
	for _, n := range fresh.Watchers {
		t.watched += n
	}
	t.settled, t.jobs = fresh.Watchers[refresh.Settled], fresh.Jobs[refresh.JobPending]+fresh.Jobs[refresh.JobProcessing]
	relays, err := d.Relays.Stats(ctx, 0)
	if err != nil {
		return t, err
	}
	for phase, n := range relays.Phases {
		if t.relays += n; phase != relaysync.PhaseClean {
			t.unsynced += n
		}
	}
	for i := range tenants {
		a, err := d.Tenants.Get(ctx, tenantID(i))
		if err != nil {
			return t, err
		}
		if a.Tenant.Status() != dunning.TenantActive {
			t.churned++
		}
		for _, i := range a.Invoices {
			if t.bills++; !i.PaidAt.IsZero() {
				t.billsPaid++
			}
		}
	}
	return t, nil
}

// open names what goes on, and how much of it there is: empty where all has ended.
func (d *day) open(t tally) (text string) {
	for name, n := range map[string]int{
		"deposits": len(deposits(d.out.bitcoin)) - t.credited, "withdrawals": t.requests - t.paid - t.givenBack,
		"swaps": t.swaps - t.swapsEnded - t.swapsWithPerson, "invoices of wallets": int(t.watched - t.settled), "refreshes": int(t.jobs),
		"relays": int(t.unsynced), "bills": t.bills - t.billsPaid - 2*t.churned,
	} {
		if n > 0 {
			text += fmt.Sprintf(" %d %s", n, name)
		}
	}
	if t.lag > 0 {
		text += " the book"
	}
	return text
}

// deposits are the outputs of all blocks that are deep enough, and their amounts: what a second look
// at the blocks says that must be credited.
func deposits(b *blocks) map[string]int64 {
	all, tip := map[string]int64{}, len(b.all)-1
	for height, block := range b.all[1:] { // nobody can spend the coinbase of block 0
		for _, tx := range block.Txs {
			depth := 6
			if len(tx.TxIn) == 1 && tx.TxIn[0].PreviousOutPoint.Index == 1<<32-1 { // a coinbase, which matures
				depth = 101
			}
			for i, out := range tx.TxOut {
				if out.Value >= depositPolicy.Minimum && height+depth <= tip {
					all[fmt.Sprintf("%s:%d", tx.TxHash(), i)] = out.Value
				}
			}
		}
	}
	return all
}

// eachSwap visits all items of both directions, of which there are fewer than a page.
func (d *day) eachSwap(ctx context.Context, visit func(swap.Record, swap.Money)) error {
	for _, place := range swap.Place(0).Values() {
		deposits, err1 := d.Swaps.Deposits.List(ctx, place, "", page)
		for i := range deposits {
			visit(&deposits[i], deposits[i].Money())
		}
		credits, err2 := d.Swaps.Credits.List(ctx, place, "", page)
		for i := range credits {
			visit(&credits[i], credits[i].Money())
		}
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
	}
	return nil
}

const page = 500 // more than there is of anything

// errNotProven: the report says what does not hold.
var errNotProven = errors.New("something does not hold: see the report")

// report prints what happened, and proves that book, records and chains agree.
func (d *day) report(ctx context.Context) error {
	t, err := d.count(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.print, "\nThe day, in which workers were killed %d times:\n"+
		"  deposits     %d credited\n"+
		"  withdrawals  %d ordered, %d paid, %d given back; %d more refused, since too little was there\n"+
		"  swaps        %d came in, %d ended, %d wait for a person\n"+
		"  wallets      %d invoices watched, %d settled; the node was asked to refresh %d times\n"+
		"  relays       %d hosted, %d bills, %d paid; %d tenants churned after %d reminders\n\n",
		t.kills, t.credited, t.requests, t.paid, t.givenBack, d.refused, t.swaps, t.swapsEnded, t.swapsWithPerson, t.watched, t.settled,
		d.out.rgb.refreshed, t.relays, t.bills, t.billsPaid, t.churned, len(d.out.cards.reminders))
	if err := d.printBook(ctx); err != nil {
		return err
	}
	stats := d.Read(ctx, ops.DefaultLimits().Window, ops.Statistics{})
	for _, alert := range stats.Alerts(ops.DefaultLimits()) { // a third of the senders cannot be paid, and so rates of refunds are high
		fmt.Fprintf(d.print, "  open alert: %s: %s\n", alert.Name, alert.Text)
	}
	var all []claims.Claim
	for _, prove := range []func(context.Context) (claims.Claim, error){
		d.balanced, d.creditedOnce, d.paidOnce, d.swappedOnce, d.chargedOnce, d.replayed, d.audited,
	} {
		c, err := prove(ctx)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	alive := claims.That("no worker ended by itself")
	for _, err := range d.faults {
		alive.Fails("%v", err)
	}
	if err := claims.Print(d.print, append(all, alive)); err != nil {
		return err
	}
	if !claims.Pass(append(all, alive)) {
		return errNotProven
	}
	return nil
}

// each calls visit for each row of a query, which it scans into the fields.
func (d *day) each(ctx context.Context, query string, visit func(), fields ...any) error {
	rows, err := d.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		visit()
	}
	return rows.Err()
}

// printBook prints all accounts.
func (d *day) printBook(ctx context.Context) error {
	var asset, name string
	var balance int64
	places := map[string]int32{btc: decimals, usdc: 6, usdd: 6, usd: 2}
	return d.each(ctx, "SELECT asset, name, balance FROM custody_accounts ORDER BY asset, name", func() {
		fmt.Fprintf(d.print, "  %-5s %-15s %20s\n", asset, name, decimal.New(balance, -places[asset]).StringFixed(places[asset]))
	}, &asset, &name, &balance)
}

// balanced: what nobody can see from one row.
func (d *day) balanced(ctx context.Context) (c claims.Claim, err error) {
	c = claims.That("the book is in balance: each asset adds up to zero, each account is its postings, and what is held is what is open")
	var asset, name string
	var balance, posted, sum int64
	err = d.each(ctx, "SELECT asset, sum(balance) FROM custody_accounts GROUP BY asset", func() {
		if sum != 0 {
			c.Fails("%s adds up to %d", asset, sum)
		}
	}, &asset, &sum)
	if err != nil {
		return c, err
	}
	var holds, inSwaps int64
	err = d.each(ctx, "SELECT asset, name, balance, (SELECT coalesce(sum(CASE WHEN p.credit = a.name THEN p.amount ELSE -p.amount END), 0) "+
		"FROM custody_postings p WHERE p.asset = a.asset AND a.name IN (p.credit, p.debit)) FROM custody_accounts a", func() {
		switch {
		case balance != posted:
			c.Fails("%s of %s has %d, and its postings are %d", name, asset, balance, posted)
		case balance < 0 && name != outsideAccount:
			c.Fails("%s of %s has %d", name, asset, balance)
		case strings.HasPrefix(name, held("")):
			holds += balance
		case name == swapsAccount:
			inSwaps += balance
		}
	}, &asset, &name, &balance, &posted)
	if err != nil {
		return c, err
	}
	var open int64
	err = d.conn.QueryRowContext(ctx, "SELECT coalesce(sum(CASE kind WHEN 'hold' THEN amount ELSE -amount END), 0) FROM custody_postings "+
		"WHERE kind IN ('hold', 'capture', 'release')").Scan(&open)
	if holds != open {
		c.Fails("%d is held, and %d is open", holds, open)
	}
	var held uint64
	err = errors.Join(err, d.eachSwap(ctx, func(_ swap.Record, m swap.Money) { held += m.Held }))
	if inSwaps != int64(held) {
		c.Fails("%d is in swaps, and by the items it is %d", inSwaps, held)
	}
	return c, err
}

// creditedOnce compares the book with a second look at the blocks.
func (d *day) creditedOnce(ctx context.Context) (c claims.Claim, err error) {
	due := deposits(d.out.bitcoin)
	c = claims.That(fmt.Sprintf("each of %d deposits is credited once", len(due)))
	var outpoint string
	var sum int64
	err = d.each(ctx, "SELECT subject, sum(CASE kind WHEN 'credited' THEN amount ELSE -amount END) FROM custody_postings "+
		"WHERE kind IN ('credited', 'reversed') GROUP BY subject", func() {
		if sum != due[outpoint] {
			c.Fails("of %s %d is credited, and it is %d", outpoint, sum, due[outpoint])
		}
		delete(due, outpoint)
	}, &outpoint, &sum)
	if len(due) > 0 {
		c.Fails("%d are not credited", len(due))
	}
	return c, err
}

// paidOnce compares book and chain: what was ordered is paid once or given back once.
func (d *day) paidOnce(ctx context.Context) (c claims.Claim, err error) {
	c = claims.That("each withdrawal is paid once on the chain, or given back once")
	paid := map[string][]node.Tx{}
	d.out.node.Look(func(chain *node.Chain) {
		for _, p := range chain.Transactions() {
			if !p.Reverted {
				paid[p.Tx.Reference] = append(paid[p.Tx.Reference], p.Tx)
			}
		}
	})
	var request string
	var amount, captured, released int64
	err = d.each(ctx, "SELECT subject, max(amount), count(*) FILTER (WHERE kind = 'capture'), count(*) FILTER (WHERE kind = 'release') "+
		"FROM custody_postings WHERE kind IN ('hold', 'capture', 'release') GROUP BY subject", func() {
		txs := paid[request]
		if captured+released != 1 || int64(len(txs)) != captured || len(txs) == 1 && txs[0].Amount != fmt.Sprint(amount) {
			c.Fails("%s over %d is captured %d times and released %d times, and the chain has %+v", request, amount, captured, released, txs)
		}
		delete(paid, request)
	}, &request, &amount, &captured, &released)
	if len(paid) > 0 {
		c.Fails("nobody has asked for %v", paid)
	}
	return c, err
}

// swappedOnce compares the records with what left the vault on each chain, to the unit.
func (d *day) swappedOnce(ctx context.Context) (c claims.Claim, err error) {
	c = claims.That("each swap is paid out, paid back, put aside, or held for a person, once and to the unit")
	says, left := map[swap.Chain]uint64{}, map[swap.Chain]uint64{}
	n := 0
	err = d.eachSwap(ctx, func(r swap.Record, m swap.Money) {
		in, out := swap.Solana, swap.Nexus
		if _, credit := r.(*swap.Credit); credit {
			in, out = out, in
		}
		says[in] += m.Refunded + m.Quarantined
		says[out] += m.PaidOut
		if n++; m.PaidOut+m.Refunded+m.Quarantined+m.Fees+m.Held != m.Deposited || m.Excess != 0 {
			c.Fails("%s: %+v", r.Head().ID, m)
		}
	})
	for _, on := range swap.Chain(0).Values() {
		all, readErr := chain.Read(d.out.chains[on].File)
		err = errors.Join(err, readErr)
		for _, t := range all {
			if !t.Inbound && !t.Errored {
				left[on] += t.Amount
			}
		}
		if left[on] != says[on] {
			c.Fails("%d left the vault on %s, and by the items it is %d", left[on], on, says[on])
		}
	}
	if n != 2*swapsIn {
		c.Fails("%d items are on file", n)
	}
	return c, err
}

// chargedOnce compares the invoices with what the provider charged, and relays with their server.
func (d *day) chargedOnce(ctx context.Context) (c claims.Claim, err error) {
	c = claims.That("each bill is charged once or not at all, each reminder sent once, and each relay is as on its server")
	charged := map[string]int64{}
	for key, amount := range d.out.cards.paid {
		invoice, _, _ := strings.Cut(key, "/")
		charged[invoice] += amount
	}
	for i := range tenants {
		a, err := d.Tenants.Get(ctx, tenantID(i))
		if err != nil {
			return c, err
		}
		for _, i := range a.Invoices {
			if want := map[bool]int64{true: i.Amount}[!i.PaidAt.IsZero()]; charged[i.ID] != want {
				c.Fails("%s is charged %d, and on file as %s", i.ID, charged[i.ID], i.Status())
			}
		}
		relay, err := d.Relays.Get(ctx, a.Tenant.ID+"_relay")
		if err != nil {
			return c, err
		}
		if !relay.Relay.Synced || d.out.relays.relays["/relay/"+relay.Relay.ID] == 0 {
			c.Fails("%s is not on its server", relay.Relay.ID)
		}
	}
	for key, n := range d.out.cards.reminders {
		if n > 1 {
			c.Fails("reminder %s was sent %d times", key, n)
		}
	}
	return c, nil
}

// replayed replays the history of every record through its table.
func (d *day) replayed(ctx context.Context) (claims.Claim, error) {
	n, failed := 0, error(nil)
	replay := func(err error) {
		n++
		failed = errors.Join(failed, err)
	}
	var id string
	var requests []uuid.UUID
	err := d.each(ctx, "SELECT subject FROM custody_postings WHERE kind = 'hold'", func() {
		requests = append(requests, uuid.MustParse(id))
	}, &id)
	for _, request := range requests {
		replay(d.Withdrawals.Verify(ctx, request))
		jobs, jobsErr := d.Withdrawals.Jobs(ctx, request)
		err = errors.Join(err, jobsErr)
		for _, job := range jobs {
			replay(d.Withdrawals.Verify(ctx, job.ID))
		}
	}
	err = errors.Join(err, d.eachSwap(ctx, func(r swap.Record, _ swap.Money) {
		trail := d.Swaps.Deposits.Trail
		if _, credit := r.(*swap.Credit); credit {
			trail = d.Swaps.Credits.Trail
		}
		_, err := trail(ctx, r.Head().ID)
		replay(err)
	}))
	for _, block := range d.out.bitcoin.all[1:] {
		for _, tx := range block.Txs {
			_, err := d.Wallets.Trail(ctx, utxo.TxID{Wallet: wallet, Hash: tx.TxHash()})
			replay(err)
		}
	}
	for i := range rgbWallets {
		w, getErr := d.Refreshes.Get(ctx, credentials(i).XpubVan)
		err = errors.Join(err, getErr)
		ids := []uuid.UUID{refresh.WalletID(w.Wallet.XpubVan)}
		for _, job := range w.Jobs {
			ids = append(ids, job.ID)
		}
		for _, watcher := range w.Watchers {
			ids = append(ids, watcher.ID())
		}
		for _, id := range ids {
			_, err := d.Refreshes.Trail(ctx, id)
			replay(err)
		}
	}
	for i := range tenants {
		tenant := tenantID(i)
		_, err := d.Tenants.Trail(ctx, tenant)
		replay(err)
		_, err = d.Relays.Trail(ctx, tenant+"_relay")
		replay(err)
	}
	c := claims.That(fmt.Sprintf("each of %d histories replays to its record", n))
	if failed != nil {
		c.Fails("%v", failed)
	}
	return c, err
}

// audited asks each domain for its own check of all records, page by page.
func (d *day) audited(ctx context.Context) (c claims.Claim, err error) {
	c = claims.That("each record keeps the invariants of its domain")
	err = d.Wallets.Audit(ctx, wallet)
	for _, audit := range []func(ctx context.Context, after string, limit int) (string, error){d.Withdrawals.Audit,
		d.Swaps.Deposits.Audit, d.Swaps.Credits.Audit, d.Refreshes.Audit, d.Relays.Audit, d.Tenants.Audit} {
		for after, more := "", true; more; more = after != "" {
			last, wrong := audit(ctx, after, store.MaxPage)
			after, err = last, errors.Join(err, wrong)
		}
	}
	if err != nil {
		c.Fails("%v", err)
	}
	return c, nil
}
