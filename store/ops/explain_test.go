package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// spoken adds the events that people may say, as package and name.
func spoken[E any, R interface {
	~uint8
	Valid() bool
	String() string
}](names *[]string, events []E, speakers func(E) statemachine.Roles[R], people ...R) {
	for _, ev := range events {
		if slices.ContainsFunc(people, speakers(ev).Has) {
			*names = append(*names, fmt.Sprintf("%T", ev))
		}
	}
}

// calls are those of the services that are no event and are in the journal all the same.
func calls(t *testing.T) (names []string) {
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`(?s)\bcall\(ctx, s\.update,.*?, "(\w+)",\s+func\(`)
	service := regexp.MustCompile(`func \(s \*(\w+)\) `)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range strings.Split(string(text), "\n}\n") {
			of, said := service.FindStringSubmatch(method), call.FindStringSubmatch(method)
			if of != nil && said != nil {
				names = append(names, of[1]+"."+said[1])
			}
		}
	}
	if len(names) < 6 {
		t.Fatalf("only %q", names)
	}
	return names
}

// Whatever may wake a person, and whatever a person can say, has one entry, and nothing else has one.
func TestEachNameHasItsEntry(t *testing.T) {
	want := map[Topic][]string{}
	for _, k := range alertKinds() {
		want[Alerts] = append(want[Alerts], k.Name)
	}
	for _, c := range withdrawal.IncidentClaim(0).Values() {
		want[Incidents] = append(want[Incidents], c.String())
	}
	for _, k := range swap.HoldKind(0).Values() {
		want[Holds] = append(want[Holds], k.String())
	}
	for _, k := range swap.DiscrepancyKind(0).Values() {
		want[Discrepancies] = append(want[Discrepancies], k.String())
	}
	for _, p := range withdrawal.OpenPoint(0).Values() {
		want[OpenPoints] = append(want[OpenPoints], p.String())
	}
	// A call without a role of people, and an event of wallets, which know no roles, is not in the code's lists.
	actions := append(calls(t), "Withdrawals.PutHotWallet", "follow.ReverseDeposit", "utxo.Invalidated", "utxo.Labelled")
	spoken(&actions, switches.Events(), switches.Speakers, switches.Operator)
	spoken(&actions, withdrawal.Events(), withdrawal.Speakers, withdrawal.Operator, withdrawal.Approver)
	spoken(&actions, withdrawal.BatchEvents(), withdrawal.BatchSpeakers, withdrawal.Operator, withdrawal.Approver)
	for _, ev := range withdrawal.StatementEvents() {
		actions = append(actions, fmt.Sprintf("%T", ev))
	}
	spoken(&actions, swap.Events(), swap.Speakers, swap.Operator)
	spoken(&actions, refresh.Events(), refresh.Speakers, refresh.Operator)
	spoken(&actions, relaysync.Events(), relaysync.Speakers, relaysync.Operator)
	spoken(&actions, dunning.Events(), dunning.Speakers, dunning.Operator)
	want[Actions] = actions

	got := map[Topic][]string{}
	for _, e := range Explain("") {
		got[e.Topic] = append(got[e.Topic], e.Name)
	}
	for topic := range got {
		if want[topic] == nil {
			t.Errorf("nobody asks for the topic %q", topic)
		}
	}
	for topic, names := range want {
		for _, name := range names {
			if n := len(slices.DeleteFunc(slices.Clone(got[topic]), func(s string) bool { return s != name })); n != 1 {
				t.Errorf("%s: %q has %d entries", topic, name, n)
			}
		}
		for _, name := range got[topic] {
			if !slices.Contains(names, name) {
				t.Errorf("%s: %q is no name in the code", topic, name)
			}
		}
	}
}

// An entry that leaves a person without a next step is none.
func TestEachEntryIsWhole(t *testing.T) {
	for _, e := range Explain("") {
		if e.Means == "" || e.LookAt == "" || e.Say == "" || e.DoNot == "" {
			t.Errorf("%s, %s: %+v", e.Topic, e.Name, e)
		}
	}
	alert := page[strings.Index(page, "## Alerts"):strings.Index(page, "## Incidents")]
	if strings.Contains(alert, "- **say**") {
		t.Error("what ends an alert is said by its kind, and here once more")
	}
	for line := range strings.Lines(page) {
		label := strings.TrimPrefix(strings.SplitAfter(line+"** ", "** ")[0], "- **")
		if strings.HasPrefix(line, "- **") && !slices.Contains([]string{"means** ", "look at** ", "say** ", "do not** "}, label) {
			t.Errorf("a label that nobody reads: %s", line)
		}
	}
}

func TestExplain(t *testing.T) {
	for name, want := range map[string]int{"review wait": 1, "Mismatch": 2, "cancelled": 1, "withdrawal.Cancelled": 1, "Acknowledged": 3,
		"": len(explanations()), "no such name": 0} {
		if got := Explain(name); len(got) != want {
			t.Errorf("%q has %d entries, not %d", name, len(got), want)
		}
	}
	if e := Explain("confirm wait")[0]; e.Person || !strings.Contains(e.Say, "Policy.CheckEvery") {
		t.Errorf("%+v", e)
	}
}
