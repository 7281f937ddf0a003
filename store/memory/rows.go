package memory

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
)

// rows are the records of one kind, by key, as pointers to values that never
// change: a write puts a new one in the place of the old.
type rows[K comparable, V any] struct {
	machine string // names a record in a refusal
	key     func(*V) K
	version func(*V) int64    // nil if the kind has no versions
	sorted  func(*V) []string // keys of a record in the index; each ends with the key of the record
	unique  []unique[V]

	at    map[K]*V
	index ordered[K]
	taken []map[any]K // for each unique rule
}

// unique is a rule that two records cannot have the same key of. The key of a
// record that the rule does not concern is nil.
type unique[V any] struct {
	key func(*V) any
	err func(holder *V) error // what the second one gets
}

// unless is a unique key, or nil if the rule does not concern the record.
func unless(free bool, key any) any {
	if free {
		return nil
	}
	return key
}

// holder returns the record that has a key of a unique rule, or nil.
func (r *rows[K, V]) holder(rule int, key any) *V {
	if k, taken := r.taken[rule][key]; taken {
		return r.at[k]
	}
	return nil
}

func newRows[K comparable, V any](r rows[K, V]) *rows[K, V] {
	r.at = map[K]*V{}
	for range r.unique {
		r.taken = append(r.taken, map[any]K{})
	}
	return &r
}

// save writes a record that is stored at version old, 0 for a new one; another
// version is [statemachine.ErrConflict].
func (r *rows[K, V]) save(t *tx, old int64, now *V) error {
	var stored int64
	if v := r.at[r.key(now)]; v != nil {
		stored = r.version(v)
	}
	if stored != old {
		return conflict(r.machine, r.key(now), "expected version %d, stored is %d", old, stored)
	}
	return r.put(t, now)
}

// insert writes a new record; one that exists is [statemachine.ErrConflict].
func (r *rows[K, V]) insert(t *tx, now *V) error {
	if r.at[r.key(now)] != nil {
		return conflict(r.machine, r.key(now), "it exists")
	}
	return r.put(t, now)
}

// put writes a record in the place of the stored one, if the unique rules allow.
func (r *rows[K, V]) put(t *tx, now *V) error {
	k := r.key(now)
	for i, rule := range r.unique {
		if u := rule.key(now); u != nil {
			if holder, taken := r.taken[i][u]; taken && holder != k {
				return rule.err(r.at[holder])
			}
		}
	}
	old := r.at[k]
	t.do(func() { r.swap(k, old, now) }, func() { r.swap(k, now, old) })
	return nil
}

// remove deletes a record, if it is there.
func (r *rows[K, V]) remove(t *tx, k K) {
	if old := r.at[k]; old != nil {
		t.do(func() { r.swap(k, old, nil) }, func() { r.swap(k, nil, old) })
	}
}

// swap replaces a record; nil stands for none.
func (r *rows[K, V]) swap(k K, old, now *V) {
	if r.sorted != nil {
		var before, after []string
		if old != nil {
			before = r.sorted(old)
		}
		if now != nil {
			after = r.sorted(now)
		}
		for _, s := range before {
			if !slices.Contains(after, s) {
				r.index.remove(s)
			}
		}
		for _, s := range after {
			if !slices.Contains(before, s) {
				r.index.insert(s, k)
			}
		}
	}
	for i, rule := range r.unique {
		if old != nil {
			if u := rule.key(old); u != nil {
				delete(r.taken[i], u)
			}
		}
		if now != nil {
			if u := rule.key(now); u != nil {
				r.taken[i][u] = k
			}
		}
	}
	if now == nil {
		delete(r.at, k)
	} else {
		r.at[k] = now
	}
}

// scan visits the records whose index keys have a prefix, in the order of the
// keys and from min on, until visit returns false.
func (r *rows[K, V]) scan(prefix, min string, visit func(key string, v *V) bool) {
	r.index.from(min, func(key string, k K) bool { return strings.HasPrefix(key, prefix) && visit(key, r.at[k]) })
}

// groups visits the values that the keys with a prefix have in the next size
// bytes, in order, without a look at all keys.
func (r *rows[K, V]) groups(prefix string, size int, visit func(prefix string)) {
	for start := prefix; ; {
		group := ""
		r.index.from(start, func(key string, _ K) bool {
			if strings.HasPrefix(key, prefix) {
				group = key[:len(prefix)+size]
			}
			return false
		})
		if group == "" {
			return
		}
		visit(group)
		start = after(group)
	}
}

func conflict(machine string, id any, format string, args ...any) error {
	return &statemachine.Refusal{Err: statemachine.ErrConflict, Machine: machine, ID: fmt.Sprint(id), Event: "save",
		Reason: fmt.Sprintf(format, args...)}
}

// The parts of an index key.

func idKey(id uuid.UUID) string { return string(id[:]) }

// uuidAt returns the id at a place of a key.
func uuidAt(key string, at int) uuid.UUID { return uuid.UUID([]byte(key[at : at+16])) }

// textKey orders as texts do, whatever follows it in the key.
func textKey(s string) string { return strings.ReplaceAll(s, "\x00", "\x00\xff") + "\x00\x01" }

// timeKey orders as times do. It has 8 bytes.
func timeKey(t time.Time) string { return numberKey(uint64(t.UnixMicro()) ^ 1<<63) }

// timeAt returns the time at a place of a key.
func timeAt(key string, at int) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64([]byte(key[at:at+8])) ^ 1<<63)).UTC()
}

// numberKey has 8 bytes.
func numberKey(n uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return string(b[:])
}

// after returns the first key behind all keys with a prefix. It is a key only
// in form: no id follows.
func after(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return string(b[:i+1])
		}
	}
	return "\xff" // no key begins like this
}
