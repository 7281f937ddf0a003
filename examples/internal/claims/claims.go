// Package claims prints what an example proves. The examples share it beside what
// a user copies from them.
package claims

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Claim is one thing that holds, or not.
type Claim struct {
	Holds  bool   `json:"holds"`
	Claim  string `json:"claim"`
	Detail string `json:"detail,omitempty"` // the first example of the contrary
}

// That is a claim that holds until it fails.
func That(text string) Claim { return Claim{Holds: true, Claim: text} }

// Fails keeps the first example of the contrary.
func (c *Claim) Fails(format string, args ...any) {
	if c.Holds {
		c.Holds, c.Detail = false, fmt.Sprintf(format, args...)
	}
}

// Pass reports whether all hold.
func Pass(all []Claim) bool { return !slices.ContainsFunc(all, func(c Claim) bool { return !c.Holds }) }

// Print writes a line for each claim, and the verdict.
func Print(out io.Writer, all []Claim) error {
	for _, c := range all {
		detail := ""
		if c.Detail != "" {
			detail = ": " + c.Detail
		}
		fmt.Fprintf(out, "%-5s %s%s\n", verdict(c.Holds), c.Claim, detail)
	}
	_, err := fmt.Fprintln(out, verdict(Pass(all)))
	return err
}

func verdict(holds bool) string {
	if holds {
		return "PASS"
	}
	return "FAIL"
}

// Counts is a map as text, in the order of its keys.
func Counts(m map[string]int) string {
	text := ""
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", m[k], k)
	}
	return text
}
