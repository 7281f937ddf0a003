package otelsettle

import (
	"os"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/ops/opstest"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
)

var encoder = attribute.DefaultEncoder()

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// What the text says, the instruments say, under the same names and labels; what a worker does is in histograms.
func TestRegister(t *testing.T) {
	h := opstest.New(t, sqlstore.SQLite)
	h.HotWallet()
	h.Review()
	reader := metric.NewManualReader()
	meter := metric.NewMeterProvider(metric.WithReader(reader)).Meter("settle")
	numbers := ops.NewMetrics(h.Services, ops.DefaultLimits())
	registration, err := Register(meter, numbers)
	h.Check(err)
	hooks, err := HooksOf[string, string](meter, "payer")
	h.Check(err)
	both := worker.Join(hooks, ops.HooksOf[string, string](numbers, "payer"))
	both.Turned(1, 1, time.Second, nil)
	both.Stored(worker.Item[string]{}, 2*time.Second)

	collect := func() map[string]float64 {
		var got metricdata.ResourceMetrics
		h.Check(reader.Collect(t.Context(), &got))
		values := map[string]float64{}
		for _, scope := range got.ScopeMetrics {
			for _, m := range scope.Metrics {
				switch d := m.Data.(type) {
				case metricdata.Gauge[float64]:
					for _, p := range d.DataPoints {
						values[m.Name+p.Attributes.Encoded(encoder)] = p.Value
					}
				case metricdata.Sum[float64]:
					for _, p := range d.DataPoints {
						values[m.Name+p.Attributes.Encoded(encoder)] = p.Value
					}
				case metricdata.Histogram[float64]:
					for _, p := range d.DataPoints {
						values[m.Name+p.Attributes.Encoded(encoder)] = p.Sum
					}
				}
			}
		}
		return values
	}
	got := collect()
	for name, want := range map[string]float64{"settle_in_reviewdomain=withdrawals": 1, "settle_handled_totalworker=payer": 1,
		"settle_turn_secondsworker=payer": 1, "settle_handle_secondsworker=payer": 2} {
		if is, has := got[name]; !has || is != want {
			t.Errorf("%s is %v (%v), not %v", name, is, has, want)
		}
	}
	if n := len(numbers.Samples(t.Context())); len(got) < n {
		t.Errorf("%d of %d samples", len(got), n)
	}
	h.Check(registration.Unregister())
	if got := collect(); len(got) != 2 {
		t.Errorf("after its end: %v", got)
	}
}
