package sqlstore

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/settlehq/settle/statemachine"
)

// batch holds rows for a [statement], one after the other.
type batch struct {
	room   int // rows to expect, if known
	width  int
	values []any // of nil, int64, string, []byte, bool, time.Time
	err    error
}

// add appends one row. It takes what a column can hold: nil, integers, string,
// []byte, bool, time.Time, a hash, and enumerations.
func (b *batch) add(row ...any) {
	if b.width = len(row); b.values == nil {
		b.values = make([]any, 0, max(b.room, 1)*len(row))
	}
	for _, v := range row {
		switch x := v.(type) {
		case int:
			v = int64(x)
		case int32:
			v = int64(x)
		case uint32:
			v = int64(x)
		case chainhash.Hash:
			v = x[:]
		case driver.Valuer:
			text, err := x.Value()
			if err != nil && b.err == nil {
				b.err = err
			}
			v = text
		}
		b.values = append(b.values, v)
	}
}

func (b *batch) len() int {
	if b.width == 0 {
		return 0
	}
	return len(b.values) / b.width
}

// arrays returns the columns as PostgreSQL array literals, which every driver
// can send as text.
func (b *batch) arrays() ([]any, error) {
	columns := make([]any, b.width)
	for c := range columns {
		lit := append(make([]byte, 0, 64), '{')
		for i := c; i < len(b.values); i += b.width {
			switch i {
			case c:
			case c + b.width: // others will be as long as the first, if it is not a raw transaction
				lit = append(slices.Grow(lit, min(len(lit), 64)*b.len()), ',')
			default:
				lit = append(lit, ',')
			}
			switch v := b.values[i].(type) {
			case nil:
				lit = append(lit, "NULL"...)
			case int64:
				lit = strconv.AppendInt(lit, v, 10)
			case bool:
				lit = strconv.AppendBool(lit, v)
			case []byte:
				lit = hex.AppendEncode(append(lit, `"\\x`...), v)
				lit = append(lit, '"')
			case time.Time:
				lit = append(v.UTC().AppendFormat(append(lit, '"'), timeFormat), `+00"`...)
			case string:
				lit = append(lit, '"')
				lit = append(lit, escapeArray.Replace(v)...)
				lit = append(lit, '"')
			default:
				return nil, unsupported(v)
			}
		}
		columns[c] = string(append(lit, '}'))
	}
	return columns, nil
}

var escapeArray = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// json returns the rows as one JSON array of arrays, for SQLite.
func (b *batch) json() (string, error) {
	doc := append(make([]byte, 0, 24*len(b.values)), '[')
	for i, v := range b.values {
		switch {
		case i == 0:
			doc = append(doc, '[')
		case i%b.width == 0:
			doc = append(doc, "],["...)
		default:
			doc = append(doc, ',')
		}
		switch v := v.(type) {
		case nil:
			doc = append(doc, "null"...)
		case int64:
			doc = strconv.AppendInt(doc, v, 10)
		case bool:
			doc = strconv.AppendBool(doc, v)
		case []byte:
			doc = append(hex.AppendEncode(append(doc, '"'), v), '"')
		case time.Time:
			doc = append(v.UTC().AppendFormat(append(doc, '"'), timeFormat), '"')
		case string:
			doc = appendJSON(doc, v)
		default:
			return "", unsupported(v)
		}
	}
	if len(b.values) > 0 {
		doc = append(doc, ']')
	}
	return string(append(doc, ']')), nil
}

func unsupported(v any) error {
	return fmt.Errorf("%w: no column holds a %T", statemachine.ErrInvalid, v)
}
