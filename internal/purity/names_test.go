package purity

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/settlehq/settle/store"
)

// verbs are the methods that the service of each domain has, by one name and of one shape, so that who
// knows one domain knows the next: a regular expression of what stands behind the context.
var verbs = map[string]string{
	"Do":     `, \S+, \.\.\.\S+Event\) \(\S+, error\)`,
	"DoAll":  `, \.\.\.\S+Command\) \(\[]\S+, error\)`,
	"DoHeld": `, (\S+, \.\.\.\S+Event|\.\.\.store\.Held\S+)\) \(\S+, error\)`,
	"Get":    `, \S+\) \(\S+, error\)`,
	"Next":   `, \S+\) \(\S+Step, time\.Time, error\)`,
	"List":   `, .+\) \(\[]\S+, error\)`,
	"Trail":  `, \S+\) \(\[]statemachine\.Transition\[\S+], error\)`,
	"Verify": `, \S+\) error`,
	"Audit":  `, string, int\) \(string, error\)`,
	"Follow": `, store\.Cursor, int\) \(\[]statemachine\.Transition\[\S+], store\.Cursor, error\)`,
	"Head":   `\) \(store\.Cursor, error\)`,
	"Stats":  `(, .+)?\) \(\S+\.Stats, error\)`,
	"Alerts": `(, .+)?, \S+\.Thresholds(, .+)?\) \(\[]statemachine\.Alert, error\)`,
	"Try":    `, \S+, \.\.\.\S+Event\) \(\S+, \[]store\.TriedMove, error\)`,
}

// lacks are the verbs that a service is without, or has in another shape, and why.
var lacks = map[string]string{
	"Batches.DoHeld":      "a worker answers by BatchResult",
	"Batches.Follow":      "the transitions of batches are in Withdrawals.Follow",
	"Batches.Head":        "as Follow",
	"Batches.Stats":       "Withdrawals.Stats counts batches",
	"Batches.Alerts":      "as Stats",
	"Batches.Try":         "an operator's word on a batch is one on its members",
	"SwapDeposits.Stats":  "Swaps counts the house",
	"SwapDeposits.Alerts": "as Stats",
	"SwapCredits.Stats":   "Swaps counts the house",
	"SwapCredits.Alerts":  "as Stats",
	"Refreshes.DoAll":     "a wallet is the unit of work",
	"Refreshes.DoHeld":    "a worker holds a slot and sends each event by Step",
	"Refreshes.List":      "a wallet has no list of its own: Jobs and Watchers page through what it has",
	"Tenants.DoAll":       "a tenant is the unit of work",
	"Wallets.Do":          "an event of the chain is of all wallets",
	"Wallets.DoAll":       "as Do",
	"Wallets.DoHeld":      "nobody holds a wallet",
	"Wallets.Get":         "Wallet, Detail and Outputs return its parts",
	"Wallets.Next":        "its actions are many",
	"Wallets.List":        "History and Outputs page through its parts",
	"Wallets.Audit":       "one call reads all of one wallet",
	"Wallets.Try":         "no operator speaks to a wallet",
}

// A sixth domain gets its service into this list, and the verbs with it.
func TestServicesSpeakWithOneVoice(t *testing.T) {
	services := []any{(*store.Withdrawals)(nil), (*store.Batches)(nil), (*store.SwapDeposits)(nil), (*store.SwapCredits)(nil),
		(*store.Refreshes)(nil), (*store.Relays)(nil), (*store.Tenants)(nil), (*store.Wallets)(nil)}
	used := 0
	for _, service := range services {
		s := reflect.TypeOf(service)
		for verb, shape := range verbs {
			name, has := s.Elem().Name()+"."+verb, "nothing"
			if m, ok := s.MethodByName(verb); ok {
				has = m.Type.String()
			}
			fits := regexp.MustCompile(`^func\(\*store\.\w+, context\.Context` + shape + `$`).MatchString(has)
			why, lacking := lacks[name]
			if fits == lacking {
				t.Errorf("%s is %s, want %s; it may lack it: %q", name, has, shape, why)
			}
			if lacking {
				used++
			}
		}
	}
	if used != len(lacks) {
		t.Errorf("%d of %d excuses are used", used, len(lacks))
	}
}
