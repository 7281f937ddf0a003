package store

import (
	"encoding/binary"
	"hash/maphash"
	"reflect"
	"sync"
	"time"
)

// mostHanded bounds what a service remembers; with one more it forgets all.
const mostHanded = 1 << 14

// handed has digests of the aggregates that a service has handed out, of each as it was handed out last. An aggregate
// that comes back unchanged need not be read again; any other is judged by what is stored. A nil handed knows nothing.
type handed[K comparable, A any] struct {
	sync.Mutex
	seed maphash.Seed
	of   map[K]uint64
}

func newHanded[K comparable, A any]() *handed[K, A] {
	return &handed[K, A]{seed: maphash.MakeSeed(), of: map[K]uint64{}}
}

// note remembers an aggregate that is handed out.
func (k *handed[K, A]) note(id K, a *A) {
	if k == nil {
		return
	}
	sum := k.digest(a)
	k.Lock()
	defer k.Unlock()
	if len(k.of) >= mostHanded {
		clear(k.of)
	}
	k.of[id] = sum
}

// is reports whether an aggregate is as it was handed out.
func (k *handed[K, A]) is(id K, a *A) bool {
	if k == nil {
		return false
	}
	sum := k.digest(a)
	k.Lock()
	defer k.Unlock()
	was, noted := k.of[id]
	return noted && was == sum
}

func (k *handed[K, A]) digest(a *A) uint64 {
	var room [4096]byte
	return maphash.Bytes(k.seed, appendValue(room[:0], reflect.ValueOf(a).Elem()))
}

var location = reflect.TypeFor[*time.Location]()

// appendValue appends all that v, which is addressable, holds but the zones of times.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...)
		}
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
	case reflect.Pointer:
		if v.Type() != location && !v.IsNil() {
			b = appendValue(append(b, 1), v.Elem())
		} else {
			b = append(b, 0)
		}
	case reflect.String:
		b = append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		b = append(b, 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b = binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		b = binary.AppendUvarint(b, v.Uint())
	default:
		panic("store: an aggregate with a " + v.Type().String())
	}
	return b
}
