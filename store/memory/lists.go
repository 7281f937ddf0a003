package memory

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// keyDue is the index key of what becomes due: then come the time and the id.
const keyDue = "d"

// dueOf returns up to limit aggregates that are due at now, in the order of
// a prefix of the index, as get reads them.
func dueOf[K comparable, V, A any](t *tx, all *rows[K, V], prefix string, now time.Time, limit int,
	get func(...K) ([]A, error)) ([]A, error) {
	if err := t.writes(); err != nil {
		return nil, err // it locks
	}
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var ids []K
	all.scan(prefix, prefix, func(key string, v *V) bool {
		if timeAt(key, len(prefix)).After(now) || len(ids) == limit {
			return false
		}
		ids = append(ids, all.key(v))
		return true
	})
	if ids == nil {
		return nil, nil
	}
	return get(ids...)
}

// nextOf is the earliest time of a prefix after now, zero if there is none.
func nextOf[K comparable, V any](all *rows[K, V], prefix string, now time.Time) (next time.Time) {
	all.scan(prefix, prefix+timeKey(now.Add(time.Microsecond)), func(key string, _ *V) bool {
		next = timeAt(key, len(prefix))
		return false
	})
	return next
}

// idsOf is a page of the ids that follow a prefix in the index.
func idsOf[V any](all *rows[string, V], prefix, after string, limit int) (ids []string, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	all.scan(prefix, prefix+after, func(_ string, v *V) bool {
		if id := all.key(v); id != after {
			ids = append(ids, id)
		}
		return len(ids) < limit
	})
	return ids, nil
}

// firstOf is the beginning of a list in an order.
func firstOf[V any](all []V, limit int, compare func(a, b V) int) ([]V, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, compare)
	return all[:min(len(all), limit)], nil
}

// inOrderOf returns an aggregate for each id.
func inOrderOf[K, A any](ids []K, of func(K) A) ([]A, error) {
	all := make([]A, len(ids))
	for i, id := range ids {
		all[i] = of(id)
	}
	return all, nil
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// saveAll saves changes of different aggregates; the first that is refused ends
// the transaction.
func saveAll[C any](t *tx, changes []C, save func(*C) error) error {
	if err := t.writes(); err != nil {
		return err
	}
	for i := range changes {
		if err := save(&changes[i]); err != nil {
			return t.fail(err)
		}
	}
	return nil
}

// saveFreed is saveAll where slots are given back before others take them.
func saveFreed[C any](t *tx, changes []C, frees func(*C) bool, save func(*C) error) error {
	for _, first := range []bool{true, false} {
		err := saveAll(t, changes, func(c *C) error {
			if frees(c) != first {
				return nil
			}
			return save(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// renewAll moves the ends of the leases of records that are held under their
// fence at now, and returns whose are lost.
func renewAll[K comparable, V any](t *tx, all *rows[K, V], now time.Time, leases []store.Lease[K],
	lease func(*V) *statemachine.Lease) (lost []K, err error) {
	if err := t.writes(); err != nil {
		return nil, err
	}
	for _, l := range leases {
		if !renewed(t, all, l.ID, l.Fence, now, l.Until, lease) {
			lost = append(lost, l.ID)
		}
	}
	return lost, nil
}
