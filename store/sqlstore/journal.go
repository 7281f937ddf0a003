package sqlstore

import (
	"database/sql"
	"fmt"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

var journalTable = newTable(table[statemachine.JournalLine]{
	name: "settle_journal",
	fixed: func(l *statemachine.JournalLine) list {
		return list{{"at time", always(&l.At)}, {"actor text", always(&l.Actor)}, {"role text", always(&l.Role)}, {"domain text", always(&l.Domain)},
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
			SQLite:   {once: true, rows: rows, text: into + "0, " + columnNames(rows, "r.") + " FROM {rows}"},
			Postgres: {once: true, rows: rows, text: into + base + " + pg_current_xact_id()::text::bigint, " + columnNames(rows, "r.") + " FROM {rows} WHERE NOT (SELECT " + restored + ")"},
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
	rows := new(batch)
	for i := range lines {
		l := &lines[i]
		if err := l.Check(); err != nil {
			return err
		}
		if l.Outcome != statemachine.JournalDone && l.Outcome != statemachine.JournalSame {
			j.refused = append(j.refused, *l)
		}
		journalTable.insertRow(rows, l)
	}
	return j.save("journal", func() error {
		n, err := j.write(writeJournal[j.store.Dialect], rows)
		if err == nil && n == 0 && rows.len() > 0 {
			err = store.ErrRestored
		}
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		return nil
	})
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
