package ops

import (
	"encoding"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Said is what a person says of a record.
type Said struct {
	Action     string // [Action.As]
	Actor      string
	Via, Trace string
	// Version is By.Version: what the person looked at; 0 asks for no version.
	Version int64
	// Seen is the [Item.Seen] that the person looked at: more than one version can say. Empty asks for none.
	Seen string
	// Fields are the texts of what is chosen and typed, by [Input.Name].
	Fields map[string]string

	probe bool // nothing that is needed is asked for
}

// Input is one field of a form. It is never filled in.
type Input struct {
	Name    string   // such as "Reason" or "Block.Height"
	Choices []string // one of these; nil: any text
	Hint    string   // how the text is written, empty: as it is
	Needed  bool     // empty is no answer

	closed bool // another text than Choices is no answer, whatever the record has
}

var textual = reflect.TypeFor[encoding.TextUnmarshaler]()

// inputs are the fields that a person fills in, in the order of the event.
func (a *Action) inputs(choices map[string][]string) (all []Input) {
	add := func(name string, of reflect.Type, from Source) {
		in := Input{Name: name}
		switch at := of; {
		case from == Choice:
			some, own := choices[a.As()+"."+name] // those of this action, where another has a field of the name too
			if !own {
				some = choices[name]
			}
			in.Choices = append([]string{}, some...)
		case at.Kind() == reflect.Bool:
			in.Choices, in.Needed, in.closed = []string{"yes", "no"}, true, true
		case at == reflect.TypeFor[time.Time]():
			in.Hint = "such as 2026-01-02T03:04:05Z"
		case at == reflect.TypeFor[[]byte]():
			in.Hint = "hexadecimal"
		default:
			if values := reflect.Zero(at).MethodByName("Values"); values.IsValid() { // an enumeration
				all := values.Call(nil)[0]
				in.closed = true
				for i := range all.Len() {
					in.Choices = append(in.Choices, fmt.Sprint(all.Index(i)))
				}
			}
		}
		all = append(all, in)
	}
	of := reflect.TypeOf(a.Event)
	for i := range of.NumField() {
		f := of.Field(i)
		from := a.Fields[f.Name]
		switch {
		case f.Name == "By" && a.Fields["At"] == Typed:
			add("At", reflect.TypeFor[time.Time](), Typed)
		case from != Typed && from != Choice:
		case f.Type.Kind() == reflect.Struct && !reflect.PointerTo(f.Type).Implements(textual):
			for k := range f.Type.NumField() {
				add(f.Name+"."+f.Type.Field(k).Name, f.Type.Field(k).Type, from)
			}
		default:
			add(f.Name, f.Type, from)
		}
	}
	return all
}

// Evidence reports whether a person types more than a reason.
func (a Action) Evidence() bool {
	for name, from := range a.Fields {
		if from == Typed && name != "Reason" {
			return true
		}
	}
	return false
}

var given = map[string]string{"HasNonce": "Nonce", "ByOutput": "Output"}

// event makes the event of an action: its head, what the record has, and what was said.
func (a *Action) event(record map[string]any, choices map[string][]string, s Said) (any, error) {
	v := reflect.New(reflect.TypeOf(a.Event)).Elem()
	role := "operator"
	if a.Approves() {
		role = "approver"
	}
	for name, text := range map[string]string{"Actor": s.Actor, "Role": role, "Via": s.Via, "Trace": s.Trace} {
		if err := setText(v.FieldByName(name), text); err != nil {
			return nil, err
		}
	}
	if f := v.FieldByName("By").FieldByName("Version"); f.IsValid() {
		f.SetInt(s.Version)
	}
	for name, text := range a.Fixed {
		if err := setText(v.FieldByName(name), text); err != nil {
			return nil, err
		}
	}
	for name, from := range a.Fields {
		f := v.FieldByName(name)
		switch is, has := record[name]; {
		case from == Record && has:
			f.Set(reflect.ValueOf(is).Convert(f.Type()))
		case from == Given:
			f.SetBool(s.Fields[given[name]] != "")
		}
	}
	inputs := a.inputs(choices)
	for name := range s.Fields {
		if !slices.ContainsFunc(inputs, func(in Input) bool { return in.Name == name }) {
			return nil, fmt.Errorf("%w: nothing is asked under the name %q", statemachine.ErrInvalid, name)
		}
	}
	for _, in := range inputs {
		text := strings.TrimSpace(s.Fields[in.Name])
		if in.closed && text != "" && !slices.Contains(in.Choices, text) || in.Needed && text == "" && !s.probe {
			return nil, fmt.Errorf("%w: %s is one of %q", statemachine.ErrInvalid, in.Name, in.Choices)
		}
		if in.Needed {
			text = map[string]string{"yes": "true", "no": "false"}[text]
		}
		f := v
		for part := range strings.SplitSeq(in.Name, ".") {
			f = f.FieldByName(part)
		}
		if err := setText(f, text); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", statemachine.ErrInvalid, in.Name, err)
		}
	}
	return v.Interface(), nil
}

// setText sets a field to what a text says; an empty one leaves it zero.
func setText(f reflect.Value, text string) error {
	if text == "" {
		return nil
	}
	if to, is := f.Addr().Interface().(encoding.TextUnmarshaler); is {
		return to.UnmarshalText([]byte(text))
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
	case reflect.Bool:
		is, err := strconv.ParseBool(text)
		f.SetBool(is)
		return err
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, f.Type().Bits())
		f.SetInt(n)
		return err
	case reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, f.Type().Bits())
		f.SetUint(n)
		return err
	case reflect.Slice:
		raw, err := hex.DecodeString(text)
		f.SetBytes(raw)
		return err
	default:
		return fmt.Errorf("a field of type %s has no text", f.Type())
	}
	return nil
}
