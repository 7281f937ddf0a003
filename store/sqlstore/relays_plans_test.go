package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"testing"
)

// syncing is what relays and tenants do every day, for one dialect.
func syncing(d Dialect) map[string]*statement {
	all := map[string]*statement{
		"selectRelays": &selectRelays, "due relays": dueRelays.found[d][0], "next due relay": dueRelays.soon[0], "pending": &pendingRelays, "list": &listRelays, "relays of a tenant": &relaysOf, "given up": &relaysGivenUp, "unclear tenants": &unclearTenants,
		"activities": &activitiesOf, "renew": &relayLeases.renew, "lost leases": &relayLeases.lost, "held by": &relaysHeld, "update relays": &relayTable.updateOne, "insert relays": &relayTable.insertOne,
		"relay as stored": &relayTable.storedNow, "insert activities": &activityTable.insertOne, "count activities": &countActivities,
		"selectTenants": &selectTenants, "selectInvoices": &selectInvoices, "tenant of": &tenantOf, "due tenants": dueTenants.found[d][0], "next due tenant": dueTenants.soon[0],
		"list tenants": &listTenants, "overslept tenants": dueTenants.ahead[d][0], "update tenants": &tenantTable.updateOne,
		"touch tenants": &tenantTable.touchOne, "update invoices": &invoiceTable.updateOne,
	}
	if d == SQLite { // PostgreSQL reads a table of this size without statistics
		all["count invoices"], all["oldest owed"] = &countInvoices, &oldestOwed
	}
	if d == Postgres {
		all["lock relays"], all["lock tenants"] = &relayTable.inOrder, &tenantTable.inOrder
	}
	return all
}

var wholeRelays = regexp.MustCompile(`Seq Scan on (relays|activities|tenants|invoices|transitions)\b|(?m)SCAN (x|a|f|l|n|c|i|t|o|relays|activities|tenants|invoices|transitions)$`)

var relayPlans = plans{syncing, wholeRelays, nil, fillRelays}

// fillRelays makes synced relays, each with a success, and tenants who have paid.
func fillRelays(t *testing.T, conn *sql.Conn, syn syntax, n int) {
	t.Helper()
	series, at, no := fmt.Sprintf("(SELECT key FROM json_each('[' || substr(replace(hex(zeroblob(%d)), '00', ',1'), 2) || ']'))", n), "'2026-01-01 00:00:00.000000'", "0"
	if syn.Dialect == Postgres {
		series, at, no = fmt.Sprintf("generate_series(0, %d) AS s(key)", n-1), "now()", "false"
	}
	for _, text := range []string{
		"INSERT INTO @relays (id, tenant, subdomain, status, info, policy, groups, management, push, roles, blossom_enabled, blossom, livekit_enabled, livekit, synced, sync_error, " +
			"revision, recreate, sent, version, created_at, generation, backoff, exhausted, lease_fence, claimed_revision, lapses, lapsed_fence) SELECT 'r' || key, 't' || key, 's', 'active', " +
			"'', '', '', '', '', '', 0, '', 0, '', 1, '', 1, " + no + ", '', 3, " + at + ", 1, " + no + ", " + no + ", 1, 1, 0, 0 FROM " + series,
		"INSERT INTO @activities (resource_type, resource_id, activity_type, created_at) SELECT 'relay', 'r' || key, 'create_relay', " + at + " FROM " + series,
		"INSERT INTO @activities (resource_type, resource_id, activity_type, created_at) SELECT 'relay', 'r' || key, 'complete_relay_sync', " + at + " FROM " + series,
		"INSERT INTO @tenants (id, method, payment_error, version, created_at) SELECT 't' || key, 'nwc', '', 1, " + at + " FROM " + series,
		"INSERT INTO @invoices (id, tenant, amount, created_at, paid_at, method, payment_error, attempts, charge, charge_amount, version) SELECT 'i' || key, 't' || key, 1, " + at + ", " + at +
			", 'nwc', '', 0, 'none', 0, 2 FROM " + series,
		"INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, reason, data) " +
			"SELECT 0, 'relay_sync', id, 1, '', 'create', 'due', created_at, '', '', '' FROM @relays",
	} {
		if _, err := conn.ExecContext(context.Background(), syn.expand(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}
