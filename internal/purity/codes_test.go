package purity

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// sources calls visit for each file of the library that is no test.
func sources(t *testing.T, visit func(dir string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"examples", "testdata", ".git"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(filepath.ToSlash(strings.TrimPrefix(filepath.Dir(name), filepath.Join("..", "..")+string(filepath.Separator))), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Codes of refusals are promised: the list is a golden file, and no code means two things.
func TestCodesOfRefusals(t *testing.T) {
	of := map[string]string{}
	sources(t, func(dir string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !strings.HasSuffix("."+nameOf(call.Fun), ".NewSentinel") {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: a code is a literal", dir)
				return true
			}
			code, _ := strconv.Unquote(literal.Value)
			if other, twice := of[code]; twice {
				t.Errorf("%s is a code of %s and of %s", code, other, dir)
			}
			of[code] = dir
			return true
		})
	})
	var lines []string
	for code, dir := range of {
		lines = append(lines, code+" "+dir+"\n")
	}
	slices.Sort(lines)
	got := strings.Join(lines, "")
	const golden = "testdata/codes.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the codes are\n%sand not those of %s", got, golden)
	}
}

// A sentinel that is made without a code leaves refusals that nobody can tell by theirs:
// every exported error of a domain is a sentinel with a code.
func TestSentinelsHaveCodes(t *testing.T) {
	domains := []string{"statemachine", "statemachine/switches", "utxo", "utxo/coinselect", "withdrawal", "swap", "refresh", "relaysync", "relaysync/dunning"}
	seen := 0
	sources(t, func(dir string, file *ast.File) {
		if !slices.Contains(domains, dir) {
			return
		}
		for _, decl := range file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if !strings.HasPrefix(name.Name, "Err") || i >= len(v.Values) {
						continue
					}
					seen++
					if of, ok := v.Values[i].(*ast.SelectorExpr); ok && strings.HasPrefix(of.Sel.Name, "Err") {
						continue // the same error as another package's
					}
					if call, ok := v.Values[i].(*ast.CallExpr); !ok || !strings.HasSuffix("."+nameOf(call.Fun), ".NewSentinel") {
						t.Errorf("%s.%s has no code", dir, name.Name)
					}
				}
			}
		}
	})
	if seen < 40 {
		t.Errorf("%d sentinels", seen)
	}
}

// Events names every event of its package, so that what walks them misses none.
func TestEventsAreComplete(t *testing.T) {
	embeds, listed := map[string][]string{}, map[string][]string{}
	sources(t, func(dir string, file *ast.File) {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && embedsBy(s.Type) && s.Name.IsExported() {
						embeds[dir] = append(embeds[dir], s.Name.Name)
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil && (d.Name.Name == "Events" || d.Name.Name == "BatchEvents" || d.Name.Name == "StatementEvents") {
					ast.Inspect(d.Body, func(n ast.Node) bool {
						if c, ok := n.(*ast.CompositeLit); ok && nameOf(c.Type) != "" {
							listed[dir] = append(listed[dir], nameOf(c.Type))
						}
						return true
					})
				}
			}
		}
	})
	if len(listed) < 7 {
		t.Errorf("%d packages list their events", len(listed))
	}
	for dir, all := range embeds {
		for _, name := range all {
			if !slices.Contains(listed[dir], name) {
				t.Errorf("%s.%s is not among the events that the package lists", dir, name)
			}
		}
	}
}

// embedsBy reports whether a struct embeds By: it is an event.
func embedsBy(of ast.Expr) bool {
	s, ok := of.(*ast.StructType)
	return ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 && nameOf(f.Type) == "By" })
}
