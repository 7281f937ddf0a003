package sqlstore

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// read calls each with every record that a SELECT of the table's columns finds.
// What it is given is overwritten by the next one.
func (t *table[R]) read(x *tx, st *statement, set *batch, each func(*R), args ...any) error {
	var r R
	places := t.cells(&r)
	return x.read(st, set, func(rows *sql.Rows) error {
		if err := rows.Scan(places...); err != nil {
			return t.located(err, &r)
		}
		each(&r)
		return nil
	}, args...)
}

// find returns the records that a SELECT of the table's columns finds.
func (t *table[R]) find(x *tx, st *statement, set *batch, args ...any) (all []R, err error) {
	err = t.read(x, st, set, func(r *R) { all = append(all, *r) }, args...)
	return all, err
}

// located names the record in which an unknown text was met.
func (t *table[R]) located(err error, r *R) error {
	key, _ := t.fixed(r)[0].at.Value()
	return located(err, t.name, key)
}

// A record of a Save is sorted into one of three batches by what happens to it.

// insertRow adds a new record.
func (t *table[R]) insertRow(rows *batch, r *R, more ...any) {
	p := t.places(nil, r)
	rows.addParts(p.fixed, p.state, p.outside, more)
	t.giveBack(p)
}

// updateRow adds a record with a new version.
func (t *table[R]) updateRow(rows *batch, old, now *R, more ...any) {
	p := t.places(old, now)
	rows.addParts(p.state, p.outside, more, p.key, []any{t.version(old)}, p.was)
	t.giveBack(p)
}

// touchRow adds a record that changed outside its version.
func (t *table[R]) touchRow(rows *batch, old, now *R) {
	p := t.places(old, now)
	rows.addParts(p.outside, p.key, []any{t.version(old)}, p.was)
	t.giveBack(p)
}

// updateUnder and touchUnder are the same for a record with a head, of which they
// take the id and the version.
func (t *table[R]) updateUnder(rows *batch, old, now *R, head any, version int64) {
	p := t.places(old, now)
	rows.addParts(p.state, p.outside, p.key, []any{t.version(old)}, p.was, []any{head, version})
	t.giveBack(p)
}

func (t *table[R]) touchUnder(rows *batch, old, now *R, head any, version int64) {
	p := t.places(old, now)
	rows.addParts(p.outside, p.key, []any{t.version(old)}, p.was, []any{head, version})
	t.giveBack(p)
}

// places are where the values of a row are taken from: its columns, and what a stored row is compared with beside the
// version, which are its key and what it had outside the version.
type places[R any] struct {
	old, now                        *R
	fixed, state, outside, key, was []any
}

// places returns those of a record; old is nil if the record is new. The lists of a table with fieldsOnly are made once
// and point to a record of their own, to which this one is copied.
func (t *table[R]) places(old, now *R) *places[R] {
	if !t.fieldsOnly {
		return t.placesOf(old, now)
	}
	p, _ := t.spare.Get().(*places[R])
	if p == nil {
		p = t.placesOf(new(R), new(R))
	}
	*p.now = *now
	if old != nil {
		*p.old = *old
	}
	return p
}

func (t *table[R]) placesOf(old, now *R) *places[R] {
	p := &places[R]{old: old, now: now, fixed: cells(t.fixed(now)), state: cells(t.state(now)), outside: cells(t.outside(now))}
	p.key = p.fixed[:t.keys]
	if old == nil {
		return p
	}
	for _, c := range t.outside(old) {
		if c.spec != leaseUntil {
			p.was = append(p.was, c.at)
		}
	}
	return p
}

// giveBack keeps places for the next record, without what the last one holds.
func (t *table[R]) giveBack(p *places[R]) {
	if t.fieldsOnly {
		var none R
		*p.old, *p.now = none, none
		t.spare.Put(p)
	}
}

// rowsOf are the rows of a Save in one table, by what happens to them.
type rowsOf[R any] struct {
	*table[R]
	added, changed, touched batch
}

// add takes a record that is new, has a new version, or changed outside of it.
func (s *rowsOf[R]) add(old, now *R) {
	switch was := s.version(old); {
	case was == s.version(now):
		s.touchRow(&s.touched, old, now)
	case was == 0:
		s.insertRow(&s.added, now)
	default:
		s.updateRow(&s.changed, old, now)
	}
}

// write writes them. The stored ones are locked already.
func (s *rowsOf[R]) write(x *tx) error {
	return inTurn(
		func() error { return s.writeChanged(x, &s.changed) },
		func() error { return s.writeTouched(x, &s.touched) },
		func() error { return s.writeNew(x, &s.added) })
}

// lockAndWrite is write of rows that nobody has locked.
func (s *rowsOf[R]) lockAndWrite(x *tx) error {
	if s.added.len()+s.changed.len()+s.touched.len() == 0 {
		return nil
	}
	if err := s.lockInOrder(x, writing{&s.updateOne, &s.changed}, writing{&s.touchOne, &s.touched}); err != nil {
		return err
	}
	return s.write(x)
}

// writeNew inserts rows. One that exists is [statemachine.ErrConflict], and what
// a unique rule gave to another record is that rule's error.
func (t *table[R]) writeNew(x *tx, rows *batch) error {
	if rows.len() == 0 {
		return nil
	}
	n, err := x.write(&t.insertOne, rows)
	if err != nil || n == int64(rows.len()) {
		return err
	}
	return t.fewNew(x, rows)(n)
}

// fewNew says why not all of some rows were inserted.
func (t *table[R]) fewNew(x *tx, rows *batch) func(int64) error {
	return func(n int64) error {
		return cmp.Or(t.holders(x, t.insertOne.rows, rows), want(rows.len(), n, t.name))
	}
}

// locking is the statement of lockInOrder.
func (t *table[R]) locking() statement {
	key := columnNames(t.key, "x.")
	return statement{once: true, set: t.key, text: "SELECT " + key + " FROM @" + t.name + " x WHERE (" + key + ") IN (SELECT " +
		columnNames(t.key, "r.") + " FROM {set}) ORDER BY " + key + " FOR NO KEY UPDATE OF x"}
}

// lockInOrder locks the stored rows of some batches by their keys, so that two transactions that write the same rows
// wait for one another and do not deadlock: without it an UPDATE locks its rows in the order of its plan, and several
// statements lock one after the other. On SQLite there is one writer.
func (t *table[R]) lockInOrder(x *tx, all ...writing) error {
	set := new(batch)
	for _, w := range all {
		for i, at := 0, indexOf(w.statement.rows, firstName(t.key)); i < len(w.rows.values); i += w.rows.width {
			set.add(w.rows.values[i+at : i+at+t.keys]...)
		}
	}
	if x.store.Dialect == SQLite || set.len() < 2 {
		return nil
	}
	return x.read(&t.inOrder, set, func(*sql.Rows) error { return nil })
}

// firstName is the name of the first column of a list.
func firstName(list string) string {
	name, _, _ := strings.Cut(list, " ")
	return name
}

// writeChanged writes rows with a new version that are as they were read.
func (t *table[R]) writeChanged(x *tx, rows *batch) error {
	return t.compareAndSwap(x, &t.updateOne, rows)
}

// writeTouched writes rows that changed outside the version.
func (t *table[R]) writeTouched(x *tx, rows *batch) error {
	return t.compareAndSwap(x, &t.touchOne, rows)
}

func (t *table[R]) compareAndSwap(x *tx, st *statement, rows *batch) error {
	if rows.len() == 0 {
		return nil
	}
	n, err := x.write(st, rows)
	if err != nil || n == int64(rows.len()) {
		return err
	}
	return t.refused(x, st, rows)
}

// swapLater is writeChanged or writeTouched that may wait, see [tx.later].
func (t *table[R]) swapLater(x *tx, st *statement, rows *batch) error {
	return x.later(stage{statement: st, rows: rows, few: func(int64) error { return t.refused(x, st, rows) }})
}

// refused says why rows were not written: of versions, unique rules, fences and
// what else is outside the version the first that is not as it was read.
func (t *table[R]) refused(x *tx, st *statement, rows *batch) error {
	set := new(batch)
	id, version := indexOf(st.rows, columnNames(t.key, "")), indexOf(st.rows, "old_version")
	fence := version
	if t.leased {
		fence = indexOf(st.rows, "old_lease_fence")
	}
	old, stored, fences, fenced := map[string]int64{}, map[string]int64{}, map[string]int64{}, ""
	for i := 0; i < len(rows.values); i += rows.width {
		key, at := fmt.Sprint(rows.values[i+id]), rows.values[i+version].(int64)
		set.add(rows.values[i+id], key, at)
		old[key], fences[key] = at, rows.values[i+fence].(int64)
	}
	err := x.read(&t.storedNow, set, func(rows *sql.Rows) error {
		var key string
		var now, holds int64
		var logged sql.NullInt64
		err := rows.Scan(&key, &now, &holds, &logged)
		stored[key] = now
		if t.leased && holds != fences[key] && now == old[key] {
			fenced = key
		}
		if err == nil && !logged.Valid && now >= old[key] {
			delete(old, key)
		}
		return err
	}, t.machine)
	if err != nil {
		return err
	}
	var stale []string
	for key := range old {
		stale = append(stale, key)
	}
	if len(stale) > 0 {
		key := slices.Min(stale)
		x.stale = fmt.Sprint(t.machine, " ", key, " ", old[key])
		return t.refusal(statemachine.ErrConflict, key, fmt.Sprintf("expected version %d, stored is %d", old[key], stored[key]))
	}
	if err := t.holders(x, st.rows, rows); err != nil {
		return err
	}
	if fenced != "" {
		x.stale = fmt.Sprint(t.machine, " ", fenced, " under fence ", fences[fenced])
		return t.refusal(statemachine.ErrFenced, fenced, "another lease was given since it was read")
	}
	return t.refusal(statemachine.ErrConflict, "",
		"what is outside its version, such as its lease, or the head of its aggregate was changed since it was read")
}

func (t *table[R]) refusal(err error, id, reason string) error {
	return &statemachine.Refusal{Err: err, Machine: t.machine, ID: id, Event: "save", Reason: reason}
}

// holders returns the error of the first unique rule that gave to another record
// what one of the rows asks for.
func (t *table[R]) holders(x *tx, spec string, rows *batch) error {
	for i, u := range t.unique {
		if _, ok := u.same(spec, "x"); !ok {
			continue
		}
		at := []int{indexOf(spec, columnNames(t.key, ""))}
		for _, name := range u.columns {
			at = append(at, indexOf(spec, name))
		}
		holder, err := x.holder(&t.holdersNow[i], rows, at...)
		if err != nil {
			return err
		}
		if holder != "" {
			return u.taken(holder)
		}
	}
	return nil
}

// holder returns the id that st finds for one of the rows, of which it takes some
// columns; empty if there is none.
func (x *tx) holder(st *statement, rows *batch, columns ...int) (id string, err error) {
	set := new(batch)
	for i := 0; i < len(rows.values); i += rows.width {
		var row []any
		for _, c := range columns {
			row = append(row, rows.values[i+c])
		}
		set.add(row...)
	}
	err = x.read(st, set, func(rows *sql.Rows) error { return rows.Scan(&id) })
	return id, err
}

// leases are the statements that renew the leases of a table and find those that
// are lost.
type leases struct {
	renew, lost statement
	lock        func(*tx, ...writing) error
}

func leaseTable[R any](t *table[R]) *leases {
	held := t.sameKey("x", "r") + " AND x.lease_fence = r.fence AND x.lease_holder IS NOT NULL AND x.lease_until > r.at"
	return &leases{
		lock: t.lockInOrder,
		renew: statement{once: true, rows: t.key + ", fence int, until time, at time",
			text: "UPDATE @" + t.name + " AS x SET lease_until = r.until FROM {rows} WHERE " + held},
		lost: statement{once: true, set: t.key + ", fence int, at time", text: "SELECT " + columnNames(t.key, "r.") +
			" FROM {set} WHERE NOT EXISTS (SELECT 1 FROM @" + t.name + " x WHERE " + held + ")"},
	}
}

// heldBy is the statement for a page of the keys of rows whose lease has a
// holder, see ids.
func (t *table[R]) heldBy() statement {
	key := columnNames(t.key, "x.")
	return statement{text: "SELECT " + key + " FROM @" + t.name + " x WHERE x.lease_holder = $3 AND " + key + " > $1 ORDER BY " + key +
		" LIMIT $2"}
}

// renew moves the end of the leases that are held under their fence at now, and
// returns whose are lost.
func renew[K comparable](x *tx, l *leases, machine string, now time.Time, all []store.Lease[K]) (lost []K, err error) {
	rows, asked := new(batch), new(batch)
	for _, r := range all {
		rows.add(r.ID, r.Fence, r.Until, now)
		asked.add(r.ID, r.Fence, now)
	}
	if rows.len() == 0 {
		return nil, nil
	}
	var renewed int64
	err = x.save(machine, func() (err error) {
		if err = l.lock(x, writing{&l.renew, rows}); err == nil {
			renewed, err = x.write(&l.renew, rows)
		}
		return err
	})
	if err == nil {
		err = x.flush()
	}
	if err != nil || renewed == int64(rows.len()) {
		return nil, err
	}
	gone := map[K]bool{}
	err = x.read(&l.lost, asked, func(rows *sql.Rows) error {
		var id K
		err := rows.Scan(&id)
		gone[id] = true
		return err
	})
	for _, r := range all {
		if gone[r.ID] {
			lost = append(lost, r.ID)
		}
	}
	return lost, err
}
