package statemachine_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

func TestSumsAreExact(t *testing.T) {
	nines := statemachine.Sum(strings.Repeat("9", 78))
	for _, x := range []struct {
		a, b statemachine.Sum
		want string
	}{
		{"", "", "0"},
		{"", "7", "7"},
		{"5", "-5", "0"},
		{"-5", "3", "-2"},
		{statemachine.SumOf(math.MaxInt64), "1", "9223372036854775808"},
		{statemachine.SumOf(math.MinInt64), "-1", "-9223372036854775809"},
		{"999999999999999999", "1", "1000000000000000000"},
		{nines, nines, "1" + strings.Repeat("9", 77) + "8"},
	} {
		if got := x.a.Add(x.b); got.String() != x.want || got == "0" {
			t.Errorf("%v + %v = %q, want %s", x.a, x.b, string(got), x.want)
		}
	}
	for text, want := range map[string]statemachine.Sum{"": "", "0": "", "-0": "", "007": "7", "-12": "-12", string(nines): nines} {
		if got, err := statemachine.ParseSum(text); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, string(got), err)
		}
	}
	for _, text := range []string{"-", "+1", "1.5", "1e3", " 1", "1 ", "--1", "1-", "x", "0x1", "1_000"} {
		if got, err := statemachine.ParseSum(text); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%q is %q, %v", text, string(got), err)
		}
	}
}

func TestMoneyAsText(t *testing.T) {
	var m statemachine.Money
	m.Add("9223372036854775807", false, false, false)
	m.Add("1", true, false, false)
	m.Add("2", false, true, false)
	m.Add("3", false, false, true)
	const want = `{"Open":"9223372036854775813","Review":"1","Unknown":"2","Stuck":"3"}`
	b, err := json.Marshal(m)
	if err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	var back statemachine.Money
	if err := json.Unmarshal([]byte(want), &back); err != nil || back != m {
		t.Errorf("%+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"Open":"0"}`), &back); err != nil || back.Open != "" {
		t.Errorf("zero is %q, %v", string(back.Open), err)
	}
}
