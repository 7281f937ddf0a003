package sqlstore

import (
	"cmp"
	"database/sql"
	"fmt"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

const transitionRows = "machine text, id text, version int, from_status text, trigger text, to_status text, at time, actor text, role " +
	"text, trace text, reason text, data text"

const (
	// base is what is added to the number of a transaction, see Restored.
	base = "(SELECT b.base FROM @settle_places b ORDER BY b.n DESC LIMIT 1)"
	// generation is how often the database was put back, see Restored.
	generation = "(SELECT g.generation FROM @settle_places g ORDER BY g.n DESC LIMIT 1)"
	// overtaken is whether a transaction with a higher number than ours has ended: only then a line that
	// can be read has a higher horizon. A statement that is its transaction's first write never is.
	overtaken = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint > pg_current_xact_id()::text::bigint"
	// restored is whether a line has a higher number than any transaction that this
	// server has begun: another server wrote it, and the database is a copy. Lines that
	// can be read are of transactions that have ended, below xmax, or of this one.
	restored = "coalesce((SELECT l.horizon FROM @transitions l ORDER BY l.horizon DESC, l.n DESC LIMIT 1) > " + base +
		" + greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1, coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)), " +
		"false)"
)

// writeTransitions has one text for each dialect, since only PostgreSQL has concurrent writers and needs a horizon, see
// the migration. It writes nothing if the lines would sort before lines that observers have seen. It writes nothing for
// a process that opened the database before it was put back, whose versions, fences and numbers may stand for other
// contents now; nor for a process that opened it before a migration which no longer allows that process.
var writeTransitions = map[Dialect]*statement{
	SQLite: {once: true, rows: transitionRows,
		text: "INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data) " +
			"SELECT 0, " + columnNames(transitionRows, "r.") + " FROM {rows} WHERE $1 = " + generation + " AND NOT {newer}"},
	Postgres: {once: true, rows: transitionRows,
		text: "INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, data) " +
			"SELECT greatest((SELECT " + base + " + pg_current_xact_id()::text::bigint), (SELECT p.horizon FROM @transitions p " +
			"WHERE r.version > 1 AND (SELECT " + overtaken + ") AND p.machine = r.machine AND p.id = r.id " +
			"ORDER BY p.version DESC LIMIT 1)), " + columnNames(transitionRows, "r.") +
			" FROM {rows} WHERE $1 = (SELECT " + generation + ") AND NOT (SELECT " + restored + ") AND NOT {newer}"},
}

// logTransitions appends to the audit trail of any machine. A version that is
// there already is [statemachine.ErrConflict].
func logTransitions[ID comparable](t *tx, log []statemachine.Transition[ID]) error {
	if len(log) == 0 {
		return nil
	}
	rows := new(batch)
	for i := range log {
		l := &log[i]
		rows.add(l.Machine, fmt.Sprint(l.ID), l.Version, l.From, l.Trigger, l.To, l.At, l.Actor, l.Role, l.Trace, l.Reason, l.Data)
	}
	return t.later(stage{statement: writeTransitions[t.store.Dialect], rows: rows, scalars: []any{t.store.generation}, what: "audit trail",
		few: func(int64) error { return fmt.Errorf("audit trail: %w", cmp.Or(t.mayWrite(), store.ErrRestored)) }})
}

var isNewer = statement{text: "SELECT {newer}"}

// mayWrite reports a migration that came while the process ran, see [ErrNewerTables].
func (t *tx) mayWrite() error {
	return t.read(&isNewer, nil, func(rows *sql.Rows) error {
		var is bool
		if err := rows.Scan(&is); err != nil {
			return err
		}
		return newer(is)
	})
}

func newer(is bool) error {
	if !is {
		return nil
	}
	return fmt.Errorf("%w: they were migrated while this process ran: start a later version", ErrNewerTables)
}

const transitionColumns = "SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, trace, reason, " +
	"data FROM @transitions "

var (
	transitionsOf     = statement{text: transitionColumns + "WHERE machine = $1 AND id = $2 ORDER BY version"}
	transitionAt      = statement{text: transitionColumns + "WHERE horizon = $1 AND n = $2"}
	followTransitions = map[Dialect]*statement{
		SQLite: {set: "machine text", text: transitionColumns +
			"WHERE n > $2 AND $1 = 0 AND data <> $4 AND machine IN (SELECT r.machine FROM {set}) ORDER BY n LIMIT $3"},
		Postgres: {set: "machine text", text: transitionColumns + "WHERE (horizon, n) > ($1, $2) AND horizon < " + oldest +
			" AND data <> $4 AND machine IN (SELECT r.machine FROM {set}) ORDER BY horizon, n LIMIT $3"},
	}
	lastTransition = map[Dialect]*statement{
		SQLite:   {text: transitionColumns + "ORDER BY n DESC LIMIT 1"},
		Postgres: {text: transitionColumns + "WHERE horizon < " + oldest + " ORDER BY horizon DESC, n DESC LIMIT 1"},
	}
	newestTransition = map[Dialect]*statement{
		SQLite:   lastTransition[SQLite],
		Postgres: {text: transitionColumns + "ORDER BY horizon DESC, n DESC LIMIT 1"},
	}
	isRestored = statement{text: "SELECT " + restored}
)

// oldest is the horizon of the oldest transaction that runs.
const oldest = "(SELECT " + base + " + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)"

// place is where a transition is in the order of commits.
type place struct{ horizon, n int64 }

func readTransitions[ID comparable](t *tx, st *statement, set *batch, parse func(string) (ID, error),
	args ...any) (log []statemachine.Transition[ID], last place, err error) {
	err = t.read(st, set, func(rows *sql.Rows) error {
		var l statemachine.Transition[ID]
		var id string
		err := rows.Scan(&last.horizon, &last.n, &l.Machine, &id, &l.Version, &l.From, &l.Trigger, &l.To, (*timeColumn)(&l.At), &l.Actor, &l.Role,
			&l.Trace, &l.Reason, &l.Data)
		if err != nil {
			return err
		}
		if l.ID, err = parse(id); err != nil {
			return fmt.Errorf("%w: id %q in transitions: %w", statemachine.ErrCorrupt, id, err)
		}
		log = append(log, l)
		return nil
	}, args...)
	return log, last, err
}

// transitions returns the audit trail of one record, oldest first.
func transitions[ID comparable](t *tx, machine string, id ID) ([]statemachine.Transition[ID], error) {
	log, _, err := readTransitions(t, &transitionsOf, nil, func(string) (ID, error) { return id, nil }, machine, fmt.Sprint(id))
	return log, err
}

// follow is [store.Feed] for some machines.
func follow[ID comparable](t *tx, after store.Cursor, limit int, parse func(string) (ID, error),
	machines ...string) ([]statemachine.Transition[ID], store.Cursor, error) {
	return followBut(t, "-", after, limit, parse, machines...) // which no line has as its data
}

// followBut is follow without the lines that have these data.
func followBut[ID comparable](t *tx, hidden string, after store.Cursor, limit int, parse func(string) (ID, error),
	machines ...string) ([]statemachine.Transition[ID], store.Cursor, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, after, err
	}
	at, err := t.placeOf(after)
	if err != nil {
		return nil, after, err
	}
	names := new(batch)
	for _, m := range machines {
		names.add(m)
	}
	log, last, err := readTransitions(t, followTransitions[t.store.Dialect], names, parse, at.horizon, at.n, int64(limit), hidden)
	if err != nil || len(log) == 0 {
		return nil, after, err
	}
	return log, cursorOf(last, log[len(log)-1]), nil
}

// head is the newest line of any machine that follow may return.
func (t *tx) head() (store.Cursor, error) {
	if err := t.notRestored(); err != nil {
		return "", err
	}
	log, last, err := readTransitions(t, lastTransition[t.store.Dialect], nil, asText)
	if err != nil || len(log) == 0 {
		return "", err
	}
	return cursorOf(last, log[0]), nil
}

// placeIn returns the place that a cursor names.
func (t *tx) placeIn(c store.Cursor) (at place, err error) {
	if err := t.notRestored(); err != nil || c == "" {
		return at, err
	}
	text, err := c.Place()
	if err != nil {
		return at, err
	}
	if _, err := fmt.Sscanf(text, "%d.%d", &at.horizon, &at.n); err != nil || at.text() != text {
		return at, c.Gone()
	}
	return at, nil
}

// placeOf returns the place of a cursor whose line is as it was.
func (t *tx) placeOf(c store.Cursor) (at place, err error) {
	if at, err = t.placeIn(c); err != nil || c == "" {
		return at, err
	}
	log, _, err := readTransitions(t, &transitionAt, nil, asText, at.horizon, at.n)
	if err == nil && (len(log) == 0 || cursorOf(at, log[0]) != c) {
		err = c.Gone()
	}
	return at, err
}

func (t *tx) notRestored() error {
	if t.store.Dialect == SQLite {
		return nil
	}
	var is bool
	err := t.read(&isRestored, nil, func(rows *sql.Rows) error { return rows.Scan(&is) })
	if err == nil && is {
		err = store.ErrRestored
	}
	return err
}

// feed is what the records of a domain say of the trails of some machines, whose
// ids parse reads: Transitions, Head and Follow.
type feed[L comparable] struct {
	*tx
	parse    func(string) (L, error)
	machines []string
}

// Transitions returns the trail of a record of the first machine that has one.
func (f feed[L]) Transitions(id L) ([]statemachine.Transition[L], error) {
	for _, machine := range f.machines {
		if log, err := transitions(f.tx, machine, id); err != nil || len(log) > 0 {
			return log, err
		}
	}
	return nil, nil
}

// Head implements [store.Feed].
func (f feed[L]) Head() (store.Cursor, error) { return f.head() }

// Follow implements [store.Feed].
func (f feed[L]) Follow(after store.Cursor, limit int) ([]statemachine.Transition[L], store.Cursor, error) {
	return follow(f.tx, after, limit, f.parse, f.machines...)
}

func asText(id string) (string, error) { return id, nil }

func (p place) text() string { return fmt.Sprintf("%d.%d", p.horizon, p.n) }

func cursorOf[ID comparable](p place, line statemachine.Transition[ID]) store.Cursor {
	return store.CursorOf(p.text(), line)
}
