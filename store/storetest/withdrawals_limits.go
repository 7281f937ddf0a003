package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// withdrawalLimits: every method that takes a limit, of the records and of the service.
func (w *withdrawals) withdrawalLimits(t *testing.T) {
	w.confirming(t, evm, start)
	records := func(fn func(store.WithdrawalRecords, int) error) func(int) error {
		return func(n int) error {
			return w.Update(ctx, func(tx store.WithdrawalUnit) error { return fn(tx.Withdrawals(), n) })
		}
	}
	methods := map[string]func(int) error{
		"records: Requests": records(func(r store.WithdrawalRecords, n int) error { _, err := r.Requests(0, nil, n); return err }),
		"records: List": records(func(r store.WithdrawalRecords, n int) error {
			_, err := r.List(store.ListWithdrawals{Now: start, Limit: n})
			return err
		}),
		"records: Incidents": records(func(r store.WithdrawalRecords, n int) error { _, _, err := r.Incidents(false, 0, n); return err }),
		"records: Follow":    records(func(r store.WithdrawalRecords, n int) error { _, _, err := r.Follow("", n); return err }),
		"Requests":           func(n int) error { _, err := w.service.Requests(ctx, withdrawal.RequestPending, nil, n); return err },
		"Incidents":          func(n int) error { _, _, err := w.service.Incidents(ctx, 0, n); return err },
		"Follow":             func(n int) error { _, _, err := w.service.Follow(ctx, "", n); return err },
		"Audit":              func(n int) error { _, err := w.service.Audit(ctx, nil, n); return err },
		"Rescue":             func(n int) error { _, _, err := w.service.Rescue(ctx, by(withdrawal.System, start), n); return err },
		"EnqueueDue": func(n int) error {
			_, _, err := w.service.EnqueueDue(ctx, evm, n, func(withdrawal.Request) withdrawal.Enqueued { return withdrawal.Enqueued{} })
			return err
		},
	}
	for _, kind := range []withdrawal.DueKind{withdrawal.DueClaim, withdrawal.DueRebroadcast, withdrawal.DueCheck, withdrawal.DueRescue, withdrawal.DueEnqueue} {
		for _, chain := range []uuid.UUID{evm, {}} {
			methods[fmt.Sprint("records: Due of kind ", kind, " on ", chain)] = records(func(r store.WithdrawalRecords, n int) error {
				_, err := r.Due(store.DueWithdrawals{Kind: kind, Chain: chain, Now: start.Add(time.Hour), Limit: n})
				return err
			})
		}
	}
	methods["OpenIncidents"] = func(n int) error { _, _, err := w.service.OpenIncidents(ctx, 0, n); return err }
	methods["Refusals"] = func(n int) error { _, _, err := w.service.Refusals(ctx, 0, n); return err }
	limited(t, methods, map[string]func(int) error{
		"Turn of Payments": func(n int) error { _, _, err := w.service.Payments(evm, worker1).Turn(ctx, nil, n); return err },
		"Turn of Lookups":  func(n int) error { _, _, err := w.service.Lookups(evm, worker1).Turn(ctx, nil, n); return err },
	})
}
