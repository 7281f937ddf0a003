// Package processes is what is known of the lives of workers: which binaries work on a
// database, and by which policies. No rule of any domain depends on it: it is read by
// people, and by one alert.
package processes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

const (
	// Every is how often a worker says that it is there, with one of its turns.
	Every = time.Minute
	// LiveFor is how long a process counts as alive after it was last seen.
	LiveFor = 3 * Every
	// Kept is how long a process that is not seen any more stays on file.
	Kept = 7 * 24 * time.Hour
	// MaxKept is how many processes stay on file, beside what is alive: those that were seen last.
	MaxKept = 1000
	// MaxText bounds each text of a [Key], in bytes.
	MaxText = statemachine.MaxActor
)

// Key names one life of a worker. A name is unique for each life, see NewName of package
// worker; where a host uses one again, another version or another policy is another life.
type Key struct {
	Domain  string // of package store, such as "withdrawals"
	Name    string // the holder of the worker's leases
	Version string // of the binary; empty where it was built without one
	Policy  string // the digest of the policy that it works by, see [Digest]
}

// Process is one life of a worker.
type Process struct {
	Key
	First, Last time.Time // when it was first and last seen, by the store's clock
}

// Check returns [statemachine.ErrInvalid] for a process that cannot be stored.
func (p *Process) Check() error {
	for _, text := range []string{p.Domain, p.Name, p.Version, p.Policy} {
		if len(text) > MaxText || !statemachine.Storable(text) {
			return fmt.Errorf("%w: a text of a process is longer than %d bytes, or none", statemachine.ErrInvalid, MaxText)
		}
	}
	if p.Domain == "" || p.Name == "" || p.Policy == "" || p.Last.Before(p.First) {
		return fmt.Errorf("%w: a process has a domain, a name, a policy, and was last seen no earlier than first", statemachine.ErrInvalid)
	}
	return nil
}

// Seen is the process as it is stored when p was seen and was stored as is. A first time
// that a clock which was ahead has given becomes that of p.
func (p Process) Seen(is Process) Process {
	if is.First.Before(p.First) {
		p.First = is.First
	}
	return p
}

// Live reports whether the process was seen lately. One that was seen in the future was
// seen by a clock that was ahead, and says nothing.
func (p *Process) Live(now time.Time) bool { return within(p.Last, now, LiveFor) }

func within(at, now time.Time, d time.Duration) bool { return now.Sub(at).Abs() <= d }

// Compare orders keys by domain, name, version and policy, in byte order: that of a list.
func Compare(a, b Key) int {
	return cmp.Or(strings.Compare(a.Domain, b.Domain), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Version, b.Version), strings.Compare(a.Policy, b.Policy))
}

// Old returns the processes that are deleted: those that were last seen more than [Kept] ago, and
// those that are not alive and not among the [MaxKept] last seen (of two seen at one time the
// greater key counts as later). Old returns at most limit, those that were seen longest ago first.
func Old(all []Process, now time.Time, limit int) (gone []Process) {
	all = slices.SortedFunc(slices.Values(all), func(a, b Process) int {
		return cmp.Or(b.Last.Compare(a.Last), Compare(b.Key, a.Key))
	})
	for i, p := range all {
		if i >= MaxKept && !p.Live(now) || !within(p.Last, now, Kept) {
			gone = append(gone, p)
		}
	}
	slices.Reverse(gone)
	return gone[:min(limit, len(gone))]
}

// Digest is a digest of a policy's content: the same for equal policies in every process, on
// every machine. It is the beginning of the SHA-256 of the policy's JSON, in hexadecimal. A
// release that adds a field to a policy changes its digest.
func Digest(policy any) (string, error) {
	text, err := json.Marshal(policy)
	if err != nil {
		return "", fmt.Errorf("%w: a policy without JSON: %w", statemachine.ErrInvalid, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// Thresholds are the limits of [Alerts]. A zero duration is not watched.
type Thresholds struct {
	TwoPolicies time.Duration // how long processes of one domain may differ in their policy
}

// DefaultThresholds: a release that is rolled out has a quarter of an hour.
func DefaultThresholds() Thresholds { return Thresholds{TwoPolicies: 15 * time.Minute} }

// AlertKinds are the alerts of [Alerts].
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{{Name: "two policies", Person: true,
		Ends: "start the processes that have the wrong policy again with the right one; it ends some minutes after the last of them has"}}
}

// Alerts compares the processes on file at a time with limits. It is pure; the order is that
// of the domains.
func Alerts(all []Process, now time.Time, t Thresholds) []statemachine.Alert {
	type group struct{ domain, policy string }
	of := map[group][]Process{}
	for _, p := range all {
		if !p.Last.After(now) || p.Live(now) {
			g := group{p.Domain, p.Policy}
			of[g] = append(of[g], p)
		}
	}
	work := map[string][]worked{}
	for g, lives := range of {
		if w, is := workedUntil(now, lives); is {
			work[g.domain] = append(work[g.domain], w)
		}
	}
	a := statemachine.Alarms{At: now, Kinds: AlertKinds()}
	for _, domain := range slices.Sorted(maps.Keys(work)) {
		all := work[domain]
		slices.SortFunc(all, func(a, b worked) int { return cmp.Or(a.since.Compare(b.since), Compare(a.by.Key, b.by.Key)) })
		var since time.Time // the second one is there
		var names []string
		for i, w := range all {
			if i == 1 {
				since = w.since
			}
			if i < maxNamed {
				names = append(names, fmt.Sprintf("%s by %s (%s)", w.by.Name, w.by.Policy, cmp.Or(w.by.Version, "no version")))
			}
		}
		a.Wait("two policies", since, t.TwoPolicies, fmt.Sprintf("%s has %d policies: %s,", domain, len(all), strings.Join(names, ", ")))
	}
	return a.Alerts
}

// maxNamed bounds the policies that an alert names.
const maxNamed = 5

// worked says since when a policy has been worked by, and by which process lately.
type worked struct {
	since time.Time
	by    Process
}

// workedUntil follows the lives of one policy back from now, as long as no pause between
// them is longer than [LiveFor]; false if none of them is alive.
func workedUntil(now time.Time, lives []Process) (w worked, is bool) {
	slices.SortFunc(lives, func(a, b Process) int { return cmp.Or(b.Last.Compare(a.Last), Compare(a.Key, b.Key)) })
	w = worked{now, lives[0]}
	for _, p := range lives {
		if w.since.Sub(p.Last) > LiveFor {
			break
		}
		if is = true; p.First.Before(w.since) {
			w.since = p.First
		}
	}
	return w, is
}
