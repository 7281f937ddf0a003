// Package fixedtest runs a random test on inputs that are the same each time, so that a test which requires at its end
// that certain cases have occurred does not depend on the seed of a run or on the number of checks.
package fixedtest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// inputSize in bytes is more than any random test of this module draws.
const inputSize = 1 << 18

// Run runs a random test on the inputs 0 to n-1, each one as a subtest.
func Run(t *testing.T, n int, test func(*rapid.T)) {
	t.Helper()
	for seed := range n {
		One(t, seed, test)
	}
}

// One runs a random test on one input, as a subtest. If it fails, it runs once more, and
// each of its draws is logged.
func One(t *testing.T, seed int, test func(*rapid.T)) {
	t.Helper()
	name := fmt.Sprint("fixed ", seed)
	if !t.Run(name, func(t *testing.T) { rapid.MakeFuzz(quiet(test))(t, input(seed)) }) {
		t.Run(name+", with its draws", func(t *testing.T) { rapid.MakeFuzz(test)(t, input(seed)) })
	}
}

// Finds fails the test unless the random test fails on one of the inputs 0 to n-1: a kit
// is tried so on a host that is broken.
func Finds(t *testing.T, n int, test func(*rapid.T)) {
	t.Helper()
	for seed := range n {
		if Fails(seed, test) {
			return
		}
	}
	t.Errorf("none of %d runs found it", n)
}

// Fails reports whether a random test fails on one input.
func Fails(seed int, test func(*rapid.T)) bool {
	done, inner := make(chan struct{}), new(testing.T)
	go func() { // a test that fails ends its goroutine
		defer close(done)
		rapid.MakeFuzz(quiet(test))(inner, input(seed))
	}()
	<-done
	return inner.Failed()
}

// quiet is a test whose draws are not logged, which takes half of the time: the fuzz
// target that rapid makes logs every draw, but none of what a custom generator draws.
func quiet(test func(*rapid.T)) func(*rapid.T) {
	run := rapid.Custom(func(t *rapid.T) bool {
		if test(t); t.Failed() { // by Errorf, which a generator would pass over
			t.Fatal("see the run with its draws")
		}
		return rapid.Bool().Draw(t, "the end") // a custom generator must draw something
	})
	return func(t *rapid.T) { run.Draw(t, "passed") }
}

func input(seed int) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], uint64(seed))
	input := make([]byte, inputSize)
	_, _ = rand.NewChaCha8(key).Read(input)
	return input
}
