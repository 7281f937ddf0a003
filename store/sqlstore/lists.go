package sqlstore

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// What the domains ask and write alike, beside the records of a [table].

// inOrderOf returns the aggregates that load finds for ids, in their order.
func inOrderOf[A any](ids []string, load func(set *batch, each func(string, *A)) error) ([]A, error) {
	found := make([]A, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	set, at := new(batch), map[string]A{}
	for _, id := range ids {
		set.add(id)
	}
	if err := load(set, func(id string, a *A) { at[id] = *a }); err != nil {
		return nil, err
	}
	for i, id := range ids {
		found[i] = at[id]
	}
	return found, nil
}

// dueOf returns the first limit aggregates that are due and locks them. An aggregate that cannot be read, such as a row
// with a status of a later version, is left out and named in unreadable with the reason; since it stays due before
// others, these are looked for behind it. If ahead is set, dueOf returns aggregates that are due later than ahead,
// instead of those due at now.
func dueOf[K comparable, A any](t *tx, machine string, w *dueWork, now, ahead time.Time, grace time.Duration, limit int,
	get func(...K) ([]A, error), filters ...any) (found []A, unreadable []error, err error) {
	switch {
	case w == nil || len(filters) > len(w.filters):
		return nil, nil, fmt.Errorf("%w: there is no such due work of a %s", statemachine.ErrInvalid, machine)
	case t.view:
		return nil, nil, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: machine, Event: "due", Reason: "a View locks nothing"}
	}
	if err := store.CheckLimit(limit); err != nil {
		return nil, nil, err
	}
	statements, args := w.found, []any{int64(limit), now}
	switch {
	case !ahead.IsZero() && w.putOff != "":
		statements, args = w.ahead, append(args, ahead)
	case !ahead.IsZero() && w.later != "":
		statements, args = w.ahead, []any{int64(limit), ahead.Add(-grace), ahead}
	case !ahead.IsZero():
		statements, args = w.ahead, []any{int64(limit), ahead}
	case w.later != "":
		args = append(args, now.Add(-grace))
	}
	args = append(args, filters...)
	for ask := limit; ; ask += limit {
		args[0] = int64(ask)
		ids, err := firstColumn[K](t, statements[t.store.Dialect][len(filters)], args...)
		if err != nil {
			return nil, nil, err
		}
		if found, unreadable, err = readable(t, ids, get); err != nil {
			return nil, nil, err
		}
		if len(found) >= limit || len(ids) < ask || ask >= 10*limit {
			t.store.unread.note(machine, fmt.Sprintf("%p %v %v", w, filters, ahead.IsZero()), unreadable)
			return found[:min(len(found), limit)], unreadable, nil
		}
	}
}

// readable leaves out the aggregates that cannot be read.
func readable[K comparable, A any](t *tx, ids []K, get func(...K) ([]A, error)) (all []A, unreadable []error, err error) {
	all, err = get(ids...)
	if err == nil || t.err != nil { // or the database itself has failed
		return all, nil, err
	}
	all = nil
	for _, id := range ids {
		one, err := get(id)
		switch {
		case err == nil:
			all = append(all, one...)
		case t.err != nil:
			return nil, nil, err
		default:
			unreadable = append(unreadable, err)
		}
	}
	return all, unreadable, nil
}

// firstColumn returns the first column of a query.
func firstColumn[V any](t *tx, st *statement, args ...any) (all []V, err error) {
	err = t.read(st, nil, func(rows *sql.Rows) error {
		var v V
		err := rows.Scan(&v)
		all = append(all, v)
		return err
	}, args...)
	return all, err
}

// ids is a page of text ids behind one.
func (t *tx) ids(st *statement, after string, limit int, more ...any) ([]string, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return firstColumn[string](t, st, append([]any{after, int64(limit)}, more...)...)
}

// onlyTime is the one time that a query finds; zero for none. A time that cannot be read, such as a text that an
// operator wrote, does not hide those behind it: the query is run again with it as its first argument.
func (t *tx) onlyTime(st *statement, args ...any) (at time.Time, err error) {
	for {
		var raw any
		err = t.read(st, nil, func(rows *sql.Rows) error { return rows.Scan(&raw) }, args...)
		if err != nil {
			return at, err
		}
		if err = maybe(&at).Scan(raw); err == nil || len(args) == 0 {
			return at, err
		}
		args = append([]any{raw}, args[1:]...)
	}
}

// numberedRows is a table whose rows are numbered, never changed but to be dealt
// with, and read in pages: incidents, discrepancies.
type numberedRows[R any] struct {
	*table[R]
	lock, behind statement
}

// newNumberedRows returns a table with a growing number in a column.
func newNumberedRows[R any](t *table[R], number string) *numberedRows[R] {
	return &numberedRows[R]{t,
		statement{text: "SELECT pg_advisory_xact_lock(hashtextextended('settle " + t.name + "', 0))"},
		statement{text: "SELECT " + number + ", " + t.columns("") + " FROM @" + t.name + " WHERE " + number + " > $1 ORDER BY " + number +
			" LIMIT $2"}}
}

// add writes what is not there yet. A lock makes the order of numbers that of
// the commits, so that a reader of pages misses none; the rows are rare.
func (j *numberedRows[R]) add(t *tx, rows *batch) error {
	if rows.len() == 0 {
		return nil
	}
	if t.store.Dialect == Postgres {
		if err := t.read(&j.lock, nil, func(*sql.Rows) error { return nil }); err != nil {
			return err
		}
	}
	return t.some(&j.insertOne, rows)
}

// pageOf returns the rows behind a number, and the number of the last of them.
func (j *numberedRows[R]) pageOf(t *tx, after int64, limit int) ([]R, int64, error) {
	return numbered(t, j.table, &j.behind, after, limit)
}

// numbered reads a page of rows in the order of their numbers, which are the
// first column.
func numbered[R any](x *tx, t *table[R], st *statement, after int64, limit int) (page []R, cursor int64, err error) {
	cursor = after
	if err := store.CheckPage(after, limit); err != nil {
		return nil, cursor, err
	}
	var r R
	fields := append([]any{&cursor}, t.cells(&r)...)
	err = x.read(st, nil, func(rows *sql.Rows) error {
		err := rows.Scan(fields...)
		page = append(page, r)
		return located(err, t.name, cursor)
	}, after, int64(limit))
	return page, cursor, err
}

// alter is the statement that writes the state of rows that have no version of
// their own: that of their record was compared in the same commit.
func (t *table[R]) alter() statement {
	state := t.state(new(R)).spec()
	return statement{once: true, rows: state + ", " + t.key, text: "UPDATE @" + t.name + " AS x SET " + assignments(state) +
		" FROM {rows} WHERE " + t.sameKey("x", "r")}
}

func (t *table[R]) alterRow(rows *batch, r *R) {
	rows.add(append(cells(t.state(r)), cells(t.fixed(r)[:t.keys])...)...)
}

// some writes rows if there are any.
func (t *tx) some(st *statement, rows *batch) error {
	if rows.len() == 0 {
		return nil
	}
	_, err := t.write(st, rows)
	return err
}

// inTurn does steps until one fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
