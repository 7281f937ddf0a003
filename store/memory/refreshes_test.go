package memory_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/refresh/refreshtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// A job is enqueued without a look at those that wait, or waited, already, with and
// without a recovery job among them, whether or not it joins one.
func TestEnqueueReadsNoBacklog(t *testing.T) {
	for _, coalesce := range []bool{false, true} {
		config := refresh.DefaultPolicy()
		config.Coalesce = coalesce
		service, err := store.NewRefreshes(memory.New(memory.Options{}), config)
		if err != nil {
			t.Fatal(err)
		}
		enqueue := func(n int, cause refresh.Cause) (bytes uint64) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range n {
				ev := refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Credentials: refreshtest.Wallet(1), Cause: cause}
				if _, err := service.Enqueue(context.Background(), ev); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			return (after.TotalAlloc - before.TotalAlloc) / uint64(n)
		}
		enqueue(1, refresh.Recovery)
		enqueue(3000, refresh.Manual)
		enqueue(3000, refresh.Sync)
		for _, cause := range refresh.Cause(0).Values() {
			if cause == refresh.InvoiceCreated {
				continue
			}
			if bytes := enqueue(50, cause); bytes > 500_000 { // 6000 jobs take ten million
				t.Errorf("coalesce %v: a job of %v behind 6000 others takes %d bytes", coalesce, cause, bytes)
			}
		}
	}
}
