package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// DepositFunc posts facts in the host's tables, all of them or none. Key (see
// [utxo.DepositKey]) is the key of a posting, of which there is never a second one.
type DepositFunc func(ctx context.Context, tx sqlstore.Tx, unit store.Unit, facts []Fact) error

// Deposits credits each deposit of the wallets once, and takes a credit back once it is
// proven that the coin will not come back, until ctx ends (nil) or the consumer stops, as
// [Run] does. What is a deposit, when it is credited, shaken and reversed is a rule of
// package utxo: [utxo.DepositPolicy].
//
// The lines of the log put outputs on file, in a table of its own: blocks, a rescan, an
// owner who is announced late. What is on file is looked at again at each new tip, since
// depth grows without a line, and judged by what is stored in the transaction of the
// posting: the deposit's row moves in the commit of fn, from the state and the round that
// were read. A block that leaves the chain at that moment writes a line, which makes the
// deposit be looked at once more. Nothing is posted for a reorganisation that brings a
// deposit back.
//
// The consumer's Name is [DepositsName] and its Domains are the wallets, whatever c says:
// two of them would share the deposits out. From may be zero, which is Beginning: what is
// in the host's books already is kept out by DepositPolicy.From, not by Now, since a
// rescan or a reorganisation writes lines of old outputs too. A deposit that fails
// alone stops the consumer, or with Park is put off: by a minute, and twice as long each
// time up to a day, and until the process ends. Any number of processes may run it.
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
	d := &deposits{policy: p, fn: fn, later: map[wire.OutPoint]putOff{}}
	r, err := newRunner(db, c, d.file)
	if err != nil {
		return nil, err
	}
	d.most, r.side = r.Lines, d.look
	return r, nil
}

// deposits is what a process knows of the deposits between two steps.
type deposits struct {
	policy utxo.DepositPolicy
	fn     DepositFunc
	most   int

	fence int64  // of the lease that the rest was learnt under
	seen  string // the state of the chain that all due deposits were looked at in; empty: none
	sweep sweep
	later map[wire.OutPoint]putOff
}

// sweep is how far all due deposits were looked at, in one state of the chain.
type sweep struct {
	chain  string
	began  time.Time
	shaken bool          // those that wait are done
	after  *utxo.Deposit // the last one
}

// putOff is a deposit that failed alone.
type putOff struct {
	tries int
	next  time.Time
}

// waits reports whether its next try is still to come.
func (o putOff) waits(now time.Time) bool { return !statemachine.Due(now, o.next, retries.Cap) }

// file puts the outputs of the lines' transactions on file, and the blocks of those that
// are. It posts nothing.
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
	ops := make([]wire.OutPoint, len(sights))
	for i := range sights {
		ops[i] = sights[i].OutPoint
	}
	stored, err := of.Named(ops...)
	if err != nil {
		return err
	}
	known := map[wire.OutPoint]*utxo.Deposit{}
	for i := range stored {
		known[stored[i].OutPoint] = &stored[i]
	}
	var found, old, moved []utxo.Deposit
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
	if len(found)+len(moved) > 0 {
		d.seen, d.sweep = "", sweep{}
	}
	if err := of.Insert(found...); err != nil {
		return err
	}
	return move(of, old, moved)
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

// look finds the next deposits that something is to be posted of. All that are due are
// looked at once in each state of the chain.
func (d *deposits) look(u store.Unit, look sideLook) (*task, error) {
	of, err := sqlstore.DepositsOf(u)
	if err != nil {
		return nil, err
	}
	if look.fence != d.fence {
		d.fence, d.seen, d.sweep = look.fence, "", sweep{}
	}
	chain, tip, err := chainOf(of)
	if err != nil {
		return nil, err
	}
	if d.sweep.chain == "" {
		if chain == d.seen && !d.retry(look.now) {
			return nil, nil
		}
		d.sweep = sweep{chain: chain, began: look.now}
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
			maps.DeleteFunc(d.later, func(_ wire.OutPoint, off putOff) bool { return !off.waits(at.began) }) // was tried, or is not due
			return nil, nil
		case len(page) == 0:
			at.shaken, at.after = true, nil
			continue
		}
		judged, err := d.judge(of, page, look.now)
		if err != nil {
			return nil, err
		}
		var due []utxo.Deposit
		for i := range judged {
			at.after = &page[i]
			off, waits := d.later[page[i].OutPoint]
			if judged[i].calls() && !(waits && off.waits(at.began)) {
				due = append(due, page[i])
			}
			if len(due) == most {
				break
			}
		}
		if len(due) > 0 {
			return d.task(due, at, look.now), nil
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

// retry reports whether one that was put off may be tried.
func (d *deposits) retry(now time.Time) bool {
	for _, off := range d.later {
		if !off.waits(now) {
			return true
		}
	}
	return false
}

// chainOf names a state of the chain, and how far it was matched against wallets and
// owners: all that a deposit's judgement depends on beside its own row and lines.
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

// task posts what is to be posted of some deposits. They are judged anew in its
// transaction.
func (d *deposits) task(due []utxo.Deposit, at sweep, now time.Time) *task {
	ops := make([]wire.OutPoint, len(due))
	for i := range due {
		ops[i] = due[i].OutPoint
	}
	next := func() { d.sweep = at }
	return &task{name: "deposit " + ops[0].String(), items: len(due),
		run: func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) error { return d.post(ctx, tx, unit, ops) },
		done: func() {
			for _, op := range ops {
				delete(d.later, op)
			}
			next()
		},
		parked: func() {
			off := d.later[ops[0]]
			off.next = now.Add(retries.Delay(min(off.tries, 64), 0))
			off.tries++
			d.later[ops[0]] = off
			next()
		},
	}
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
