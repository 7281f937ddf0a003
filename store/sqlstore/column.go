package sqlstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// timeFormat is how SQLite keeps a time, in UTC: comparable as text with its
// own CURRENT_TIMESTAMP, which has no fraction.
const timeFormat = "2006-01-02 15:04:05.000000"

// asKept is a column of times in the form of timeFormat: by hand SQLite writes one
// without a fraction (CURRENT_TIMESTAMP), or with three digits (%f), which is another text.
func (s syntax) asKept(column string) string {
	if s.Dialect == SQLite {
		return column + " || substr('.000000', length(" + column + ") - 18)"
	}
	return column
}

// timeColumn reads a time in UTC.
type timeColumn time.Time

func (c *timeColumn) Scan(src any) error {
	switch v := src.(type) {
	case time.Time:
		*c = timeColumn(v.UTC())
		return nil
	case string:
		t, err := time.Parse(time.DateTime, v) // with a fraction or without
		if kept := t.Format(timeFormat); err == nil && (len(v) > len(kept) || v+kept[len(v):] != kept) {
			err = fmt.Errorf("%w: %.40q is a time in another form than %s", statemachine.ErrCorrupt, v, timeFormat)
		}
		*c = timeColumn(t)
		return err
	}
	return fmt.Errorf("%w: %T is no time", statemachine.ErrCorrupt, src)
}

// located names the row in which an unknown enumeration text, or a value that is
// none of its field, was met.
func located(err error, table string, id any) error {
	var unknown *statemachine.UnknownTextError
	if errors.As(err, &unknown) {
		unknown.Where = fmt.Sprintf("%s %v", table, id)
		return unknown
	}
	if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error") { // not of a connection that has ended
		return fmt.Errorf("%w: %s %v: %w", statemachine.ErrCorrupt, table, id, err)
	}
	return err
}

func appendJSON(doc []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always has JSON
	return append(doc, text...)
}
