package pages

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

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

// kinds are the alerts of each package that has some.
var kinds = map[string][]statemachine.AlertKind{
	"utxo":                   utxo.AlertKinds(),
	"withdrawal":             withdrawal.AlertKinds(),
	"swap":                   swap.AlertKinds(),
	"refresh":                refresh.AlertKinds(),
	"relaysync":              relaysync.AlertKinds(),
	"relaysync/dunning":      dunning.AlertKinds(),
	"statemachine/processes": processes.AlertKinds(),
	"store/follow":           follow.AlertKinds(),
	"store/sqlstore":         sqlstore.AlertKinds(),
}

// sources is the Go code of a package, without its tests.
func sources(t *testing.T, dir string) (all string) {
	t.Helper()
	names, err := fs.Glob(os.DirFS(root), dir+"/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			all += text(t, name)
		}
	}
	return all
}

// One page lists the alerts of all domains, and no two have one name.
func TestAlertsAreUniqueAndListed(t *testing.T) {
	page := text(t, "docs/alerts.md")
	var table strings.Builder
	of := map[string]string{}
	for _, dir := range slices.Sorted(maps.Keys(kinds)) {
		for _, k := range kinds[dir] {
			if was := of[k.Name]; was != "" {
				t.Errorf("%q is an alert of %s and of %s", k.Name, was, dir)
			}
			if uses := strings.Count(sources(t, dir), `"`+k.Name+`"`); uses < 2 {
				t.Errorf("%s lists %q and never alerts under that name", dir, k.Name)
			}
			if k.Name == "" || k.Ends == "" || strings.Contains(k.Name+k.Ends, "|") {
				t.Errorf("%s: %+v", dir, k)
			}
			of[k.Name] = dir
			needs := "goes on by itself"
			if k.Person {
				needs = "needs a person"
			}
			fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", k.Name, dir, needs, k.Ends)
		}
	}
	rows := "| --- | --- | --- | --- |\n" + table.String()
	if !strings.Contains(page, rows) || strings.Count(page, "\n| ") != strings.Count(table.String(), "\n")+2 {
		t.Errorf("docs/alerts.md does not have this table:\n%s", table.String())
	}

	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") && kinds[path.Dir(name)] == nil && strings.Contains(text(t, name), "\nfunc AlertKinds()") {
			t.Errorf("%s is missing in kinds", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
