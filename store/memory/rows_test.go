package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

type item struct {
	id, group, slot string
	version         int64
}

// Rows against a plain map: random writes in transactions, of which half are
// taken back.
func TestRowsAgreeWithAMap(t *testing.T) {
	errTaken := errors.New("taken")
	r := newRows(rows[string, item]{
		machine: "item",
		key:     func(i *item) string { return i.id },
		version: func(i *item) int64 { return i.version },
		sorted:  func(i *item) []string { return []string{"all" + textKey(i.id), textKey(i.group) + textKey(i.id)} },
		unique: []unique[item]{{func(i *item) any { return unless(i.slot == "", i.slot) },
			func(holder *item) error { return fmt.Errorf("%w by %s", errTaken, holder.id) }}},
	})
	naive := map[string]item{}
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	for range 2000 {
		tx, before := &tx{}, map[string]item{}
		for k, v := range naive {
			before[k] = v
		}
		for range rnd.IntN(6) {
			now := item{pick("a", "a\x00", "b", "c", "d"), pick("", "g", "g\x00", "h"), pick("", "", "s1", "s2"), int64(rnd.IntN(4))}
			stored, exists := naive[now.id]
			if rnd.IntN(5) == 0 {
				r.remove(tx, now.id)
				delete(naive, now.id)
				continue
			}
			old := int64(rnd.IntN(4))
			var holder string
			for _, other := range naive {
				if now.slot != "" && other.slot == now.slot && other.id != now.id {
					holder = other.id
				}
			}
			var current int64
			if exists {
				current = stored.version
			}
			switch err := r.save(tx, old, &now); {
			case current != old:
				if !errors.Is(err, statemachine.ErrConflict) {
					t.Fatalf("version %d instead of %d: %v", old, current, err)
				}
			case holder != "":
				if !errors.Is(err, errTaken) || !strings.HasSuffix(err.Error(), holder) {
					t.Fatalf("slot %s of %s: %v", now.slot, holder, err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				naive[now.id] = now
			}
		}
		if rnd.IntN(2) == 0 {
			tx.rollback()
			naive = before
		}
		for _, prefix := range []string{"all", textKey(""), textKey("g"), textKey("g\x00"), textKey("h")} {
			var got, want []string
			r.scan(prefix, prefix, func(_ string, i *item) bool { got = append(got, i.id); return true })
			for _, i := range naive {
				if prefix == "all" || prefix == textKey(i.group) {
					want = append(want, i.id)
				}
			}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Fatalf("with prefix %q: %q, expected %q", prefix, got, want)
			}
		}
		if len(r.at) != len(naive) {
			t.Fatalf("%d records, expected %d", len(r.at), len(naive))
		}
		for id, i := range naive {
			if *r.at[id] != i || i.slot != "" && r.holder(0, i.slot) != r.at[id] {
				t.Fatalf("stored is %v, expected %v", *r.at[id], i)
			}
		}
	}
}
