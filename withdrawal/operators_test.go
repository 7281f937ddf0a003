package withdrawal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/settlehq/settle/withdrawal"
)

// Each claim of an incident has its line in the page for operators: what to look at,
// what to say, what not to say.
func TestEachClaimHasALineForTheOperator(t *testing.T) {
	page, err := os.ReadFile("../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "incident") {
			continue
		}
		for i, part := range strings.Split(cells[1], `"`) {
			if i%2 == 1 {
				lines[part] = line
			}
		}
	}
	for _, claim := range withdrawal.IncidentClaim(0).Values() {
		if lines[claim.String()] == "" {
			t.Errorf("docs/operators.md has no line for the incident %q", claim)
		}
		delete(lines, claim.String())
	}
	if len(lines) > 0 {
		t.Errorf("no incident claims %s", fmt.Sprint(lines))
	}
}
