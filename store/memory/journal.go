package memory

import (
	"slices"
	"strconv"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Journal implements [store.Journaled].
func (t *tx) Journal() store.JournalRecords { return journal{t} }

type journal struct{ tx *tx }

// Append implements [store.JournalRecords].
func (j journal) Append(lines ...statemachine.JournalLine) error {
	kept := slices.Clone(lines)
	for i := range kept {
		if err := kept[i].Check(); err != nil {
			return j.tx.fail(err)
		}
		if kept[i].At.IsZero() {
			kept[i].At, _ = j.tx.Now()
		}
	}
	if !j.tx.closed && j.tx.writable {
		j.tx.said = append(j.tx.said, kept...)
	}
	if err := j.tx.writes(); err != nil {
		return err
	}
	assign(j.tx, &j.tx.store.journal, append(j.tx.store.journal, kept...))
	return nil
}

// Page implements [store.JournalRecords].
func (j journal) Page(after store.Cursor, limit int) ([]statemachine.JournalLine, store.Cursor, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, after, err
	}
	all := j.tx.store.journal
	cursor := func(n int) store.Cursor { return store.JournalCursor(strconv.Itoa(n), all[n-1]) }
	from, err := lineBehind(after, len(all), cursor)
	if err != nil {
		return nil, after, err
	}
	page, next := pageOf(all, int64(from), limit)
	if len(page) == 0 {
		return nil, after, nil
	}
	return page, cursor(int(next)), nil
}
