package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// story lets one thing after the other go wrong, and waits for its end.
type story struct {
	*store.Withdrawals
	net      *network
	keys     keyring
	stranger key            // has ether, and is no hot wallet
	refuser  common.Address // a contract that takes no ether
	foreign  map[string]bool
	out      io.Writer
	n        int
}

// refusing is a contract whose code, 60006000fd, reverts every call, behind
// the constructor that returns it.
var refusing = common.FromHex("6460006000fd6000526005601bf3")

// deploy puts the contract that refuses ether on the chain.
func (s *story) deploy(ctx context.Context) error {
	tx, err := s.net.transact(ctx, s.stranger, 0, nil, refusing)
	if err != nil {
		return err
	}
	s.refuser = crypto.CreateAddress(s.stranger.address, 0)
	return s.until(ctx, func() (bool, error) {
		r, err := s.net.Client.TransactionReceipt(ctx, tx.Hash())
		return err == nil && r.ContractAddress == s.refuser, nil
	})
}

func (s *story) tell(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// recipient returns an address that nobody has paid yet, except by this name.
func recipient(name string) common.Address {
	return common.BytesToAddress(crypto.Keccak256([]byte(name))[12:])
}

// request submits a withdrawal; the policy of the example approves it.
func (s *story) request(ctx context.Context, to common.Address) (uuid.UUID, error) {
	s.n++
	request := statemachine.ID("request", strconv.Itoa(s.n))
	_, err := s.Submit(ctx, withdrawal.Submitted{By: system, Request: request, User: statemachine.ID("user", strconv.Itoa(s.n%7)),
		Asset: etherID, Chain: chainID, ToAddress: to.Hex(), Amount: fmt.Sprintf("0.05%016d", s.n*1_000_003), Decimals: 18})
	return request, err
}

// until asks every few milliseconds whether something has come true.
func (s *story) until(ctx context.Context, ask func() (bool, error)) error {
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// see waits until a withdrawal is as it should be, and returns it.
func (s *story) see(ctx context.Context, request uuid.UUID, should func(*withdrawal.Withdrawal) bool) (w withdrawal.Withdrawal, err error) {
	err = s.until(ctx, func() (ok bool, err error) {
		w, err = s.Get(ctx, request)
		return err == nil && should(&w), err
	})
	if err != nil {
		err = fmt.Errorf("request %s is %v, its job %v, %q: %w", request, w.Request.Status, w.Job.Status, w.Job.ErrorMessage, err)
	}
	return w, err
}

func ended(w *withdrawal.Withdrawal) bool { return withdrawal.JobMachine.Terminal(w.Job.Status) }

func broadcast(w *withdrawal.Withdrawal) bool { return w.Job.Status == withdrawal.JobConfirming }

// end waits for the end of a withdrawal, which must be this one.
func (s *story) end(ctx context.Context, request uuid.UUID, want withdrawal.RequestStatus) (withdrawal.Withdrawal, error) {
	w, err := s.see(ctx, request, ended)
	if err == nil && w.Request.Status != want {
		err = fmt.Errorf("request %s ended as %v, expected %v: %s", request, w.Request.Status, want, w.Job.ErrorMessage)
	}
	return w, err
}

// expect is an error that tells the story went another way.
func expect(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf("expected "+format, args...)
}

// payments: nothing goes wrong.
func (s *story) payments(ctx context.Context, n int) error {
	requests := make([]uuid.UUID, n)
	for i := range requests {
		var err error
		if requests[i], err = s.request(ctx, recipient("user "+strconv.Itoa(i%8))); err != nil {
			return err
		}
	}
	for _, r := range requests {
		if _, err := s.end(ctx, r, withdrawal.RequestCompleted); err != nil {
			return err
		}
	}
	s.tell("payments        %d sent from two hot wallets, all mined at depth %d", n, confirmations)
	return nil
}

// stuck: the node suggests a tip that no miner takes, and the payment is
// replaced by one that pays more.
func (s *story) stuck(ctx context.Context) error {
	s.net.set(func() { s.net.cheap = true })
	r, err := s.request(ctx, recipient("stuck"))
	if err == nil {
		_, err = s.see(ctx, r, broadcast)
	}
	s.net.set(func() { s.net.cheap = false })
	if err != nil {
		return err
	}
	w, err := s.end(ctx, r, withdrawal.RequestCompleted)
	if err != nil {
		return err
	}
	s.tell("stuck           nonce %d: %d transactions on file, mined is %s, which replaced %s",
		w.Job.Nonce, len(w.Txs), short(w.Request.FinalTxHash), short(w.Txs[0].Hash))
	return expect(len(w.Txs) > 1 && w.Request.FinalTxHash != w.Txs[0].Hash, "a replacement to be mined, got %+v", w.Txs)
}

// lostReply: the node takes the payment and the answer is lost. It is looked
// up and sent again, byte for byte, not paid again.
func (s *story) lostReply(ctx context.Context) error {
	resume := s.net.pause() // or it could be mined before it is sent again
	defer resume()
	to := recipient("lost reply")
	s.net.set(func() { s.net.faults[to] = loseReply })
	r, err := s.request(ctx, to)
	if err == nil {
		_, err = s.see(ctx, r, func(w *withdrawal.Withdrawal) bool { return broadcast(w) && s.net.timesSent(w.Job.TxHash) > 1 })
	}
	if err != nil {
		return err
	}
	resume()
	w, err := s.end(ctx, r, withdrawal.RequestCompleted)
	if err != nil {
		return err
	}
	attempts, err := s.Attempts(ctx, w.Job.ID)
	if err != nil {
		return err
	}
	sent := s.net.timesSent(w.Txs[0].Hash)
	s.tell("lost reply      the one attempt ended %v; %s was sent %d times and mined once", attempts[0].Outcome,
		short(w.Request.FinalTxHash), sent)
	return expect(len(attempts) == 1 && attempts[0].Outcome == statemachine.Unknown && len(w.Txs) == 1,
		"one attempt without an answer and one transaction, got %+v", w)
}

// reverted: the recipient is a contract that takes no ether.
func (s *story) reverted(ctx context.Context) error {
	r, err := s.request(ctx, s.refuser)
	if err != nil {
		return err
	}
	w, err := s.end(ctx, r, withdrawal.RequestFailed)
	if err != nil {
		return err
	}
	s.tell("reverted        %s failed at depth: %q; it used %s gas and its hash is kept", short(w.Job.TxHash),
		w.Job.ErrorMessage, w.Job.GasUsed)
	return expect(w.Job.TxHash == w.Txs[0].Hash && w.Request.FinalTxHash == "", "the hash on the job alone, got %+v", w.Job)
}

// reorg: the blocks of two payments leave the chain, one block before they were
// deep enough, and the node forgets the transactions.
func (s *story) reorg(ctx context.Context) error {
	resume := s.net.pause()
	defer resume()
	parent, err := s.net.HeaderByNumber(ctx, nil)
	if err != nil {
		return err
	}
	var requests [2]uuid.UUID
	var hashes [2]string
	for i := range requests {
		if requests[i], err = s.request(ctx, recipient("reorg "+strconv.Itoa(i))); err != nil {
			return err
		}
		w, err := s.see(ctx, requests[i], broadcast)
		if err != nil {
			return err
		}
		hashes[i] = w.Txs[0].Hash
	}
	for range confirmations - 1 {
		s.net.backend.Commit()
	}
	for i, r := range requests {
		err := s.until(ctx, func() (bool, error) { return s.net.seenIn(hashes[i]) == 1, nil })
		if err != nil {
			return err
		}
		w, err := s.Get(ctx, r)
		if err != nil {
			return err
		}
		if err := expect(w.Request.Status == withdrawal.RequestQueued, "no end below the depth, got %+v", w.Request); err != nil {
			return err
		}
	}
	if err := s.net.forget(parent.Hash()); err != nil {
		return err
	}
	resume()
	for i, r := range requests {
		w, err := s.end(ctx, r, withdrawal.RequestCompleted)
		if err != nil {
			return err
		}
		sent, blocks := s.net.timesSent(hashes[i]), s.net.seenIn(hashes[i])
		s.tell("reorg           %s was seen in %d blocks, the first of which left the chain; sent %d times, the same bytes",
			short(hashes[i]), blocks, sent)
		if err := expect(len(w.Txs) == 1 && sent > 1 && blocks > 1, "one transaction in two blocks, got %+v", w); err != nil {
			return err
		}
	}
	return nil
}

// usurped: something else spends the hot wallet's nonce while the payment is
// lost in the network. With the proof that it is dead it is paid anew.
func (s *story) usurped(ctx context.Context) error {
	to := recipient("usurped")
	s.net.set(func() { s.net.faults[to] = dropAlways })
	r, err := s.request(ctx, to)
	if err != nil {
		return err
	}
	w, err := s.see(ctx, r, broadcast)
	if err != nil {
		return err
	}
	other, err := s.net.transact(ctx, s.keys[w.Job.Wallet], w.Job.Nonce, &s.stranger.address, nil)
	if err != nil {
		return err
	}
	s.foreign[other.Hash().Hex()] = true
	err = s.until(ctx, func() (bool, error) {
		_, err := s.net.Client.TransactionReceipt(ctx, other.Hash())
		return err == nil, nil
	})
	s.net.set(func() { delete(s.net.faults, to) })
	if err != nil {
		return err
	}
	// A nonce that is used by what is on no file stops the wallet until a person knows who else has the key, and says
	// what was paid: nothing here.
	w, err = s.see(ctx, r, func(w *withdrawal.Withdrawal) bool { return w.Wallet.Status == withdrawal.WalletUnknown })
	if err != nil {
		return err
	}
	by := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	mined, err := s.net.Client.TransactionReceipt(ctx, other.Hash())
	if err != nil {
		return err
	}
	block, err := (&chain{node: s.net.Client}).block(ctx, mined.BlockNumber, mined.BlockHash)
	if err != nil {
		return err
	}
	err = s.Say(ctx, withdrawal.Used{By: by, Wallet: w.Wallet.ID, Tx: other.Hash().Hex(), Nonce: other.Nonce(), Block: block})
	if err != nil {
		return err
	}
	w.Wallet.Status = withdrawal.WalletActive
	if err := s.PutHotWallet(ctx, by, w.Wallet); err != nil {
		return err
	}
	if w, err = s.end(ctx, r, withdrawal.RequestCompleted); err != nil {
		return err
	}
	s.tell("nonce taken     %s is proven dead, %s took nonce %d; paid by %s with nonce %d",
		short(w.Txs[0].Hash), short(other.Hash().Hex()), other.Nonce(), short(w.Request.FinalTxHash), w.Job.Nonce)
	return expect(len(w.Txs) == 2 && w.Request.FinalTxHash == w.Txs[1].Hash, "a second payment with another nonce, got %+v", w.Txs)
}

// bumpedOutside: the same transfer is signed in another wallet, with the same key
// and nonce and five times the price, and mined. It is paid once.
func (s *story) bumpedOutside(ctx context.Context) error {
	to := recipient("bumped outside")
	s.net.set(func() { s.net.faults[to] = dropAlways })
	r, err := s.request(ctx, to)
	if err != nil {
		return err
	}
	w, err := s.see(ctx, r, broadcast)
	if err != nil {
		return err
	}
	other, err := s.net.transfer(ctx, s.keys[w.Job.Wallet], w.Job.Nonce, to, w.Job.AmountRaw.Int())
	if err != nil {
		return err
	}
	w, err = s.end(ctx, r, withdrawal.RequestCompleted)
	s.net.set(func() { delete(s.net.faults, to) })
	if err != nil {
		return err
	}
	s.tell("bumped outside  %s took nonce %d and is the same payment: %s is not paid again", short(other.Hash().Hex()),
		other.Nonce(), short(w.Txs[0].Hash))
	return expect(len(w.Txs) == 2 && w.Request.FinalTxHash == other.Hash().Hex(), "the other transaction to end it, got %+v", w.Txs)
}

func short(hash string) string { return hash[:10] }
