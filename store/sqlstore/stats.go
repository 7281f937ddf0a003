package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Stats is what concerns the database as a whole, whatever its domains.
type Stats struct {
	At time.Time // of the store
	// FeedLag is for how long the first committed line that Follow does not give yet has waited; zero if there is none,
	// and always on SQLite. PostgreSQL gives a line once no transaction of the cluster runs that began to write before
	// the line's.
	FeedLag time.Duration
	// Holding are the transactions of the cluster that have been writing for longest, if FeedLag is not zero: at most
	// 5, the oldest first, which holds Follow back. Only a superuser or a member of pg_read_all_stats sees the sessions
	// of other users.
	Holding []OpenWriter
	// Moved: the database is not where it was when somebody last said so by [Restored], or
	// when its tables were made. Nothing is sent meanwhile.
	Moved bool
	// Unreadable is what was due and was left out since it cannot be read, by this Store
	// when it last asked for work of that kind.
	Unreadable []Unreadable
}

// OpenWriter is a transaction that writes and has not ended.
type OpenWriter struct {
	PID         int64         // zero: a prepared transaction, named by Application
	Age         time.Duration // zero where the server does not keep it: track_activities is off
	Application string
	Database    string
	State       string // of the session, such as "idle in transaction"
}

// Unreadable is the records of one kind of due work that cannot be read.
type Unreadable struct {
	Machine string
	Records int
	Error   string // the first of them, each with why, by lines
}

// StatsOf reads what concerns the database as a whole.
func StatsOf(ctx context.Context, s *Store) (Stats, error) {
	var stats Stats
	err := s.View(ctx, func(u store.Unit) (err error) {
		t, is := u.(*tx)
		if !is {
			return fmt.Errorf("%w: a unit of another store", statemachine.ErrInvalid)
		}
		stats = Stats{Unreadable: s.unread.all()}
		if stats.At, err = t.Now(); err != nil || s.Dialect == SQLite {
			return err
		}
		if stats.Moved, err = t.moved(); err != nil {
			return err
		}
		var first time.Time
		err = t.read(&firstHeldBack, nil, func(rows *sql.Rows) error { return rows.Scan((*timeColumn)(&first)) })
		if err != nil || first.IsZero() {
			return err
		}
		stats.FeedLag = max(0, stats.At.Sub(first))
		return t.read(&holding, nil, func(rows *sql.Rows) error {
			var w OpenWriter
			var age int64
			err := rows.Scan(&w.PID, &age, &w.Application, &w.Database, &w.State)
			w.Age = time.Duration(age) * time.Microsecond
			stats.Holding = append(stats.Holding, w)
			return err
		})
	})
	return stats, err
}

var (
	firstHeldBack = statement{text: "SELECT at FROM @transitions WHERE horizon >= " + oldest + " ORDER BY horizon, n LIMIT 1"}
	holding       = statement{text: "SELECT pid, CAST(coalesce(extract(epoch FROM clock_timestamp() - since), 0) * 1000000 AS bigint), " +
		"coalesce(application, ''), coalesce(database, ''), coalesce(state, '') FROM (" +
		"SELECT a.pid, a.xact_start AS since, a.application_name AS application, a.datname AS database, a.state, age(a.backend_xid) AS xid " +
		"FROM pg_stat_activity a WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid() UNION ALL " +
		"SELECT 0, p.prepared, p.gid, p.database, 'prepared', age(p.transaction) FROM pg_prepared_xacts p) w ORDER BY xid DESC LIMIT 5"}
)

// Thresholds are the limits of [Alerts]. A zero duration is not watched.
type Thresholds struct {
	FeedLag time.Duration
}

// DefaultThresholds: a line is held back for a minute.
func DefaultThresholds() Thresholds { return Thresholds{FeedLag: time.Minute} }

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "feed behind", Person: true,
			Ends: "end the transaction that is named, or wait until it ends by itself: commit or roll back, pg_terminate_backend with its pid"},
		{Name: "database moved", Person: true,
			Ends: "say what was lost: follow docs/restore.md; where nothing was, sqlstore.Restored with Lossless"},
		{Name: "unreadable", Person: true,
			Ends: "update the binary where a later version wrote the record, or mend the row; it ends when the work is asked for again"},
	}
}

// Alerts compares. It is pure; the order is fixed.
func Alerts(s Stats, t Thresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	who := "nobody who is seen"
	if len(s.Holding) > 0 {
		w := s.Holding[0]
		who = fmt.Sprintf("pid %d of %q in database %q (%s), which has run for %v", w.PID, w.Application, w.Database, w.State, w.Age)
	}
	a.Add(t.FeedLag > 0 && s.FeedLag > t.FeedLag, "feed behind",
		"a line is held back for %v, longer than %v, by %s", s.FeedLag, t.FeedLag, who)
	a.Add(s.Moved, "database moved", "the database is not where it was: another server, a copy, or a standby that took over; nothing is sent")
	for _, u := range s.Unreadable {
		a.Add(true, "unreadable", "%d due records of %s cannot be read: %s", u.Records, u.Machine, u.Error)
	}
	return a.Alerts
}

// unread is what due work has left out, by what was asked for.
type unread struct {
	sync.Mutex
	of map[string]Unreadable
}

// maxUnreadable bounds the records that are named of one kind of due work.
const maxUnreadable = 10

// note replaces what was left out when this was asked for the last time.
func (u *unread) note(machine, asked string, left []error) {
	u.Lock()
	defer u.Unlock()
	if len(left) == 0 {
		delete(u.of, asked)
		return
	}
	if u.of == nil {
		u.of = map[string]Unreadable{}
	}
	u.of[asked] = Unreadable{machine, len(left), errors.Join(left[:min(len(left), maxUnreadable)]...).Error()}
}

// all is sorted by machine and text; what several kinds of work have left out is named once.
func (u *unread) all() (all []Unreadable) {
	u.Lock()
	defer u.Unlock()
	for _, one := range u.of {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Unreadable) int { return strings.Compare(a.Machine+a.Error, b.Machine+b.Error) })
	return slices.Compact(all)
}
