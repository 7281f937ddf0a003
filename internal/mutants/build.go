package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pkg is a package under test.
type pkg struct {
	dir, rel, path string
	files          []string
	source         map[string][]byte
	mutants        []*mutant // mutants[i].id is i + 1
	edits          []edit

	work, binary string
	tests        []test
}

// test is one test function of the package, as it ran without a mutant.
type test struct {
	name    string
	took    time.Duration
	reaches []byte // by the number of the mutant
}

// load finds the mutants of the packages.
func load(patterns []string) ([]*pkg, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	exports, err := output(wd, append([]string{"go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	export := map[string]string{}
	for line := range strings.Lines(exports) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		export[path] = file
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	dirs, err := output(wd, append([]string{"go", "list", "-f",
		`{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}	{{.Dir}}	{{join .GoFiles " "}}{{end}}`}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var pkgs []*pkg
	for line := range strings.Lines(dirs) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue
		}
		p := &pkg{path: fields[0], dir: fields[1], source: map[string][]byte{}}
		if p.rel, err = filepath.Rel(wd, p.dir); err != nil {
			return nil, err
		}
		var files []*ast.File
		for name := range strings.FieldsSeq(fields[2]) {
			full := filepath.Join(p.dir, name)
			if p.source[full], err = os.ReadFile(full); err != nil {
				return nil, err
			}
			f, err := parser.ParseFile(fset, full, p.source[full], parser.ParseComments)
			if err != nil {
				return nil, err
			}
			p.files, files = append(p.files, full), append(files, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		checked, err := (&types.Config{Importer: imports}).Check(p.path, fset, files, info)
		if err != nil {
			return nil, err
		}
		for i, f := range files {
			mutate(p, checked, info, fset, f, p.files[i])
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// switches is what the overlay adds to the package. The bytes of the file that is mapped say
// which mutants a run has reached, also when the run ends by a signal.
const switches = `package %s

import (
	"os"
	"strconv"
	"syscall"
)

var mutantActive, _ = strconv.Atoi(os.Getenv("SETTLE_MUTANT"))

var mutantReached = func() []byte {
	path := os.Getenv("SETTLE_MUTANTS_REACHED")
	if path == "" {
		return make([]byte, %[2]d)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, %[2]d, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return b
}()

func mutantOn(id int) bool {
	mutantReached[id] = 1
	return mutantActive == id
}

func mutantPick[T any](id int, a, b T) T {
	if mutantOn(id) {
		return b
	}
	return a
}
`

// prepare compiles the test binary with all mutants, and runs each test without any.
func (p *pkg) prepare(dir string, jobs int) error {
	p.work = filepath.Join(dir, strings.ReplaceAll(p.rel, "/", "-"))
	p.binary = filepath.Join(p.work, "test")
	if err := os.MkdirAll(p.work, 0o700); err != nil {
		return err
	}
	if err := p.compile(); err != nil {
		return err
	}
	listed, err := output(p.dir, p.binary, "-test.list", ".")
	if err != nil {
		return err
	}
	for line := range strings.Lines(listed) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(name, "Benchmark") {
			p.tests = append(p.tests, test{name: name})
		}
	}
	indices := make([]int, len(p.tests))
	for i := range indices {
		indices[i] = i
	}
	var mu sync.Mutex
	inParallel(jobs, indices, func(i int) {
		t := &p.tests[i]
		reached := filepath.Join(p.work, t.name)
		err := os.WriteFile(reached, make([]byte, len(p.mutants)+1), 0o600)
		began := time.Now()
		if err == nil {
			err = p.test([]string{t.name}, 10*time.Minute, "SETTLE_MUTANTS_REACHED="+reached)
		}
		t.took = time.Since(began)
		if err == nil {
			t.reaches, err = os.ReadFile(reached)
		}
		if err != nil {
			mu.Lock()
			fmt.Printf("%s: %s does not pass beside the switches, it is not used: %v\n", p.rel, t.name, err)
			mu.Unlock()
		}
	})
	p.tests = slices.DeleteFunc(p.tests, func(t test) bool { return t.reaches == nil })
	slices.SortFunc(p.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return nil
}

var compilerError = regexp.MustCompile(`(?m)/(\d+)\.go:(\d+):`)

// compile builds the binary. A mutant on a line that the compiler refuses is dropped.
func (p *pkg) compile() error {
	for range 10 {
		overlay := map[string]string{filepath.Join(p.dir, "mutants_switches.go"): filepath.Join(p.work, "switches.go")}
		name := ""
		for i, file := range p.files {
			f, err := parser.ParseFile(token.NewFileSet(), file, p.source[file], parser.PackageClauseOnly)
			if err != nil {
				return err
			}
			name = f.Name.Name
			overlay[file] = filepath.Join(p.work, strconv.Itoa(i)+".go")
			if err := os.WriteFile(overlay[file], p.rewritten(file), 0o600); err != nil {
				return err
			}
		}
		text := fmt.Sprintf(switches, name, len(p.mutants)+1)
		if err := os.WriteFile(filepath.Join(p.work, "switches.go"), []byte(text), 0o600); err != nil {
			return err
		}
		config, _ := json.Marshal(map[string]any{"Replace": overlay})
		if err := os.WriteFile(filepath.Join(p.work, "overlay.json"), config, 0o600); err != nil {
			return err
		}
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", filepath.Join(p.work, "overlay.json"), "-o", p.binary, ".")
		cmd.Dir = p.dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		dropped := 0
		for _, match := range compilerError.FindAllSubmatch(out, -1) {
			file, _ := strconv.Atoi(string(match[1]))
			line, _ := strconv.Atoi(string(match[2]))
			for _, m := range p.mutants {
				if filepath.Base(m.file) == filepath.Base(p.files[file]) && m.line <= line && line <= m.last && !m.dropped {
					m.dropped = true
					dropped++
				}
			}
		}
		if dropped == 0 {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return fmt.Errorf("does not compile without the mutants that the compiler refuses")
}

// rewritten is the text of a file with its mutants in it. No edit adds a line.
func (p *pkg) rewritten(file string) []byte {
	var here []edit
	for _, e := range p.edits {
		if e.file == file && !e.of.dropped {
			here = append(here, e)
		}
	}
	slices.SortStableFunc(here, func(a, b edit) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		switch {
		case a.closes && b.closes: // what began last ends first
			return cmp.Compare(b.of.id, a.of.id)
		case a.closes != b.closes:
			if a.closes {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.of.id, b.of.id)
	})
	var out bytes.Buffer
	at, source := 0, p.source[file]
	for _, e := range here {
		out.Write(source[at:e.at])
		out.WriteString(e.text)
		at = e.at
	}
	out.Write(source[at:])
	return out.Bytes()
}

// kills says whether a test fails with the mutant.
func (p *pkg) kills(m *mutant) bool {
	var names []string
	var took, budget time.Duration = 0, 300 * time.Millisecond
	flush := func() bool {
		if len(names) == 0 {
			return false
		}
		err := p.test(names, 5*time.Second+8*took, "SETTLE_MUTANT="+strconv.Itoa(m.id))
		names, took = nil, 0
		return err != nil
	}
	for _, t := range p.tests {
		if t.reaches[m.id] == 0 {
			continue
		}
		if took+t.took > budget && flush() {
			return true
		}
		names, took, budget = append(names, t.name), took+t.took, max(budget, 4*t.took)
	}
	return flush()
}

func (m *mutant) reachedBy(p *pkg) string {
	n := 0
	for _, t := range p.tests {
		n += int(t.reaches[m.id])
	}
	if n == 0 {
		return "no test runs this line"
	}
	return fmt.Sprintf("%d tests run this line", n)
}

// test runs tests of the package in its directory, within 6 GB of addresses.
func (p *pkg) test(names []string, limit time.Duration, env string) error {
	cmd := exec.Command("sh", "-c", `ulimit -v 6000000; exec "$0" "$@"`, p.binary, "-test.short", "-test.failfast",
		"-test.timeout", limit.String(), "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), env, "SETTLE_SOAK=", "RAPID_NOFAILFILE=1", "RAPID_SHRINKTIME=0s", "TMPDIR="+p.work)
	if os.Getenv("RAPID_SEED") == "" {
		cmd.Env = append(cmd.Env, "RAPID_SEED=1")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.Output()
	if err != nil && len(out) > 300 {
		out = out[:300]
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
