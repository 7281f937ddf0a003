// Package purity holds the repository to its layers: what a package may import
// directly, and where the clock may be read.
package purity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/settlehq/settle"

var (
	domains = []string{"utxo", "withdrawal", "swap", "refresh", "relaysync"}

	// impure are import paths, with all below them, that bring I/O, a clock, randomness
	// or concurrency into a pure package.
	impure = []string{"context", "crypto/rand", "database/sql", "log", "math/rand", "net", "os", "sync"}

	// clocked are the directories that may read the clock, with all below them
	// where a slash ends the name.
	clocked = []string{"store", "store/memory/", "store/sqlstore/", "store/worker/", "store/reactor/", "store/refresher/", "store/follow/", "store/ops/",
		"store/simtest/", "store/storetest/linear/", "internal/mutants/", "examples/"}

	drivers = []string{"modernc.org/sqlite", "github.com/jackc/pgx"}

	testTools = []string{"testing", "pgregory.net/rapid"}
)

func TestRepositoryKeepsItsLayers(t *testing.T) {
	seen, violations, err := check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
	if !slices.Contains(seen, "statemachine/machine.go") {
		t.Errorf("the walk missed statemachine/machine.go; it saw %d files", len(seen))
	}
}

// check reads the Go files of the module in fsys.
func check(fsys fs.FS) (seen, violations []string, err error) {
	err = eachFile(fsys, func(name string, source []byte) error {
		seen = append(seen, name)
		found, err := checkFile(name, source)
		violations = append(violations, found...)
		return err
	})
	return seen, violations, err
}

// eachFile calls visit for the Go files of the module in fsys, except those of
// tests and of nested modules.
func eachFile(fsys fs.FS, visit func(name string, source []byte) error) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "." {
				return nil
			}
			_, nested := fs.Stat(fsys, path.Join(name, "go.mod"))
			if nested == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		return visit(name, source)
	})
}

func checkFile(name string, source []byte) (violations []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	report := func(at token.Pos, format string, args ...any) {
		violations = append(violations, fmt.Sprintf("%s:%d: %s", name, fset.Position(at).Line, fmt.Sprintf(format, args...)))
	}
	dir := path.Dir(name)
	clock := ""
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if why := importRule(dir, imported); why != "" {
			report(spec.Pos(), "imports %s: %s", imported, why)
		}
		if imported == "time" {
			clock = "time"
			if spec.Name != nil {
				clock = spec.Name.Name
			}
		}
	}
	if clock == "." {
		report(file.Name.Pos(), "imports time into its own names, which hides the clock")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == clock && slices.Contains([]string{"Now", "Since", "Until"}, n.Sel.Name) && !mayReadClock(dir) {
				report(n.Pos(), "time.%s: time is an argument here", n.Sel.Name)
			}
		case *ast.GoStmt:
			if isPure(dir) {
				report(n.Pos(), "starts a goroutine: a pure package has none")
			}
		}
		return true
	})
	return violations, nil
}

// importRule says why dir may not import a path, "" if it may.
func importRule(dir, imported string) string {
	own, ours := strings.CutPrefix(imported, module+"/")
	switch {
	case !isTestPackage(dir) && within(imported, testTools):
		return "only test packages and _test.go files may"
	case !within(dir, []string{"examples"}) && within(imported, drivers):
		return "the host chooses its driver; only examples and _test.go files may"
	case ours && dir == "statemachine":
		return "statemachine imports nothing of ours"
	case ours && within(dir, []string{"statemachine"}) && !within(own, []string{"statemachine"}):
		return "statemachine imports nothing of the layers above it"
	case within(dir, []string{"statemachine/explore"}) && (ours || strings.Contains(imported, ".")):
		return "explore needs the standard library alone"
	case !isPure(dir):
		return ""
	case dir == "statemachine" && imported == "database/sql/driver",
		dir == "statemachine/looplab" && imported == "context":
		return ""
	case within(imported, impure):
		return "a pure package has no I/O, clock, randomness or concurrency"
	case ours && !within(own, []string{"statemachine", "internal", top(dir)}):
		return "a domain imports no other domain and nothing above it"
	}
	return ""
}

// isPure reports whether dir is part of a domain or of statemachine, test
// packages excepted.
func isPure(dir string) bool {
	return (top(dir) == "statemachine" || slices.Contains(domains, top(dir))) && !isTestPackage(dir)
}

func isTestPackage(dir string) bool {
	base := path.Base(dir)
	return strings.HasSuffix(base, "test") && base != "test"
}

func mayReadClock(dir string) bool {
	return slices.ContainsFunc(clocked, func(c string) bool {
		return dir == strings.TrimSuffix(c, "/") || strings.HasSuffix(c, "/") && strings.HasPrefix(dir, c)
	})
}

// within reports whether name is one of the roots or below one.
func within(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return name == root || strings.HasPrefix(name, root+"/")
	})
}

func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}
