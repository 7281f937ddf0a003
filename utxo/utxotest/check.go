package utxotest

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// Compare returns the first difference between what the model says has to be stored and
// what is stored, nil for none. The values of versions are not compared, only that each
// stored transaction has a version.
func Compare(m *Model, got utxo.Snapshot) error {
	want := m.Snapshot()
	if err := sameList("block", want.Blocks, got.Blocks, equal); err != nil {
		return err
	}
	if err := sameList("wallet", want.Wallets, got.Wallets, sameWallet); err != nil {
		return err
	}
	if err := sameList("owner", want.Owners, got.Owners, equal); err != nil {
		return err
	}
	if err := sameList("transaction", want.Txs, got.Txs, sameTx); err != nil {
		return err
	}
	if err := sameList("replacement", want.Replaced, got.Replaced, equal); err != nil {
		return err
	}
	return sameList("lease", want.Leases, got.Leases, equal)
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

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// equal returns the first field in which two values differ. Times are equal if they are the
// same moment; a nil list equals an empty one.
func equal[T any](want, got T) error {
	return difference("it", reflect.ValueOf(want), reflect.ValueOf(got))
}

func difference(what string, want, got reflect.Value) error {
	differs := false
	switch kind := want.Kind(); {
	case want.Type() == reflect.TypeFor[time.Time]():
		differs = !want.Interface().(time.Time).Equal(got.Interface().(time.Time))
	case kind == reflect.Struct:
		for i := range want.NumField() {
			if err := difference(want.Type().Field(i).Name, want.Field(i), got.Field(i)); err != nil {
				return err
			}
		}
	case kind == reflect.Pointer && !want.IsNil() && !got.IsNil():
		return difference(what, want.Elem(), got.Elem())
	case want.Type() == reflect.TypeFor[[]byte]():
		differs = !bytes.Equal(want.Bytes(), got.Bytes())
	case kind == reflect.Slice && want.Len() == got.Len():
		for i := range want.Len() {
			if err := difference("", want.Index(i), got.Index(i)); err != nil {
				return fmt.Errorf("%s[%d] %w", what, i, err)
			}
		}
	case kind == reflect.Slice:
		differs = true
	default:
		differs = want.Interface() != got.Interface()
	}
	if differs {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

func sameWallet(want, got utxo.Wallet) error {
	late := sameList("late owner", oneByOne(want.Behind), oneByOne(got.Behind), equal)
	want.Follows = want.Follows && got.Follows // it may have a height there
	want.Announced, want.Behind, got.Behind = got.Announced, nil, nil
	return first(equal(want, got), late)
}

// lateOwner is one owner who is behind.
type lateOwner struct {
	Tag       string
	ScannedTo int32
}

// oneByOne takes announcements apart: the model knows owners alone.
func oneByOne(scans []utxo.OwnerScan) []lateOwner {
	var all []lateOwner
	for _, o := range scans {
		for _, tag := range o.Tags {
			all = append(all, lateOwner{tag, o.ScannedTo})
		}
	}
	slices.SortFunc(all, func(a, b lateOwner) int { return cmp.Compare(a.Tag, b.Tag) })
	return all
}

func sameTx(want, got *utxo.Tx) error {
	tx := *want
	tx.Version, tx.Arrival = max(1, got.Version), got.Arrival
	if err := equal(tx, *got); err != nil {
		return fmt.Errorf("%s: %w", want.ID, err)
	}
	return nil
}

// CompareReads asks the queries of a host for every wallet and owner, at now, and returns
// the first answer that differs from the model's.
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
			err = sameList("unspent output", want, unspent, equal)
		}
		if err != nil {
			return err
		}
	}

	// The order of arrival inside one block is free, as long as parents come first, so the
	// order is not compared.
	watched, err := q.Watch(w)
	if err == nil {
		want := m.Watch(w)
		sortCoins(want)
		sortCoins(watched)
		err = sameList("watched output", want, watched, equal)
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
	if err := sameList("output by page", sorted, got, equal); err != nil {
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
	return sameList("output by name", want, got, equal)
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
