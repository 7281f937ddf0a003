package store

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/withdrawal"
)

// inOrderOfUsers returns the indexes of commands such that submissions lock
// their users in one order everywhere, and before what locks wallets alone.
func inOrderOfUsers(commands []withdrawalCommand) []int {
	if len(commands) < 2 {
		return nil
	}
	order := make([]int, len(commands))
	for i := range order {
		order[i] = i
	}
	user := func(i int) uuid.UUID {
		if events := commands[i].events; len(events) > 0 {
			switch e := events[0].(type) {
			case withdrawal.Submitted:
				return e.User
			case withdrawal.Requeued:
				if commands[i].held != nil {
					return commands[i].held.Request.User
				}
			}
		}
		return uuid.Max
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := user(i), user(j)
		return bytes.Compare(a[:], b[:])
	})
	return order
}

// candidates are the wallets that the events of a batch choose from, with what
// the batch did to them.
type candidates struct {
	*withdrawalBatch
	policy  *withdrawal.Policy
	wallets map[uuid.UUID][]withdrawal.HotWallet // by chain
	payers  map[uuid.UUID]withdrawal.HotWallet   // by id, as they were when the batch began
	chains  asked
	claims  map[uuid.UUID][]withdrawal.Statement // see unclaimed, by chain
	after   map[uuid.UUID]withdrawal.HotWallet   // by id, as its changes leave those that were loaded with it
}

// fill adds to an event what the rules need from the store: the state of the switch, the sums of a new submission, the
// wallets of an event that names none, the wallet of an aggregate that the caller has held (it may have been switched
// off since), and which request has the transaction of an event.
func (b *candidates) fill(w *withdrawal.Withdrawal, ev withdrawal.Event) (withdrawal.Event, error) {
	w.Owner = uuid.NullUUID{}
	w.Level, w.Recovering, w.Unclaimed, w.Outbound, w.Generation, w.Said = 0, false, "", uuid.Nil, 0, nil
	onLevel, chain := onSwitch(ev), chainOf(w, ev)
	answer, is := ev.(withdrawal.Broadcast)
	if (onLevel || onRecovery(ev) || is && w.Forgot(&answer)) && chain != uuid.Nil {
		state, err := b.chains.state(b.tx, switches.Chain(chain))
		if err != nil {
			return ev, err
		}
		if w.Recovering, w.Generation = state.Recovering, state.Generation; onLevel {
			w.Level = state.Level
		}
	}
	var err error
	if hash, byOutput, output, ok := w.Names(ev); ok {
		w.Owner, err = b.tx.Withdrawals().PaidRequest(w.Request.ID, w.Request.Chain, hash, byOutput, output)
	}
	if at, changed := b.after[w.Wallet.ID]; changed {
		w.Wallet = at
	}
	switch e := ev.(type) {
	case withdrawal.Claimed, withdrawal.Prepared, withdrawal.Dispatched, withdrawal.AttemptFailed, withdrawal.Elapsed:
		if !b.fresh && w.Job.Status != 0 {
			err = b.payer(w)
		}
		if e, is := ev.(withdrawal.Prepared); is && err == nil && e.HasChainNonce &&
			(e.ChainNonce > w.Wallet.NextNonce || w.Wallet.NextNonce == 0) {
			w.Said, err = b.tx.HotWallets().Statements(w.Request.Chain, 0)
		}
	case withdrawal.PaidBy, withdrawal.CannotTell:
		if err == nil && w.Wallet.ID != uuid.Nil {
			err = b.outbound(w)
		}
	case withdrawal.ProvenDead:
		if err == nil {
			w.Said, err = b.tx.HotWallets().Statements(w.Request.Chain, 0)
		}
	case withdrawal.Requeued:
		if len(b.policy.Approval.Windows(w.Request.Asset)) > 0 {
			// It counts against the windows again: no submission of the user reads them meanwhile.
			_, err = b.tx.Withdrawals().Usage(w.Request.User, w.Request.Asset, nil, b.now)
		}
	case withdrawal.Submitted:
		if w.Request.Status == 0 {
			err = b.usage(&e)
		}
		ev = e
	case withdrawal.Imported:
		if e.Wallets == nil {
			e.Wallets, err = b.hotWallets(cmp.Or(w.Request.Chain, e.Chain))
		}
		ev = e
	case withdrawal.Enqueued:
		var wallets []withdrawal.HotWallet
		if wallets, err = b.stopped(w); e.Wallets == nil {
			e.Wallets = wallets
		}
		if err == nil {
			err = b.unclaimed(w)
		}
		unbound := func(h withdrawal.HotWallet) bool { return h.Unbound(nil, w.Generation) } // unless Said has a bound
		if err == nil && slices.ContainsFunc(e.Wallets, unbound) {
			w.Said, err = b.tx.HotWallets().Statements(w.Request.Chain, w.Generation)
		}
		ev = e
	case withdrawal.Released:
		err = b.unclaimed(w)
	case withdrawal.Refunded:
		if err = b.unclaimed(w); err == nil {
			_, err = b.stopped(w)
		}
	}
	return ev, err
}

// outbound reads what tells whether a transaction that was made outside is an unknown outbound of the wallet, and skips nonces of it.
func (b *candidates) outbound(w *withdrawal.Withdrawal) error {
	state, err := b.chains.state(b.tx, switches.Chain(w.Request.Chain))
	if err == nil {
		w.Recovering, w.Generation = state.Recovering, state.Generation
		err = b.payer(w)
	}
	if err == nil {
		w.Said, err = b.tx.HotWallets().Statements(w.Request.Chain, 0)
	}
	return err
}

// chainOf is the chain of a request, or of the one that an event creates.
func chainOf(w *withdrawal.Withdrawal, ev withdrawal.Event) uuid.UUID {
	switch e := ev.(type) {
	case withdrawal.Submitted:
		return cmp.Or(w.Request.Chain, e.Chain)
	case withdrawal.Imported:
		return cmp.Or(w.Request.Chain, e.Chain)
	}
	return w.Request.Chain
}

// onRecovery reports whether an event depends on whether the chain is recovering, and not on the
// level of the switch.
func onRecovery(ev withdrawal.Event) bool {
	switch ev.(type) {
	case withdrawal.Submitted, withdrawal.Enqueued, withdrawal.Requeued, withdrawal.Imported, withdrawal.ProvenDead:
		return true
	}
	return false
}

// onSwitch reports whether an event depends on the switch, see [withdrawal.Policy.Apply].
func onSwitch(ev withdrawal.Event) bool {
	switch ev.(type) {
	case withdrawal.Prepared, withdrawal.Dispatched, withdrawal.Rebumped, withdrawal.AttemptFailed, withdrawal.Elapsed,
		withdrawal.Revoked, withdrawal.Refunded:
		return true
	}
	return false
}

// payer reads the wallet of a job anew, once in a batch.
func (b *candidates) payer(w *withdrawal.Withdrawal) error {
	wallet, known := b.payers[w.Job.Wallet]
	if !known {
		found, err := b.tx.HotWallets().Get(w.Job.Wallet)
		if err != nil {
			return err
		}
		if len(found) == 1 {
			wallet = found[0]
		}
		if b.payers == nil {
			b.payers = map[uuid.UUID]withdrawal.HotWallet{}
		}
		b.payers[w.Job.Wallet] = wallet
	}
	w.Wallet = wallet
	return nil
}

// usage reads the sums of the windows. They have no end but the lock of the
// user: a request that is stored counts, whatever clock stamped it.
func (b *candidates) usage(e *withdrawal.Submitted) error {
	windows := slices.Clone(b.policy.Approval.Windows(e.Asset))
	if len(windows) == 0 {
		return nil
	}
	if err := b.save(); err != nil { // earlier ones of the same user count
		return err
	}
	const ahead = 24 * time.Hour
	for i := range windows {
		windows[i].Length = min(windows[i].Length, math.MaxInt64-ahead) + ahead
	}
	u, err := b.tx.Withdrawals().Usage(e.User, e.Asset, windows, b.now.Add(ahead))
	e.Usage.Sums = u.Sums
	return err
}

// hotWallets reads the candidates of a chain once.
func (b *candidates) hotWallets(chain uuid.UUID) ([]withdrawal.HotWallet, error) {
	if cached, ok := b.wallets[chain]; ok {
		return cached, nil
	}
	wallets, err := b.tx.HotWallets().OfChain(chain)
	if err != nil {
		return nil, err
	}
	if wallets == nil {
		wallets = []withdrawal.HotWallet{}
	}
	for i := range wallets {
		if at, changed := b.after[wallets[i].ID]; changed {
			wallets[i] = at
		}
	}
	if b.wallets == nil {
		b.wallets = map[uuid.UUID][]withdrawal.HotWallet{}
	}
	b.wallets[chain] = wallets
	return wallets, nil
}

// stopped tells the rule which wallet stops the chain of a request, and returns the wallets of the chain.
func (b *candidates) stopped(w *withdrawal.Withdrawal) ([]withdrawal.HotWallet, error) {
	wallets, err := b.hotWallets(w.Request.Chain)
	w.Outbound = withdrawal.OutboundOf(wallets)
	return wallets, err
}

// follow does to the loaded wallets what the store will do to their rows, and switches off those of
// an unknown outbound.
func (b *candidates) follow(c *withdrawal.Change) error {
	if len(c.Said) > 0 {
		b.wallets, b.payers, b.fresh = nil, nil, false // another wallet that was loaded with it may begin nothing either
		if err := switchOff(b.tx, c.Said); err != nil {
			return err
		}
		if c.New.Wallet.ID == c.Said[0].Wallet {
			c.New.Wallet = c.New.Wallet.Off()
		}
	}
	for _, r := range c.Reservations {
		wallets := []*withdrawal.HotWallet{&c.New.Wallet}
		for i := range b.wallets[c.New.Job.Chain] {
			wallets = append(wallets, &b.wallets[c.New.Job.Chain][i])
		}
		for _, w := range wallets {
			if w.ID == r.Wallet {
				w.Reserve(r)
			}
		}
	}
	if w := c.New.Wallet; b.fresh && w.ID != uuid.Nil && w != c.Old.Wallet {
		if b.after == nil {
			b.after = map[uuid.UUID]withdrawal.HotWallet{}
		}
		b.after[w.ID] = w
	}
	return nil
}

// end gives the aggregates their wallet as all changes leave it.
func (b *candidates) end(ws []withdrawal.Withdrawal) {
	for i := range ws {
		if at, changed := b.after[ws[i].Wallet.ID]; changed {
			ws[i].Wallet = at
		}
	}
}

// unknownOutbound stores what a refused payment has told of its hot wallet, and gives its executions back.
func unknownOutbound[T WithdrawalUnit](p *withdrawal.Policy) func(error) func(T) error {
	return func(err error) func(T) error {
		refused := new(withdrawal.UnsettledError)
		if !errors.As(err, &refused) || len(refused.Said)+len(refused.Back) == 0 {
			return nil
		}
		return func(tx T) error {
			if err := switchOff(tx, refused.Said); err != nil {
				return err
			}
			return giveBack(tx, p, refused.Back)
		}
	}
}

// giveBack ends executions that nobody else has ended meanwhile.
func giveBack(tx WithdrawalUnit, p *withdrawal.Policy, back []withdrawal.Ended) error {
	if len(back) == 0 {
		return nil
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	found, err := tx.Withdrawals().Get(mapped(back, func(e *withdrawal.Ended) uuid.UUID { return e.Request })...)
	if err != nil {
		return err
	}
	var changes []withdrawal.Change
	for i := range found {
		c, err := p.ApplyAt(found[i], back[i].GivenBack, now)
		if err == nil && !c.Empty() {
			changes = append(changes, c)
		}
	}
	return tx.Withdrawals().Save(changes...)
}

// switchOff stores unknown outbounds, and switches their wallets off.
func switchOff(tx WithdrawalUnit, said []withdrawal.Statement) error {
	if len(said) == 0 {
		return nil
	}
	records := tx.HotWallets()
	if _, err := records.Statements(said[0].Chain, math.MaxInt64); err != nil { // keeps out who switches a wallet on, and reads them
		return err
	}
	for i := range said {
		found, err := records.Get(said[i].Wallet)
		for k := range found {
			if err == nil {
				err = records.Put(found[k].Off())
			}
		}
		if err != nil {
			return err
		}
	}
	return records.Say(said...)
}
