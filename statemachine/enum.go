package statemachine

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

// Names lists the texts of a closed enumeration. Implement it on an empty struct that serves only
// as the type parameter of [Enum].
type Names interface {
	// Kind names the enumeration in error messages, such as "withdrawal job status".
	Kind() string
	// Names returns the texts of the values 1, 2, 3, ... in this order: at
	// most 254, all distinct, none empty. The slice is shared and not changed.
	Names() []string
}

// Aliases is for [Names] that read more texts than they write.
type Aliases interface {
	// Aliases returns the text that is written for each further text that is read.
	Aliases() map[string]string
}

// Enum is a closed set of named values in one byte. Zero is not one of the values: it means "does
// not exist yet", prints as "none" and is neither stored nor parsed.
//
// The text of a value is exactly the string that [Names] gives it, in JSON, in a database column
// and in logs. A text that the set does not know is an [UnknownTextError], never a default.
type Enum[N Names] uint8

// Values returns all values of the enumeration, in order.
func (Enum[N]) Values() []Enum[N] {
	var names N
	values := make([]Enum[N], len(names.Names()))
	for i := range values {
		values[i] = Enum[N](i + 1)
	}
	return values
}

// Valid reports whether e is one of the named values.
func (e Enum[N]) Valid() bool {
	var names N
	return e > 0 && int(e) <= len(names.Names())
}

// String returns the text of e, "none" for zero, and a text in parentheses for
// a number outside the set.
func (e Enum[N]) String() string {
	var names N
	switch list := names.Names(); {
	case e == 0:
		return "none"
	case int(e) <= len(list):
		return list[e-1]
	}
	return fmt.Sprintf("(%s %d)", names.Kind(), uint8(e))
}

// ParseEnum returns the value whose text is s, or whose alias it is (see
// [Aliases]), or an [UnknownTextError].
func ParseEnum[N Names](s string) (Enum[N], error) {
	var names N
	if a, ok := any(names).(Aliases); ok {
		if text, ok := a.Aliases()[s]; ok {
			s = text
		}
	}
	for i, name := range names.Names() {
		if name == s {
			return Enum[N](i + 1), nil
		}
	}
	return 0, &UnknownTextError{Kind: names.Kind(), Text: bounded(s, 100), OneOf: strings.Join(names.Names(), ", ")}
}

// MarshalText implements [encoding.TextMarshaler]. A value outside the set,
// zero included, is [ErrInvalid].
func (e Enum[N]) MarshalText() ([]byte, error) {
	if !e.Valid() {
		return nil, e.noText()
	}
	return []byte(e.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. An unknown text is an
// [UnknownTextError] and leaves e as it was.
func (e *Enum[N]) UnmarshalText(text []byte) error {
	v, err := ParseEnum[N](string(text))
	if err != nil {
		return err
	}
	*e = v
	return nil
}

// Value implements [driver.Valuer]: the text of e. A value outside the set,
// zero included, is [ErrInvalid].
func (e Enum[N]) Value() (driver.Value, error) {
	if !e.Valid() {
		return nil, e.noText()
	}
	return e.String(), nil
}

// Scan implements the Scanner interface of database/sql for text columns.
// NULL, a number and an unknown text are an [UnknownTextError].
func (e *Enum[N]) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return e.UnmarshalText([]byte(v))
	case []byte:
		return e.UnmarshalText(v)
	}
	var names N
	return &UnknownTextError{Kind: names.Kind(), Text: bounded(fmt.Sprintf("%T %v", src, src), 100)}
}

func (e Enum[N]) noText() error {
	var names N
	return fmt.Errorf("%w: %s %d has no text", ErrInvalid, names.Kind(), uint8(e))
}

// bounded cuts s to at most n bytes at a rune boundary.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
