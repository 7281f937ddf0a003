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

// generic is what package store shows with a type parameter, and why.
var generic = map[string]string{
	"Store":    "the port: a host's own unit of work",
	"absent":   "the port",
	"Feed":     "the port: the ids of a domain's records",
	"Lease":    "the port: the same",
	"CursorOf": "for adapters: the same",
	// Deposits and credits share what they have alike.
	"swapWork":    "deposits and credits",
	"SwapRecords": "the port: items of either direction",

	"UnimplementedSwaps": "the port: the same",
}

// A user of a service reads concrete types: what package store exports mentions no
// type parameter, but for the port, and for constructors and self-checks, whose
// store has the host's own unit of work.
func TestServicesShowNothingGeneric(t *testing.T) {
	names, err := filepath.Glob("../../store/*.go")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	used := map[string]bool{}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, of := range genericIn(t, source) {
			if used[of] = true; generic[of] == "" && !strings.HasPrefix(of, "New") && !strings.HasPrefix(of, "SelfCheck") {
				t.Errorf("%s: %s shows a type parameter", filepath.Base(name), of)
			}
		}
	}
	for of := range generic {
		if !used[of] {
			t.Errorf("%s shows none any more", of)
		}
	}
}

// genericIn names the exported types and functions of a file that mention a type
// parameter; of a method the type that has it, which may be embedded in an
// exported one.
func genericIn(t *testing.T, source []byte) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() {
				continue
			}
			if d.Type.TypeParams != nil {
				found = append(found, d.Name.Name)
			}
			if d.Recv != nil {
				if of, parameters := receiver(d.Recv.List[0].Type); mentions(d.Type, parameters) {
					found = append(found, of)
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() && s.TypeParams != nil {
					found = append(found, s.Name.Name)
				}
			}
		}
	}
	return found
}

// receiver returns the type of a receiver and its type parameters.
func receiver(e ast.Expr) (of string, parameters []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && of == "" {
			of = id.Name
		} else if ok {
			parameters = append(parameters, id.Name)
		}
		return true
	})
	return of, parameters
}

func mentions(signature *ast.FuncType, parameters []string) (is bool) {
	ast.Inspect(signature, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		is = is || ok && slices.Contains(parameters, id.Name)
		return true
	})
	return is
}

func TestGenericSignaturesAreFound(t *testing.T) {
	for source, want := range map[string]string{
		"func Do[A any](a A) {}": "Do", "func do[A any](a A) {}": "", "type Held[A any] struct{ a A }": "Held", "type held[A any] struct{ a A }": "",
		"func (s *items[A]) Do() (A, error) { panic(0) }": "items", "func (s *items[A]) do() (a A) { return }": "", "func (s items[A]) Len() int { return 0 }": "",
		"func (s pair[K, L]) Do(f func(map[string]L)) {}": "pair", "func (s *Items) Do() []int { return nil }": "",
	} {
		if got := strings.Join(genericIn(t, []byte("package store\n"+source)), " "); got != want {
			t.Errorf("%s: found %q, expected %q", source, got, want)
		}
	}
}
