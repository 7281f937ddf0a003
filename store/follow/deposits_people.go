package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// ReverseDeposit is an operator's word that a shaken deposit will not come back, where the ledger cannot prove it, see
// [utxo.Deposit.Reverse]: fn posts the fact in the commit that moves the deposit. A second call with the same actor and
// reason posts nothing and returns the fact with the same key. Actor and reason are in the row of the deposit, and each
// attempt is in the journal, refused ones too, see [store.Journal]. An unknown output is [statemachine.ErrNotFound], a
// deposit that is not shaken [statemachine.ErrIllegal].
func ReverseDeposit(ctx context.Context, db *sqlstore.Store, op wire.OutPoint, actor, reason string,
	fn DepositFunc,
) (fact Fact, err error) {
	if db == nil || fn == nil {
		return fact, fmt.Errorf("%w: the store or the function is nil", statemachine.ErrInvalid)
	}
	line := statemachine.JournalLine{Actor: actor, Role: "operator", Domain: string(store.DomainWallets),
		Machine: utxo.DepositMachine.Name(), ID: op.String(), Event: "ReverseDeposit"}
	err = db.UpdateTx(ctx, func(ctx context.Context, tx sqlstore.Tx, unit store.Unit) (err error) {
		tried := line
		if fact, tried.Outcome, err = reverse(ctx, tx, unit, op, actor, reason, fn); err != nil {
			tried.Outcome = ""
		}
		if tried, person := tried.Tried(err); person {
			if failed := unit.Journal().Append(tried); err == nil {
				err = failed
			}
		}
		return err
	})
	return fact, err
}

// reverse returns the fact, and [statemachine.JournalSame] where it was posted before.
func reverse(ctx context.Context, tx sqlstore.Tx, unit store.Unit, op wire.OutPoint, actor, reason string,
	fn DepositFunc) (fact Fact, outcome string, err error) {
	of, err := sqlstore.DepositsOf(unit)
	if err != nil {
		return fact, "", err
	}
	now, err := unit.Now()
	if err != nil {
		return fact, "", err
	}
	stored, err := of.Named(op)
	if err != nil {
		return fact, "", err
	}
	if len(stored) == 0 {
		return fact, "", &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: utxo.DepositMachine.Name(), ID: op.String()}
	}
	sights, err := of.Sights(stored...)
	if err != nil {
		return fact, "", err
	}
	next, said, err := stored[0].Reverse(sights[0], actor, reason, now)
	if err != nil {
		return fact, "", err
	}
	if next.State == stored[0].State {
		return *said, statemachine.JournalSame, nil
	}
	if _, err := call(func() (any, error) { return nil, fn(ctx, tx, unit, []Fact{*said}) }); err != nil {
		return *said, "", err
	}
	return *said, "", move(of, stored, []utxo.Deposit{next})
}

// ShakenDeposits returns up to limit deposits that are credited and no longer deep, after the given one, which is nil
// at first. Deposits in no block of the best chain come last. An operator waits until they are deep again, or calls
// [ReverseDeposit].
func ShakenDeposits(ctx context.Context, db *sqlstore.Store, after *utxo.Deposit, limit int) (page []utxo.Deposit, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	err = db.View(ctx, func(u store.Unit) error {
		of, err := sqlstore.DepositsOf(u)
		if err != nil {
			return err
		}
		_, tip, err := chainOf(of)
		if err != nil {
			return err
		}
		page, err = of.Shaken(tip, after, limit)
		return err
	})
	return page, err
}

// DepositStats is what waits, and what is shaken.
type DepositStats struct {
	At time.Time // of the store
	sqlstore.DepositTally
}

// DepositStatsOf counts deposits in the best chain of at least the policy's minimum that
// are not credited, and all that are shaken, with the sums of their amounts.
func DepositStatsOf(ctx context.Context, db *sqlstore.Store, p utxo.DepositPolicy) (s DepositStats, err error) {
	err = db.View(ctx, func(u store.Unit) (err error) {
		s, err = DepositStatsIn(u, p)
		return err
	})
	return s, err
}

// DepositStatsIn is [DepositStatsOf] in a transaction that the caller has.
func DepositStatsIn(u store.Unit, p utxo.DepositPolicy) (s DepositStats, err error) {
	of, err := sqlstore.DepositsOf(u)
	if err == nil {
		s.At, err = u.Now()
	}
	if err != nil {
		return s, err
	}
	_, tip, err := chainOf(of)
	if err == nil {
		s.DepositTally, err = of.Tally(p.Minimum, tip)
	}
	return s, err
}

// DepositThresholds are the limits of [DepositAlerts]. A count alerts when it exceeds
// its limit; a zero duration is not watched.
type DepositThresholds struct {
	Shaken  int
	Waiting time.Duration // since the oldest deposit in the best chain was put on file, or was reversed
}

// DefaultDepositThresholds are no shaken deposit, and three hours, in which a public chain is hardly ever without the
// blocks that make a deposit deep.
func DefaultDepositThresholds() DepositThresholds { return DepositThresholds{Waiting: 3 * time.Hour} }

// DepositAlerts compares. It is pure; the order is fixed.
func DepositAlerts(s DepositStats, t DepositThresholds) []statemachine.Alert {
	a := statemachine.Alarms{At: s.At, Kinds: AlertKinds()}
	a.Add(s.Shaken > t.Shaken, "deposits shaken", "%d deposits of %d satoshi are credited and not deep now, more than %d",
		s.Shaken, s.ShakenAmount, t.Shaken)
	a.Wait("deposits waiting", s.WaitsSince, t.Waiting, fmt.Sprintf("of %d deposits of %d satoshi in the best chain one is not credited",
		s.Waiting, s.WaitingAmount))
	return a.Alerts
}
