package utxo_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// A batch of events gives the same change sets as planning one event after the other, and
// merging these sets leads to the same state.
func TestABatchPlansAsOneByOne(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		h := utxotest.NewHistory(uint64(seed), 150)
		single, batched := utxo.NewLedger(utxotest.Policy()), utxo.NewLedger(utxotest.Policy())
		var events []utxo.Event
		var want []utxo.ChangeSet
		var no []refused
		if err := h.Play(func(ev utxo.Event) error {
			if set, err := single.Do(ev); err == nil {
				events, want = append(events, ev), append(want, set)
			} else {
				no = append(no, refused{len(events), ev, err})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for size, at := 2, 0; at < len(events); size = size%17 + 1 {
			chunk := events[at:min(at+size, len(events))]
			got, err := utxotest.Policy().PlanAll(batched, time.Time{}, chunk...)
			if err != nil {
				t.Fatalf("seed %d, event %d: %v", seed, at+len(got)-1, err)
			}
			for i, set := range got {
				if !reflect.DeepEqual(set, want[at+i]) {
					t.Fatalf("seed %d, event %d, %T, plans\n%+v\none by one\n%+v", seed, at+i, chunk[i], set, want[at+i])
				}
			}
			sameRefusals(t, batched, at, chunk, no)
			for _, set := range utxo.Merge(got...) {
				if err := set.Complete(); err != nil {
					t.Fatalf("seed %d, events from %d: %v", seed, at, err)
				}
				if err := batched.Apply(set); err != nil {
					t.Fatalf("seed %d, events from %d: %v", seed, at, err)
				}
			}
			at += len(chunk)
		}
		a, _ := single.Snapshot()
		b, _ := batched.Snapshot()
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: the snapshots differ\n%+v\n%+v", seed, a, b)
		}
		for _, w := range a.Wallets {
			if err := utxotest.Policy().Audit(batched, w.ID, utxotest.Start); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
}

// refused is an event that was refused after so many others were accepted.
type refused struct {
	after int
	ev    utxo.Event
	err   error
}

// sameRefusals checks each event of no, which was refused when it was planned alone: it
// must be refused for the same reason behind the accepted events of chunk in one batch. l
// is the ledger before the chunk.
func sameRefusals(t *testing.T, l *utxo.Ledger, at int, chunk []utxo.Event, no []refused) {
	t.Helper()
	for _, r := range no {
		if k := r.after - at; k >= 0 && k <= len(chunk) {
			_, err := utxotest.Policy().PlanAll(l, time.Time{}, append(slices.Clip(chunk[:k]), r.ev)...)
			if want, got := utxotest.RefusalName(r.err), utxotest.RefusalName(err); got != want {
				t.Fatalf("%s after %d events and %d of a batch: %q, alone %q (%v)", utxotest.Describe(r.ev), at, k, got, want, err)
			}
		}
	}
}

// The scenarios, cut at every event: what comes then is one batch.
func TestABatchOfAScenarioPlansAsOneByOne(t *testing.T) {
	for _, s := range utxotest.Scenarios() {
		l := utxo.NewLedger(utxotest.Policy())
		var events []utxo.Event
		var want []utxo.ChangeSet
		var no []refused
		if err := s.Run(func(ev utxo.Event) error {
			set, err := l.Do(ev)
			if err == nil {
				events, want = append(events, ev), append(want, set)
			} else {
				no = append(no, refused{len(events), ev, err})
			}
			return utxotest.Outcome(set, err)
		}, l.Snapshot); err != nil {
			t.Fatal(err)
		}
		before := utxo.NewLedger(utxotest.Policy())
		for cut := range events {
			got, err := utxotest.Policy().PlanAll(before, time.Time{}, events[cut:]...)
			if err != nil || !reflect.DeepEqual(got, want[cut:]) {
				t.Fatalf("%s: from event %d on, %v\n%+v\none by one\n%+v", s.Name, cut, err, got, want[cut:])
			}
			sameRefusals(t, before, cut, events[cut:], no)
			if err := before.Apply(want[cut]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An event of a batch is refused exactly where it would be refused alone, and no event
// after it is planned.
func TestABatchEndsAtARefusal(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	first := b.next(deposit)
	second := utxo.Connected{Block: utxotest.NewBlock(7, first.Block.Hash, 0)}
	sets, err := utxotest.Policy().PlanAll(b, utxotest.Start, first, second, first)
	if len(sets) != 2 || fmt.Sprint(err) != fmt.Sprintf("block 7 %s: %v: the tip is at 1", second.Block.Hash, utxo.ErrChainMismatch) {
		t.Errorf("%d sets, %v", len(sets), err)
	}
}

// The last height that there can be is one like any other.
func TestABatchReachesTheLastHeight(t *testing.T) {
	for _, height := range []int32{math.MaxInt32 - 1, math.MaxInt32} {
		l := utxo.NewLedger(utxotest.Policy())
		do(t, l, utxo.WalletOpened{Wallet: 1, Birth: height})
		deposit := utxotest.NewTx(1, []wire.OutPoint{utxotest.External(1)}, utxotest.Pay(5, utxotest.Script(1, "a")))
		block := utxo.Connected{Block: utxo.Block{Height: height, Hash: chainhash.Hash{2}, Prev: chainhash.Hash{1}, Time: utxotest.Start},
			Txs: []*wire.MsgTx{deposit}}
		sets, err := utxotest.Policy().PlanAll(l, utxotest.Start, block, block)
		if err != nil || len(sets) != 2 || len(sets[0].Connect) != 1 || !sets[1].Empty() {
			t.Errorf("height %d: %+v, %v", height, sets, err)
		}
		do(t, l, block)
		if set := do(t, l, block); !set.Empty() {
			t.Errorf("height %d, given again: %+v", height, set)
		}
		if sets, err := utxotest.Policy().PlanAll(l, utxotest.Start, block, block); err != nil || len(sets) != 2 || !sets[0].Empty() {
			t.Errorf("height %d, given again in a batch: %+v, %v", height, sets, err)
		}
		if b, err := l.Balance(utxotest.Policy(), 1, nil, 1, utxotest.Start); err != nil || b != (utxo.Balance{Confirmed: 5}) {
			t.Errorf("height %d: the balance is %+v, %v", height, b, err)
		}
		below := block
		below.Block.Height, below.Block.Hash, below.Block.Prev, below.Txs = height-1, chainhash.Hash{1}, chainhash.Hash{}, nil
		do(t, l, below)
		if dead, err := utxo.ProvablyDead(l, utxo.TxID{Wallet: 1, Hash: deposit.TxHash()}, 1); dead || err != nil {
			t.Errorf("height %d: %t, %v", height, dead, err)
		}
		sets, err = utxotest.Policy().PlanAll(l, utxotest.Start, utxo.Disconnected{Hash: block.Block.Hash}, utxo.Disconnected{Hash: below.Block.Hash})
		if merged := utxo.Merge(sets...); err != nil || len(merged) != 1 || len(merged[0].Disconnect) != 2 {
			t.Errorf("height %d, two are taken off: %+v, %v", height, merged, err)
		}
		connect, err := utxotest.Policy().PlanAll(l, utxotest.Start, utxo.Disconnected{Hash: block.Block.Hash}, block)
		if merged := utxo.Merge(connect...); err != nil || len(merged) != 2 {
			t.Errorf("height %d, one is taken off and comes back: %+v, %v", height, merged, err)
		}
		if set := do(t, l, utxo.Disconnected{Hash: block.Block.Hash}); len(set.Disconnect) == 0 {
			t.Errorf("height %d is not taken off: %+v", height, set)
		}
	}
}

// What was not planned on what is before it is kept apart, for the store to compare.
func TestMergeKeepsApartWhatDoesNotFollow(t *testing.T) {
	b := newDesk(t)
	deposit := b.tx(nil, mine('a'))
	first := b.next(deposit)
	set, err := b.DoAt(first, utxotest.Start)
	if err != nil {
		t.Fatal(err)
	}
	b.tip = first.Block
	spend := do(t, b.Ledger, utxo.Submitted{Wallet: 1, Tx: b.tx(ins(out(deposit, 0)), mine('a'))})
	gone := do(t, b.Ledger, utxo.Invalidated{ID: spend.Inserts[0].ID})
	for name, sets := range map[string][]utxo.ChangeSet{
		"the same block twice": {set, set}, "a spend twice": {set, spend, spend}, "given up twice": {spend, gone, gone},
	} {
		if merged := utxo.Merge(sets...); len(merged) != 2 {
			t.Errorf("%s: %d sets", name, len(merged))
		}
	}
	if merged := utxo.Merge(set, spend, gone); len(merged) != 1 || len(merged[0].Spends) != 0 || merged[0].Inserts[0].Outputs[0].Spent() ||
		merged[0].Inserts[1].Status != utxo.Failed {
		t.Errorf("%+v", merged)
	}
}

// Each part of a set that is not as the sets before it leave it keeps the set apart.
func TestMergeComparesEveryPart(t *testing.T) {
	id := utxo.TxID{Wallet: 1, Hash: chainhash.Hash{1}}
	op := wire.OutPoint{Hash: id.Hash}
	a, b := chainhash.Hash{10}, chainhash.Hash{11}
	wallet := func(scanned int32) utxo.Wallet { return utxo.Wallet{ID: 1, ScannedTo: scanned} }
	behind := func(id int64, tag string) utxo.Wallet {
		return utxo.Wallet{ID: 1, ScannedTo: 1, Announced: 2, Behind: []utxo.OwnerScan{{ID: id, Tags: []string{tag}}}}
	}
	caughtUp := utxo.Wallet{ID: 1, ScannedTo: 1, Announced: 1}
	owned := func(birth int32) utxo.Owned { return utxo.Owned{Wallet: 1, Tag: "a", Birth: birth} }
	update := func(from int64) utxo.ChangeSet {
		return utxo.ChangeSet{Updates: []utxo.TxUpdate{{ID: id, FromVersion: from, New: utxo.TxState{Version: from + 1}}}}
	}
	insert := func(outs ...utxo.Output) utxo.ChangeSet {
		return utxo.ChangeSet{Inserts: []*utxo.Tx{{ID: id, Version: 1, Outputs: outs}}}
	}
	credit := func(out utxo.Output) utxo.ChangeSet {
		return utxo.ChangeSet{Joined: []utxo.JoinedOutput{{ID: id, Output: out}}}
	}
	spend := func(old, to chainhash.Hash) utxo.ChangeSet {
		return utxo.ChangeSet{Spends: []utxo.Spend{{Wallet: 1, OutPoint: op, Old: old, New: to}}}
	}
	wallets := func(old, to utxo.Wallet) utxo.ChangeSet {
		return utxo.ChangeSet{Wallets: []utxo.WalletChange{{Old: old, New: to}}}
	}
	owners := func(old, to utxo.Owned) utxo.ChangeSet {
		return utxo.ChangeSet{Owners: []utxo.OwnerChange{{Old: old, New: to}}}
	}
	lease := func(lock byte) utxo.Lease {
		if lock == 0 {
			return utxo.Lease{}
		}
		return utxo.Lease{Wallet: 1, OutPoint: op, Lock: utxo.LockID{lock}, Until: utxotest.Start}
	}
	leases := func(old, to byte) utxo.ChangeSet {
		c := utxo.LeaseChange{Old: lease(old), New: lease(to)}
		c.New.Wallet, c.New.OutPoint = 1, op
		return utxo.ChangeSet{Leases: []utxo.LeaseChange{c}}
	}
	seq := func(old, to int64) utxo.ChangeSet { return utxo.ChangeSet{Seq: utxo.SeqChange{Old: old, New: to}} }
	for _, tt := range []struct {
		name            string
		first, fits, no utxo.ChangeSet
	}{
		{"a wallet", wallets(wallet(1), wallet(2)), wallets(wallet(2), wallet(3)), wallets(wallet(1), wallet(3))},
		{"a wallet that is new again", wallets(utxo.Wallet{}, wallet(0)), wallets(wallet(0), wallet(3)), wallets(utxo.Wallet{}, wallet(0))},
		{"a wallet whose owners were announced again", wallets(wallet(1), behind(1, "a")), wallets(behind(1, "a"), wallet(3)),
			wallets(behind(2, "a"), wallet(3))},
		{"a wallet with another owner behind", wallets(wallet(1), behind(1, "a")), wallets(behind(1, "a"), wallet(3)),
			wallets(behind(1, "b"), wallet(3))},
		{"a wallet whose owners have caught up", wallets(wallet(1), caughtUp), wallets(caughtUp, wallet(3)), wallets(wallet(1), wallet(3))},
		{"an owner", owners(owned(3), owned(2)), owners(owned(2), owned(1)), owners(owned(3), owned(1))},
		{"a new row", insert(), update(1), insert()},
		{"a new row that was updated", update(1), update(2), insert()},
		{"an update of a new row", insert(), update(1), update(2)},
		{"an update", update(1), update(2), update(1)},
		{"a credit of a new row", insert(utxo.Output{}), credit(utxo.Output{Index: 1}), credit(utxo.Output{})},
		{"a credit", credit(utxo.Output{}), credit(utxo.Output{Index: 1}), credit(utxo.Output{})},
		{"a spend of a new row", insert(utxo.Output{SpentBy: a}), spend(a, b), spend(b, a)},
		{"a spend of what a new row has not", insert(utxo.Output{}), spend(chainhash.Hash{}, b), utxo.ChangeSet{
			Spends: []utxo.Spend{{Wallet: 1, OutPoint: wire.OutPoint{Hash: id.Hash, Index: 1}, New: a}}}},
		{"a spend of a credit", credit(utxo.Output{SpentBy: a}), spend(a, b), spend(b, a)},
		{"a spend", spend(chainhash.Hash{}, a), spend(a, b), spend(b, a)},
		{"a lease", leases(1, 2), leases(2, 3), leases(1, 3)},
		{"a lease that was ended", leases(1, 0), leases(0, 3), leases(1, 3)},
		{"a lease that is there", leases(0, 1), leases(1, 2), leases(0, 2)},
		{"the sequence", seq(1, 2), seq(2, 3), seq(1, 3)},
	} {
		if merged := utxo.Merge(tt.first, tt.fits); len(merged) != 1 {
			t.Errorf("%s: what follows is kept apart: %+v", tt.name, merged)
		}
		if merged := utxo.Merge(tt.first, tt.no); len(merged) != 2 {
			t.Errorf("%s: what does not follow is merged: %+v", tt.name, merged)
		}
	}
}

// When merged sets change one thing twice, the merged set changes it once: outputs stay in
// order, sums add up, and a change that was undone again is left out.
func TestMergeAddsUp(t *testing.T) {
	owner := func(old, to int32) utxo.ChangeSet {
		return utxo.ChangeSet{Owners: []utxo.OwnerChange{{Old: utxo.Owned{Wallet: 1, Tag: "a", Birth: old},
			New: utxo.Owned{Wallet: 1, Tag: "a", Birth: to}}}}
	}
	if merged := utxo.Merge(owner(3, 2), owner(2, 1)); len(merged) != 1 || !reflect.DeepEqual(merged[0].Owners, owner(3, 1).Owners) {
		t.Errorf("%+v", merged)
	}
	held := utxo.Lease{Wallet: 1, Lock: utxo.LockID{1}, Until: utxotest.Start}
	if merged := utxo.Merge(utxo.ChangeSet{Leases: []utxo.LeaseChange{{New: held}}},
		utxo.ChangeSet{Leases: []utxo.LeaseChange{{Old: held, New: utxo.Lease{Wallet: 1}}}}); len(merged) != 1 || len(merged[0].Leases) != 0 {
		t.Errorf("%+v", merged)
	}
	for _, c := range []utxo.LeaseChange{{New: held}, {Old: held, New: utxo.Lease{Wallet: 1}}} {
		if merged := utxo.Merge(utxo.ChangeSet{Leases: []utxo.LeaseChange{c}}, utxo.ChangeSet{}); len(merged) != 1 || len(merged[0].Leases) != 1 {
			t.Errorf("%+v becomes %+v", c, merged)
		}
	}
	id := utxo.TxID{Wallet: 1, Hash: chainhash.Hash{1}}
	sum := func(amount int64) []utxo.SumChange {
		return []utxo.SumChange{{Wallet: 1, Tag: "a", State: utxo.CoinConfirmed, Amount: amount}}
	}
	if merged := utxo.Merge(utxo.ChangeSet{Sums: sum(5)}, utxo.ChangeSet{Sums: sum(-5)}); len(merged) != 1 || len(merged[0].Sums) != 0 {
		t.Errorf("%+v", merged)
	}
	merged := utxo.Merge(utxo.ChangeSet{Inserts: []*utxo.Tx{{ID: id, Outputs: []utxo.Output{{Index: 1}}}}, Sums: sum(5)},
		utxo.ChangeSet{Joined: []utxo.JoinedOutput{{ID: id, Output: utxo.Output{Index: 0}}}, Sums: sum(3)})
	if len(merged) != 1 || !reflect.DeepEqual(merged[0].Inserts[0].Outputs, []utxo.Output{{Index: 0}, {Index: 1}}) ||
		!reflect.DeepEqual(merged[0].Sums, sum(8)) {
		t.Errorf("%+v", merged)
	}
}

// Each part of a set arrives in the merged one, from what was first to what is last.
func TestMergeCarriesEveryPart(t *testing.T) {
	id := utxo.TxID{Wallet: 1, Hash: chainhash.Hash{1}}
	spender := chainhash.Hash{9}
	seq := func(old, to int64) utxo.ChangeSet { return utxo.ChangeSet{Seq: utxo.SeqChange{Old: old, New: to}} }
	wallets := func(old, to int32) utxo.ChangeSet {
		return utxo.ChangeSet{Wallets: []utxo.WalletChange{{Old: utxo.Wallet{ID: 1, ScannedTo: old}, New: utxo.Wallet{ID: 1, ScannedTo: to}}}}
	}
	credit := func(by chainhash.Hash) utxo.ChangeSet {
		return utxo.ChangeSet{Joined: []utxo.JoinedOutput{{ID: id, Output: utxo.Output{SpentBy: by}}}}
	}
	declared := utxo.ChangeSet{Declared: []utxo.Replacement{{Wallet: 1, Loser: id.Hash, Winner: spender, Declared: true}}}
	replaced := utxo.ChangeSet{Replaced: []utxo.Replacement{{Wallet: 1, Loser: id.Hash, Winner: spender}}}
	spend := utxo.ChangeSet{Spends: []utxo.Spend{{Wallet: 1, OutPoint: wire.OutPoint{Hash: id.Hash}, New: spender}}}
	none := utxo.ChangeSet{}
	for name, tt := range map[string]struct {
		sets []utxo.ChangeSet
		want utxo.ChangeSet
	}{
		"a wallet":               {[]utxo.ChangeSet{wallets(1, 2), wallets(2, 3)}, wallets(1, 3)},
		"a credit that is spent": {[]utxo.ChangeSet{credit(chainhash.Hash{}), spend}, credit(spender)},
		"an edge":                {[]utxo.ChangeSet{none, replaced}, replaced},
		"a declaration":          {[]utxo.ChangeSet{none, declared}, declared},
		"the sequence":           {[]utxo.ChangeSet{seq(1, 2), none, seq(2, 3)}, seq(1, 3)},
		"the first sequence":     {[]utxo.ChangeSet{none, seq(5, 6), none}, seq(5, 6)},
	} {
		if merged := utxo.Merge(tt.sets...); !reflect.DeepEqual(merged, []utxo.ChangeSet{tt.want}) {
			t.Errorf("%s: %+v, want %+v", name, merged, tt.want)
		}
	}
}

// counting counts the reads of a ledger.
type counting struct {
	*utxo.Ledger
	reads int
}

func (c *counting) Tip() (utxo.Block, bool, error) { c.reads++; return c.Ledger.Tip() }
func (c *counting) Blocks(from, to int32) ([]utxo.Block, error) {
	c.reads++
	return c.Ledger.Blocks(from, to)
}
func (c *counting) Wallets(ids ...utxo.WalletID) ([]utxo.Wallet, error) {
	c.reads++
	return c.Ledger.Wallets(ids...)
}
func (c *counting) BlocksNamed(hashes ...chainhash.Hash) ([]utxo.Block, error) {
	c.reads++
	return c.Ledger.BlocksNamed(hashes...)
}
func (c *counting) Txs(ids ...utxo.TxID) ([]*utxo.Tx, error) { c.reads++; return c.Ledger.Txs(ids...) }
func (c *counting) Spenders(ops ...wire.OutPoint) ([]*utxo.Tx, error) {
	c.reads++
	return c.Ledger.Spenders(ops...)
}
func (c *counting) Children(hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	c.reads++
	return c.Ledger.Children(hashes...)
}
func (c *counting) Descendants(hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	c.reads++
	return c.Ledger.Descendants(hashes...)
}
func (c *counting) Ancestors(r utxo.Reach, hashes ...chainhash.Hash) ([]*utxo.Tx, error) {
	c.reads++
	return c.Ledger.Ancestors(r, hashes...)
}
func (c *counting) Replacements(ids ...utxo.TxID) ([]utxo.Replacement, error) {
	c.reads++
	return c.Ledger.Replacements(ids...)
}
func (c *counting) Raw(ids ...utxo.TxID) ([][]byte, error) { c.reads++; return c.Ledger.Raw(ids...) }

// The number of reads of a batch does not grow with its blocks, with their transactions, or
// with the wallets that these concern. In the test each wallet is paid by strangers and
// pays the next wallet from its own coins; some payments were observed or submitted before.
func TestABatchReadsOnce(t *testing.T) {
	reads := map[string]int{}
	for _, wallets := range []int{2, 9} {
		for _, blocks := range []int{2, 10, 100} {
			l := utxo.NewLedger(utxotest.Policy())
			next, err := utxotest.Weave(func(ev utxo.Event) error { return utxotest.Outcome(l.Do(ev)) }, wallets)
			if err != nil {
				t.Fatal(err)
			}
			var events []utxo.Event
			for range blocks {
				events = append(events, next())
			}
			r := &counting{Ledger: l}
			sets, err := utxotest.Policy().PlanAll(r, time.Time{}, events...)
			if err != nil {
				t.Fatal(err)
			}
			if merged := utxo.Merge(sets...); len(merged) != 1 || len(merged[0].Connect) != blocks || len(merged[0].Inserts) < blocks {
				t.Fatalf("%d sets", len(merged))
			}
			reads[fmt.Sprintf("%d wallets, %d blocks", wallets, blocks)] = r.reads
		}
	}
	counts := slices.Sorted(func(yield func(int) bool) {
		for _, n := range reads {
			if !yield(n) {
				return
			}
		}
	})
	if counts[0] != counts[len(counts)-1] {
		t.Errorf("reads: %v", reads)
	}
}

// Blocks that leave the chain are merged where each is the one below the last.
func TestMergeKeepsApartBlocksWithAGapBetween(t *testing.T) {
	leaves := func(height int32) utxo.ChangeSet {
		return utxo.ChangeSet{Disconnect: []utxo.Block{{Height: height, Hash: chainhash.Hash{byte(height)}}}}
	}
	for sets, all := range map[int][]int32{1: {5, 4, 3}, 2: {5, 3}, 3: {5, 5, 4, 4}} {
		var changes []utxo.ChangeSet
		for _, height := range all {
			changes = append(changes, leaves(height))
		}
		if merged := utxo.Merge(changes...); len(merged) != sets {
			t.Errorf("%v: %d sets", all, len(merged))
		}
	}
}
