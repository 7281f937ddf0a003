package store_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// Every port can grow: a host embeds what stands for it.
func TestEveryPortHasAnUnimplementedOne(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, asserted := regexp.MustCompile(`(?m)^type (\w+Records|SwapHouse)(?:\[[^]]*\])? interface \{|^\t(\w+Records) += SwapRecords\[`), 0
	unimplemented, err := os.ReadFile("unimplemented.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			if port := m[1] + m[2]; port != "SwapRecords" { // a generic one, of which there are two
				asserted++
				if !regexp.MustCompile(`(?m)^\t_ ` + port + ` += Unimplemented`).Match(unimplemented) {
					t.Errorf("no Unimplemented... stands for %s", port)
				}
			}
		}
	}
	if asserted < 11 {
		t.Errorf("%d ports", asserted)
	}
}

func TestEveryMethodOfAnUnimplementedPortNamesItself(t *testing.T) {
	for port, value := range map[reflect.Type]any{
		reflect.TypeFor[store.WalletRecords]():     store.UnimplementedWallets{},
		reflect.TypeFor[store.WithdrawalRecords](): store.UnimplementedWithdrawals{},
		reflect.TypeFor[store.WalletQueries]():     store.UnimplementedWalletQueries{},
		reflect.TypeFor[store.HotWalletRecords]():  store.UnimplementedHotWallets{},
		reflect.TypeFor[store.BatchRecords]():      store.UnimplementedBatches{},
		reflect.TypeFor[store.SwitchRecords]():     store.UnimplementedSwitches{},
		reflect.TypeFor[store.JournalRecords]():    store.UnimplementedJournal{},
		reflect.TypeFor[store.ProcessRecords]():    store.UnimplementedProcesses{},
		reflect.TypeFor[store.CreditRecords]():     store.UnimplementedSwaps[swap.Credit]{},
		reflect.TypeFor[store.DepositRecords]():    store.UnimplementedSwaps[swap.Deposit]{},
		reflect.TypeFor[store.SwapHouse]():         store.UnimplementedSwapHouse{},
		reflect.TypeFor[store.RefreshRecords]():    store.UnimplementedRefreshes{},
		reflect.TypeFor[store.RelayRecords]():      store.UnimplementedRelays{},
		reflect.TypeFor[store.TenantRecords]():     store.UnimplementedTenants{},
	} {
		for _, cause := range []error{nil, io.EOF} {
			v := reflect.New(reflect.TypeOf(value)).Elem()
			if cause != nil {
				v.FieldByName("Cause").Set(reflect.ValueOf(cause))
			}
			for m := range port.Methods() {
				method := v.MethodByName(m.Name)
				if !method.IsValid() {
					t.Errorf("%T has no %s", value, m.Name)
					continue
				}
				var args []reflect.Value
				for i := range m.Type.NumIn() {
					if !m.Type.IsVariadic() || i < m.Type.NumIn()-1 {
						args = append(args, reflect.Zero(m.Type.In(i)))
					}
				}
				results := method.Call(args)
				err, _ := results[len(results)-1].Interface().(error)
				is := store.ErrUnimplemented
				if cause != nil {
					is = cause
				}
				if !errors.Is(err, is) || !strings.HasSuffix(err.Error(), ": "+m.Name) {
					t.Errorf("%T.%s: %v", value, m.Name, err)
				}
			}
		}
	}
}
