package worker_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/settlehq/settle/store/worker"
)

// BenchmarkLoop measures what the loop itself costs per item: the source and the handler do
// nothing.
func BenchmarkLoop(b *testing.B) {
	for _, concurrency := range []int{1, 16, 256} {
		b.Run("concurrency="+strconv.Itoa(concurrency), func(b *testing.B) {
			keys := make([]string, 4*concurrency)
			for i := range keys {
				keys[i] = strconv.Itoa(i)
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			claimed, stored, turns := 0, 0, 0
			s := stub{turn: func(_ context.Context, done []answer, n int) ([]worker.Item[job], time.Time, error) {
				turns++
				stored += len(done)
				n = min(n, b.N-claimed)
				if stored == b.N {
					cancel()
				}
				items := make([]worker.Item[job], n)
				until := time.Now().Add(time.Minute)
				for i := range items {
					key := keys[claimed%len(keys)]
					items[i] = worker.Item[job]{Key: key, Until: until, Work: job{key, int64(claimed)}}
					claimed++
				}
				return items, time.Time{}, nil
			}}
			b.ReportAllocs()
			b.ResetTimer()
			err := worker.Run(ctx, s, func(_ context.Context, j job) answer { return ok(j) }, worker.Options[job, answer]{Concurrency: concurrency})
			if err != nil || stored != b.N {
				b.Fatalf("Run %v, stored %d of %d", err, stored, b.N)
			}
			b.ReportMetric(float64(b.N)/float64(turns), "items/turn")
		})
	}
}
