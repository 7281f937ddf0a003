package purity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is left out without SETTLE_SOAK=1, and with -short: each function that asks,
// with its comment. `go test -v -run TestWhatIsLeftOut ./internal/purity` shows
// it.
func TestWhatIsLeftOut(t *testing.T) {
	const root = "../.."
	left := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if s := string(text); path == filepath.Join(root, "internal/purity/soak_test.go") || !strings.Contains(s, `Getenv("SETTLE_SOAK")`) && !strings.Contains(s, "testing.Short()") {
			return nil
		}
		f, err := parser.ParseFile(files, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			body := string(text[files.Position(decl.Pos()).Offset:files.Position(decl.End()).Offset])
			for flag, asks := range map[string]string{"without SETTLE_SOAK=1": `Getenv("SETTLE_SOAK")`, "with -short": "testing.Short()"} {
				if !strings.Contains(body, asks) {
					continue
				}
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					return fmt.Errorf("%s: what is left out is decided outside of a function", files.Position(decl.Pos()))
				}
				left[flag]++
				at, _ := filepath.Rel(root, path)
				t.Logf("less %s: %s %s: %s", flag, filepath.ToSlash(filepath.Dir(at)), fn.Name.Name, strings.ReplaceAll(strings.TrimSpace(fn.Doc.Text()), "\n", " "))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if left["without SETTLE_SOAK=1"] == 0 {
		t.Error("nothing asks for SETTLE_SOAK")
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	if err != nil || !strings.Contains(string(ci), "SETTLE_SOAK=1") {
		t.Errorf(".ci/run does not set SETTLE_SOAK, %v", err)
	}
}
