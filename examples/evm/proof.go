package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// proof is what the chain and the records say, each read to its end, and where
// they disagree.
type proof struct {
	Requests map[withdrawal.RequestStatus]int
	Attempts int
	Paid     *big.Int // sum of the completed requests, wei
	Arrived  *big.Int // sum of the recipients' balances on chain, wei
	Gas      *big.Int // paid by the hot wallets, wei
	Nonces   map[uuid.UUID]uint64
	Foreign  int // transactions of the hot wallets that are no withdrawal
	Broken   []error
}

// mined is a transaction of a hot wallet in a block of the chain.
type mined struct {
	tx      *types.Transaction
	wallet  uuid.UUID
	receipt *types.Receipt
}

func (m *mined) fee() *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(m.receipt.GasUsed), m.receipt.EffectiveGasPrice)
}

func (p *proof) holds(ok bool, format string, args ...any) {
	if !ok {
		p.Broken = append(p.Broken, fmt.Errorf(format, args...))
	}
}

// prove compares the chain, block by block, with the records.
func prove(ctx context.Context, s *store.Withdrawals, net *network, keys keyring, foreign map[string]bool) (proof, error) {
	p := proof{Requests: map[withdrawal.RequestStatus]int{}, Paid: new(big.Int), Arrived: new(big.Int), Gas: new(big.Int),
		Nonces: map[uuid.UUID]uint64{}}
	chain, err := p.readChain(ctx, net, keys)
	if err != nil {
		return p, err
	}
	owner := map[string]uuid.UUID{}       // transaction on chain, request
	owed := map[common.Address]*big.Int{} // by recipient
	spent := map[uuid.UUID]*big.Int{}     // by wallet
	var last *withdrawal.Request
	for {
		page, err := s.Requests(ctx, 0, last, 100)
		if err != nil {
			return p, err
		}
		if len(page) == 0 {
			break
		}
		last = &page[len(page)-1]
		for _, r := range page {
			w, err := s.Get(ctx, r.ID)
			if err != nil {
				return p, err
			}
			attempts, err := s.Attempts(ctx, w.Job.ID)
			if err != nil {
				return p, err
			}
			p.Attempts += len(attempts)
			p.request(&w, chain, owner, owed)
			p.holds(s.Verify(ctx, r.ID) == nil && s.Verify(ctx, w.Job.ID) == nil && withdrawal.Check(w) == nil,
				"request %s: its records are not sound", r.ID)
		}
	}
	for hash, m := range chain {
		_, ours := owner[hash]
		p.holds(ours != foreign[hash], "transaction %s is in the chain, and belongs to no request", hash)
		if !ours {
			p.Foreign++
		}
		if spent[m.wallet] == nil {
			spent[m.wallet] = new(big.Int)
		}
		p.Gas.Add(p.Gas, m.fee())
		spent[m.wallet].Add(spent[m.wallet], m.fee())
		if m.receipt.Status == types.ReceiptStatusSuccessful {
			spent[m.wallet].Add(spent[m.wallet], m.tx.Value())
		}
	}
	return p, p.balances(ctx, s, net, keys, owed, spent)
}

// readChain finds every transaction of the hot wallets, and counts nonces.
func (p *proof) readChain(ctx context.Context, net *network, keys keyring) (map[string]*mined, error) {
	wallets := map[common.Address]uuid.UUID{}
	for wallet, k := range keys {
		wallets[k.address] = wallet
	}
	head, err := net.BlockNumber(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]*mined{}
	for height := uint64(1); height <= head; height++ {
		block, err := net.BlockByNumber(ctx, new(big.Int).SetUint64(height))
		if err != nil {
			return nil, err
		}
		for _, tx := range block.Transactions() {
			from, err := types.Sender(net.signer, tx)
			if err != nil {
				return nil, err
			}
			wallet, hot := wallets[from]
			if !hot {
				continue
			}
			receipt, err := net.Client.TransactionReceipt(ctx, tx.Hash())
			if err != nil {
				return nil, err
			}
			p.holds(tx.Nonce() == p.Nonces[wallet], "wallet %s: nonce %d follows %d", wallet, tx.Nonce(), p.Nonces[wallet])
			p.Nonces[wallet] = tx.Nonce() + 1
			found[tx.Hash().Hex()] = &mined{tx, wallet, receipt}
		}
	}
	return found, nil
}

// request compares one request with what is in the chain of it.
func (p *proof) request(w *withdrawal.Withdrawal, chain map[string]*mined, owner map[string]uuid.UUID, owed map[common.Address]*big.Int) {
	p.Requests[w.Request.Status]++
	id, to := w.Request.ID, common.HexToAddress(w.Request.ToAddress)
	var in []*mined
	for _, tx := range w.Txs {
		if m, ok := chain[tx.Hash]; ok {
			_, twice := owner[tx.Hash]
			p.holds(!twice, "transaction %s belongs to two requests", tx.Hash)
			owner[tx.Hash] = id
			in = append(in, m)
		}
	}
	if len(in) != 1 {
		p.holds(false, "request %s has %d transactions in the chain", id, len(in))
		return
	}
	m, hash := in[0], in[0].tx.Hash().Hex()
	p.holds(w.Job.TxHash == hash && w.Job.EvidenceHash == m.receipt.BlockHash.Hex(),
		"request %s names another transaction or block than the chain", id)
	p.holds(*m.tx.To() == to && m.tx.Value().Cmp(w.Request.AmountRaw.Int()) == 0 && m.wallet == w.Job.Wallet,
		"request %s: the payment is another one", id)
	p.holds(m.fee().Cmp(new(big.Int).Mul(w.Job.GasUsed.Int(), w.Job.GasPrice.Int())) == 0, "request %s: the gas is another", id)
	if owed[to] == nil {
		owed[to] = new(big.Int)
	}
	switch w.Request.Status {
	case withdrawal.RequestCompleted:
		p.holds(w.Request.FinalTxHash == hash && m.receipt.Status == types.ReceiptStatusSuccessful, "request %s is completed and not paid", id)
		p.Paid.Add(p.Paid, m.tx.Value())
		owed[to].Add(owed[to], m.tx.Value())
	case withdrawal.RequestFailed:
		p.holds(w.Request.FinalTxHash == "" && m.receipt.Status == types.ReceiptStatusFailed, "request %s is failed and paid", id)
	default:
		p.holds(false, "request %s is %v", id, w.Request.Status)
	}
}

// balances compares what everybody has with what everybody should have.
func (p *proof) balances(ctx context.Context, s *store.Withdrawals, net *network, keys keyring, owed map[common.Address]*big.Int,
	spent map[uuid.UUID]*big.Int) error {
	for to, amount := range owed {
		balance, err := net.BalanceAt(ctx, to, nil)
		if err != nil {
			return err
		}
		p.Arrived.Add(p.Arrived, balance)
		p.holds(balance.Cmp(amount) == 0, "%s has %s, completed is %s", to, balance, amount)
	}
	for wallet, k := range keys {
		balance, err := net.BalanceAt(ctx, k.address, nil)
		if err != nil {
			return err
		}
		next, err := net.NonceAt(ctx, k.address, nil)
		if err != nil {
			return err
		}
		p.holds(next == p.Nonces[wallet], "wallet %s: its next nonce is %d, %d were counted", wallet, next, p.Nonces[wallet])
		p.holds(spent[wallet] != nil && balance.Add(balance, spent[wallet]).Cmp(funds) == 0, "wallet %s: money is missing", wallet)
	}
	wallets, err := s.HotWallets(ctx, chainID)
	if err != nil {
		return err
	}
	for _, w := range wallets {
		p.holds(w.BalanceReserved.Sign() == 0, "wallet %s: %s is still reserved", w.ID, w.BalanceReserved)
	}
	incidents, _, err := s.Incidents(ctx, 0, 10)
	p.holds(len(incidents) == 0, "there are incidents: %v", incidents)
	return err
}

func (p *proof) print(out io.Writer) {
	fmt.Fprintln(out)
	for _, status := range slices.Sorted(maps.Keys(p.Requests)) {
		fmt.Fprintf(out, "%-15s %d requests\n", status, p.Requests[status])
	}
	fmt.Fprintf(out, "attempts        %d\n", p.Attempts)
	fmt.Fprintf(out, "gas             %s wei\n", p.Gas)
	fmt.Fprintf(out, "completed       %s wei\narrived         %s wei\n", p.Paid, p.Arrived)
	for _, wallet := range slices.SortedFunc(maps.Keys(p.Nonces), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
		fmt.Fprintf(out, "hot wallet      %s mined nonces 0 to %d without a gap\n", wallet, p.Nonces[wallet]-1)
	}
	if err := errors.Join(p.Broken...); err != nil {
		fmt.Fprintln(out, "BROKEN")
		return
	}
	fmt.Fprintln(out, "proof           each request was paid exactly once or has failed unpaid, to the wei")
}
