package store

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

// each changes one field within v after the other, calls changed and takes it back.
func each(v reflect.Value, path string, changed func(path string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = at.Add(1)
	case *decimal.Decimal:
		*at = at.Add(decimal.NewFromInt(1))
	default:
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				each(v.Field(i), path+"."+v.Type().Field(i).Name, changed)
			}
			return
		case reflect.Array:
			each(v.Index(v.Len()-1), path, changed)
			return
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			changed(path)
			each(v.Index(0), path, changed)
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int32, reflect.Int64:
			v.SetInt(-1)
		case reflect.Uint8, reflect.Uint32, reflect.Uint64:
			v.SetUint(1)
		}
	}
	changed(path)
	v.Set(old)
}

func TestEveryFieldOfWhatIsHandedOutCounts(t *testing.T) {
	h, w := newHanded[uuid.UUID, withdrawal.Withdrawal](), withdrawal.Withdrawal{}
	h.note(uuid.Nil, &w)
	seen := map[uint64]string{h.digest(&w): "nothing"}
	each(reflect.ValueOf(&w).Elem(), "", func(path string) {
		sum := h.digest(&w)
		if h.is(uuid.Nil, &w) {
			t.Errorf("with another%s it is the one that was handed out", path)
		}
		if was := seen[sum]; was != "" && was != path {
			t.Errorf("another%s is taken for another%s", path, was)
		}
		seen[sum] = path
	})
	if len(seen) < 100 || !h.is(uuid.Nil, &w) {
		t.Fatalf("%d fields were changed; unchanged is known: %v", len(seen), h.is(uuid.Nil, &w))
	}
}

func TestWhatIsHandedOutIsForgottenInTheEnd(t *testing.T) {
	h, w := newHanded[int, withdrawal.Withdrawal](), withdrawal.Withdrawal{}
	for i := range mostHanded + 1 {
		h.note(i, &w)
	}
	if len(h.of) != 1 || h.is(0, &w) || !h.is(mostHanded, &w) {
		t.Fatalf("%d are remembered", len(h.of))
	}
}
