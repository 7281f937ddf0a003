package swap_test

import (
	"os"
	"strings"
	"testing"

	"github.com/settlehq/settle/swap"
)

// The operator's page has a line for each kind of hold and of discrepancy.
func TestTheOperatorsPageHasEachKind(t *testing.T) {
	page, err := os.ReadFile("../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range swap.DiscrepancyKind(0).Values() {
		if !strings.Contains(string(page), "\n| \""+k.String()+"\" | ") {
			t.Errorf("no line for the discrepancy %q", k)
		}
	}
	for _, k := range swap.HoldKind(0).Values() {
		if !strings.Contains(string(page), "\n| hold \""+k.String()+"\"") {
			t.Errorf("no line for the hold %q", k)
		}
	}
}
