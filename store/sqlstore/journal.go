package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

var journalTable = newTable(table[statemachine.JournalLine]{
	name: "settle_journal",
	fixed: func(l *statemachine.JournalLine) list {
		return list{{"at time", always(&l.At)}, {"actor text", always(&l.Actor)}, {"role text", always(&l.Role)},
			{"domain text", always(&l.Domain)},
			{"machine text", always(&l.Machine)}, {"id text", always(&l.ID)}, {"version int", always(&l.Version)}, {"event text", always(&l.Event)},
			{"outcome text", always(&l.Outcome)}, {"error text", always(&l.Error)}, {"via text", always(&l.Via)}, {"trace text", always(&l.Trace)}}
	},
})

// A line has a horizon as those of the log have, so that nobody waits for another
// person's transaction and a reader of pages misses none.
var (
	writeJournal = func() map[Dialect]*statement {
		rows := journalTable.fixed(new(statemachine.JournalLine)).spec()
		into := "INSERT INTO @settle_journal (horizon, " + columnNames(rows, "") + ") SELECT "
		return map[Dialect]*statement{
			SQLite: {once: true, rows: rows, text: into + "0, " + columnNames(rows, "r.") + " FROM {rows}"},
			Postgres: {once: true, rows: rows, text: into + base + " + pg_current_xact_id()::text::bigint, " + columnNames(rows,
				"r.") + " FROM {rows} WHERE NOT (SELECT " + restored + ")"},
		}
	}()
	journalRows   = "SELECT horizon, n, " + journalTable.columns("") + " FROM @settle_journal "
	journalBehind = map[Dialect]*statement{
		SQLite:   {text: journalRows + "WHERE n > $2 AND $1 = 0 ORDER BY n LIMIT $3"},
		Postgres: {text: journalRows + "WHERE (horizon, n) > ($1, $2) AND horizon < " + oldest + " ORDER BY horizon, n LIMIT $3"},
	}
	journalAt = statement{text: journalRows + "WHERE horizon = $1 AND n = $2"}
)

// Journal implements [store.Journaled].
func (t *tx) Journal() store.JournalRecords { return journalRecords{t} }

type journalRecords struct{ *tx }

// Append implements [store.JournalRecords].
func (j journalRecords) Append(lines ...statemachine.JournalLine) error {
	for i := range lines {
		if err := lines[i].Check(); err != nil {
			return j.fail(err)
		}
	}
	if !j.view {
		j.said = append(j.said, lines...)
	}
	return j.save("journal", func() error { return j.insert(lines) })
}

func (j journalRecords) insert(lines []statemachine.JournalLine) (err error) {
	rows := new(batch)
	var now time.Time
	for _, l := range lines {
		if l.At.IsZero() && now.IsZero() {
			if now, err = j.Now(); err != nil {
				return err
			}
		}
		if l.At.IsZero() {
			l.At = now
		}
		journalTable.insertRow(rows, &l)
	}
	return j.later(stage{statement: writeJournal[j.store.Dialect], rows: rows, what: "journal",
		few: func(int64) error { return fmt.Errorf("journal: %w", store.ErrRestored) }})
}

// tells reports whether the transaction is to be committed with only the journal lines that are kept of it, see
// [store.JournalRecords]: fn has returned an error, a person's attempt was refused, and nothing was written.
func (t *tx) tells(err error) bool {
	lines := statemachine.Undone(t.said, err)
	if err == nil || len(lines) == 0 || t.err != nil || t.host != nil || t.wrote || t.ctx.Err() != nil || t.again(err) {
		return false
	}
	t.pending = nil
	return cmp.Or(journalRecords{t}.insert(lines), t.settle()) == nil
}

// lateJournal is how long the lines of a transaction that was undone are tried to be kept.
const lateJournal = 5 * time.Second

// untold keeps the lines that are left of a transaction that has ended in err, which it
// returns. The caller may have gone away: what was tried is told all the same.
func (s *Store) untold(ctx context.Context, said []statemachine.JournalLine, err error) error {
	lines := statemachine.Undone(said, err)
	if err == nil || len(lines) == 0 || errors.Is(err, store.ErrUnknownCommit) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateJournal)
	defer cancel()
	failed := s.retried(ctx, new([]statemachine.JournalLine), func(t *tx) error { return journalRecords{t}.insert(lines) },
		func(ctx context.Context) (unit, error) { return s.begin(ctx, false) })
	if failed != nil {
		err = fmt.Errorf("%w; it is not in the journal: %v", err, failed)
	}
	return err
}

// Page implements [store.JournalRecords].
func (j journalRecords) Page(after store.Cursor, limit int) ([]statemachine.JournalLine, store.Cursor, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, after, err
	}
	at, err := j.behind(after)
	if err != nil {
		return nil, after, err
	}
	page, last, err := j.lines(journalBehind[j.store.Dialect], at.horizon, at.n, int64(limit))
	if err != nil || len(page) == 0 {
		return nil, after, err
	}
	return page, store.JournalCursor(last.text(), page[len(page)-1]), nil
}

// behind returns the place of a cursor whose line is as it was.
func (j journalRecords) behind(c store.Cursor) (at place, err error) {
	if at, err = j.placeIn(c); err != nil || c == "" {
		return at, err
	}
	lines, _, err := j.lines(&journalAt, at.horizon, at.n)
	if err == nil && (len(lines) == 0 || store.JournalCursor(at.text(), lines[0]) != c) {
		err = c.Gone()
	}
	return at, err
}

func (j journalRecords) lines(st *statement, args ...any) (page []statemachine.JournalLine, last place, err error) {
	var l statemachine.JournalLine
	fields := append([]any{&last.horizon, &last.n}, journalTable.cells(&l)...)
	err = j.read(st, nil, func(rows *sql.Rows) error {
		err := rows.Scan(fields...)
		page = append(page, l)
		return err
	}, args...)
	return page, last, err
}
