package simtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/internal/hostile"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// Withdrawals are a chain without nonces on which requests are paid, its node, and an operator. The
// chain forgets, goes back by less than the depth that counts as final, and others may spend the same
// coin; the node may show it as it was before. It never lies.
type Withdrawals struct {
	*Sim
	Policy  withdrawal.Policy
	Chain   uuid.UUID
	service *store.Withdrawals
	chain   *hostile.Chain
	txs     map[string]*hostile.Tx
	open    []uuid.UUID
	coins   int
	jobs    int
}

// Payment is a transaction that spends one coin of the hot wallet, to pay a request.
type Payment struct {
	Hash, Input string
	Request     uuid.UUID
}

// NewWithdrawals returns a chain. Its hosts have the default policy, for a chain without nonces.
func NewWithdrawals() *Withdrawals {
	p := withdrawal.DefaultPolicy()
	p.Chain = withdrawal.Chain{Confirmations: hostile.FinalDepth}
	return &Withdrawals{Policy: p, Chain: uuid.UUID{1}, txs: map[string]*hostile.Tx{}}
}

// Node is the node of the chain as a process calls it.
type Node struct {
	*Process
	of *Withdrawals
}

// Node returns the node for a process.
func (w *Withdrawals) Node(p *Process) Node { return Node{p, w} }

// Coin is a coin that nobody has used.
func (n Node) Coin(ctx context.Context) (input string, err error) {
	err = n.Call(ctx, "coin", func() {
		n.of.coins++
		input = fmt.Sprint("coin ", n.of.coins)
	})
	return input, err
}

// Job is the id of a new job.
func (n Node) Job() uuid.UUID {
	n.of.jobs++
	return uuid.UUID{6, byte(n.of.jobs >> 8), byte(n.of.jobs)}
}

// Send hands a transaction over.
func (n Node) Send(ctx context.Context, p Payment) error {
	return n.Call(ctx, "send "+p.Hash, func() { n.of.chain.Send(n.of.tx(p)) })
}

func (w *Withdrawals) tx(p Payment) *hostile.Tx {
	if w.txs[p.Hash] == nil {
		w.txs[p.Hash] = &hostile.Tx{Hash: p.Hash, Coin: hostile.Coin{Input: p.Input}, Pays: p.Request}
	}
	return w.txs[p.Hash]
}

// Look says what a view of the chain shows of a transaction: it is mined in a block, or another one is
// that took its coin, or neither.
func (n Node) Look(ctx context.Context, hash, input string) (block withdrawal.Block, mined bool, other string, err error) {
	err = n.Call(ctx, "look "+hash, func() {
		seen := n.of.chain.Best()
		if !n.of.calm {
			seen = n.of.chain.Seen()
		}
		if block, mined, other = look(seen, hash, input); other != "" {
			n.of.Ends["proven dead"]++
		}
	})
	return block, mined, other, err
}

func look(seen hostile.View, hash, input string) (withdrawal.Block, bool, string) {
	if tx, b := seen.Tx(hash); tx != nil {
		return b, true, ""
	}
	if tx, b := seen.Spent(hostile.Coin{Input: input}); tx != nil {
		return b, false, tx.Hash
	}
	return withdrawal.Block{}, false, ""
}

// Open implements [World].
func (w *Withdrawals) Open(s *Sim) {
	w.Sim, w.chain = s, &hostile.Chain{Rand: s.Rand}
	w.Policy.MaxRetries = 1 + int32(s.IntN(4))
	var err error
	w.service, err = store.NewWithdrawals(s.DB, w.Policy)
	s.Must(err)
	for i := range 2 {
		s.Must(w.service.PutHotWallet(context.Background(), w.by(withdrawal.Operator),
			withdrawal.HotWallet{ID: uuid.UUID{2, byte(i)}, Chain: w.Chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}))
	}
	for range 1 + s.IntN(3) {
		w.submit()
	}
}

func (w *Withdrawals) by(r withdrawal.Role) withdrawal.By {
	return withdrawal.By{Actor: "world", Role: r}
}

func (w *Withdrawals) submit() {
	id := uuid.UUID{3, byte(len(w.open))}
	w.open = append(w.open, id)
	_, err := w.service.Do(context.Background(), id, withdrawal.Submitted{By: w.by(withdrawal.System), Request: id, User: uuid.UUID{4},
		Asset: uuid.UUID{5}, Chain: w.Chain, ToAddress: fmt.Sprint("payee ", id[1]), Amount: "1", Decimals: 6},
		withdrawal.Approved{By: withdrawal.By{Actor: "alice", Role: withdrawal.Approver}})
	w.Say("request %d", id[1])
	w.Must(err)
}

func (w *Withdrawals) do(id uuid.UUID, ev withdrawal.Event) bool {
	_, err := w.service.Do(context.Background(), id, ev)
	w.Say("%d: %T: %v", id[1], ev, err)
	return err == nil
}

func (w *Withdrawals) get(id uuid.UUID) withdrawal.Withdrawal {
	is, err := w.service.Get(context.Background(), id)
	w.Must(err)
	return is
}

// Move implements [World].
func (w *Withdrawals) Move() {
	id, by := w.open[w.IntN(len(w.open))], w.by(withdrawal.Operator)
	switch k := w.IntN(16); {
	case k < 6:
		w.mine()
	case k == 6:
		w.chain.Reorg()
		w.Ends["reorganised"]++
	case k == 7:
		w.chain.Forget()
	case k == 8:
		if all := w.chain.Waiting(); len(all) > 0 { // somebody else spends the same coin
			of := all[w.IntN(len(all))]
			w.chain.Send(&hostile.Tx{Hash: fmt.Sprint("rival of ", of.Hash), Coin: of.Coin})
		}
	case k == 9 && len(w.open) < 5:
		w.submit()
	case k == 10:
		w.do(id, withdrawal.Held{By: by, Reason: "h"})
	case k == 11:
		w.do(id, withdrawal.Released{By: by})
	case k == 12 && w.IntN(3) == 0:
		w.do(id, withdrawal.Cancelled{By: by, Reason: "c"})
	case k == 13:
		w.requeue(id)
	}
}

func (w *Withdrawals) requeue(id uuid.UUID) {
	if is := w.get(id); is.Request.Status == withdrawal.RequestFailed &&
		w.do(id, withdrawal.Requeued{By: w.by(withdrawal.Operator), Job: is.Job.ID, Reason: "r", NotRefunded: true}) {
		w.Ends["requeued"]++
	}
}

func (w *Withdrawals) mine() {
	w.chain.Mine()
	for _, id := range w.open {
		if paid := w.chain.Best().Paid(id); len(paid) > 1 {
			w.Errorf("request %d is paid by %q", id[1], paid)
		}
	}
}

// Settle implements [World].
func (w *Withdrawals) Settle() bool {
	w.mine()
	ended := true
	for _, id := range w.open {
		is := w.get(id)
		if is.Request.Held {
			w.do(id, withdrawal.Released{By: w.by(withdrawal.Operator)})
		}
		if is.Job.Review {
			w.resolve(&is)
		}
		ended = ended && (withdrawal.RequestMachine.Terminal(is.Request.Status) || is.Request.Status == withdrawal.RequestFailed)
	}
	for i := range 2 {
		w.wallet(uuid.UUID{2, byte(i)})
	}
	return ended
}

// resolve is an operator who looks at the chain for what a worker could not tell.
func (w *Withdrawals) resolve(is *withdrawal.Withdrawal) {
	by := w.by(withdrawal.Operator)
	for _, tx := range is.Live() {
		if b, mined, other := look(w.chain.Best(), tx.Hash, tx.Input); !mined && other != "" {
			w.do(is.Request.ID, withdrawal.ProvenDead{By: by, Block: b, Tx: tx.Hash, Cause: withdrawal.InputSpent, Other: other,
				Input: tx.Input, NotThisPayment: true})
			return
		}
	}
	by.Version = is.Job.Version
	found := withdrawal.Resolved{By: by, Job: is.Job.ID, Reason: "r"}
	if live := is.Live(); len(live) > 0 {
		found.By.Version, found.Sent, found.Hash = 0, true, live[len(live)-1].Hash
	}
	w.do(is.Request.ID, found)
}

// wallet is switched on again, after whatever open question there is about it is answered.
func (w *Withdrawals) wallet(id uuid.UUID) {
	ctx, by := context.Background(), w.by(withdrawal.Operator)
	on := withdrawal.HotWallet{ID: id, Chain: w.Chain, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
	for range 10 {
		err := w.service.PutHotWallet(ctx, by, on)
		of := new(withdrawal.UnsettledError)
		if !errors.As(err, &of) {
			return
		}
		w.Ends["explained"]++
		w.service.Say(ctx, withdrawal.Unclaimed{By: by, Wallet: id, Tx: of.Open.Hash, Reason: "no payment of ours",
			Transfer: withdrawal.Transfer{Payee: "nobody", AssetOnChain: uuid.UUID{5}, AmountRaw: "1"}})
		w.service.Say(ctx, withdrawal.Dropped{By: by, Wallet: id, Tx: of.Open.Hash, Reason: "no payment of ours"})
	}
}

// Count implements [World].
func (w *Withdrawals) Count() {
	for _, id := range w.open {
		is, paid := w.get(id), w.chain.Best().Paid(id)
		w.Ends[is.Request.Status.String()]++
		completed := is.Request.Status == withdrawal.RequestCompleted
		if completed != (len(paid) == 1) || completed && is.Request.FinalTxHash != paid[0] {
			w.Errorf("request %d is %s by %q, the chain has %q", id[1], is.Request.Status, is.Request.FinalTxHash, paid)
		}
		w.Must(withdrawal.Check(is))
		if is.Request.Mined != "" || is.Request.StraysSent > 0 {
			w.Errorf("request %d: nobody lied, and there is an incident: %+v", id[1], is.Request)
		}
	}
}
