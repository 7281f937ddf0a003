package purity

import (
	"reflect"
	"testing"

	"github.com/settlehq/settle/store"
)

// mostMethods is how many methods a host writes for one port at most.
const mostMethods = 25

// A port is what a transaction gives of a domain: a host with tables of its own writes all methods
// of those that it uses. One that grows too large is split by what hosts do without.
func TestPortsAreSmall(t *testing.T) {
	unit, ports := reflect.TypeFor[store.Unit](), 0
	for m := range unit.Methods() {
		if m.Type.NumIn() > 0 || m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.Interface {
			continue
		}
		ports++
		port := m.Type.Out(0)
		if t.Logf("%-14s %d methods", m.Name, port.NumMethod()); port.NumMethod() > mostMethods {
			t.Errorf("%v has %d methods, of at most %d", port, port.NumMethod(), mostMethods)
		}
	}
	if ports < 14 {
		t.Errorf("%d ports were found", ports)
	}
	without := reflect.TypeFor[store.WithdrawalUnit]()
	if _, has := without.MethodByName("Batches"); has {
		t.Error("a host that pays each request alone has to give batches")
	}
}
