package sqlstore_test

import (
	"testing"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/storetest"
)

func TestRelays(t *testing.T) {
	suite(t, store.DomainRelays, storetest.Relays[store.Unit])
}

func TestTenants(t *testing.T) {
	suite(t, store.DomainRelays, storetest.Tenants[store.Unit])
}
