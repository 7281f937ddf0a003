package statemachine_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

var (
	_ encoding.TextMarshaler   = statemachine.Done
	_ encoding.TextUnmarshaler = (*statemachine.Outcome)(nil)
	_ driver.Valuer            = statemachine.Done
	_ sql.Scanner              = (*statemachine.Outcome)(nil)
)

func TestEnumRoundTrips(t *testing.T) {
	values := statemachine.Outcome(0).Values()
	if len(values) != 4 {
		t.Fatalf("%d values, want the 4 outcomes", len(values))
	}
	for i, want := range []string{"done", "failed", "unknown", "deferred"} {
		e := values[i]
		t.Run(want, func(t *testing.T) {
			if !e.Valid() || e.String() != want {
				t.Fatalf("value %d is %q, valid %v", e, e, e.Valid())
			}
			if got, err := statemachine.ParseEnum[outcomeNames](want); err != nil || got.String() != want {
				t.Errorf("ParseEnum: %v, %v", got, err)
			}
			text, err := e.MarshalText()
			if err != nil || string(text) != want {
				t.Errorf("MarshalText: %q, %v", text, err)
			}
			data, err := json.Marshal(struct{ Outcome statemachine.Outcome }{e})
			if err != nil || string(data) != `{"Outcome":"`+want+`"}` {
				t.Errorf("JSON: %s, %v", data, err)
			}
			var back struct{ Outcome statemachine.Outcome }
			if err := json.Unmarshal(data, &back); err != nil || back.Outcome != e {
				t.Errorf("from JSON: %v, %v", back.Outcome, err)
			}
			stored, err := e.Value()
			if err != nil || stored != want {
				t.Errorf("Value: %v, %v; a number would be stored silently", stored, err)
			}
			for _, src := range []any{want, []byte(want)} {
				var scanned statemachine.Outcome
				if err := scanned.Scan(src); err != nil || scanned != e {
					t.Errorf("Scan(%T): %v, %v", src, scanned, err)
				}
			}
		})
	}
}

func TestEnumOutsideTheSet(t *testing.T) {
	for _, c := range []struct {
		rule string
		e    statemachine.Outcome
		text string
	}{
		{"zero is no value", 0, "none"},
		{"the number after the last", 5, "(outcome 5)"},
		{"the highest number", 255, "(outcome 255)"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if c.e.Valid() {
				t.Error("is valid")
			}
			if c.e.String() != c.text {
				t.Errorf("prints %q, want %q", c.e, c.text)
			}
			if text, err := c.e.MarshalText(); text != nil || !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("MarshalText: %q, %v", text, err)
			}
			if v, err := c.e.Value(); v != nil || !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("Value: %v, %v", v, err)
			}
			if data, err := json.Marshal(c.e); !errors.Is(err, statemachine.ErrInvalid) {
				t.Errorf("JSON: %s, %v", data, err)
			}
		})
	}
}

func TestEnumRefusesUnknownInput(t *testing.T) {
	for _, c := range []struct {
		rule string
		src  any
		says string
	}{
		{"an unknown text", "maybe", `unknown outcome "maybe"`},
		{"the text of zero", "none", `unknown outcome "none"`},
		{"the empty text", "", `unknown outcome ""`},
		{"another case", "Done", `unknown outcome "Done"`},
		{"a space after it", "done ", `unknown outcome "done "`},
		{"unknown bytes", []byte("x"), `unknown outcome "x"`},
		{"NULL", nil, `unknown outcome "<nil> <nil>"`},
		{"a number", int64(1), `unknown outcome "int64 1"`},
		{"a text of 100 bytes is quoted whole", strings.Repeat("x", 100), `unknown outcome "` + strings.Repeat("x", 100) + `"`},
		{"a longer text is cut", strings.Repeat("x", 101), `unknown outcome "` + strings.Repeat("x", 100) + `..."`},
		{"the cut falls between runes", strings.Repeat("x", 99) + "é", `unknown outcome "` + strings.Repeat("x", 99) + `..."`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e := statemachine.Failed
			err := e.Scan(c.src)
			var unknown *statemachine.UnknownTextError
			if !errors.As(err, &unknown) || !errors.Is(err, statemachine.ErrInvalid) {
				t.Fatalf("got %v, want an UnknownTextError that is ErrInvalid", err)
			}
			says := c.says
			if c.src != nil && c.src != int64(1) { // a text, and not a row of another type
				says += ": it is one of done, failed, unknown, deferred"
			}
			if err.Error() != says {
				t.Errorf("says %s\nwant %s", err, says)
			}
			if e != statemachine.Failed {
				t.Errorf("changed the value to %v", e)
			}
		})
	}
	for _, data := range []string{`"maybe"`, `1`, `{}`} {
		e := statemachine.Failed
		if err := json.Unmarshal([]byte(data), &e); err == nil || e != statemachine.Failed {
			t.Errorf("JSON %s: %v, %v", data, e, err)
		}
	}
}

func TestErrorsReadLikeSentences(t *testing.T) {
	for _, c := range []struct {
		rule string
		err  error
		want string
	}{
		{"a full refusal", &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: "parcel", ID: "7", State: "sent", Event: "Send",
			Reason: "already on its way"},
			"parcel 7 (sent) refuses Send: illegal in this state: already on its way"},
		{"a bare refusal", &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "parcel"}, "parcel: not found"},
		{"a text read from a row", &statemachine.UnknownTextError{Kind: "status", Text: "x", Where: "parcels 7"},
			`unknown status "x" in parcels 7`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if c.err.Error() != c.want {
				t.Errorf("says %q\nwant %q", c.err, c.want)
			}
		})
	}
	refusal := error(&statemachine.Refusal{Err: statemachine.ErrHeld, Machine: "parcel"})
	if !errors.Is(refusal, statemachine.ErrHeld) || errors.Is(refusal, statemachine.ErrIllegal) {
		t.Error("a refusal does not match its own sentinel alone")
	}
	if errors.Is(&statemachine.UnknownTextError{}, statemachine.ErrCorrupt) {
		t.Error("an unknown text matches a sentinel that is not its own")
	}
}

type outcomeNames struct{}

func (outcomeNames) Kind() string    { return "outcome" }
func (outcomeNames) Names() []string { return []string{"done", "failed", "unknown", "deferred"} }
