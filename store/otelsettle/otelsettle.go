// Package otelsettle gives the metrics of settle to OpenTelemetry: those that package ops serves as text, and histograms
// of what a worker does.
//
//	numbers := ops.NewMetrics(services, ops.DefaultLimits())
//	registration, err := otelsettle.Register(meter, numbers)
//	hooks, err := otelsettle.HooksOf[W, R](meter, "payer")
package otelsettle

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/worker"
)

// Register makes an instrument of each metric of [ops.MetricNames], which is observed when the meter's reader collects;
// the statistics are read as [ops.Metrics] says. A sum of money above 2^53 base units is rounded, as every float is.
// Unregister the answer to end it.
func Register(meter metric.Meter, m *ops.Metrics) (metric.Registration, error) {
	instruments := map[string]metric.Float64Observable{}
	var all []metric.Observable
	for _, of := range ops.MetricNames() {
		var made metric.Float64Observable
		var err error
		if of.Counter {
			made, err = meter.Float64ObservableCounter(of.Name, metric.WithDescription(of.Help))
		} else {
			made, err = meter.Float64ObservableGauge(of.Name, metric.WithDescription(of.Help))
		}
		if err != nil {
			return nil, err
		}
		instruments[of.Name], all = made, append(all, made)
	}
	return meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		for _, s := range m.Samples(ctx) {
			value, err := strconv.ParseFloat(s.Value, 64)
			if err != nil || instruments[s.Name] == nil {
				return fmt.Errorf("sample %s of %q: %w", s.Name, s.Value, err)
			}
			var labels []attribute.KeyValue
			for _, l := range s.Labels {
				labels = append(labels, attribute.String(l.Name, l.Value))
			}
			o.ObserveFloat64(instruments[s.Name], value, metric.WithAttributes(labels...))
		}
		return nil
	}, all...)
}

// HooksOf records how long turns took, and how long an item took from its claim to the stored result, as histograms
// settle_turn_seconds and settle_handle_seconds with the label worker. The name is of the kind of worker, such as
// "payer". Give the hooks to [worker.Join] beside your own.
func HooksOf[W, R any](meter metric.Meter, name string) (worker.Hooks[W, R], error) {
	seconds, unit := metric.WithAttributes(attribute.String("worker", name)), metric.WithUnit("s")
	turn, err := meter.Float64Histogram("settle_turn_seconds", unit, metric.WithDescription("Time of a turn of a worker."))
	if err != nil {
		return worker.Hooks[W, R]{}, err
	}
	handle, err := meter.Float64Histogram("settle_handle_seconds", unit,
		metric.WithDescription("Time from the claim of an item to the stored result."))
	return worker.Hooks[W, R]{
		Stored: func(_ worker.Item[W], sinceClaim time.Duration) {
			handle.Record(context.Background(), sinceClaim.Seconds(), seconds)
		},
		Turned: func(_, _ int, took time.Duration, _ error) {
			turn.Record(context.Background(), took.Seconds(), seconds)
		},
	}, err
}
