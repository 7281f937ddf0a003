package utxotest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// Compare says the first difference between what has to be stored and what is
// stored, nil for none. Versions are not compared, except that a stored
// transaction has one.
func Compare(m *Model, got utxo.Snapshot) error {
	want := m.Snapshot()
	if err := sameList("block", want.Blocks, got.Blocks, sameBlock); err != nil {
		return err
	}
	if err := sameList("wallet", want.Wallets, got.Wallets, sameWallet); err != nil {
		return err
	}
	if err := sameList("owner", want.Owners, got.Owners, func(a, b utxo.Owned) error { return same("it", a, b) }); err != nil {
		return err
	}
	if err := sameList("transaction", want.Txs, got.Txs, sameTx); err != nil {
		return err
	}
	equal := func(a, b utxo.Replacement) error { return same("the edge", a, b) }
	if err := sameList("replacement", want.Replaced, got.Replaced, equal); err != nil {
		return err
	}
	return sameList("lease", want.Leases, got.Leases, sameLease)
}

// sameList compares two lists in the same order.
func sameList[T any](kind string, want, got []T, same func(want, got T) error) error {
	for i := range min(len(want), len(got)) {
		if err := same(want[i], got[i]); err != nil {
			return fmt.Errorf("%s %d of %d: %w", kind, i+1, len(want), err)
		}
	}
	if len(got) > len(want) {
		return fmt.Errorf("there are %d %ss, want %d: one too many is %v", len(got), kind, len(want), got[len(want)])
	}
	if len(got) < len(want) {
		return fmt.Errorf("there are %d %ss, want %d: one that is missing is %v", len(got), kind, len(want), want[len(got)])
	}
	return nil
}

func same[T comparable](what string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func sameTime(what string, want, got time.Time) error {
	if !want.Equal(got) {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

func sameBlock(want, got utxo.Block) error {
	return first(
		same("the height", want.Height, got.Height),
		same("the hash", want.Hash, got.Hash),
		same("the previous hash", want.Prev, got.Prev),
		sameTime("the time", want.Time, got.Time),
	)
}

func sameWallet(want, got utxo.Wallet) error {
	return first(
		same("the id", want.ID, got.ID),
		same("the birth", want.Birth, got.Birth),
		same("scanned to", want.ScannedTo, got.ScannedTo),
		same("that it follows the tip", got.Follows && want.Follows, got.Follows), // it may have a height there
		sameList("late owner", oneByOne(want.Behind), oneByOne(got.Behind), func(a, b lateOwner) error { return same("its scan", a, b) }),
	)
}

// lateOwner is one owner who is behind.
type lateOwner struct {
	tag       string
	scannedTo int32
}

// oneByOne takes announcements apart: the model knows owners alone.
func oneByOne(scans []utxo.OwnerScan) []lateOwner {
	var all []lateOwner
	for _, o := range scans {
		for _, tag := range o.Tags {
			all = append(all, lateOwner{tag, o.ScannedTo})
		}
	}
	slices.SortFunc(all, func(a, b lateOwner) int { return cmp.Compare(a.tag, b.tag) })
	return all
}

func sameTx(want, got *utxo.Tx) error {
	if want.ID != got.ID {
		return same("the id", want.ID, got.ID)
	}
	err := first(
		same("the status", want.Status, got.Status),
		same("the height", want.Height, got.Height),
		same("the position", want.Position, got.Position),
		same("coinbase", want.Coinbase, got.Coinbase),
		sameTime("first seen", want.FirstSeen, got.FirstSeen),
		same("the sequence", want.Seq, got.Seq),
		same("the label", want.Label, got.Label),
		same("context", want.Context, got.Context),
		same("public", want.Public, got.Public),
		sameList("input", want.Inputs, got.Inputs, func(a, b wire.OutPoint) error { return same("it", a, b) }),
		sameList("output", want.Outputs, got.Outputs, sameOutput),
	)
	if err == nil && !bytes.Equal(want.Raw, got.Raw) {
		err = fmt.Errorf("the raw bytes are %x, want %x", got.Raw, want.Raw)
	}
	if err == nil && got.Version < 1 {
		err = fmt.Errorf("the version is %d, want 1 or more", got.Version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", want.ID, err)
	}
	return nil
}

func sameOutput(want, got utxo.Output) error {
	err := first(
		same("the index", want.Index, got.Index),
		same("the amount", want.Amount, got.Amount),
		same("the owner", want.Tag, got.Tag),
		same("the spender", want.SpentBy, got.SpentBy),
	)
	if err == nil && !bytes.Equal(want.Script, got.Script) {
		err = fmt.Errorf("the script is %x, want %x", got.Script, want.Script)
	}
	return err
}

func sameLease(want, got utxo.Lease) error {
	return first(
		same("the wallet", want.Wallet, got.Wallet),
		same("the outpoint", want.OutPoint, got.OutPoint),
		same("the lock", want.Lock, got.Lock),
		sameTime("the end", want.Until, got.Until),
	)
}

func sameCoin(want, got utxo.Coin) error {
	err := first(
		same("the wallet", want.Wallet, got.Wallet),
		same("the outpoint", want.OutPoint, got.OutPoint),
		same("the amount", want.Amount, got.Amount),
		same("the owner", want.Tag, got.Tag),
		same("the spender", want.SpentBy, got.SpentBy),
		same("the status", want.Status, got.Status),
		same("the height", want.Height, got.Height),
		same("coinbase", want.Coinbase, got.Coinbase),
		same("leased", want.Lease != nil, got.Lease != nil),
	)
	if err == nil && want.Lease != nil {
		err = sameLease(*want.Lease, *got.Lease)
	}
	if err == nil && !bytes.Equal(want.Script, got.Script) {
		err = fmt.Errorf("the script is %x, want %x", got.Script, want.Script)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", want.OutPoint, err)
	}
	return nil
}

// CompareReads asks what a host asks, for every wallet and owner, at now, and
// says the first answer that differs from the model's.
func CompareReads(m *Model, q utxo.Queries, now time.Time) error {
	for _, w := range m.walletIDs() {
		if err := compareWallet(m, q, w, now); err != nil {
			return fmt.Errorf("wallet %d: %w", w, err)
		}
	}
	return nil
}

func compareWallet(m *Model, q utxo.Queries, w utxo.WalletID, now time.Time) error {
	coins := m.Coins(w)
	tags := []*string{nil}
	for _, c := range coins {
		if !slices.ContainsFunc(tags, func(t *string) bool { return t != nil && *t == c.Tag }) {
			tags = append(tags, &c.Tag)
		}
	}
	for _, tag := range tags {
		for _, confirmations := range []int32{0, 1, 2, 5} {
			got, err := q.Balance(m.policy, w, tag, confirmations, now)
			if err != nil {
				return err
			}
			if want := m.Balance(w, tag, confirmations, now); got != want {
				name := "all owners"
				if tag != nil {
					name = "owner " + *tag
				}
				return fmt.Errorf("the balance of %s with %d confirmations is %+v, want %+v", name, confirmations, got, want)
			}
		}
		unspent, err := q.Unspent(w, tag)
		if err == nil {
			want := slices.DeleteFunc(slices.Clone(coins), func(c utxo.Coin) bool {
				return c.Status != utxo.Pending && c.Status != utxo.Published || c.SpentBy != chainhash.Hash{} || tag != nil && c.Tag != *tag
			})
			sortCoins(want)
			sortCoins(unspent)
			err = sameList("unspent output", want, unspent, sameCoin)
		}
		if err != nil {
			return err
		}
	}

	// The order of arrival inside one block is free, as long as parents come
	// first: so no order is compared.
	watched, err := q.Watch(w)
	if err == nil {
		want := m.Watch(w)
		sortCoins(want)
		sortCoins(watched)
		err = sameList("watched output", want, watched, sameCoin)
	}
	if err != nil {
		return err
	}
	if err := compareOutputs(q, w, coins); err != nil {
		return err
	}
	for _, c := range coins {
		if want, got := m.State(c, now), m.policy.State(c, m.tipHeight(), now); want != got {
			return fmt.Errorf("%v is %s, want %s", c.OutPoint, got, want)
		}
	}
	return compareHistory(m, q, w)
}

func sortCoins(coins []utxo.Coin) {
	slices.SortFunc(coins, func(a, b utxo.Coin) int { return compareOutPoints(a.OutPoint, b.OutPoint) })
}

// compareOutputs turns pages of three, and then asks for all by name.
func compareOutputs(q utxo.Queries, w utxo.WalletID, want []utxo.Coin) error {
	var got []utxo.Coin
	var after *wire.OutPoint
	for {
		page, err := q.Outputs(w, after, 3)
		if err != nil {
			return err
		}
		if len(page) > 3 {
			return fmt.Errorf("a page of 3 outputs has %d", len(page))
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = &page[len(page)-1].OutPoint
		if len(got) > len(want) {
			break
		}
	}
	sorted := slices.Clone(want)
	sortCoins(sorted)
	if err := sameList("output by page", sorted, got, sameCoin); err != nil {
		return err
	}
	var ops []wire.OutPoint
	for _, c := range want {
		ops = append(ops, c.OutPoint)
	}
	got, err := q.Coins(w, ops...)
	if err != nil {
		return err
	}
	return sameList("output by name", want, got, sameCoin)
}

// compareHistory turns pages of two.
func compareHistory(m *Model, q utxo.Queries, w utxo.WalletID) error {
	want := m.History(w)
	var after *utxo.HistoryKey
	for len(want) > 0 {
		page, err := q.History(w, after, 2)
		if err != nil {
			return err
		}
		if len(page) != min(2, len(want)) {
			return fmt.Errorf("a page of the history has %d transactions, want %d", len(page), min(2, len(want)))
		}
		for i, tx := range page {
			if tx.ID.Hash != want[i] {
				return fmt.Errorf("the history continues with %s, want %s", tx.ID.Hash, want[i])
			}
			key := tx.Key()
			after = &key
		}
		want = want[len(page):]
	}
	return nil
}
