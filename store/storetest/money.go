package storetest

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// The sums of the statistics a second time, by plain additions over all that is stored.

// plainSums are open, in review, unknown and stuck.
type plainSums [4]*big.Int

// add adds an amount to the sums that it belongs to, and makes those that are missing.
func (p *plainSums) add(amount string, of ...bool) {
	n, ok := new(big.Int).SetString(amount, 10)
	if !ok {
		panic("an amount of " + amount)
	}
	for i := range p {
		if p[i] == nil {
			p[i] = new(big.Int)
		}
		if of[i] {
			p[i].Add(p[i], n)
		}
	}
}

func (p plainSums) String() string {
	p.add("0", false, false, false, false)
	return fmt.Sprintf("open %s, in review %s, unknown %s, stuck %s", p[0], p[1], p[2], p[3])
}

func said(m statemachine.Money) string {
	return fmt.Sprintf("open %s, in review %s, unknown %s, stuck %s", m.Open, m.Review, m.Unknown, m.Stuck)
}

func texts[K comparable](all map[K]plainSums) map[K]string {
	out := map[K]string{}
	for k, p := range all {
		out[k] = p.String()
	}
	return out
}

func withdrawalMoney(tx store.WithdrawalUnit, now time.Time) (got, want any, err error) {
	stats, err := tx.Withdrawals().Stats(now, time.Hour, uuid.Nil)
	if err != nil {
		return nil, nil, err
	}
	requests, err := tx.Withdrawals().Requests(0, nil, 1000)
	if err != nil {
		return nil, nil, err
	}
	key := func(chain, asset uuid.UUID, decimals int32) string {
		return fmt.Sprint(chain, " ", asset, " ", decimals)
	}
	told, sums := map[string]string{}, map[string]plainSums{}
	for _, m := range stats.Money {
		told[key(m.Chain, m.Asset, m.Decimals)] = said(m.Money)
	}
	for _, r := range requests {
		switch r.Status {
		case withdrawal.RequestCompleted, withdrawal.RequestFailed, withdrawal.RequestRejected, withdrawal.RequestCancelled:
			continue
		}
		all, err := tx.Withdrawals().Get(r.ID)
		if err != nil {
			return nil, nil, err
		}
		j := all[0].Job
		late := j.Status == withdrawal.JobProcessing && !j.Review && !j.Lease.Until.After(now) ||
			j.Status == withdrawal.JobConfirming && j.Batch == uuid.Nil && j.NextCheckAt.Before(now)
		of := key(r.Chain, r.Asset, r.Decimals)
		p := sums[of]
		p.add(string(r.AmountRaw), true, j.Review, j.DispatchRef != "" || r.Mined+r.Disproved+r.Taken != "" || r.StraysSent != 0, late)
		sums[of] = p
	}
	return told, texts(sums), nil
}

// swapMoney is of the items of one direction.
func swapMoney[A any](rows func(store.SwapUnit) store.SwapRecords[A],
	d swap.Direction) func(store.SwapUnit, time.Time) (got, want any, err error) {
	return func(tx store.SwapUnit, now time.Time) (got, want any, err error) {
		stats, err := tx.SwapHouse().Stats(now, time.Hour)
		if err != nil {
			return nil, nil, err
		}
		all, err := rows(tx).List(swap.Unprocessed, "", 1000)
		var sum plainSums
		for k := range all {
			i := any(&all[k]).(swap.Record).Head()
			if i.ByHand.Reference != "" {
				continue
			}
			unknown := slices.ContainsFunc(i.Intents, func(in swap.Intent) bool {
				return in.Outcome == 0 || in.Outcome == statemachine.Unknown
			})
			sum.add(fmt.Sprint(i.Amount), true, i.Hold.Reason != "", unknown, !i.OverdueAt.IsZero() && i.OverdueAt.Before(now))
		}
		return said(stats.Money[d]), sum.String(), err
	}
}

func tenantMoney(tx store.TenantUnit, now time.Time) (got, want any, err error) {
	stats, err := tx.Tenants().Stats(now)
	if err != nil {
		return nil, nil, err
	}
	ids, err := tx.Tenants().List("", 1000)
	if err != nil {
		return nil, nil, err
	}
	all, err := tx.Tenants().Get(ids...)
	var sum plainSums
	for _, a := range all {
		for _, i := range a.Invoices {
			open := i.PaidAt.IsZero() && i.VoidedAt.IsZero()
			lost := open && i.Charge == dunning.ChargeNone && i.Missed > 0 &&
				(i.Missed > 1 || a.Tenant.Method == dunning.Manual || !a.Tenant.ChurnedAt.IsZero())
			person := lost || i.Charge == dunning.ChargeUnknown ||
				i.Charge == dunning.ChargeOpen && !i.ChargeAfter.After(now) || !i.OverpaidAt.IsZero()
			sum.add(fmt.Sprint(i.Amount), open, person, false, lost)
			sum.add(fmt.Sprint(i.ChargeAmount), false, false, i.Charge != dunning.ChargeNone, false)
		}
	}
	return said(stats.Money), sum.String(), err
}
