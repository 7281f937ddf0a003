package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"
	"sync"
)

// column is one column of a record: its name and kind, such as "id uuid", and
// its place in the record, see [field].
type column struct {
	spec string
	at   cell
}

// cell is where Scan puts a column and what a batch takes its value from.
type cell interface {
	sql.Scanner
	driver.Valuer
}

// list is the columns of a record.
type list []column

func (l list) spec() string {
	specs := make([]string, len(l))
	for i, c := range l {
		specs[i] = c.spec
	}
	return strings.Join(specs, ", ")
}

// cells returns the places of all columns of some lists: what Scan fills, and
// the row of a batch.
func cells(lists ...list) []any {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	all := make([]any, 0, n)
	for _, l := range lists {
		for _, c := range l {
			all = append(all, c.at)
		}
	}
	return all
}

// table is one kind of record R in the database. Its lists say everything about its columns: SELECT, INSERT, UPDATE by
// compare-and-swap, scans and pages are made from them. Statements call a stored row x and a row that is written r.
type table[R any] struct {
	name    string        // of the database's table
	machine string        // names a record in a refusal and in its trail; empty without versions
	keys    int           // how many of the first fixed columns are the key; 0 is 1
	fixed   func(*R) list // what never changes
	state   func(*R) list // what changes with the version; nil if nothing does
	outside func(*R) list // what changes without it, such as a lease; nil if nothing does
	version func(*R) int64
	derived []derived
	unique  []unique
	// fieldsOnly says that the lists name nothing but fields of the record, so that lists made of one record are right
	// for every other that is copied to its place, and that no value points into the record. Else the lists are made for
	// each row that is written.
	fieldsOnly bool
	head       string // the table of the aggregate's own record, if this is not it: its version is compared too
	made
}

// derived is a column whose value SQL makes.
type derived struct {
	name   string
	spec   string // the column of the batch that it is made from; none if empty
	insert string
	update string // empty: it stays
}

// unique is a rule that only one record has the same values of some columns, which the database keeps with an index. A
// record in which one of these columns is NULL is not subject to it.
type unique struct {
	columns []string
	where   string // which stored rows x have what they name; empty: all
	taken   func(holder string) error
}

// made are the texts that follow from the lists.
type made struct {
	all, key   string // specs
	compared   string // specs of the columns outside the version that must be as they were read
	leased     bool
	insertOne  statement
	updateOne  statement
	touchOne   statement
	storedNow  statement
	inOrder    statement   // see lockInOrder
	holdersNow []statement // by unique rule
	spare      *sync.Pool  // of *places
}

// newTable makes the statements of a table.
func newTable[R any](t table[R]) *table[R] {
	none := func(*R) list { return nil }
	t.keys = max(t.keys, 1)
	if t.state == nil {
		t.state = none
	}
	if t.outside == nil {
		t.outside = none
	}
	t.spare = new(sync.Pool)
	r := new(R)
	fixed, state, outside := t.fixed(r), t.state(r), t.outside(r)
	t.key = fixed[:t.keys].spec()
	t.all = slices.Concat(fixed, state, outside).spec()
	compared := slices.DeleteFunc(slices.Clone(outside), func(c column) bool { return c.spec == leaseUntil })
	t.compared = compared.spec()
	t.leased = len(compared) < len(outside)
	t.insertOne = t.insert()
	for _, u := range t.unique {
		t.holdersNow = append(t.holdersNow, t.holder(u))
	}
	if len(state)+len(outside) > 0 && t.version != nil {
		t.updateOne = t.swap(slices.Concat(state, outside), t.derived)
		t.touchOne = t.swap(outside, nil)
		t.storedNow = t.stored()
		t.inOrder = t.locking()
	}
	return &t
}

// columns returns the names of all columns, each behind a prefix.
func (t *table[R]) columns(prefix string) string { return columnNames(t.all, prefix) }

// cells returns the places of all columns, in the order of columns.
func (t *table[R]) cells(r *R) []any { return cells(t.fixed(r), t.state(r), t.outside(r)) }

// joined puts specs together, of which some may be empty.
func joined(specs ...string) string {
	return strings.Join(slices.DeleteFunc(specs, func(s string) bool { return s == "" }), ", ")
}

// insert is the statement for new rows: the record, then the columns that the derived ones are made from. A row whose
// unique value another record has is not inserted, and insertNew reports it.
func (t *table[R]) insert() statement {
	spec, names, values := t.all, t.columns(""), t.columns("r.")
	for _, d := range t.derived {
		spec, names, values = joined(spec, d.spec), names+", "+d.name, values+", "+d.insert
	}
	text := "INSERT INTO @" + t.name + " (" + names + ") SELECT " + values + " FROM {rows}"
	if t.unique != nil {
		text += " WHERE true ON CONFLICT DO NOTHING"
	}
	return statement{once: true, rows: spec, text: text}
}

// upsert is the statement for new rows that replace what a stored row has of the
// state where a condition on it holds; empty: always.
func (t *table[R]) upsert(where string) statement {
	text := strings.TrimSuffix(t.insertOne.text, " WHERE true ON CONFLICT DO NOTHING") + " WHERE true ON CONFLICT (" + columnNames(t.key, "") +
		") DO UPDATE SET "
	text += strings.ReplaceAll(assignments(t.state(new(R)).spec()), "= r.", "= excluded.")
	if where != "" {
		text += " WHERE " + where
	}
	return statement{once: true, rows: t.insertOne.rows, text: text}
}

// leaseUntil is the end of a lease. Only a renewal moves that of a lease which
// somebody keeps: the writer may know an older one.
const leaseUntil = "lease_until time"

// swap is the statement that writes some columns of rows that are still as they were read. Its parameters are these
// columns, those that derived columns are made from, the key, the version, the columns outside the version, and the
// version of the head if there is one.
func (t *table[R]) swap(columns list, all []derived) statement {
	spec, sets, where := columns.spec(), assignments(columns.spec()), t.sameKey("x", "r")
	if t.leased {
		sets = strings.Replace(sets, "lease_until = r.lease_until", "lease_until = CASE WHEN x.lease_fence = r.lease_fence AND "+
			"x.lease_holder = r.lease_holder THEN x.lease_until ELSE r.lease_until END", 1)
	}
	for _, d := range all {
		if d.update != "" {
			spec, sets = joined(spec, d.spec), sets+", "+d.name+" = "+d.update
		}
	}
	spec += ", " + t.key + ", old_version int"
	where += " AND x.version = r.old_version"
	if t.compared != "" {
		spec += ", old_" + strings.ReplaceAll(t.compared, ", ", ", old_")
		for column := range strings.SplitSeq(t.compared, ", ") {
			name, kind, _ := strings.Cut(column, " ")
			stored := "x." + name
			if kind == "time" {
				stored = "{kept " + stored + "}"
			}
			where += " AND " + stored + " IS NOT DISTINCT FROM r.old_" + name
		}
	}
	if t.head != "" {
		spec += ", head uuid, old_head int"
		where += " AND (SELECT g.version FROM @" + t.head + " g WHERE g.id = r.head) = r.old_head"
	}
	for _, u := range t.unique {
		if same, ok := u.same(spec, "h"); ok {
			where += " AND (r." + u.columns[0] + " IS NULL OR NOT EXISTS (SELECT 1 FROM @" + t.name + " h WHERE " + same + " AND NOT (" +
				t.sameKey("h", "r") + ")))"
		}
	}
	return statement{once: true, rows: spec, text: "UPDATE @" + t.name + " AS x SET " + sets + " FROM {rows} WHERE " + where}
}

// sameKey compares the keys of two rows.
func (t *table[R]) sameKey(a, b string) string {
	var all []string
	for name := range strings.SplitSeq(columnNames(t.key, ""), ", ") {
		all = append(all, a+"."+name+" = "+b+"."+name)
	}
	return strings.Join(all, " AND ")
}

// same compares the columns of a rule with those of a row r; false if the row
// has not all of them.
func (u unique) same(spec, row string) (string, bool) {
	var all []string
	for _, name := range u.columns {
		if !strings.Contains(", "+spec, ", "+name+" ") {
			return "", false
		}
		all = append(all, row+"."+name+" = r."+name)
	}
	if u.where != "" {
		all = append(all, strings.ReplaceAll(u.where, "x.", row+"."))
	}
	return strings.Join(all, " AND "), true
}

// holder finds another record that has what a rule gives to one.
func (t *table[R]) holder(u unique) statement {
	set, known := t.key, strings.Split(t.all, ", ")
	for _, name := range u.columns {
		set += ", " + known[indexOf(t.all, name)]
	}
	same, _ := u.same(set, "x")
	return statement{once: true, each: set, text: "SELECT " + columnNames(t.key, "x.") + " FROM @" + t.name + " x WHERE " + same +
		" AND NOT (" + t.sameKey("x", "r") + ")"}
}

// stored tells why a record was not as it was read. A row that this transaction
// has written has the new version already, but no line of the trail for it yet.
func (t *table[R]) stored() statement {
	fence := "0"
	if t.leased {
		fence = "x.lease_fence"
	}
	return statement{once: true, each: t.key + ", record text, old_version int", text: "SELECT " + columnNames(t.key,
		"x.") + ", x.version, " + fence +
		", l.version FROM @" + t.name + " x LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.record AND l.version = r.old_version + 1 " +
		"WHERE " + t.sameKey("x", "r")}
}

// page is the statement for the records behind $1, ..., in an order that is a
// key, as many as the next parameter says.
func (t *table[R]) page(where string, order ...string) statement {
	behind := make([]string, len(order))
	for i := range order {
		behind[i] = "$" + string(rune('1'+i))
	}
	by := strings.Join(order, ", ")
	return statement{text: "SELECT " + t.columns("x.") + " FROM @" + t.name + " x WHERE " + strings.Join(slices.DeleteFunc([]string{where,
		"(" + by + ") > (" + strings.Join(behind, ", ") + ")"}, func(s string) bool { return s == "" }), " AND ") +
		" ORDER BY " + by + " LIMIT $" + string(rune('1'+len(order)))}
}
