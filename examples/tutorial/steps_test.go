package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	heading = regexp.MustCompile(`(?m)^## \d`)
	file    = regexp.MustCompile("(?s)`([a-z_]+\\.go)`:\n\n```go\n(.*?)```")
)

// Whoever types in the page has a folder that compiles, and whose tests pass, after each of its steps.
func TestEachStepOfThePageStandsAlone(t *testing.T) {
	if os.Getenv("SETTLE_SOAK") == "" {
		t.Skip("SETTLE_SOAK=1 builds the folder of each step; the whole is tested beside this")
	}
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, tests, steps := t.TempDir(), 0, heading.Split(string(page), -1)[1:]
	in := func(name string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, name, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod")) // the versions that the module itself is tested with
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(module), "module github.com/settlehq/settle", "module shop", 1) +
		"\nrequire github.com/settlehq/settle v0.0.0\nreplace github.com/settlehq/settle => " + root + "\n"
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"go.mod": text, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range steps {
		files, tested := file.FindAllStringSubmatch(step, -1), false
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f[1]), []byte(f[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			tested = tested || strings.HasSuffix(f[1], "_test.go")
		}
		if len(files) == 0 {
			t.Fatalf("step %d of %d has no file", i+1, len(steps))
		}
		if tested {
			tests++
			in("go", "test", "-count=1", ".")
		} else {
			in("go", "vet", ".")
		}
	}
	if tests == 0 {
		t.Fatal("the page has no test")
	}
	in("go", "run", ".")
}
