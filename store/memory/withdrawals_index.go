package memory

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// The keys of the one index. Each begins with what it is for and ends with an
// id; between them is the order. Job keys name the chain second.
const (
	keyClaim       = "c" // chain wallet priority scheduled_at
	keyRebroadcast = "b" // chain wallet nonce
	keyCheck       = "k" // chain next_check_at
	keyRescue      = "r" // chain lease_until
	keyEnqueue     = "e" // chain updated_at, of a request
	keyStatus      = "s" // status created_at, of a request; status 0 for all
	keyUser        = "u" // user asset created_at, of a request
)

var dueKeys = map[store.DueKind]string{
	store.DueClaim: keyClaim, store.DueRebroadcast: keyRebroadcast, store.DueCheck: keyCheck,
	store.DueRescue: keyRescue, store.DueEnqueue: keyEnqueue,
}

func hasPrefix(key, prefix string) bool { return strings.HasPrefix(key, prefix) }

func idKey(id uuid.UUID) string { return string(id[:]) }

// idOf returns the id at the end of a key.
func idOf(key string) uuid.UUID { return uuid.UUID([]byte(key[len(key)-16:])) }

// uuidAt returns the id at a place of a key.
func uuidAt(key string, at int) uuid.UUID { return uuid.UUID([]byte(key[at : at+16])) }

// timeKey orders as times do.
func timeKey(t time.Time) string { return numberKey(uint64(t.UnixMicro()) ^ 1<<63) }

func numberKey(n uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return string(b[:])
}

// timeBefore returns the time in front of the id of a key.
func timeBefore(key string) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64([]byte(key[len(key)-24:])) ^ 1<<63)).UTC()
}

func statusPrefix(s withdrawal.RequestStatus) string { return keyStatus + string([]byte{byte(s)}) }

func userPrefix(user, asset uuid.UUID) string { return keyUser + idKey(user) + idKey(asset) }

// requestKeys are the keys of a row; none for nil.
func requestKeys(r *withdrawal.Request) (keys []string) {
	if r == nil {
		return nil
	}
	created := timeKey(r.CreatedAt) + idKey(r.ID)
	keys = append(keys, statusPrefix(0)+created, statusPrefix(r.Status)+created, userPrefix(r.User, r.Asset)+created)
	if r.Status == withdrawal.RequestApproved {
		keys = append(keys, keyEnqueue+idKey(r.Chain)+timeKey(r.UpdatedAt)+idKey(r.ID))
	}
	return keys
}

// jobKeys are the keys of a row; none for nil.
func jobKeys(j *withdrawal.Job) (keys []string) {
	if j == nil {
		return nil
	}
	chain, id := idKey(j.Chain), idKey(j.ID)
	switch {
	case j.Status == withdrawal.JobPending:
		keys = append(keys, keyClaim+chain+idKey(j.Wallet)+string([]byte{255 - byte(j.Priority)})+timeKey(j.ScheduledAt)+id)
	case j.Status == withdrawal.JobProcessing && !j.Review:
		keys = append(keys, keyRescue+chain+timeKey(j.Lease.Until)+id)
	case j.Status == withdrawal.JobConfirming:
		keys = append(keys, keyCheck+chain+timeKey(j.NextCheckAt)+id)
		if j.Rebroadcast && !j.Review {
			keys = append(keys, keyRebroadcast+chain+idKey(j.Wallet)+numberKey(j.Nonce)+id)
		}
	}
	return keys
}

// reindex replaces the keys of one row.
func (w *withdrawalTables) reindex(old, now []string) {
	for _, k := range old {
		if !contains(now, k) {
			w.index.remove(k)
		}
	}
	for _, k := range now {
		if !contains(old, k) {
			w.index.insert(k)
		}
	}
}

func contains(keys []string, key string) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}

// groups visits the values that the keys with a prefix have in the next size
// bytes, in order, without a look at all keys.
func (w *withdrawalTables) groups(prefix string, size int, visit func(prefix string)) {
	for start := prefix; ; {
		group := ""
		w.index.from(start, func(key string) bool {
			if hasPrefix(key, prefix) {
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
