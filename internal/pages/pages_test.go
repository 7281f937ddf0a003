// Package pages holds the Markdown pages of this module against its code.
package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// pages are the names of all Markdown files of the module, from its root.
func pages(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "store/ops/*.md"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if len(names) < 10 {
		t.Fatalf("only %q", names)
	}
	return names
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	code  = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	link  = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]+)?\)`)
	block = regexp.MustCompile("(?s)```go\n(.*?)```")
)

// links are the targets of the links of a page, outside of its code.
func links(t *testing.T, name string) (to []string) {
	t.Helper()
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text(t, name), ""), -1) {
		if !strings.Contains(m[1], "://") {
			to = append(to, filepath.Join(filepath.Dir(name), m[1]))
		}
	}
	return to
}

func TestEveryLinkLeadsToAFile(t *testing.T) {
	for _, name := range pages(t) {
		for _, to := range links(t, name) {
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s: %v", name, to, err)
			}
		}
	}
}

// Code on a page is compiled and run by the tests, since it stands in a Go file too.
func TestCodeOnAPageStandsInAGoFile(t *testing.T) {
	var source strings.Builder
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			source.WriteString(text(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(text(t, name), -1) {
			found++
			if !strings.Contains(source.String(), m[1]) {
				t.Errorf("%s shows code that stands in no Go file:\n%s", name, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page shows code")
	}
}

func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(text(t, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, 120 are enough", n)
	}
}

// A page that nothing links to is found by nobody.
func TestEveryPageIsLinked(t *testing.T) {
	var linked []string
	all := pages(t)
	for _, name := range all {
		linked = append(linked, links(t, name)...)
	}
	for _, name := range all {
		if name != "README.md" && !slices.Contains(linked, name) {
			t.Errorf("no page links to %s", name)
		}
	}
}
