package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

type stateError string

func (e stateError) Error() string    { return "state " + string(e) }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return fmt.Sprintf("code %d", int(e)) }
func (e codeError) Code() int     { return int(e) }

func TestErrorsAreClassified(t *testing.T) {
	for _, c := range []struct {
		err       error
		transient bool
		is        error
	}{
		{stateError("40001"), true, nil},
		{stateError("40P01"), true, nil},
		{stateError("23505"), false, statemachine.ErrConflict},
		{stateError("23503"), false, nil},
		{stateError("22021"), false, statemachine.ErrInvalid},
		{codeError(5), true, nil},   // SQLITE_BUSY
		{codeError(517), true, nil}, // SQLITE_BUSY_SNAPSHOT
		{codeError(2067), false, statemachine.ErrConflict},
		{codeError(1555), false, statemachine.ErrConflict},
		{codeError(275), false, nil}, // CHECK
		{errors.New("other"), false, nil},
	} {
		if got := transient(fmt.Errorf("wrapped: %w", c.err)); got != c.transient {
			t.Errorf("%v: transient is %v", c.err, got)
		}
		err := meaning(c.err)
		if !errors.Is(err, c.err) || c.is != nil && !errors.Is(err, c.is) || c.is == nil && err != c.err {
			t.Errorf("%v means %v", c.err, err)
		}
	}
}

// What is not known to have failed may have landed.
func TestOutcomeOfACommit(t *testing.T) {
	live := context.Background()
	over, cancel := context.WithCancel(live)
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		unknown bool
	}{
		{"landed", live, nil, false},
		{"refused", live, stateError("23503"), false},
		{"serialisation failure", live, stateError("40001"), false},
		{"rolled back by database/sql before it was sent", over, sql.ErrTxDone, false},
		{"connection cut", live, io.ErrUnexpectedEOF, true},
		{"bad connection", live, driver.ErrBadConn, true},
		{"cancelled while under way", over, context.Canceled, true},
		{"server shuts down", live, stateError("57P01"), true},
		{"connection exception", live, stateError("08006"), true},
		{"statement completion unknown", live, stateError("40003"), true},
		{"disk full", live, stateError("53100"), true},
		{"disk error", live, stateError("58030"), true},
	} {
		err := committed(c.ctx, c.err)
		if errors.Is(err, store.ErrUnknownCommit) != c.unknown || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		refused := errors.Join(err, statemachine.ErrConflict, stateError("40001"))
		if c.unknown && (&tx{store: &Store{syntax: syntax{Dialect: Postgres}}, looked: true, err: refused}).again(refused) {
			t.Errorf("%s would be repeated", c.name)
		}
	}
}

// After a commit whose end is unknown nothing more is written to the journal, since its lines may be there.
func TestNothingIsToldAfterAnUnknownCommit(t *testing.T) {
	unknown := fmt.Errorf("commit: %w", store.ErrUnknownCommit)
	refused := []statemachine.JournalLine{{Actor: "olga", Role: "operator", Outcome: "illegal"}}
	if err := new(Store).untold(t.Context(), refused, unknown); err != unknown { // a Store that has no database
		t.Error(err)
	}
}

func TestArrayAndJSONText(t *testing.T) {
	b := new(batch)
	b.add(1, []byte{0, 255}, `a"b\c,{}é`, nil, true)
	b.add(-2, []byte{}, "", "NULL", false)
	columns, err := b.args(0)
	want := []any{`{1,-2}`, `{"\\x00ff","\\x"}`, `{"a\"b\\c,{}é",""}`, `{NULL,"NULL"}`, `{true,false}`}
	if err != nil || fmt.Sprint(columns) != fmt.Sprint(want) {
		t.Errorf("%v %v\nwant %v", columns, err, want)
	}
	doc, err := b.json()
	if want := `[[1,"00ff","a\"b\\c,{}é",null,true],[-2,"","","NULL",false]]`; err != nil || doc != want {
		t.Errorf("%s %v\nwant %s", doc, err, want)
	}
	b.add(0.5, nil, nil, nil, nil)
	if _, err := b.json(); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a float: %v", err)
	}
}

// A batch of every pattern is sent, with a bounded number of texts.
func TestTextsAreBounded(t *testing.T) {
	x := &tx{store: &Store{syntax: syntax{Dialect: Postgres}}}
	st := &statement{once: true, rows: "a int, b int, c int, d int, e int, f int, g int, h int", text: "INSERT INTO t SELECT r.* FROM {rows}"}
	all := map[string]bool{}
	for pattern := range 1 << 7 {
		b := new(batch)
		for row := range 2 {
			values := []any{row}
			for c := range 7 {
				values = append(values, row*(pattern>>c&1))
			}
			b.add(values...)
		}
		text, args, err := x.bind(st, b, nil)
		if err != nil || len(args) != 8 {
			t.Fatal(err, args)
		}
		for c, arg := range args {
			if _, array := arg.(string); array != strings.Contains(text, fmt.Sprintf("$%d::text::bigint[]", c+1)) {
				t.Fatalf("column %d is %v in %s", c, arg, text)
			}
		}
		all[text] = true
	}
	b := new(batch)
	b.add(1, 2, 3, 4, 5, 6, 7, 8)
	text, args, err := x.bind(st, b, nil)
	if err != nil || strings.Contains(text, "unnest") || args[7] != int64(8) || len(all) > maxTexts+1 {
		t.Errorf("%d texts; a single row is %s %v, %v", len(all), text, args, err)
	}
}
