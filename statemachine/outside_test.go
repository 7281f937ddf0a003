package statemachine_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/settlehq/settle/statemachine"
)

func TestTimeIsWhatEveryStoreKeeps(t *testing.T) {
	first := time.Unix(0, 0)
	last := time.Date(9000, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, c := range []struct {
		name string
		in   time.Time
		ok   bool
	}{
		{"just before 1970", first.Add(-1), false},
		{"at 1970", first, true},
		{"just after 1970", first.Add(time.Microsecond), true},
		{"the last nanosecond of 9000", last, true},
		{"the first of 9001", last.Add(1), false},
		{"zero", time.Time{}, false},
		{"milliseconds taken for seconds", time.Unix(1_800_000_000_000, 0), false},
	} {
		got, err := statemachine.Time(c.in)
		if c.ok != (err == nil) || err != nil && !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.ok && (got.Location() != time.UTC || got.Nanosecond()%1000 != 0 || c.in.Sub(got) < 0 || c.in.Sub(got) >= time.Microsecond) {
			t.Errorf("%s: %v became %v", c.name, c.in, got)
		}
	}
}

func TestBoundedTextIsStorable(t *testing.T) {
	for _, s := range []string{"", "abc", "a\x00b", "\xff\xfe", strings.Repeat("a", 20), strings.Repeat("a", 21), strings.Repeat("é", 11),
		"0123456789012345678\xf0\x9f"} {
		got := statemachine.Bounded(s, 20)
		if len(got) > 20 || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Errorf("%q became %q", s, got)
		}
		if len(s) <= 20 && statemachine.Storable(s) && got != s {
			t.Errorf("%q was changed to %q", s, got)
		}
		if statemachine.Bounded(got, 20) != got {
			t.Errorf("%q is changed a second time", got)
		}
	}
}

func TestASpellingIsNoOtherHash(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"0xabcdef", "0xABCDEF", true},
		{"0xabcdef", "ABCdef", true},
		{"0Xab", "ab", true},
		{"ab", "abc", false},
		{"", "", true},
		{"", "0x", false},
		{"0x", "0X", false},
		{"xyz", "XYZ", false}, // base58: a case is another value
		{"5KtP", "5kTp", false},
	} {
		if statemachine.SameHash(c.a, c.b) != c.same || statemachine.SameHash(c.b, c.a) != c.same {
			t.Errorf("%q and %q: same is not %v", c.a, c.b, c.same)
		}
	}
}

func TestWhoSpeaksAndWhen(t *testing.T) {
	for name, ok := range map[string]bool{"": false, "a": true, strings.Repeat("a", statemachine.MaxActor): true,
		strings.Repeat("a", statemachine.MaxActor+1): false, "a\x00": false, "a\xff": false} {
		if err := statemachine.Actor(name); (err == nil) != ok || err != nil && !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("Actor(%q): %v", name, err)
		}
	}
	now, said := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC), time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	for _, c := range []struct{ at, now, said, clock time.Time }{
		{time.Time{}, now, now.Truncate(time.Microsecond), now.Truncate(time.Microsecond)},
		{said, said, said, said},
		{said, said.Add(time.Microsecond), said, said.Add(time.Microsecond)}, // a host that is behind
		{said, said.Add(time.Hour), said, said.Add(time.Hour)},
		{said, said.Add(-time.Microsecond), said.Add(-time.Microsecond), said.Add(-time.Microsecond)},
		{said, said.Add(-statemachine.MaxAhead), said.Add(-statemachine.MaxAhead), said.Add(-statemachine.MaxAhead)},
		{said, time.Time{}, said, said},
	} {
		if at, clock, err := statemachine.EventTime(c.at, c.now); err != nil || !at.Equal(c.said) || !clock.Equal(c.clock) {
			t.Errorf("EventTime(%v, %v) = %v, %v, %v", c.at, c.now, at, clock, err)
		}
	}
	if _, _, err := statemachine.EventTime(said, said.Add(-statemachine.MaxAhead-time.Microsecond)); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("too far ahead: %v", err)
	}
	if _, _, err := statemachine.EventTime(time.Time{}, time.Time{}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("no time at all: %v", err)
	}
}

// The head of an event is checked in one order: that it is one, the role, the actor,
// trace and way, the time.
func TestTheHeadOfAnEvent(t *testing.T) {
	type by = statemachine.By[statemachine.Outcome]
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ahead, most := now.AddDate(1, 0, 0), strings.Repeat("é", statemachine.MaxTrace/2)
	speakers := statemachine.Roles[statemachine.Outcome](1<<statemachine.Done | 1<<statemachine.Unknown)
	for _, c := range []struct {
		ev     statemachine.Event[statemachine.Outcome]
		reason string
		err    error
	}{
		{by{Role: statemachine.Done, Actor: "a", At: now}, "", nil},
		{by{Role: statemachine.Unknown, Actor: "a"}, "", nil},
		{by{Role: statemachine.Done, Actor: "a", Trace: most, Via: most}, "", nil},
		{by{Role: statemachine.Failed, At: ahead, Trace: most + "x"}, "the role is failed", statemachine.ErrForbidden},
		{by{Actor: "a", At: now}, "the role is none", statemachine.ErrForbidden},
		{by{Role: 200, Actor: "a"}, "the role is " + statemachine.Outcome(200).String(), statemachine.ErrForbidden},
		{by{Role: statemachine.Done, At: ahead}, "", statemachine.ErrInvalid},
		{by{Role: statemachine.Done, Actor: "a", At: ahead}, "", statemachine.ErrInvalid},
		{by{Role: statemachine.Done, Actor: "a", Trace: most + "x"}, "", statemachine.ErrInvalid},
		{by{Role: statemachine.Done, Actor: "a", Trace: "\xff"}, "", statemachine.ErrInvalid},
		{by{Role: statemachine.Done, Actor: "a", Via: most + "x"}, "", statemachine.ErrInvalid},
		{by{Role: statemachine.Done, Actor: "a", Via: "\x00"}, "", statemachine.ErrInvalid},
		{&by{Role: statemachine.Done, Actor: "a"}, statemachine.NoEvent(&by{}), statemachine.ErrInvalid},
		{nil, "no event", statemachine.ErrInvalid},
	} {
		is, said, reason, err := statemachine.Begin(c.ev, speakers, now)
		if !errors.Is(err, c.err) || reason != c.reason || err == nil && (!said.Equal(now) || !is.At.Equal(now) || is.Actor != "a") {
			t.Errorf("%+v: %+v, %v, %q, %v", c.ev, is, said, reason, err)
		}
	}
	if speakers.First() != statemachine.Done || statemachine.Roles[statemachine.Outcome](0).First() != 0 {
		t.Errorf("the first of %b is %v", speakers, speakers.First())
	}
	if got := statemachine.EventName(&time.ParseError{}); got != "ParseError" {
		t.Errorf("the event is called %q", got)
	}
}

// Any texts are words of one list, which differ where the texts do.
func TestWordsOfAList(t *testing.T) {
	seen := map[string]bool{}
	for _, text := range []string{"a", "a b", "a%20b", "a%2520b", "%", "%25", " ", "a\nb", "\u00a0"} {
		word := statemachine.Word(text)
		if strings.Contains(word, " ") || seen[word] || statemachine.Unword(word) != text {
			t.Errorf("%q is %q, and that is %q", text, word, statemachine.Unword(word))
		}
		seen[word] = true
	}
}
