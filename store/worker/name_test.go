package worker_test

import (
	"strings"
	"testing"

	"github.com/settlehq/settle/store/worker"
)

func TestNamesOfHoldersAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		name := worker.NewName("payer")
		if seen[name] || !strings.HasPrefix(name, "payer-") || len(name) != len("payer-")+26 {
			t.Fatalf("%q", name)
		}
		seen[name] = true
	}
}
