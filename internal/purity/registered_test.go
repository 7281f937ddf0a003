package purity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A machine whose package is missing in a list is not checked by what the list is
// for, and a suite or a self-check that nothing calls is not run.
func TestEveryMachineIsRegistered(t *testing.T) {
	made, missing, err := unregistered(os.DirFS("../.."))
	if err != nil || made < 13 {
		t.Fatalf("%d machines, %v", made, err)
	}
	for _, m := range missing {
		t.Error(m)
	}
}

// unregistered counts the machines of the module in fsys and says which lists they,
// the suites of storetest and the self-checks of store are missing in.
func unregistered(fsys fs.FS) (made int, missing []string, err error) {
	sections, err := fs.ReadFile(fsys, "internal/diagrams/main.go")
	if err != nil {
		return 0, nil, err
	}
	miss := func(is bool, what, list string) {
		if is {
			missing = append(missing, what+" is missing in "+list)
		}
	}
	suites, checks := map[string]bool{}, map[string]bool{}
	run, self := map[string]bool{}, map[string]bool{}
	err = eachFile(fsys, func(name string, source []byte) error {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 && makesMachine(v.Values[0]) {
				made++
				of := file.Name.Name + "." + v.Names[0].Name
				miss(!isPure(dir), dir, "domains (internal/purity/purity_test.go)")
				miss(!slices.Contains(enumerated, dir), dir, "enumerated (internal/purity/values_test.go)")
				miss(!strings.Contains(string(sections), "section("+of+")"), of, "machines (internal/diagrams/main.go)")
				return false
			}
			if e, ok := n.(ast.Expr); ok && makesMachine(e) {
				made++
				missing = append(missing, name+" makes a machine that is no variable of its package: no list can name it")
			}
			return true
		})
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.TypeParams == nil && f.Name.Name != "Run" && f.Name.Name != "SelfCheck":
			case dir == "store/storetest":
				collect(f, "Run", suites, run)
			case dir == "store" && strings.HasPrefix(f.Name.Name, "SelfCheck"):
				collect(f, "", checks, self)
			}
		}
		return nil
	})
	for suite := range suites {
		miss(!run[suite] && suite != "Run", "storetest."+suite, "storetest.Run")
	}
	for check := range checks {
		miss(!self[check] && check != "SelfCheck", "store."+check, "store.SelfCheck")
	}
	slices.Sort(missing)
	return made, slices.Compact(missing), err
}

// collect adds the name of a function to all, and what it calls to called, if it
// is the only one whose calls count, or all count.
func collect(f *ast.FuncDecl, only string, all, called map[string]bool) {
	all[f.Name.Name] = true
	if only != "" && f.Name.Name != only {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			called[nameOf(c.Fun)] = true
		}
		return true
	})
}

func makesMachine(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	return ok && slices.Contains([]string{"statemachine.Must", "statemachine.New"}, nameOf(c.Fun))
}

func TestWhatIsNotRegisteredIsFound(t *testing.T) {
	source := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	_, missing, err := unregistered(fstest.MapFS{
		"internal/diagrams/main.go":    source("package main\nvar machines = []part{section(utxo.Known)}\n"),
		"utxo/a.go":                    source("package utxo\nvar Known = statemachine.Must(1)\nvar Other = statemachine.Must(2)\nfunc f() { statemachine.Must(3) }\n"),
		"escrow/a.go":                  source("package escrow\nvar Machine = statemachine.Must(1)\n"),
		"escrow/a_test.go":             source("package escrow\nvar Tested = statemachine.Must(1)\n"),
		"store/storetest/a.go":         source("package storetest\nfunc Run() { Coins() }\nfunc Coins[T any]() {}\nfunc Escrows[T any]() {}\n"),
		"store/selfcheck.go":           source("package store\nfunc SelfCheck() { SelfCheckCoins() }\nfunc SelfCheckCoins[T any]() {}\nfunc SelfCheckEscrows[T any]() {}\n"),
		"store/storetest/a_test.go":    source("package storetest\n"),
		"relaysync/dunning/nothing.go": source("package dunning\n"),
	})
	want := []string{
		"escrow is missing in domains (internal/purity/purity_test.go)",
		"escrow is missing in enumerated (internal/purity/values_test.go)",
		"escrow.Machine is missing in machines (internal/diagrams/main.go)",
		"store.SelfCheckEscrows is missing in store.SelfCheck",
		"storetest.Escrows is missing in storetest.Run",
		"utxo.Other is missing in machines (internal/diagrams/main.go)",
		"utxo/a.go makes a machine that is no variable of its package: no list can name it",
	}
	if err != nil || !slices.Equal(missing, want) {
		t.Errorf("found %q, %v", missing, err)
	}
}
