package sqlstore

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"math/bits"
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
	first  fmt.Stringer // how a refusal names the first row; nil: by its key, see statement
}

// add appends one row. It takes what a column can hold: nil, integers, string,
// []byte, bool, time.Time, a hash, and enumerations.
func (b *batch) add(row ...any) { b.addParts(row) }

// addParts is add of a row that is in parts.
func (b *batch) addParts(parts ...[]any) {
	b.width = 0
	for _, part := range parts {
		b.width += len(part)
	}
	if b.values == nil {
		b.values = make([]any, 0, max(b.room, 1)*b.width)
	}
	for _, part := range parts {
		b.addPart(part)
	}
}

func (b *batch) addPart(part []any) {
	for _, v := range part {
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

// args returns the batch as arguments for PostgreSQL: a column that once has is
// one value, any other an array literal, which every driver can send as text.
func (b *batch) args(once columns) ([]any, error) {
	args := make([]any, b.width)
	for c := range args {
		if once.has(c) {
			args[c] = b.values[c]
			if at, ok := b.values[c].(time.Time); ok {
				args[c] = at.UTC()
			}
			continue
		}
		lit, err := b.array(c)
		if err != nil {
			return nil, err
		}
		args[c] = lit
	}
	return args, nil
}

// columns is a set of column numbers.
type columns uint64

func (s columns) has(c int) bool { return s&(1<<c) != 0 }

// count is how many columns are in the set.
func (s columns) count() int { return bits.OnesCount64(uint64(s &^ severalRows)) }

// once returns the columns in which all rows have the same value; not all of
// them if there are several rows.
func (b *batch) once() (same columns) {
	for c := range min(b.width, 64) {
		differ := false
		for i := c + b.width; i < len(b.values) && !differ; i += b.width {
			_, octets := b.values[i].([]byte)
			differ = octets || b.values[i] != b.values[c]
		}
		if !differ && (c > 0 || b.len() == 1) {
			same |= 1 << c
		}
	}
	return same
}

// array returns a column as an array literal.
func (b *batch) array(c int) (string, error) {
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
			return "", unsupported(v)
		}
	}
	return string(append(lit, '}')), nil
}

var escapeArray = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// json returns the rows as one JSON array of arrays, for SQLite. The rows of one
// column are its values.
func (b *batch) json() (string, error) {
	doc := append(make([]byte, 0, 24*len(b.values)), '[')
	for i, v := range b.values {
		switch {
		case b.width == 1 && i > 0:
			doc = append(doc, ',')
		case b.width == 1:
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
	if b.width > 1 {
		doc = append(doc, ']')
	}
	return string(append(doc, ']')), nil
}

func unsupported(v any) error {
	return fmt.Errorf("%w: no column holds a %T", statemachine.ErrInvalid, v)
}
