package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/swap/swaptest"
	"github.com/settlehq/settle/withdrawal"
)

// lives are the processes on file.
func lives(t *testing.T, s store.Store[store.Unit]) []processes.Process {
	t.Helper()
	p, err := store.NewProcesses(s)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.List(context.Background(), processes.Key{}, store.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A worker of each domain notes itself with its first turn, then with the first one behind
// each minute: also with a turn that only stores, and only once for all sources of a name.
func TestAWorkerNotesItselfOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := context.Background(), &failing{Store: memory.New(memory.Options{})}
		p := relaysync.DefaultPolicy()
		p.RelayDomain = "x.example"
		relays, err1 := store.NewRelays[store.Unit](s, p)
		tenants, err2 := store.NewTenants[store.Unit](s, relays, dunning.DefaultPolicy())
		batches, err3 := store.NewBatches[store.Unit](s, withdrawal.DefaultPolicy())
		swaps, err4 := store.NewSwaps[store.Unit](s, swaptest.Policy())
		refreshes, err5 := store.NewRefreshes[store.Unit](s, refresh.DefaultPolicy())
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		withdrawals := batches.Withdrawals()
		payer := withdrawals.Payments(uuid.New(), "payer")
		turns := []func(n int) error{
			func(n int) error { _, _, err := payer.Turn(ctx, nil, n); return err },
			func(n int) error {
				_, _, err := batches.Lookups(uuid.New(), "payer").Turn(ctx, nil, n)
				return err
			},
			func(n int) error {
				_, _, err := withdrawals.Lookups(uuid.New(), "looker").Turn(ctx, nil, n)
				return err
			},
			func(n int) error { _, _, err := swaps.Deposits.Work("swapper").Turn(ctx, nil, n); return err },
			func(n int) error { _, _, err := relays.Work("reactor").Turn(ctx, nil, n); return err },
			func(n int) error { _, _, err := tenants.Work("biller").Turn(ctx, nil, n); return err },
			func(n int) error { _, err := refreshes.Turn(ctx, "refresher", nil, n); return err },
		}
		names := []string{"refreshes refresher", "relays reactor", "swaps swapper", "tenants biller", "withdrawals looker", "withdrawals payer"}
		noted := func(what string, n int, first, last time.Time) {
			t.Helper()
			for _, turn := range turns {
				if err := turn(n); err != nil && s.how == "" {
					t.Fatal(err)
				}
			}
			all := lives(t, s)
			if !last.IsZero() && len(all) != len(names) || last.IsZero() && len(all) > 0 {
				t.Fatalf("%s: %d are noted", what, len(all))
			}
			for i, p := range all {
				if p.Domain+" "+p.Name != names[i] || !p.First.Equal(first) || !p.Last.Equal(last) || len(p.Policy) != 16 {
					t.Errorf("%s: %+v, want %s from %v to %v", what, p, names[i], first, last)
				}
			}
		}
		s.how = "fails"
		noted("a turn that fails", 1, time.Time{}, time.Time{})
		s.how = ""
		first := time.Now().UTC()
		noted("the first turn", 1, first, first)
		time.Sleep(processes.Every - 1)
		noted("within a minute", 1, first, first)
		time.Sleep(time.Nanosecond)
		second := time.Now().UTC()
		noted("after a minute, with a turn that claims nothing", 0, first, second)
		time.Sleep(processes.Every - 1)
		noted("within the second minute", 0, first, second)
		time.Sleep(time.Nanosecond)
		noted("after it", 1, first, time.Now().UTC())
	})
}

// Who comes deletes some of those who are long gone.
func TestANewProcessPrunesOldOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		w, err := store.NewWithdrawals(s, withdrawal.DefaultPolicy())
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(context.Background(), func(tx store.Unit) error {
			for i := range 150 {
				at := time.Now().Add(-processes.Kept - 1)
				p := processes.Process{Key: processes.Key{Domain: "withdrawals", Name: fmt.Sprintf("gone %03d", i), Policy: "x"}, First: at, Last: at}
				if err := tx.Processes().Put(p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{50 + 1, 2, 3} {
			if _, _, err := w.Lookups(uuid.Nil, fmt.Sprint("worker ", i)).Turn(context.Background(), nil, 1); err != nil {
				t.Fatal(err)
			}
			if n := len(lives(t, s)); n != want {
				t.Errorf("after %d new ones there are %d, want %d", i+1, n, want)
			}
		}
	})
}

// Two processes with different policies are an alert, in the words of the store's clock.
func TestTwoPoliciesAreAnAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := context.Background(), memory.New(memory.Options{})
		one := withdrawal.DefaultPolicy()
		other := one
		other.MaxRetries++
		list, err := store.NewProcesses(s)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			for i, p := range []withdrawal.Policy{one, other, one} {
				w, err := store.NewWithdrawals(s, p)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := w.Lookups(uuid.Nil, fmt.Sprint("worker ", i)).Turn(ctx, nil, 1); err != nil {
					t.Fatal(err)
				}
			}
			alerts, err := list.Alerts(ctx, processes.Thresholds{TwoPolicies: 10 * time.Minute})
			first := lives(t, s)[0].First
			if fires := time.Since(first) > 10*time.Minute; err != nil || fires != (len(alerts) == 1) {
				t.Fatalf("after %v: %+v, %v", time.Since(first), alerts, err)
			}
			time.Sleep(processes.Every)
		}
	})
}

// The digests of the default policies are the same everywhere and always, until a policy
// gets another field. Whatever a policy says counts.
func TestDigestsOfPolicies(t *testing.T) {
	for _, tt := range []struct {
		policy any
		digest string
	}{
		{withdrawal.DefaultPolicy(), "33dac6f9b633def2"},
		{swaptest.Policy(), "5ee48661f2d55254"},
		{relaysync.DefaultPolicy(), "129ba21234a2bac2"},
		{dunning.DefaultPolicy(), "c2b815dfa7d5528d"},
		{refresh.DefaultPolicy(), "26ed62b43c9b86eb"},
	} {
		is, err := processes.Digest(tt.policy)
		if err != nil || is != tt.digest {
			t.Errorf("%T: the digest is %s, want %s, %v", tt.policy, is, tt.digest, err)
		}
		altered := reflect.New(reflect.TypeOf(tt.policy)).Elem()
		n := 0
		eachField(altered, "", func(name string, set func()) {
			n++
			altered.Set(reflect.ValueOf(tt.policy))
			set()
			if got, err := processes.Digest(altered.Interface()); err != nil || got == is {
				t.Errorf("%T with another %s has the digest %s, %v", tt.policy, name, got, err)
			}
		})
		if n < 6 {
			t.Errorf("%T has %d fields", tt.policy, n)
		}
	}
}

// eachField visits all fields of a struct that hold one value, and says how to alter each.
func eachField(v reflect.Value, name string, visit func(name string, set func())) {
	switch v.Kind() {
	case reflect.Struct:
		if v.NumField() == 0 || !v.Type().Field(0).IsExported() { // such as a decimal number
			visit(name, func() {
				text := "987654321"
				if v.Type() == reflect.TypeFor[time.Time]() {
					text = "2026-01-02T03:04:05Z"
				}
				if err := v.Addr().Interface().(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte(text)); err != nil {
					panic(err)
				}
			})
			return
		}
		for i := range v.NumField() {
			eachField(v.Field(i), strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), visit)
		}
	case reflect.Map:
		visit(name, func() {
			m := reflect.MakeMap(v.Type())
			m.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
			v.Set(m)
		})
	case reflect.Slice:
		visit(name, func() { v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem())) })
	case reflect.Bool:
		visit(name, func() { v.SetBool(!v.Bool()) })
	case reflect.String:
		visit(name, func() { v.SetString(v.String() + "1") })
	case reflect.Int, reflect.Int32, reflect.Int64:
		visit(name, func() { v.SetInt(v.Int() + 1) })
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		visit(name, func() { v.SetUint(v.Uint() + 1) })
	default:
		panic(name + " is a " + v.Kind().String())
	}
}
