// Command mutants changes one thing at a time in the functions of a package and runs the package's
// own tests. A change that no test notices, a survivor, is a rule without a test, or code that
// makes no difference. Run it at the root of the repository:
//
//	go run ./internal/mutants ./refresh                 every mutant of one package
//	go run ./internal/mutants -n 200 -seed 7 ./...      a sample, for machines that have not an hour
//	go run ./internal/mutants -only 'swap/lease.go held' ./swap
//
// Survivors that are known are in testdata/alive.txt, each with the reason why the change makes no
// difference to what the package promises; a name that ends with a star stands for all that begin
// with it. Any other survivor fails the command, and so does a line of the file whose mutant exists
// no more or is killed now.
//
// All mutants of a package are compiled at once, by an overlay in which each is switched on by a
// number in the environment. Each test runs once without a mutant, to learn its time and which
// mutants it reaches. A mutant is then run with the tests that reach it, the cheap ones first, with
// -test.short, and a time limit: a loop that never ends counts as killed. Declarations outside
// functions, such as the tables of machines, are not changed: internal/diagrams compares those.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	seed := flag.Uint64("seed", 1, "chooses the sample")
	n := flag.Int("n", 0, "how many mutants to run, of all packages together; 0 runs all")
	jobs := flag.Int("j", runtime.NumCPU(), "how many to run at once")
	only := flag.String("only", "", "run mutants whose name matches this regular expression")
	list := flag.Bool("list", false, "list the mutants and run none")
	verbose := flag.Bool("v", false, "say how long each mutant took")
	known := flag.String("alive", "internal/mutants/testdata/alive.txt", "the list of survivors with reasons")
	flag.Parse()
	if err := run(flag.Args(), *known, *seed, *n, *jobs, *only, *list, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(patterns []string, known string, seed uint64, n, jobs int, only string, list, verbose bool) error {
	chosenBy, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	alive, err := readAlive(known)
	if err != nil {
		return err
	}
	began := time.Now()
	pkgs, err := load(patterns)
	if err != nil {
		return err
	}
	var all, sample []*mutant
	names := map[string]bool{}
	dirs := map[string]bool{}
	for _, p := range pkgs {
		dirs[p.rel] = true
		for _, m := range p.mutants {
			names[m.name] = true
			all = append(all, m)
			_, m.listed = alive[m.name]
			for line := range alive {
				m.starred = m.starred || m.within(line)
			}
			if chosenBy.MatchString(m.name) {
				sample = append(sample, m)
			}
		}
	}
	total := len(sample)
	// The order is that of a hash of the name, so that a change elsewhere moves nothing in the sample.
	slices.SortFunc(sample, func(a, b *mutant) int { return cmp.Compare(a.rank(seed), b.rank(seed)) })
	if n > 0 && n < len(sample) {
		// What is known to live takes long, and is run with all others only.
		sample = slices.DeleteFunc(sample[:n], func(m *mutant) bool { return m.listed || m.starred })
	}
	if list {
		for _, m := range sample {
			fmt.Println(m.name)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var killed, unknown, stale int
	for _, p := range pkgs {
		chosen := slices.DeleteFunc(slices.Clone(sample), func(m *mutant) bool { return m.pkg != p })
		if len(chosen) == 0 {
			continue
		}
		if err := p.prepare(dir, jobs); err != nil {
			return fmt.Errorf("%s: %w", p.rel, err)
		}
		inParallel(jobs, chosen, func(m *mutant) {
			began := time.Now()
			m.lives = !m.dropped && !p.kills(m)
			if took := time.Since(began); verbose {
				fmt.Printf("%6.1fs lives %-5v %s\n", took.Seconds(), m.lives, m.name)
			}
		})
		slices.SortFunc(chosen, func(a, b *mutant) int { return cmp.Compare(a.name, b.name) })
		var here int
		for _, m := range chosen {
			switch {
			case m.dropped: // does not compile: nobody can write it
			case m.lives && !m.listed && !m.starred:
				unknown++
				fmt.Printf("lives: %s\n       %s:%d: %s\n", m.name, m.file, m.line, m.reachedBy(p))
			case !m.lives && m.listed:
				stale++
				fmt.Printf("killed now, take it off the list: %s\n", m.name)
			case !m.lives:
				killed++
				here++
			}
		}
		fmt.Printf("%s: %d of %d killed, after %s\n", p.rel, here, len(chosen), time.Since(began).Round(time.Second))
	}
	for name := range alive {
		file, _, _ := strings.Cut(name, ".go ")
		exists := names[name] || slices.ContainsFunc(all, func(m *mutant) bool { return m.within(name) })
		if dirs[file[:max(0, strings.LastIndex(file, "/"))]] && !exists {
			stale++
			fmt.Printf("no such mutant any more, take it off the list: %s\n", name)
		}
	}
	fmt.Printf("%d of %d mutants run with seed %d: %d killed, %d live for a reason or do not compile, %d live without one; %s\n", len(sample),
		total, seed, killed, len(sample)-killed-unknown, unknown, time.Since(began).Round(time.Second))
	if unknown+stale > 0 {
		return fmt.Errorf("%d survivors without a reason, %d lines of %s that are not true", unknown, stale, known)
	}
	return nil
}

// within: the line of the list ends with a star and names the mutant's function, or more of its name.
func (m *mutant) within(line string) bool {
	prefix, ok := strings.CutSuffix(line, "*")
	return ok && strings.HasPrefix(m.name, prefix)
}

func (m *mutant) rank(seed uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed, " ", m.name)
	x := h.Sum64() // mixed once more, since names that are almost the same have sums that are close
	x = (x ^ x>>31) * 0xbf58476d1ce4e5b9
	return x ^ x>>29
}

// readAlive reads "name -- reason" from each line that is no comment.
func readAlive(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	alive := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		name, reason, ok := strings.Cut(line, " -- ")
		if !ok || reason == "" {
			return nil, fmt.Errorf("%s: no reason in %q", path, line)
		}
		alive[name] = reason
	}
	return alive, nil
}

func inParallel[T any](jobs int, items []T, do func(T)) {
	work := make(chan T)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for item := range work {
				do(item)
			}
		})
	}
	for _, item := range items {
		work <- item
	}
	close(work)
	wg.Wait()
}

func output(dir string, args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}
