package sqlstore

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
)

// relays stores package relaysync.
type relays struct{ feed[string] }

var _ store.RelayRecords = relays{}

// Relays implements [store.RelayUnit].
func (t *tx) Relays() store.RelayRecords {
	if none, lacks := t.lacks(store.DomainRelays); lacks {
		return store.UnimplementedRelays{Unimplemented: none}
	}
	return relays{feed[string]{t, asText, []string{relaysync.Machine.Name()}}}
}

var (
	// The history of a relay: l is its newest activity that is no failure, n
	// the newest one, c one that completed a sync. The streak is what comes
	// after l. (The line break keeps its FROM apart from the statement's own.)
	selectRelays = statement{once: true, each: "id text", text: "SELECT " + relayTable.columns("x.") +
		", (SELECT count(*)\nFROM @activities f " +
		"WHERE f.resource_type = 'relay' AND f.resource_id = x.id AND f.activity_type = 'fail_relay_sync' AND " +
		"(l.sequence IS NULL OR (f.created_at, f.sequence) > (l.created_at, l.sequence))), c.sequence IS NOT NULL, n.created_at FROM @relays x " +
		"LEFT JOIN @activities l ON l.sequence = " + newest("a.activity_type <> 'fail_relay_sync'") +
		" LEFT JOIN @activities n ON n.sequence = " + newest("true") +
		" LEFT JOIN @activities c ON c.sequence = (SELECT min(a.sequence) FROM @activities a WHERE a.resource_type = 'relay' AND " +
		"a.resource_id = x.id " +
		"AND a.activity_type = 'complete_relay_sync') WHERE x.id = r.id"}

	dueRelays = newDue(due{from: "@relays x", owner: "x.id", where: scheduled,
		at: dueAt, order: dueAt + ", x.id", off: stoppedAt("'relays'", switches.Begin)})

	// pendingRelays has the source's condition as it stands there.
	pendingRelays = statement{text: "SELECT id FROM @relays WHERE (synced = 0 OR trim(sync_error) <> '') AND id > $1 ORDER BY id LIMIT $2"}
	listRelays    = statement{text: "SELECT id FROM @relays WHERE id > $1 ORDER BY id LIMIT $2"}
	relaysOf      = statement{text: "SELECT id FROM @relays WHERE tenant = $3 AND deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2"}
	relaysGivenUp = statement{text: "SELECT id FROM @relays WHERE exhausted AND id > $1 ORDER BY id LIMIT $2"}
	activitiesOf  = statement{text: "SELECT sequence, " + activityTable.columns("") +
		" FROM @activities WHERE resource_type = $1 AND resource_id = $2 " +
		"ORDER BY created_at DESC, sequence DESC LIMIT $3"}
	relayLeases = leaseTable(relayTable)
	relaysHeld  = relayTable.heldBy()
)

// dueAt is [relaysync.Sync.DueAt].
const dueAt = "(CASE WHEN x.claimed_at IS NULL THEN x.due_at ELSE x.lease_until END)"

func newest(condition string) string {
	return "(SELECT a.sequence FROM @activities a WHERE a.resource_type = 'relay' AND a.resource_id = x.id AND " + condition +
		" ORDER BY a.created_at DESC, a.sequence DESC LIMIT 1)"
}

// Get implements [store.RelayRecords].
func (r relays) Get(ids ...string) ([]relaysync.Sync, error) {
	return inOrderOf(ids, func(set *batch, each func(string, *relaysync.Sync)) error {
		var row relaysync.Sync
		fields := append(relayTable.cells(&row), &row.History.Streak, &row.History.Completed, maybe(&row.History.Newest))
		return r.read(&selectRelays, set, func(rows *sql.Rows) error {
			row = relaysync.Sync{}
			if err := rows.Scan(fields...); err != nil {
				return relayTable.located(err, &row)
			}
			row.Relay.SyncError = row.Relay.Error() // other writers leave blanks
			each(row.Relay.ID, &row)
			return nil
		})
	})
}

// Due implements [store.RelayRecords].
func (r relays) Due(now time.Time, limit int) ([]relaysync.Sync, []error, error) {
	return dueOf(r.tx, relaysync.Machine.Name(), dueRelays, now, time.Time{}, 0, limit, r.Get)
}

// NextDue implements [store.RelayRecords].
func (r relays) NextDue(now time.Time) (time.Time, error) { return dueRelays.nextDue(r.tx, now, 0) }

// Pending implements [store.RelayRecords].
func (r relays) Pending(after string, limit int) ([]string, error) {
	return r.ids(&pendingRelays, after, limit)
}

// List implements [store.RelayRecords].
func (r relays) List(tenant, after string, limit int) ([]string, error) {
	if tenant == "" {
		return r.ids(&listRelays, after, limit)
	}
	return r.ids(&relaysOf, after, limit, tenant)
}

// ForOperator implements [store.RelayRecords].
func (r relays) ForOperator(after string, limit int) ([]string, error) {
	return r.ids(&relaysGivenUp, after, limit)
}

// HeldBy implements [store.RelayRecords].
func (r relays) HeldBy(holder, after string, limit int) ([]string, error) {
	return r.ids(&relaysHeld, after, limit, holder)
}

// Activities implements [store.RelayRecords].
func (r relays) Activities(resourceType, resourceID string, limit int) (all []relaysync.Activity, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var a relaysync.Activity
	fields := append([]any{&a.Sequence}, activityTable.cells(&a)...)
	err = r.read(&activitiesOf, nil, func(rows *sql.Rows) error {
		err := rows.Scan(fields...)
		all = append(all, a)
		return err
	}, resourceType, resourceID, int64(limit))
	return all, err
}

// Save implements [store.RelayRecords]. A relay's row is locked before its
// activities get their sequence, so that this is the order of the commits.
func (r relays) Save(changes ...relaysync.Change) error {
	return r.save(relaysync.Machine.Name(), func() error {
		rows, activities := rowsOf[relaysync.Sync]{table: relayTable}, new(batch)
		var log []statemachine.Transition[string]
		for i := range changes {
			c := &changes[i]
			if err := c.Complete(); err != nil {
				return err
			}
			if !c.Empty() {
				rows.add(&c.Old, &c.New)
			}
			for k := range c.Activities {
				activityTable.insertRow(activities, &c.Activities[k])
			}
			log = append(log, c.Log...)
		}
		return inTurn(
			func() error { return rows.lockAndWrite(r.tx) },
			func() error { return r.writeAll("activities", writing{&activityTable.insertOne, activities}) },
			func() error { return logTransitions(r.tx, log) })
	})
}

// Renew implements [store.RelayRecords].
func (r relays) Renew(now time.Time, held ...store.Lease[string]) ([]string, error) {
	return renew(r.tx, relayLeases, relaysync.Machine.Name(), now, held)
}

// scheduled are relays that are due, waiting or syncing.
const scheduled = "(x.due_at IS NOT NULL OR x.claimed_at IS NOT NULL)"

// blanks are the characters that [relaysync.Relay.Error] takes for blank.
const blanks = " \t\n\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003" +
	"\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

var (
	// phaseOf is [relaysync.Sync.Phase].
	phaseOf = fmt.Sprintf("(CASE WHEN x.deleted_at IS NOT NULL THEN '%v' WHEN x.claimed_at IS NOT NULL THEN '%v' WHEN x.exhausted THEN '%v' "+
		"WHEN x.due_at IS NULL THEN '%v' WHEN x.backoff THEN '%v' ELSE '%v' END)", relaysync.PhaseDeleted, relaysync.PhaseSyncing,
		relaysync.PhaseExhausted, relaysync.PhaseClean, relaysync.PhaseWaiting, relaysync.PhaseDue)
	countRelays = statement{text: "SELECT " + phaseOf +
		", count(*), min(CASE WHEN x.claimed_at IS NULL AND x.due_at <= $1 THEN x.due_at END), " +
		"min(CASE WHEN " + scheduled + " THEN coalesce(x.since, " + dueAt + ") END), max(CASE WHEN " + scheduled +
		" THEN x.since END), max(CASE WHEN " + scheduled + " THEN " + dueAt + " END), " +
		"count(CASE WHEN x.claimed_at IS NOT NULL AND x.lease_until <= $1 THEN 1 END), " +
		"coalesce(sum(CASE WHEN x.claimed_at IS NOT NULL THEN x.lapses END), 0), " +
		"count(CASE WHEN x.synced = 0 OR trim(x.sync_error, '" + blanks + "') <> '' THEN 1 END) FROM @relays x GROUP BY 1"}
	countActivities = statement{text: "SELECT count(CASE WHEN activity_type = 'fail_relay_sync' THEN 1 END), count(CASE WHEN activity_type " +
		"= 'complete_relay_sync' THEN 1 END) " +
		"FROM @activities WHERE activity_type IN ('fail_relay_sync', 'complete_relay_sync') AND resource_type = 'relay' AND created_at >= $1 " +
		"AND created_at < $2"}
)

// Stats implements [store.RelayRecords].
func (r relays) Stats(now time.Time, window time.Duration) (relaysync.Stats, error) {
	s := relaysync.Stats{At: now, Phases: map[relaysync.Phase]int64{}}
	err := r.read(&countRelays, nil, func(rows *sql.Rows) error {
		var at relaysync.Phase
		var n, lapsed, lapses, pending int64
		var oldest, owed, since, due time.Time
		if err := rows.Scan(&at, &n, maybe(&oldest), maybe(&owed), maybe(&since), maybe(&due), &lapsed, &lapses, &pending); err != nil {
			return err
		}
		s.Phases[at] = n
		s.Lapsed += lapsed
		s.Lapses += lapses
		if at == relaysync.PhaseClean {
			s.Untimed = pending
		}
		if !oldest.IsZero() && (s.OldestDue.IsZero() || oldest.Before(s.OldestDue)) {
			s.OldestDue = oldest
		}
		if !owed.IsZero() && (s.OldestOwed.IsZero() || owed.Before(s.OldestOwed)) {
			s.OldestOwed = owed
		}
		for _, t := range []time.Time{since, due} {
			if t.After(s.Latest) {
				s.Latest = t
			}
		}
		return nil
	}, now)
	if err != nil {
		return s, err
	}
	err = r.read(&countActivities, nil, func(rows *sql.Rows) error { return rows.Scan(&s.Failures, &s.Successes) }, now.Add(-window), now)
	return s, err
}
