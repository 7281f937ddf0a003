// Command table measures settle against its peers, and prints the medians as one
// Markdown table:
//
//	cd internal/bench && go run ./table    # docs/speed.md has the table, and below it what was tried
//	go run ./table -small -against ../../docs/speed.md
//
// With -small it measures the small sizes alone, in under two minutes. With -against it says
// which ratios are a quarter worse than in that page, and does not fail.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// run is one call of go test.
type run struct {
	dir, bench, benchtime string
}

var (
	small = []run{
		{".", "Transition", "5x"},
		{".", "Wallets/txs=10000$", "5x"},
		{".", "Conflict/descendants=1000$", "5x"},
	}
	all = append(slices.Clone(small),
		run{".", "Refusal|AtRest", "5x"},
		run{".", "Wallets/txs=100000$", "5x"},
		run{".", "Conflict/descendants=10000$", "5x"},
		run{".", "Jobs", "5x"},
		run{"../../store/sqlstore", byHand + "$", "500x"},
		run{"../../store/sqlstore", "Withdrawal$", "500x"})
)

// byHand is the benchmark of hand-written SQL that Withdrawal is compared with.
const byHand = "WithdrawalByHand"

// worse is how much a ratio may grow before it is told.
const worse = 1.25

// row is a line of the table. key is what a later run finds it by.
type row struct {
	key, peer, ours, ratio, processor string
	micros                            float64 // of a benchmark without a peer
}

func main() {
	onlySmall := flag.Bool("small", false, "the small sizes alone")
	against := flag.String("against", "", "the page to compare with")
	flag.Parse()
	runs := all
	if *onlySmall {
		runs = small
	}
	var rows []row
	for _, r := range runs {
		args := []string{"test", "-run", "^$", "-bench", r.bench, "-benchtime", r.benchtime, "-timeout", "60m", "."}
		if r.dir != "." {
			args = append(args, "-count", "5") // those of this module have five rounds in one
		}
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stderr = r.dir, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s\n%s: %v\n", out, r.bench, err)
			os.Exit(1)
		}
		for _, line := range strings.Split(string(out), "\n") {
			rows = append(rows, parse(line)...)
		}
	}
	if *against != "" {
		page, err := os.ReadFile(*against)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		compare(rows, string(page))
		return
	}
	print(paired(rows))
}

// paired are the rows with one for each benchmark without a peer, the median of its runs, and
// beside it the same by hand where there is that.
func paired(rows []row) (all []row) {
	times, seen := map[string][]float64{}, map[string]bool{}
	for _, r := range rows {
		if r.ratio == "" {
			times[r.key] = append(times[r.key], r.micros)
		}
	}
	for _, r := range rows {
		if seen[r.key] || strings.HasPrefix(r.key, byHand) {
			continue
		}
		seen[r.key] = true
		if r.ratio == "" {
			is := median(times[r.key])
			r.ours = fmt.Sprintf("%.0f us", is)
			without, _, _ := strings.Cut(r.key, "/workers")
			if by := times[strings.Replace(without, "Withdrawal/", byHand+"/", 1)]; by != nil {
				r.peer, r.ratio = fmt.Sprintf("by hand %.0f us", median(by)), fmt.Sprintf("%.3g", is/median(by))
			}
		}
		all = append(all, r)
	}
	return all
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// parse returns the rows of a line of go test: one for each of ours, or the time of a
// benchmark without a peer.
func parse(line string) (rows []row) {
	fields := strings.Split(line, "\t")
	if len(fields) < 3 || !strings.HasPrefix(line, "Benchmark") {
		return nil
	}
	name := strings.TrimPrefix(strings.TrimSpace(fields[0]), "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i] // the number of processors
	}
	name = strings.ReplaceAll(name, "_", " ")
	metric, units := map[string]string{}, []string{}
	for _, f := range fields[2:] {
		value, unit, ok := strings.Cut(strings.TrimSpace(f), " ")
		if ok {
			metric[unit] = value
			units = append(units, unit)
		}
	}
	for _, unit := range units {
		side, is := strings.CutSuffix(unit, "-x-of-peer")
		if !is || strings.HasSuffix(side, "-cpu") {
			continue
		}
		r := row{key: name + ", " + side, ratio: metric[unit], processor: metric[side+"-cpu-x-of-peer"]}
		for _, u := range units {
			who, what, _ := strings.Cut(u, "-")
			switch {
			case strings.HasSuffix(u, "-of-peer"):
			case who == side:
				r.ours = metric[u] + " " + what
			case !slices.ContainsFunc(units, func(x string) bool { return x == who+"-x-of-peer" }):
				r.peer = who + " " + metric[u] + " " + what
			}
		}
		rows = append(rows, r)
	}
	if rows == nil && metric["ns/op"] != "" {
		ns, _ := strconv.ParseFloat(metric["ns/op"], 64)
		rows = append(rows, row{key: name, micros: ns / 1000})
	}
	return rows
}

func compare(rows []row, page string) {
	was := map[string]string{}
	for _, line := range strings.Split(page, "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 5 {
			was[strings.TrimPrefix(cells[0], "| ")] = strings.TrimSuffix(cells[4], " |")
		}
	}
	for _, r := range rows {
		now, err := strconv.ParseFloat(r.processor, 64)
		before, none := strconv.ParseFloat(was[r.key], 64)
		switch {
		case err != nil || none != nil:
			continue
		case now > before*worse:
			fmt.Printf("!!! SLOWER: %s: %.3g of its peer's processor time, %.3g in the table\n", r.key, now, before)
		default:
			fmt.Printf("%s: %.3g of its peer's processor time, %.3g in the table\n", r.key, now, before)
		}
	}
}

const head = `# Speed

Medians of five rounds, in which both sides do the same work in turn. A ratio is our time divided by the peer's:
below 1 is faster. The last column compares the processor time of the process, in which neither a busy machine nor a wait for
the disk counts: it is the one to trust, and the one that .ci/run compares. In a conflict the peer deletes what fails; settle keeps it,
with a line of history for each. What is measured is in [internal/bench](../internal/bench/doc.go); "go run ./table" there writes this page.

%s, %d processors (%s), %s.

| work | peer | settle | ratio | by processor time |
|---|---|---|---|---|
`

func print(rows []row) {
	fmt.Printf(head, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor(), versions())
	for _, r := range rows {
		fmt.Printf("| %s | %s | %s | %s | %s |\n", r.key, r.peer, r.ours, r.ratio, r.processor)
	}
}

// processor is the name of the machine's processor, where Linux says it.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(info) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// versions are those of Go and of the peers in this module.
func versions() string {
	text := runtime.Version()
	out, _ := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "github.com/btcsuite/btcwallet/wtxmgr",
		"github.com/riverqueue/river", "modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/looplab/fsm",
		"github.com/qmuntal/stateless").Output()
	for line := range strings.Lines(string(out)) {
		text += ", " + line[strings.Index(line, "/")+1:len(line)-1]
	}
	return text
}
