package bench

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// side is one of those that are compared. run does its work n times over.
type side struct {
	name string
	n    int
	run  func() error
}

// unit is what times are reported in, and of what.
type unit struct {
	name string
	time.Duration
	server func() time.Duration // the processor time of a server that works for both, or nil
}

// race runs the peer and ours in turn, with another one first in every round,
// and reports how they compare. prepare comes before each round and is not
// measured; nil does nothing.
func race(b *testing.B, u unit, prepare func() error, peer side, ours ...side) {
	b.Helper()
	sides := append([]side{peer}, ours...)
	took, used := make([][]float64, len(sides)), make([][]float64, len(sides)) // by side and round, for one of n
	for round := 0; b.Loop(); round++ {
		b.StopTimer()
		if prepare != nil {
			if err := prepare(); err != nil {
				b.Fatal(err)
			}
		}
		for i := range sides {
			i = (i + round) % len(sides)
			runtime.GC() // what the others left behind
			b.StartTimer()
			start, cpu := time.Now(), processorTime(b, u)
			err := sides[i].run()
			d := time.Since(start)
			cpu = processorTime(b, u) - cpu
			b.StopTimer()
			if err != nil {
				b.Fatalf("%s: %v", sides[i].name, err)
			}
			took[i] = append(took[i], float64(d)/float64(u.Duration)/float64(sides[i].n))
			used[i] = append(used[i], float64(cpu)/float64(sides[i].n))
		}
		b.StartTimer()
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	for i, s := range sides {
		b.ReportMetric(median(took[i]), s.name+"-"+u.name)
		if i > 0 {
			b.ReportMetric(ratio(took[i], took[0]), s.name+"-x-of-peer")
			b.ReportMetric(ratio(used[i], used[0]), s.name+"-cpu-x-of-peer")
		}
	}
}

// processorTime is what this process has used, and a server beside it.
func processorTime(b *testing.B, u unit) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	all := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	if u.server != nil {
		all += u.server()
	}
	return all
}

// ratio is the median of the rounds' ratios.
func ratio(ours, peer []float64) float64 {
	v := make([]float64, len(ours))
	for round := range v {
		v[round] = ours[round] / peer[round]
	}
	return median(v)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
