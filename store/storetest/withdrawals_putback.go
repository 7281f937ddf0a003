package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// putBack: a copy is made at every commit of random histories, and everything after the copy is lost. For each copy a
// person who tells the truth follows docs/restore.md; then the copy is worked to its end, while the chain mines
// whatever was signed and can still be mined. On the chain each request is paid at most once, and exactly once if it is
// completed.
func (w *withdrawals) putBack(t *testing.T) {
	live(w.Store)
	w.copies(t, uint64(usual(1, 4)), usual(20, 40), "")
}

// copies recovers all copies of some histories, once for each of lies, where "" is the truth. A lie must show, in at
// least one copy of a chain with nonces and of a chain with inputs, as a payment that is made twice or as a copy that
// is never settled: otherwise putBack could see nothing.
func (w *withdrawals) copies(t *testing.T, histories uint64, steps int, lies ...string) {
	copies := map[string][]*putCopy{}
	var lost []*lostHistory
	for _, nonces := range []bool{true, false} {
		for seed := range histories {
			h := w.history(t, nonces, seed, steps)
			lost = append(lost, h)
			for _, lie := range lies {
				for k := range len(h.steps) + 1 { // all before the restore: afterwards every chain is recovering
					copies[lie] = append(copies[lie], h.copyAt(t, k, lie))
				}
			}
		}
	}
	w.back(t)
	for _, h := range lost {
		h.serve(t)
	}
	for lie, all := range copies {
		caught := map[bool]int{} // by whether the chain has nonces
		for _, c := range all {
			wrong := c.recover()
			if lie == "" && wrong != nil {
				t.Fatalf("%s: %v", c.name, wrong)
			}
			if wrong != nil {
				caught[c.nonces]++
			}
		}
		if lie != "" && (caught[true] == 0 || caught[false] == 0) {
			t.Errorf("the person told %s of %d copies, and of %d with nonces and %d with inputs it was seen", lie,
				len(all), caught[true], caught[false])
		}
	}
}

// unsaid recovers all copies of some histories with nonces of which nobody says that they were put back. Before its
// first payment an operator has said where the numbers of the wallet begin.
func (w *withdrawals) unsaid(t *testing.T) {
	live(w.Store)
	for seed := range uint64(usual(1, 4)) {
		h := w.history(t, true, seed, usual(20, 40))
		for k := range len(h.steps) + 1 {
			c := h.copyAt(t, k, "and nobody says so", func(c *putCopy) {
				bound := withdrawal.Bound{By: role(withdrawal.Operator), Wallet: c.wallet, Source: withdrawal.SignerLog, Reason: "a new key"}
				noError(t, h.service.Say(ctx, bound))
			})
			noError(t, c.unsaid(), c.name, ": ")
		}
	}
}

// back puts the store back.
func (w *withdrawals) back(t testing.TB) {
	t.Helper()
	if w.together == nil {
		w.Store, _ = putBack(t, w.Store)
		return
	}
	w.together.db, _ = putBack(t, w.together.db)
	w.Store = ofRequests{w.together.db}
}

// serve makes the services of a history on the store as it is now.
func (h *lostHistory) serve(t testing.TB) {
	t.Helper()
	h.service = must(store.NewWithdrawals(h.w.Store, h.policy))(t)
	if h.w.together != nil {
		h.payouts = must(store.NewBatches(h.w.together.db, h.policy))(t)
	}
}

// What a person may tell that is not so.
const (
	lieLatest = "what a block shows that is not at depth"
	lieBound  = "a bound that is too low by one"
	lieUntold = "all transfers but one"
)

// lostHistory is what happened on one chain, as steps that can be made again on another chain with other
// ids, and what was signed, which no restore takes back.
type lostHistory struct {
	w       *withdrawals
	policy  withdrawal.Policy
	service *store.Withdrawals
	payouts *store.Batches // nil: each request is paid alone
	name    string
	nonces  bool
	rand    *rand.Rand
	steps   []func(*putCopy) error // one commit each
	outside
	batches []string
	first   *putCopy // where it happens for the first time
}

// outside is the chain, and all that was signed.
type outside struct {
	requests []string // in the books of the host
	signed   []*signedTx
	mined    map[string]*signedTx // by what it uses
	next     uint64               // the wallet's next nonce
	coins    []string             // unspent
}

type signedTx struct {
	hash   string
	nonce  uint64
	input  string
	pays   []string // the requests, by output
	change string   // the coin that it makes
}

func (x *signedTx) uses() string {
	if x.input != "" {
		return x.input
	}
	return fmt.Sprint(x.nonce)
}

func (x *signedTx) transfers() (all []withdrawal.Transfer) {
	for i, r := range x.pays {
		all = append(all, withdrawal.Transfer{Output: uint32(i), Payee: "payee of " + r, AssetOnChain: tokenOnChain, AmountRaw: "5"})
	}
	return all
}

// can reports whether a transaction can be mined now.
func (o *outside) can(x *signedTx) bool {
	if x.input == "" {
		return x.nonce == o.next
	}
	return slices.Contains(o.coins, x.input)
}

func (o *outside) mine(x *signedTx) {
	o.mined[x.uses()] = x
	if x.input == "" {
		o.next++
		return
	}
	o.coins = append(slices.DeleteFunc(slices.Clone(o.coins), func(c string) bool { return c == x.input }), x.change)
}

// firstCoins are what the wallet of a history with inputs begins with. A person names them all: of what
// was mined the other coins are told.
var firstCoins = []string{"g1:0", "g2:0", "g3:0", "g4:0"}

// able are the signed transactions that can be mined now.
func (o *outside) able() (all []*signedTx) {
	for _, x := range o.signed {
		if o.can(x) {
			all = append(all, x)
		}
	}
	return all
}

var deepest = withdrawal.Block{Height: 10, Hash: "b10", Canonical: "b10", Head: 100}

// putCopy is a database as it was after some steps of a history.
type putCopy struct {
	*lostHistory
	outside
	name          string
	chain, wallet uuid.UUID
	madeAt        time.Time
	lie           string
	lied          bool
	asked         bool // nobody has said that it was put back
	rand          *rand.Rand
}

func (c *putCopy) id(name string) uuid.UUID { return statemachine.ID(c.name, name) }

func (c *putCopy) get(r string) withdrawal.Withdrawal {
	got, err := c.service.Get(ctx, c.id(r))
	if err != nil {
		return withdrawal.Withdrawal{}
	}
	return got
}

func (c *putCopy) do(r string, events ...withdrawal.Event) error {
	_, err := c.service.Do(ctx, c.id(r), events...)
	return err
}

func role(r withdrawal.Role) withdrawal.By { return by(r, time.Time{}) }

// copyAt makes the first k steps again.
func (h *lostHistory) copyAt(t testing.TB, k int, lie string, first ...func(*putCopy)) *putCopy {
	t.Helper()
	c := &putCopy{lostHistory: h, name: fmt.Sprintf("%s, after %d of %d commits %s", h.name, k, len(h.steps), lie), lie: lie,
		rand: rand.New(rand.NewPCG(uint64(k), uint64(len(h.steps))))}
	c.chain, c.wallet = c.id("chain"), c.id("wallet")
	h.w.putWallet(t, withdrawal.HotWallet{ID: c.wallet, Chain: c.chain})
	for _, of := range first {
		of(c)
	}
	for _, step := range h.steps[:k] {
		noError(t, step(c), c.name, ": ")
	}
	c.madeAt = must(read(h.w.Store, func(tx store.WithdrawalUnit) (time.Time, error) { return tx.Now() }))(t).Add(time.Microsecond)
	c.outside = h.outside
	c.mined, c.coins = maps.Clone(h.mined), slices.Clone(h.coins)
	return c
}

// step makes a step and keeps it; a step that is refused is none.
func (h *lostHistory) step(fn func(*putCopy) error) bool {
	if fn(h.first) != nil {
		return false
	}
	h.steps = append(h.steps, fn)
	return true
}

func (w *withdrawals) history(t testing.TB, nonces bool, seed uint64, steps int) *lostHistory {
	t.Helper()
	p := policy()
	p.Chain.Nonces, p.Approval.Enabled, p.Backoff.Base, p.Backoff.Cap = nonces, false, time.Microsecond, time.Microsecond
	h := &lostHistory{w: w, policy: p, name: fmt.Sprintf("nonces %v, history %d", nonces, seed), nonces: nonces,
		rand: rand.New(rand.NewPCG(seed, 7)), outside: outside{mined: map[string]*signedTx{}}}
	h.serve(t)
	if !nonces {
		h.coins = slices.Clone(firstCoins)
	}
	h.first = &putCopy{lostHistory: h, name: h.name + " itself"}
	h.first.chain, h.first.wallet = h.first.id("chain"), h.first.id("wallet")
	w.putWallet(t, withdrawal.HotWallet{ID: h.first.wallet, Chain: h.first.chain})
	for n := 0; n < 200 && len(h.steps) < steps; n++ {
		h.act()
	}
	return h
}

// act makes one thing happen.
func (h *lostHistory) act() {
	pick := func(status withdrawal.RequestStatus, job withdrawal.JobStatus) (found []string) {
		for _, r := range h.requests {
			if w := h.first.get(r); w.Request.Status == status && (job == 0 || w.Job.Status == job && w.Job.Batch == uuid.Nil) {
				found = append(found, r)
			}
		}
		h.rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		return found
	}
	one := func(found []string, fn func(r string)) {
		if len(found) > 0 {
			fn(found[0])
		}
	}
	switch h.rand.IntN(11) {
	case 0, 1:
		r := fmt.Sprint("r", len(h.requests))
		h.step(func(c *putCopy) error {
			return c.do(r, c.submission(r), withdrawal.Approved{By: role(withdrawal.Approver)})
		})
		h.requests = append(h.requests, r)
	case 2, 3:
		one(pick(withdrawal.RequestApproved, 0), func(r string) { h.order(r) })
	case 4, 5:
		one(pick(withdrawal.RequestQueued, withdrawal.JobPending), func(r string) { h.pay(r) })
	case 6:
		if all := pick(withdrawal.RequestQueued, withdrawal.JobPending); len(all) > 1 && h.payouts != nil {
			h.payAll(all[:min(len(all), 3)])
		}
	case 7:
		one(pick(withdrawal.RequestQueued, withdrawal.JobPending), func(r string) {
			if h.step(func(c *putCopy) error { return c.do(r, withdrawal.Claimed{By: workerAt(time.Time{})}) }) {
				h.step(func(c *putCopy) error {
					return c.do(r, withdrawal.AttemptFailed{By: workerAt(time.Time{}), Fence: c.get(r).Job.Lease.Fence,
						Failure: withdrawal.Permanent, Error: "x"})
				})
			}
		})
	case 8:
		one(pick(withdrawal.RequestFailed, 0), func(r string) {
			if h.step(func(c *putCopy) error {
				return c.do(r, withdrawal.Requeued{By: role(withdrawal.Operator), Job: c.get(r).Job.ID, NotRefunded: true})
			}) && h.order(r) {
				h.pay(r)
			}
		})
	case 9:
		if len(h.batches) > 0 {
			h.drop(h.batches[h.rand.IntN(len(h.batches))])
		}
	case 10:
		if able := h.able(); len(able) > 0 {
			h.mine(able[h.rand.IntN(len(able))])
			h.lookUp()
		}
	}
}

func (h *lostHistory) order(r string) bool {
	job := fmt.Sprint("job ", len(h.steps))
	return h.step(func(c *putCopy) error {
		return c.do(r, withdrawal.Enqueued{By: role(withdrawal.System), Job: c.id(job), AssetOnChain: tokenOnChain, Priority: withdrawal.Normal})
	})
}

// sign makes a transaction, which is outside from then on.
func (h *lostHistory) sign(pays ...string) *signedTx {
	x := &signedTx{hash: fmt.Sprint("tx", len(h.signed)), pays: pays}
	if h.nonces {
		for _, o := range h.signed {
			x.nonce = max(x.nonce, o.nonce+1)
		}
	} else {
		free := slices.DeleteFunc(slices.Clone(h.coins), func(coin string) bool {
			return slices.ContainsFunc(h.signed, func(o *signedTx) bool { return o.input == coin })
		})
		if len(free) == 0 {
			return nil
		}
		x.input, x.change = free[0], x.hash+":c"
	}
	return x
}

func (h *lostHistory) pay(r string) {
	x := h.sign(r)
	if x == nil || !h.step(func(c *putCopy) error { return c.do(r, withdrawal.Claimed{By: workerAt(time.Time{})}) }) {
		return
	}
	next := h.next
	if h.step(func(c *putCopy) error { return c.do(r, c.prepared(r, x, next)) }) {
		h.signed = append(h.signed, x)
		h.step(func(c *putCopy) error {
			return c.do(r, withdrawal.Broadcast{By: workerAt(time.Time{}), Fence: c.get(r).Job.Lease.Fence, Hash: x.hash})
		})
	}
}

func (c *putCopy) prepared(r string, x *signedTx, next uint64) withdrawal.Prepared {
	return withdrawal.Prepared{By: workerAt(time.Time{}), Fence: c.get(r).Job.Lease.Fence, Hash: x.hash, Raw: []byte(x.hash), Nonce: x.nonce,
		HasNonce: c.nonces, Input: x.input,
		ChainNonce: next, HasChainNonce: c.nonces}
}

func (c *putCopy) members(x *signedTx) (all []withdrawal.Pay) {
	for i, t := range x.transfers() {
		all = append(all, withdrawal.Pay{Request: c.id(x.pays[i]), Fence: c.get(x.pays[i]).Job.Lease.Fence, Transfer: t})
	}
	return all
}

func (h *lostHistory) payAll(all []string) {
	x := h.sign(all...)
	if x == nil {
		return
	}
	for i, r := range all {
		if !h.step(func(c *putCopy) error {
			return c.do(r, withdrawal.Claimed{By: workerAt(time.Time{}), Behind: h.nonces && i > 0})
		}) {
			return
		}
	}
	next, batch := h.next, "batch "+x.hash
	if h.step(func(c *putCopy) error {
		_, err := c.payouts.Do(ctx, c.id(batch), withdrawal.BatchPrepared{By: workerAt(time.Time{}), Batch: c.id(batch), Pays: c.members(x),
			Hash: x.hash, Raw: []byte(x.hash),
			Nonce: x.nonce, HasNonce: h.nonces, Input: x.input, ChainNonce: next, HasChainNonce: h.nonces})
		return err
	}) {
		h.signed, h.batches = append(h.signed, x), append(h.batches, batch)
	}
}

// drop replaces a batch by a version that does not pay its last member, who is to be paid otherwise.
func (h *lostHistory) drop(batch string) {
	b, err := h.payouts.Get(ctx, h.first.id(batch))
	i := slices.IndexFunc(h.signed, func(x *signedTx) bool { return x.hash == b.Batch.TxHash })
	if err != nil || i < 0 || len(h.signed[i].pays) < 2 {
		return
	}
	was := h.signed[i]
	x := &signedTx{hash: fmt.Sprint("tx", len(h.signed)), nonce: was.nonce, input: was.input, pays: was.pays[:len(was.pays)-1]}
	if x.input != "" {
		x.change = x.hash + ":c"
	}
	if h.step(func(c *putCopy) error {
		b, err := c.payouts.Get(ctx, c.id(batch))
		if err == nil {
			who := workerAt(time.Time{})
			who.Version = b.Batch.Version
			_, err = c.payouts.Do(ctx, c.id(batch), withdrawal.BatchReplaced{By: who, Fence: b.Batch.Lease.Fence, Hash: x.hash,
				Raw: []byte(x.hash), Pays: c.members(x)})
		}
		return err
	}) {
		h.signed = append(h.signed, x)
	}
}

// lookUp tells the history what is mined by now.
func (h *lostHistory) lookUp() {
	for _, r := range h.requests {
		mined := maps.Clone(h.mined)
		h.step(func(c *putCopy) error { return c.look(r, mined) })
	}
}

// look looks a request up, and its batch.
func (c *putCopy) look(r string, mined map[string]*signedTx) error {
	w := c.get(r)
	if w.Job.Status != withdrawal.JobConfirming || len(w.Live()) == 0 {
		return errNothing
	}
	live := w.Live()[0]
	use := live.Input
	if c.nonces && live.HasNonce {
		use = fmt.Sprint(live.Nonce)
	}
	checker := role(withdrawal.ConfirmationWorker)
	x := mined[use]
	if x == nil { // one that joined without what it uses is looked for by its hash
		for _, m := range mined {
			if m.hash == live.Hash {
				x = m
			}
		}
	}
	if x == nil {
		return errNothing
	}
	onFile := slices.ContainsFunc(w.Live(), func(t withdrawal.Tx) bool { return t.Hash == x.hash })
	if w.Job.Review { // only an operator says more of it
		checker = role(withdrawal.Operator)
	}
	if w.Job.Batch != uuid.Nil {
		b, err := c.payouts.Get(ctx, w.Job.Batch)
		if err != nil {
			return err
		}
		e := withdrawal.BatchMined{By: checker, Block: deepest, Tx: x.hash, Transfers: x.transfers()}
		if !slices.ContainsFunc(b.Txs, func(v withdrawal.BatchTx) bool { return v.Hash == x.hash }) {
			e.Nonce, e.HasNonce, e.Input, e.Looked, e.Reason = x.nonce, c.nonces, x.input, true, "looked at"
		}
		_, err = c.payouts.Do(ctx, w.Job.Batch, e)
		return err
	}
	output := slices.Index(x.pays, r)
	switch {
	case onFile:
		return c.do(r, withdrawal.Receipt{By: role(withdrawal.ConfirmationWorker), Block: deepest, Tx: x.hash})
	case output >= 0:
		return c.do(r, withdrawal.PaidBy{By: checker, Block: deepest, Tx: x.hash, Output: uint32(output), Payee: "payee of " + r,
			AssetOnChain: tokenOnChain, AmountRaw: "5",
			Nonce: x.nonce, HasNonce: c.nonces, Input: x.input, Reason: "looked at"})
	}
	cause := withdrawal.InputSpent
	if c.nonces {
		cause = withdrawal.NonceUsed
	}
	return c.do(r, withdrawal.ProvenDead{By: checker, Block: deepest, Tx: live.Hash, Cause: cause, Other: x.hash, Nonce: x.nonce,
		Input: x.input, NotThisPayment: true, Reason: "looked at"})
}

var errNothing = fmt.Errorf("nothing is known")

func (c *putCopy) submission(r string) withdrawal.Submitted {
	return withdrawal.Submitted{By: role(withdrawal.System), Request: c.id(r), User: aUser, Asset: anAsset, Chain: c.chain,
		ToAddress: "payee of " + r, Amount: "5"}
}
