package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// A field is one column of a record: it is both where Scan puts the column and
// what a batch takes its value from, so that a record has one list of columns
// and one of fields. NULL is read as the zero value, also where an outer join
// has no row.
type field[T comparable] struct {
	at       *T
	nullable bool // the zero value is written as NULL
}

func always[T comparable](p *T) *field[T] { return &field[T]{at: p} }
func maybe[T comparable](p *T) *field[T]  { return &field[T]{at: p, nullable: true} }

// Scan implements [sql.Scanner].
func (f *field[T]) Scan(src any) error {
	var zero T
	*f.at = zero
	switch p := any(f.at).(type) {
	case *time.Time:
		if src != nil {
			return (*timeColumn)(p).Scan(src)
		}
		return nil
	case *uint64:
		n, err := integer(src)
		*p = uint64(n)
		return err
	}
	if src == nil {
		return nil
	}
	var v sql.Null[T]
	err := v.Scan(src)
	*f.at = v.V
	return err
}

// Value implements [driver.Valuer].
func (f *field[T]) Value() (driver.Value, error) {
	var zero T
	if f.nullable && *f.at == zero {
		return nil, nil
	}
	is := any(*f.at)
	switch v := is.(type) {
	case string, int64, bool:
		return is, nil
	case time.Time:
		if f.nullable && v.IsZero() {
			return nil, nil
		}
		return is, nil
	case uint64:
		return int64(v), nil // the same bits
	case driver.Valuer:
		return v.Value()
	}
	return driver.DefaultParameterConverter.ConvertValue(is)
}

// nonceField is a number that may be absent.
type nonceField struct {
	n   *uint64
	has *bool
}

func (f nonceField) Scan(src any) error {
	n, err := integer(src)
	*f.n, *f.has = uint64(n), src != nil
	return err
}

func (f nonceField) Value() (driver.Value, error) {
	if !*f.has {
		return nil, nil
	}
	return int64(*f.n), nil
}

// bytesField is octets, never NULL.
type bytesField struct{ at *[]byte }

func (f bytesField) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok && src != nil {
		return fmt.Errorf("%w: %T is no octets", statemachine.ErrCorrupt, src)
	}
	*f.at = nil
	if len(b) > 0 {
		*f.at = append([]byte(nil), b...)
	}
	return nil
}

func (f bytesField) Value() (driver.Value, error) {
	if *f.at == nil {
		return []byte{}, nil
	}
	return *f.at, nil
}

// integer reads a column of whole numbers; NULL is 0.
func integer(src any) (int64, error) {
	switch n := src.(type) {
	case nil:
		return 0, nil
	case int64:
		return n, nil
	}
	var v sql.NullInt64
	err := v.Scan(src)
	return v.Int64, err
}

// columnNames returns the names of a list such as "id uuid, at time", each
// behind a prefix.
func columnNames(list, prefix string) string {
	var names []string
	for c := range strings.SplitSeq(list, ", ") {
		name, _, _ := strings.Cut(c, " ")
		names = append(names, prefix+name)
	}
	return strings.Join(names, ", ")
}

// assignments sets each column of a list to that of row r.
func assignments(list string) string {
	var sets []string
	for c := range strings.SplitSeq(list, ", ") {
		name, _, _ := strings.Cut(c, " ")
		sets = append(sets, name+" = r."+name)
	}
	return strings.Join(sets, ", ")
}

// indexOf returns the place of a column in a list.
func indexOf(list, name string) int {
	for i, c := range strings.Split(list, ", ") {
		if strings.HasPrefix(c, name+" ") {
			return i
		}
	}
	panic("sqlstore: no column " + name)
}
