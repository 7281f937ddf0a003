package memory

import (
	"time"

	"github.com/settlehq/settle/store"
)

// keyDue is the index key of what becomes due: then come the time and the id.
const keyDue = "d"

// dueOf returns up to limit aggregates that are due at now, in the order of
// keyDue, as get reads them.
func dueOf[K comparable, V, A any](t *tx, all *rows[K, V], now time.Time, limit int, at func(*V) time.Time, id func(*V) K, get func(...K) ([]A, error)) ([]A, error) {
	if err := t.writes(); err != nil {
		return nil, err // it locks
	}
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var ids []K
	all.scan(keyDue, keyDue, func(_ string, v *V) bool {
		if at(v).After(now) || len(ids) == limit {
			return false
		}
		ids = append(ids, id(v))
		return true
	})
	if ids == nil {
		return nil, nil
	}
	return get(ids...)
}

// nextOf is the earliest time of keyDue after now, zero if there is none.
func nextOf[K comparable, V any](all *rows[K, V], now time.Time, at func(*V) time.Time) (next time.Time) {
	all.scan(keyDue, keyDue+timeKey(now.Add(time.Microsecond)), func(_ string, v *V) bool {
		next = at(v)
		return false
	})
	return next
}

// idsOf is a page of the ids that follow a prefix in the index.
func idsOf[V any](all *rows[string, V], prefix, after string, limit int, id func(*V) string) (ids []string, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	all.scan(prefix, prefix+after, func(_ string, v *V) bool {
		if id(v) != after {
			ids = append(ids, id(v))
		}
		return len(ids) < limit
	})
	return ids, nil
}

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
