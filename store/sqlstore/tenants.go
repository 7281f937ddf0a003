package sqlstore

import (
	"database/sql"
	"math/big"
	"slices"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// tenants stores package dunning.
type tenants struct{ feed[string] }

var _ store.TenantRecords = tenants{}

// Tenants implements [store.TenantUnit].
func (t *tx) Tenants() store.TenantRecords {
	if none, lacks := t.lacks(store.DomainRelays); lacks {
		return store.UnimplementedTenants{Unimplemented: none}
	}
	return tenants{feed[string]{t, asText, tenantMachines}}
}

var (
	selectTenants  = statement{once: true, each: "id text", text: "SELECT " + tenantTable.columns("x.") + " FROM @tenants x WHERE x.id = r.id"}
	selectInvoices = statement{once: true, each: "id text", text: "SELECT " + invoiceTable.columns("x.") +
		" FROM @invoices x WHERE x.tenant = r.id"}
	tenantOf    = statement{text: "SELECT tenant FROM @invoices WHERE id = $1"}
	listTenants = statement{text: "SELECT id FROM @tenants WHERE id > $1 ORDER BY id LIMIT $2"}

	unclearTenants = statement{text: "SELECT p.tenant FROM (SELECT tenant FROM @invoices WHERE charge <> 'none' AND (charge = 'unknown' OR " +
		"charge_after <= $3) AND tenant > $1 ORDER BY tenant LIMIT $2) p " +
		"UNION SELECT m.tenant FROM (SELECT DISTINCT i.tenant FROM @invoices i JOIN @tenants t ON t.id = i.tenant WHERE " + neverArrives +
		" AND i.tenant > $1 ORDER BY i.tenant LIMIT $2) m " +
		"UNION SELECT q.tenant FROM (SELECT DISTINCT tenant FROM @invoices WHERE overpaid_at IS NOT NULL AND tenant > $1 ORDER BY tenant " +
		"LIMIT $2) q ORDER BY tenant LIMIT $2"}

	dueTenants = newDue(due{from: "@tenants x", owner: "x.id", where: "x.due_at IS NOT NULL", at: "x.due_at", order: "x.due_at, x.id"})
)

// Get implements [store.TenantRecords]. Tenants are read before their invoices:
// whoever pays meanwhile makes the tenant that was read stale.
func (r tenants) Get(ids ...string) ([]dunning.Account, error) {
	return inOrderOf(ids, func(set *batch, each func(string, *dunning.Account)) error {
		all := map[string]*dunning.Account{}
		err := tenantTable.read(r.tx, &selectTenants, set, func(t *dunning.Tenant) { all[t.ID] = &dunning.Account{Tenant: *t} })
		if err != nil {
			return err
		}
		err = invoiceTable.read(r.tx, &selectInvoices, set, func(i *dunning.Invoice) {
			if a := all[i.Tenant]; a != nil {
				a.Invoices = append(a.Invoices, *i)
			}
		})
		for id, a := range all {
			slices.SortFunc(a.Invoices, dunning.CompareInvoices)
			each(id, a)
		}
		return err
	})
}

// TenantOf implements [store.TenantRecords].
func (r tenants) TenantOf(invoice string) (string, error) {
	found, err := firstColumn[string](r.tx, &tenantOf, invoice)
	if err == nil && len(found) == 0 {
		err = &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: dunning.InvoiceMachine.Name(), ID: invoice}
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// Due implements [store.TenantRecords].
func (r tenants) Due(now time.Time, limit int) ([]dunning.Account, []error, error) {
	return dueOf(r.tx, dunning.TenantMachine.Name(), dueTenants, now, time.Time{}, 0, limit, r.Get)
}

// NextDue implements [store.TenantRecords].
func (r tenants) NextDue(now time.Time) (time.Time, error) { return dueTenants.nextDue(r.tx, now, 0) }

// Overslept implements [store.TenantRecords].
func (r tenants) Overslept(latest time.Time, limit int) ([]dunning.Account, []error, error) {
	return dueOf(r.tx, dunning.TenantMachine.Name(), dueTenants, time.Time{}, latest, 0, limit, r.Get)
}

// List implements [store.TenantRecords].
func (r tenants) List(after string, limit int) ([]string, error) {
	return r.ids(&listTenants, after, limit)
}

// ForOperator implements [store.TenantRecords].
func (r tenants) ForOperator(now time.Time, after string, limit int) ([]string, error) {
	return r.ids(&unclearTenants, after, limit, now)
}

// Save implements [store.TenantRecords].
func (r tenants) Save(changes ...dunning.Change) error {
	return r.save(dunning.TenantMachine.Name(), func() error {
		rows, invoices := rowsOf[dunning.Tenant]{table: tenantTable}, rowsOf[dunning.Invoice]{table: invoiceTable}
		var log []statemachine.Transition[string]
		for i := range changes {
			c := &changes[i]
			if err := c.Complete(); err != nil {
				return err
			}
			if !c.Empty() {
				rows.add(&c.Old.Tenant, &c.New.Tenant)
			}
			c.Changed(invoices.add)
			log = append(log, c.Log...)
		}
		return inTurn(
			func() error { return rows.lockAndWrite(r.tx) },
			func() error { return invoices.write(r.tx) }, // the tenants' rows keep others out
			func() error { return logTransitions(r.tx, log) })
	})
}

var tenantMachines = []string{dunning.TenantMachine.Name(), dunning.InvoiceMachine.Name()}

// Transitions implements [store.TenantRecords].
func (r tenants) Transitions(tenant string) ([]statemachine.Transition[string], error) {
	return transitions(r.tx, dunning.TenantMachine.Name(), tenant)
}

// InvoiceTransitions implements [store.TenantRecords].
func (r tenants) InvoiceTransitions(invoice string) ([]statemachine.Transition[string], error) {
	return transitions(r.tx, dunning.InvoiceMachine.Name(), invoice)
}

var (
	countTenants = statement{text: "SELECT count(CASE WHEN churned_at IS NULL THEN 1 END), count(churned_at), max(due_at), max(churned_at), " +
		"min(CASE WHEN " + dueTenants.is("$1") + " THEN x.due_at END) FROM @tenants x"}
	countInvoices = statement{text: "SELECT count(CASE WHEN " + owed + " THEN 1 END), count(CASE WHEN charge <> 'none' THEN 1 END), " +
		"min(CASE WHEN charge <> 'none' THEN charge_at END), max(CASE WHEN charge <> 'none' THEN charge_at END), count(overpaid_at), " +
		exactSum("amount", owed) + ", " + exactSum("charge_amount", "charge <> 'none'") + ", " +
		exactSum("amount", "charge = 'unknown' OR charge = 'open' AND charge_after <= $1 OR overpaid_at IS NOT NULL") +
		" FROM @invoices WHERE " + liveInvoices}
	countMissed = statement{text: "SELECT count(*), " + exactSum("i.amount", "true") + ", " + exactSum("i.amount", "overpaid_at IS NULL") +
		" FROM @invoices i JOIN @tenants t ON t.id = i.tenant WHERE " + neverArrives}
	oldestOwed = statement{text: "SELECT min(CASE WHEN " + dated + " < " + owes + " THEN " + dated + " ELSE " + owes + " END), " +
		"max(" + owes + ") FROM @invoices i JOIN @tenants t ON t.id = i.tenant " +
		"WHERE (" + liveInvoices + ") AND " + owed + " AND t.churned_at IS NULL"}
)

// exactSum adds the high and the low halves of a column apart: a sum of base units may
// be larger than any number of the database.
func exactSum(column, where string) string {
	half := func(of string) string {
		return "CAST(coalesce(sum(CASE WHEN " + where + " THEN " + column + of + " END), 0) AS {int})"
	}
	return half(" / 4294967296") + ", " + half(" % 4294967296")
}

// halves is a sum of [exactSum].
type halves struct{ high, low int64 }

func (h halves) sum() statemachine.Sum {
	n := new(big.Int).Lsh(big.NewInt(h.high), 32)
	sum, _ := statemachine.ParseSum(n.Add(n, big.NewInt(h.low)).String())
	return sum
}

// liveInvoices are those of the index invoices_live.
const liveInvoices = "paid_at IS NULL AND voided_at IS NULL OR charge <> 'none' OR overpaid_at IS NOT NULL"

// neverArrives is [dunning.Tenant.NeverArrives]. Its first four parts are the condition of the index invoices_missed.
const neverArrives = "i.missed > 0 AND i.charge = 'none' AND i.paid_at IS NULL AND i.voided_at IS NULL AND " +
	"(i.missed > 1 OR t.method NOT IN ('nwc', 'stripe') OR t.churned_at IS NOT NULL)"

// dated is since when a tenant owes an invoice by the dates of both.
const dated = "CASE WHEN t.reinstated_at > i.created_at THEN t.reinstated_at ELSE i.created_at END"

// owes is since when an active tenant owes an invoice.
const owes = "CASE WHEN coalesce(t.since, t.reinstated_at) > coalesce(i.since, i.created_at) THEN coalesce(t.since, t.reinstated_at) " +
	"ELSE coalesce(i.since, i.created_at) END"

// owed is [dunning.Invoice.Owed].
const owed = "paid_at IS NULL AND voided_at IS NULL AND amount > 0"

// Stats implements [store.TenantRecords].
func (r tenants) Stats(now time.Time) (dunning.Stats, error) {
	s := dunning.Stats{At: now, Tenants: map[dunning.TenantStatus]int64{}}
	var active, churned int64
	var sums [5]halves // owed, out, for a person, never arrives, of them not overpaid
	var latest [4]time.Time
	err := r.read(&countTenants, nil, func(rows *sql.Rows) error {
		return rows.Scan(&active, &churned, maybe(&latest[0]), maybe(&latest[1]), maybe(&s.OldestDue))
	}, now)
	if err == nil {
		err = r.read(&countInvoices, nil, func(rows *sql.Rows) error {
			return rows.Scan(&s.Open, &s.Out, maybe(&s.OldestOut), maybe(&latest[2]), &s.Overpaid,
				&sums[0].high, &sums[0].low, &sums[1].high, &sums[1].low, &sums[2].high, &sums[2].low)
		}, now)
	}
	if err == nil {
		err = r.read(&countMissed, nil, func(rows *sql.Rows) error {
			return rows.Scan(&s.Missed, &sums[3].high, &sums[3].low, &sums[4].high, &sums[4].low)
		})
	}
	if err == nil {
		err = r.read(&oldestOwed, nil, func(rows *sql.Rows) error { return rows.Scan(maybe(&s.OldestOwed), maybe(&latest[3])) })
	}
	for _, t := range latest {
		if t.After(s.Latest) {
			s.Latest = t
		}
	}
	for status, n := range map[dunning.TenantStatus]int64{dunning.TenantActive: active, dunning.TenantChurned: churned} {
		if n > 0 {
			s.Tenants[status] = n
		}
	}
	s.Money = statemachine.Money{Open: sums[0].sum(), Unknown: sums[1].sum(), Review: sums[2].sum().Add(sums[4].sum()), Stuck: sums[3].sum()}
	return s, err
}
