package purity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// enumerated are the packages whose enumerations list their values.
var enumerated = []string{"statemachine", "statemachine/switches", "utxo", "utxo/coinselect", "withdrawal", "swap", "refresh", "relaysync", "relaysync/dunning", "store"}

// go doc shows the comment of a type and, of its constants, the first: so the
// comment of an enumeration lists its values.
func TestEnumerationsListTheirValues(t *testing.T) {
	seen := 0
	for _, dir := range enumerated {
		docs, values := map[string]string{}, map[string][]string{}
		names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, "_test.go") {
				enumerations(t, source, docs, values)
			}
		}
		for name, doc := range docs {
			_, listed, _ := strings.Cut(strings.ReplaceAll(doc, "\n", " "), "Values: ")
			if want := strings.Join(values[name], ", ") + "."; len(values[name]) > 0 && strings.TrimSpace(listed) != want {
				t.Errorf("%s.%s lists %q, its values are %s", dir, name, listed, want)
			}
			seen++
		}
	}
	if seen < 50 {
		t.Errorf("%d enumerations", seen)
	}
}

// enumerations finds exported enumerations with their comments, and the constants
// of each type.
func enumerations(t *testing.T, source []byte, docs map[string]string, values map[string][]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		of := ""
		for _, spec := range g.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				e, ok := s.Type.(*ast.IndexExpr)
				if ok && s.Assign.IsValid() && s.Name.IsExported() && slices.Contains([]string{"Enum", "statemachine.Enum"}, nameOf(e.X)) {
					docs[s.Name.Name] = g.Doc.Text()
				}
			case *ast.ValueSpec:
				if g.Tok != token.CONST {
					continue
				}
				if s.Type != nil || len(s.Values) > 0 {
					of = nameOf(s.Type)
				}
				for _, id := range s.Names {
					if id.IsExported() {
						values[of] = append(values[of], id.Name)
					}
				}
			}
		}
	}
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	}
	return ""
}
