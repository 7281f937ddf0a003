package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// DepositsName is the name of the one consumer that credits deposits, for [StatsOf].
const DepositsName = "deposits"

// Fact is one posting of a deposit: Credited or Reversed, see [utxo.DepositFact].
type Fact = utxo.DepositFact

// DepositFunc posts facts in the host's tables, all of them or none. Each fact has a key
// ([utxo.DepositKey]), and no two postings have the same key.
type DepositFunc func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, facts []Fact) error

// Deposits credits each deposit of the wallets once, and takes a credit back once it is proven that the coin will not
// come back. It runs until ctx ends (nil) or the consumer stops, as [Run] does. Package utxo has the rules that say
// what a deposit is, and when it is credited, shaken and reversed: [utxo.DepositPolicy].
//
// An output is put on file, in a table of its own, when a line of the log, a block or a rescan shows it, or when its
// owner is announced. Each deposit on file is looked at again at each new tip, since its depth grows without a line.
// The rules judge it by what the transaction of the posting reads: in the commit of fn the deposit's row moves from
// the state and the round that were read. If a block leaves the chain at that moment, its line makes Deposits look at
// the deposit once more. Nothing is posted when a reorganisation brings a deposit back.
//
// The consumer's Name is [DepositsName] and its Domains are the wallets, whatever c says, since two such consumers
// would divide the deposits between them. From may be zero, which is Beginning: DepositPolicy.From, and not Now, keeps
// out what is in the host's books already, since a rescan or a reorganisation writes lines of old outputs too. A
// deposit that fails alone stops the consumer or, with Park, is parked as a line is and counted by [StatsOf]. Any
// number of processes may run it.
//
// Whenever a process gets the lease, at its start above all, it looks through all outputs in the chain. So a policy
// that knows more customers than the policy of the last release finds what they were paid before. If
// DepositPolicy.Customer learns of a customer while the process runs, and outputs of that owner may be in the chain
// already, call [RescanDeposits].
func Deposits(ctx context.Context, db *sqlstore.Store, c Consumer, p utxo.DepositPolicy, fn DepositFunc) error {
	r, err := newDeposits(db, c, p, fn)
	if err != nil {
		return err
	}
	return r.run(ctx)
}

func newDeposits(db *sqlstore.Store, c Consumer, p utxo.DepositPolicy, fn DepositFunc) (*runner, error) {
	if fn == nil {
		return nil, fmt.Errorf("%w: the function for deposits is nil", statemachine.ErrInvalid)
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	c.Name, c.Domains = DepositsName, []store.Domain{store.DomainWallets}
	if c.From == 0 {
		c.From = Beginning
	}
	d := &deposits{policy: p, fn: fn}
	r, err := newRunner(db, c, d.file)
	if err != nil {
		return nil, err
	}
	d.most, r.side = r.Lines, d.look
	return r, nil
}

// RescanDeposits makes the running [Deposits], in whatever process, look through all outputs in the chain once more, as
// at its start. A host calls it after its DepositPolicy.Customer has learnt of an owner whose outputs may have been
// given before. It is [statemachine.ErrNotFound] where Deposits never ran.
func RescanDeposits(ctx context.Context, db *sqlstore.Store) error {
	return db.Update(ctx, func(u store.Unit) error {
		c, err := sqlstore.ConsumersOf(u)
		if err != nil {
			return err
		}
		now, err := u.Now()
		if err != nil {
			return err
		}
		row, err := c.Get(DepositsName)
		if err == nil && row.Name == "" {
			err = fmt.Errorf("%w: no consumer %q", statemachine.ErrNotFound, DepositsName)
		}
		if err != nil {
			return err
		}
		next := row
		next.Fence, next.Until = row.Fence+1, now // whoever gets the lease now knows nothing of what was seen before
		is, err := c.Move(row, next)
		if err == nil && !is {
			err = store.ErrRetry
		}
		return err
	})
}

// deposits is what a process knows of the deposits between two steps.
type deposits struct {
	policy utxo.DepositPolicy
	fn     DepositFunc
	most   int

	fence   int64  // of the lease that the rest was learnt under
	scanned int64  // up to which transaction all outputs were compared with what is on file
	whole   bool   // they were, up to the last one
	seen    string // the state of the chain that all due deposits were looked at in; empty: none
	sweep   sweep
}

// sweep is how far all due deposits were looked at, in one state of the chain.
type sweep struct {
	chain  string
	shaken bool          // those that wait are done
	after  *utxo.Deposit // the last one
}

// scans is how many pages of transactions are compared with what is on file between two commits, which
// renew the lease.
const scans = 20

// file puts the outputs of the lines' transactions on file; for deposits that are on file it stores the
// block. It posts nothing.
func (d *deposits) file(ctx context.Context, _ sqlstore.Tx, unit store.Unit, lines []Line) error {
	of, err := sqlstore.DepositsOf(unit)
	if err != nil {
		return err
	}
	now, err := unit.Now()
	if err != nil {
		return err
	}
	ids := make([]string, len(lines))
	for i := range lines {
		ids[i] = lines[i].ID
	}
	sights, err := of.OfLines(ids...)
	if err != nil {
		return err
	}
	found, old, moved, err := d.news(of, sights, now)
	if err != nil {
		return err
	}
	if len(found)+len(moved) > 0 {
		d.seen, d.sweep = "", sweep{}
	}
	if err := of.Insert(found...); err != nil {
		return err
	}
	return move(of, old, moved)
}

// news compares outputs with what is on file of them: found is to be put on file, and old becomes moved.
func (d *deposits) news(of sqlstore.Deposits, sights []utxo.DepositSight, now time.Time) (found, old, moved []utxo.Deposit, err error) {
	ops := make([]wire.OutPoint, len(sights))
	for i := range sights {
		ops[i] = sights[i].OutPoint
	}
	stored, err := of.Named(ops...)
	if err != nil {
		return nil, nil, nil, err
	}
	known := map[wire.OutPoint]*utxo.Deposit{}
	for i := range stored {
		known[stored[i].OutPoint] = &stored[i]
	}
	for i := range sights {
		s := &sights[i]
		switch row := known[s.OutPoint]; {
		case row == nil:
			if f, ok := d.policy.Find(*s, now); ok {
				found = append(found, f)
			}
		case row.Seen(*s) != *row:
			old, moved = append(old, *row), append(moved, row.Seen(*s))
		}
	}
	return found, old, moved, nil
}

// unfiled looks for deposits that are not on file although their lines were given: the process that got the lines had a
// policy that did not know their owner as a customer yet, or that began at a higher block. It looks through all outputs
// in the chain once in each lease, page by page.
func (d *deposits) unfiled(of sqlstore.Deposits, now time.Time) (*task, error) {
	last, err := of.LastTx()
	if err != nil {
		return nil, err
	}
	for range scans {
		after, to := d.scanned, d.scanned+store.MaxPage
		if after >= last {
			d.whole = true
			return nil, nil
		}
		sights, err := of.Between(after, to)
		if err != nil {
			return nil, err
		}
		found, _, _, err := d.news(of, sights, now)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return &task{items: 1, then: func() { d.scanned, d.seen, d.sweep = to, "", sweep{} },
				run: func(_ context.Context, _ sqlstore.Tx, unit store.Unit) error { return d.scan(unit, after, to) }}, nil
		}
		d.scanned = to
	}
	return &task{then: func() {}, run: func(context.Context, sqlstore.Tx, store.Unit) error { return nil }}, nil
}

// scan puts the outputs of some transactions on file. No block may come or leave meanwhile: the line of a
// block that leaves between the look and the commit would have no row to change.
func (d *deposits) scan(unit store.Unit, after, to int64) error {
	of, err := sqlstore.DepositsOf(unit)
	if err != nil {
		return err
	}
	now, err := unit.Now()
	if err == nil {
		err = of.Lock(0)
	}
	if err != nil {
		return err
	}
	sights, err := of.Between(after, to)
	if err != nil {
		return err
	}
	found, _, _, err := d.news(of, sights, now)
	if err != nil {
		return err
	}
	return of.Insert(found...)
}

// move writes deposits that were read in this transaction. Where another transaction has
// moved one since, such as that of an operator's word, the whole transaction runs again.
func move(of sqlstore.Deposits, old, moved []utxo.Deposit) error {
	err := of.Move(old, moved)
	if errors.Is(err, statemachine.ErrConflict) {
		return fmt.Errorf("%w: %w", store.ErrRetry, err)
	}
	return err
}

// look finds the next deposits for which something is to be posted. In each state of the chain it looks
// at all due deposits once.
func (d *deposits) look(u store.Unit, look sideLook) (*task, error) {
	of, err := sqlstore.DepositsOf(u)
	if err != nil {
		return nil, err
	}
	if look.due.Consumer != "" {
		return d.again(look.due)
	}
	if look.fence != d.fence {
		d.fence, d.scanned, d.whole, d.seen, d.sweep = look.fence, 0, false, "", sweep{}
	}
	if !d.whole {
		if t, err := d.unfiled(of, look.now); t != nil || err != nil {
			return t, err
		}
	}
	chain, tip, err := chainOf(of)
	if err != nil {
		return nil, err
	}
	if d.sweep.chain == "" {
		if chain == d.seen {
			return nil, nil
		}
		d.sweep = sweep{chain: chain}
	}
	most := d.most
	if look.single {
		most = 1
	}
	at := d.sweep
	for {
		page, err := d.page(of, at, tip)
		switch {
		case err != nil:
			return nil, err
		case len(page) == 0 && at.shaken:
			d.seen, d.sweep = at.chain, sweep{}
			return nil, nil
		case len(page) == 0:
			at.shaken, at.after = true, nil
			continue
		}
		judged, err := d.judge(of, page, look.now)
		if err != nil {
			return nil, err
		}
		parked, err := parkedOf(u, page)
		if err != nil {
			return nil, err
		}
		var due []utxo.Deposit
		for i := range judged {
			at.after = &page[i]
			key := depositKey(page[i].OutPoint)
			if judged[i].calls() && !parked[key.Key()] {
				due = append(due, page[i])
			}
			if len(due) == most {
				break
			}
		}
		if len(due) > 0 {
			return d.task(due, func() { d.sweep = at }), nil
		}
		d.sweep = at
	}
}

// page reads deposits that are due, behind the last one.
func (d *deposits) page(of sqlstore.Deposits, at sweep, tip int32) ([]utxo.Deposit, error) {
	if at.shaken {
		return of.Shaken(tip, at.after, store.MaxPage)
	}
	return of.Waiting(d.policy.Minimum, at.after, store.MaxPage)
}

// depositKey is what a deposit is parked by.
func depositKey(op wire.OutPoint) sqlstore.Line {
	return itemKey(utxo.DepositMachine.Name(), op.String())
}

// parkedOf returns which of some deposits are parked, by their keys.
func parkedOf(u store.Unit, page []utxo.Deposit) (map[string]bool, error) {
	c, err := sqlstore.ConsumersOf(u)
	if err != nil {
		return nil, err
	}
	keys := make([]sqlstore.Line, len(page))
	for i := range page {
		keys[i] = depositKey(page[i].OutPoint)
	}
	return c.ParkedOf(DepositsName, keys)
}

// again is the task of a deposit that was parked. If nothing is to be posted for the deposit any more,
// the deposit is not parked any longer, and is looked at again in the next state of the chain.
func (d *deposits) again(p sqlstore.Parked) (*task, error) {
	op, err := wire.NewOutPointFromString(p.ID)
	if err != nil {
		return nil, fmt.Errorf("%w: a parked deposit %q: %w", statemachine.ErrCorrupt, p.ID, err)
	}
	return d.task([]utxo.Deposit{{OutPoint: *op}}, func() {}), nil
}

// chainOf names a state of the chain together with how far it was matched with wallets and owners.
// Beside these, what becomes of a deposit depends only on its own row and lines.
func chainOf(of sqlstore.Deposits) (name string, tip int32, err error) {
	b, ok, err := of.Tip()
	if err != nil {
		return "", 0, err
	}
	if !ok {
		b.Height = -1
	}
	wallets, err := of.Wallets()
	return fmt.Sprint(b.Hash, wallets), b.Height, err
}

// judgement is what the rules say of a deposit.
type judgement struct {
	old, now utxo.Deposit
	fact     *Fact
	err      error
}

// calls reports whether something is to be posted, or a person to be told.
func (j *judgement) calls() bool { return j.fact != nil || j.err != nil }

// judge asks the rules about deposits by what is stored of them.
func (d *deposits) judge(of sqlstore.Deposits, all []utxo.Deposit, now time.Time) ([]judgement, error) {
	sights, err := of.Sights(all...)
	if err != nil {
		return nil, err
	}
	judged := make([]judgement, len(all))
	for i := range all {
		if all[i].Suspect(sights[i]) {
			id := utxo.TxID{Wallet: all[i].Wallet, Hash: all[i].OutPoint.Hash}
			if sights[i].Dead, err = utxo.ProvablyDead(of, id, all[i].Depth); err != nil {
				return nil, err
			}
		}
		j := judgement{old: all[i]}
		j.now, j.fact, j.err = d.policy.Judge(all[i], sights[i], now)
		judged[i] = j
	}
	return judged, nil
}

// task posts what is to be posted for some deposits. The rules judge the deposits again in the
// transaction of the posting.
func (d *deposits) task(due []utxo.Deposit, then func()) *task {
	ops := make([]wire.OutPoint, len(due))
	for i := range due {
		ops[i] = due[i].OutPoint
	}
	return &task{machine: utxo.DepositMachine.Name(), id: ops[0].String(), items: len(due), then: then,
		run: func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error { return d.post(ctx, tx, unit, ops) }}
}

func (d *deposits) post(ctx context.Context, tx sqlstore.Tx, unit store.Unit, ops []wire.OutPoint) error {
	of, err := sqlstore.DepositsOf(unit)
	if err != nil {
		return err
	}
	now, err := unit.Now()
	if err != nil {
		return err
	}
	stored, err := of.Named(ops...)
	if err != nil {
		return err
	}
	for i := range stored {
		if stored[i].State == utxo.DepositCredited {
			// A proof is read in several statements, between which no block may come.
			if err := of.Lock(0); err != nil {
				return err
			}
			break
		}
	}
	judged, err := d.judge(of, stored, now)
	if err != nil {
		return err
	}
	var facts []Fact
	var old, moved []utxo.Deposit
	for i := range judged {
		j := &judged[i]
		if j.err != nil {
			return j.err
		}
		if j.fact != nil {
			facts = append(facts, *j.fact)
			old, moved = append(old, j.old), append(moved, j.now)
		}
	}
	if len(facts) > 0 {
		if err := d.fn(ctx, tx, unit, facts); err != nil {
			return err
		}
	}
	return move(of, old, moved)
}
