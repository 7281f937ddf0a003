package sqlstore

import (
	"database/sql"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
)

// switchRecords stores package switches.
type switchRecords struct{ feed[switches.Scope] }

var _ store.SwitchRecords = switchRecords{}

// Switches implements [store.SwitchUnit].
func (t *tx) Switches() store.SwitchRecords {
	asScope := func(s string) (switches.Scope, error) { return switches.Scope(s), nil }
	return switchRecords{feed[switches.Scope]{t, asScope, []string{switches.Machine.Name()}}}
}

var switchTable = newTable(table[switches.Switch]{
	name:    "settle_switches",
	machine: switches.Machine.Name(),
	version: func(s *switches.Switch) int64 { return s.Version },
	fixed:   func(s *switches.Switch) list { return list{{"scope text", always(&s.Scope)}} },
	state: func(s *switches.Switch) list {
		return list{{"level text", always(&s.Level)}, {"actor text", maybe(&s.Actor)}, {"reason text", maybe(&s.Reason)},
			{"since time", maybe(&s.Since)},
			{"recovering bool", always(&s.Recovering)}, {"recovery text", maybe(&s.Recovery)}, {"generation int", always(&s.Generation)},
			{"recovered_at time", maybe(&s.RecoveredAt)}, {"version int", always(&s.Version)}}
	},
})

var (
	selectSwitches = statement{set: "scope text", text: "SELECT " + switchTable.columns("x.") +
		" FROM @settle_switches x WHERE x.scope IN (SELECT r.scope FROM {set})"}
	pageOfSwitches = switchTable.page("", "scope")

	// One round trip: it takes the locks first and reads then, see settle_ask.
	askSwitches = statement{text: "SELECT " + switchTable.columns("x.") + " FROM @settle_ask($1, {lossless}) x" + orNewer}
	readSwitch  = statement{text: "SELECT " + switchTable.columns("x.") + " FROM @settle_switches x WHERE x.scope IN ('everything', $1)" +
		orNewer}
	isMoved = statement{text: "SELECT {moved}"}

	// quietScope tries the exclusive lock and gives it back in the same statement. The try does
	// not queue, so no transaction that asks the switch waits behind it, and a process that dies
	// leaves no lock.
	quietScope = statement{text: "SELECT CASE WHEN pg_try_advisory_lock(" + switchLock + ") THEN pg_advisory_unlock(" + switchLock +
		") ELSE false END"}
	askedScope = statement{text: "SELECT coalesce(l.pid, 0), a.xact_start, coalesce(a.application_name, ''), coalesce(a.state, '') FROM " +
		"pg_locks l " +
		"LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ShareLock' AND l.objsubid = 1 " +
		"AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) " +
		"AND (l.classid::bigint << 32 | l.objid::bigint) = " + switchLock + " ORDER BY a.xact_start, l.pid"}
)

// orNewer adds a row where a migration leaves no room for this process.
const orNewer = " UNION ALL SELECT '" + newerRow + "', 'on', NULL, NULL, NULL, true, 'send', 0, NULL, 1 WHERE {newer}"

// switchLock is the lock of a scope, as settle_ask takes it.
const switchLock = "hashtextextended('@settle_switches ' || $1, 0)"

// Get implements [store.SwitchRecords].
func (r switchRecords) Get(scopes ...switches.Scope) ([]switches.Switch, error) {
	set, at := new(batch), map[switches.Scope]switches.Switch{}
	for _, s := range scopes {
		set.add(string(s))
	}
	err := switchTable.read(r.tx, &selectSwitches, set, func(s *switches.Switch) { at[s.Scope] = *s })
	if err != nil {
		return nil, err
	}
	found := make([]switches.Switch, len(scopes))
	for i, s := range scopes {
		found[i] = at[s]
	}
	return found, nil
}

// List implements [store.SwitchRecords].
func (r switchRecords) List(after switches.Scope, limit int) ([]switches.Switch, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return switchTable.find(r.tx, &pageOfSwitches, nil, string(after), int64(limit))
}

// Ask implements [store.SwitchRecords].
func (r switchRecords) Ask(scope switches.Scope) (switches.State, error) {
	if err := scope.Validate(); err != nil {
		return switches.State{}, err
	}
	st := &readSwitch
	if r.store.Dialect == Postgres && !r.view {
		st = &askSwitches
	}
	var all, own switches.Switch
	moved, late := false, false
	err := switchTable.read(r.tx, st, nil, func(s *switches.Switch) {
		if s.Scope == switches.Everything {
			all = *s
		}
		moved = moved || s.Scope == movedRow
		late = late || s.Scope == newerRow
		if s.Scope == scope {
			own = *s
		}
	}, string(scope))
	if err == nil && !r.view {
		err = newer(late)
	}
	if err == nil && st == &readSwitch && r.store.Dialect == Postgres {
		moved, err = r.moved()
	}
	is := switches.Of(all, own)
	if moved {
		is = is.Elsewhere()
	}
	return is, err
}

// movedRow is the scope of the row by which settle_ask says that the database is not
// where it was.
const movedRow = "moved"

// newerRow is the scope of the row by which a migration says that it leaves no room.
const newerRow = "newer"

func (t *tx) moved() (is bool, err error) {
	err = t.read(&isMoved, nil, func(rows *sql.Rows) error {
		var level sql.NullString
		err := rows.Scan(&level)
		is = level.Valid
		return err
	})
	return is, err
}

// Open implements [store.SwitchRecords].
func (r switchRecords) Open(scope switches.Scope) (open []store.OpenTransaction, err error) {
	if r.view {
		return nil, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: switches.Machine.Name(), ID: string(scope), Event: "open",
			Reason: "a View locks nothing"}
	}
	if r.store.Dialect == SQLite {
		return nil, r.flush()
	}
	for quiet := false; !quiet; {
		if err := r.read(&quietScope, nil, func(rows *sql.Rows) error { return rows.Scan(&quiet) }, string(scope)); err != nil || quiet {
			return nil, err
		}
		err := r.read(&askedScope, nil, func(rows *sql.Rows) error {
			var one store.OpenTransaction
			err := rows.Scan(&one.PID, maybe(&one.Since), &one.Application, &one.State)
			open = append(open, one)
			return err
		}, string(scope))
		if err != nil || len(open) > 0 { // else the last one has ended meanwhile
			return open, err
		}
	}
	return nil, nil
}

// Save implements [store.SwitchRecords].
func (r switchRecords) Save(changes ...switches.Change) error {
	return r.save(switches.Machine.Name(), func() error {
		rows := rowsOf[switches.Switch]{table: switchTable}
		var log []statemachine.Transition[switches.Scope]
		for i := range changes {
			c := &changes[i]
			if err := c.Complete(); err != nil {
				return err
			}
			if !c.Empty() {
				rows.add(&c.Old, &c.New)
			}
			log = append(log, c.Log...)
		}
		return inTurn(
			func() error { return rows.lockAndWrite(r.tx) },
			func() error { return logTransitions(r.tx, log) })
	})
}

// stoppedAt is the SQL condition that a scope, given as an SQL text, is stopped at the level least or higher:
// [switches.Of] and a comparison. It consists of scalar queries, so that no planner turns it into a join.
func stoppedAt(scope string, least switches.Level) string {
	levels := ""
	for _, l := range switches.Level(0).Values() {
		if l >= least {
			levels += ", '" + l.String() + "'"
		}
	}
	levels = "(" + levels[len(", "):] + ")"
	return "((SELECT count(*) FROM @settle_switches s WHERE s.scope IN ('everything', " + scope + ") AND s.level IN " + levels + ") > 0 " +
		"OR coalesce(" + recoveryOf(scope) + ", '') IN " + levels + ")"
}

// recoveringAt is a condition that a scope is recovering.
func recoveringAt(scope string) string {
	return "(" + recoveryOf(scope) + " IS NOT NULL)"
}

// recoveryOf is the level of the recovery by the row that says whether a scope is
// recovering; where the database is not where it was, it is send, see [switches.State.Elsewhere].
func recoveryOf(scope string) string {
	return "coalesce({moved}, (SELECT s.recovery FROM @settle_switches s WHERE s.scope IN ('everything', " + scope + ") " +
		"ORDER BY s.generation DESC, (CASE s.scope WHEN 'everything' THEN 1 ELSE 0 END) LIMIT 1))"
}
