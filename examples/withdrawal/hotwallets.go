package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// plenty is what a hot wallet has of everything at the beginning: it is a
// demonstration.
const plenty = "1000000000000000000000000000"

// openLedger makes a ledger if there is none, with funds in the hot wallets,
// and makes the hot wallets known to the database. A database that has paid on
// another chain is refused: it knows nothing of what this one owes.
func openLedger(ctx context.Context, s *store.Withdrawals, path string, wallets int) (node.Genesis, error) {
	g := node.Genesis{ID: uuid.NewString(), Accounts: map[string]map[string]string{}}
	for _, w := range hotWallets(g.ID, wallets) {
		funds := map[string]string{node.GasAsset: plenty}
		for symbol := range assets {
			funds[symbol] = plenty
		}
		g.Accounts[demoKeys.address(w)] = funds
	}
	if err := node.Create(path, g); err != nil {
		return g, err
	}
	chain, err := node.Read(path)
	if err != nil {
		return g, err
	}
	g = chain.Genesis
	ours := map[uuid.UUID]bool{}
	for _, w := range hotWallets(g.ID, len(g.Accounts)) {
		ours[w] = true
	}
	stored, err := s.HotWallets(ctx, chainID)
	if err != nil {
		return g, err
	}
	for _, w := range stored {
		if !ours[w.ID] {
			return g, fmt.Errorf("the database has paid on another chain than %s: use its ledger, or another database", path)
		}
	}
	for w := range ours {
		if err := s.PutHotWallet(ctx, withdrawal.By{Actor: "setup", Role: withdrawal.System}, payingWallet(w)); err != nil {
			return g, err
		}
	}
	return g, nil
}

func payingWallet(id uuid.UUID) withdrawal.HotWallet {
	return withdrawal.HotWallet{ID: id, Chain: chainID, Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
}

// hotWallets returns the ids of the first n hot wallets of a chain.
func hotWallets(genesis string, n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = statemachine.ID("hot wallet", genesis+"/"+strconv.Itoa(i+1))
	}
	return ids
}
