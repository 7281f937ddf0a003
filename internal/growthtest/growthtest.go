// Package growthtest asks how the work of a function grows with its input, for tests of
// what must not be quadratic. It compares processor times of this process, so neither a
// slow machine nor a busy one changes the answer. A test that uses it is not parallel.
package growthtest

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
)

// parts is into how many smaller inputs the large one is divided.
const parts = 64

// most is how many times longer one large input may take than its parts, one after the other. Sorting takes about twice
// as long; data that no longer fits into the processor's caches a few times as long; quadratic work 64 times.
const most = 8

// AlmostLinear fails the test if do takes more than 8 times the processor time on one
// input of size n that it takes on 64 inputs of size n/64. Making the inputs is not counted.
func AlmostLinear[V any](t testing.TB, n int, input func(n int) V, do func(V)) {
	t.Helper()
	small, large := input(n/parts), input(n)
	less := least(func() {
		for range parts {
			do(small)
		}
	})
	more := least(func() { do(large) })
	t.Logf("%d: %v of processor time, in %d parts %v", n, more, parts, less)
	if more > most*less {
		t.Errorf("an input takes %.0f times the processor time of its %d parts", float64(more)/float64(less), parts)
	}
}

// least is the least processor time of three runs: what else the processor did between
// made the others longer.
func least(do func()) time.Duration { return min(cost(do), cost(do), cost(do)) }

// cost is the processor time of do, without the collection of garbage.
func cost(do func()) time.Duration {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	began := used()
	do()
	return max(used()-began, time.Microsecond)
}

// used is the processor time of this process so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // no system lacks this count
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
