package sqlstore

import (
	"database/sql"
	"fmt"
	"math"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

const transitionRows = "machine text, id text, version int, from_status text, trigger text, to_status text, at time, actor text, role text, reason text, data text"

// writeTransitions has one text for each dialect, since only PostgreSQL has
// concurrent writers and needs a horizon, see the migration.
var writeTransitions = map[Dialect]*statement{
	SQLite: {once: true, rows: transitionRows, text: "INSERT INTO transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, reason, data) " +
		"SELECT 0, " + columnNames(transitionRows, "r.") + " FROM {rows}"},
	Postgres: {once: true, rows: transitionRows, text: "INSERT INTO @transitions (horizon, machine, id, version, from_status, trigger, to_status, at, actor, role, reason, data) " +
		"SELECT greatest((SELECT pg_current_xact_id()::text::bigint), (SELECT p.horizon FROM @transitions p " +
		"WHERE r.version > 1 AND p.machine = r.machine AND p.id = r.id ORDER BY p.version DESC LIMIT 1)), " + columnNames(transitionRows, "r.") + " FROM {rows}"},
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
		rows.add(l.Machine, fmt.Sprint(l.ID), l.Version, l.From, l.Trigger, l.To, l.At, l.Actor, l.Role, l.Reason, l.Data)
	}
	if _, err := t.write(writeTransitions[t.store.Dialect], rows); err != nil {
		return fmt.Errorf("audit trail: %w", err)
	}
	return nil
}

const transitionColumns = "SELECT horizon, n, machine, id, version, from_status, trigger, to_status, at, actor, role, reason, data FROM @transitions "

var (
	transitionsOf     = statement{text: transitionColumns + "WHERE machine = $1 AND id = $2 ORDER BY version"}
	followTransitions = map[Dialect]*statement{
		SQLite: {set: "machine text", text: transitionColumns + "WHERE n > $2 AND $1 = 0 AND machine IN (SELECT r.machine FROM {set}) ORDER BY n LIMIT $3"},
		Postgres: {set: "machine text", text: transitionColumns + "WHERE (horizon, n) > ($1, $2) AND horizon < pg_snapshot_xmin(pg_current_snapshot())::text::bigint " +
			"AND machine IN (SELECT r.machine FROM {set}) ORDER BY horizon, n LIMIT $3"},
	}
)

// place is where a transition is in the order of commits.
type place struct{ horizon, n int64 }

func readTransitions[ID comparable](t *tx, st *statement, set *batch, parse func(string) (ID, error), args ...any) (log []statemachine.Transition[ID], last place, err error) {
	err = t.read(st, set, func(rows *sql.Rows) error {
		var l statemachine.Transition[ID]
		var id string
		err := rows.Scan(&last.horizon, &last.n, &l.Machine, &id, &l.Version, &l.From, &l.Trigger, &l.To, (*timeColumn)(&l.At), &l.Actor, &l.Role, &l.Reason, &l.Data)
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
func follow[ID comparable](t *tx, after store.Cursor, limit int, parse func(string) (ID, error), machines ...string) ([]statemachine.Transition[ID], store.Cursor, error) {
	var at place
	if after != "" {
		if n, err := fmt.Sscanf(string(after), "%d.%d", &at.horizon, &at.n); err != nil || n != 2 || cursor(at) != after {
			return nil, after, fmt.Errorf("%w: cursor %.100q", statemachine.ErrInvalid, string(after))
		}
	}
	names := new(batch)
	for _, m := range machines {
		names.add(m)
	}
	log, last, err := readTransitions(t, followTransitions[t.store.Dialect], names, parse, at.horizon, at.n, int64(min(max(limit, 1), math.MaxInt32)))
	if err != nil || len(log) == 0 {
		return nil, after, err
	}
	return log, cursor(last), nil
}

func cursor(p place) store.Cursor { return store.Cursor(fmt.Sprintf("%d.%d", p.horizon, p.n)) }
