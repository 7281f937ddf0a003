package ops

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Topic is what an [Explanation] is of: a second-level heading of explain.md.
type Topic string

const (
	Alerts        Topic = "Alerts"                           // by [statemachine.AlertKind].Name
	Incidents     Topic = "Incidents of withdrawals"         // by [withdrawal.IncidentClaim]
	Holds         Topic = "Holds of swaps"                   // by [swap.HoldKind]
	Discrepancies Topic = "Discrepancies of swaps"           // by [swap.DiscrepancyKind]
	OpenPoints    Topic = "What stands open after a restore" // by [withdrawal.OpenPoint]
	Actions       Topic = "Actions"                          // by package and event, or service and call
)

// Explanation tells a person who has not read the source what something means. Its texts
// are Markdown of one paragraph each.
type Explanation struct {
	Topic  Topic
	Name   string
	Means  string
	LookAt string
	Say    string // of an alert what ends it, see [statemachine.AlertKind]
	DoNot  string
	Person bool // of an alert: a person is needed
}

//go:embed explain.md
var page string

var explanations = sync.OnceValue(func() []Explanation { return parse(page) })

// Explain returns what explain.md says of a name, in its order: more than one entry where topics share the name, and
// none for an unknown one. An action is also found by its event alone, such as "Cancelled". Upper and lower case are
// the same. An empty name returns all entries.
func Explain(name string) (found []Explanation) {
	for _, e := range explanations() {
		_, event, _ := strings.Cut(e.Name, ".")
		if name == "" || strings.EqualFold(e.Name, name) || e.Topic == Actions && strings.EqualFold(event, name) {
			found = append(found, e)
		}
	}
	return found
}

// parse reads the entries of a page: "## topic", "### name", and a line of each label.
func parse(page string) (all []Explanation) {
	kinds := alertKinds()
	var topic Topic
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if heading, is := strings.CutPrefix(line, "## "); is {
			topic = Topic(heading)
		}
		if name, is := strings.CutPrefix(line, "### "); is {
			e := Explanation{Topic: topic, Name: name}
			if i := slices.IndexFunc(kinds, func(k statemachine.AlertKind) bool { return k.Name == name }); i >= 0 && topic == Alerts {
				e.Say, e.Person = kinds[i].Ends, kinds[i].Person
			}
			all = append(all, e)
		}
		if len(all) == 0 {
			continue
		}
		e := &all[len(all)-1]
		for label, text := range map[string]*string{"means": &e.Means, "look at": &e.LookAt, "say": &e.Say, "do not": &e.DoNot} {
			if told, is := strings.CutPrefix(line, "- **"+label+"** "); is {
				*text = told
			}
		}
	}
	return all
}

// alertKinds are the kinds of alert of all domains.
func alertKinds() []statemachine.AlertKind {
	return slices.Concat(withdrawal.AlertKinds(), swap.AlertKinds(), refresh.AlertKinds(), relaysync.AlertKinds(), dunning.AlertKinds(),
		processes.AlertKinds(), follow.AlertKinds(), sqlstore.AlertKinds(), utxo.AlertKinds())
}
