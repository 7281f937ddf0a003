package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
)

// Swaps is both directions, and what concerns them together: the scans of both chains,
// discrepancies and statistics. [Switches] stop a direction, see [swap.Scope].
type Swaps struct {
	Deposits *SwapDeposits
	Credits  *SwapCredits
	policy   swap.Policy
	update   func(context.Context, func(SwapUnit) error) error
	view     func(context.Context, func(SwapUnit) error) error
}

// NewSwaps returns the service for a store of any transaction type that has
// swaps. A policy that is not valid is [statemachine.ErrInvalid].
func NewSwaps[T SwapUnit](s Store[T], p swap.Policy) (*Swaps, error) {
	d, err := NewSwapDeposits(s, p)
	if err != nil {
		return nil, err
	}
	c, err := NewSwapCredits(s, p)
	if err != nil {
		return nil, err
	}
	return &Swaps{d, c, p, d.update, d.view}, nil
}

// Within returns the service inside a transaction that the caller has begun and
// will end.
func (s *Swaps) Within(tx SwapUnit) *Swaps {
	d := s.Deposits.Within(tx)
	return &Swaps{d, s.Credits.Within(tx), s.policy, d.update, d.view}
}

// Control returns the control row.
func (s *Swaps) Control(ctx context.Context) (swap.Control, error) {
	return read(ctx, s.view, func(tx SwapUnit) (swap.Control, error) { return tx.SwapHouse().Control(false) })
}

// Restored says that this store is empty or was restored from a copy. Then nothing goes out until the vault's own
// history on both chains was scanned completely; and nothing goes out for an item that is older than the restore,
// stored or not, until it was looked back for. A host calls Restored at its first start, and after each restore, before
// any worker; see [Swaps.Scanned] for when a scan counts again. The store's clock must not be behind the copy's, nor
// the chains', by more than [swap.Policy].WaterlineMargin. References go on above all that were drawn before. Transfers
// that came in before are stored only after [Swaps.MissingSaid]. Restored of package sqlstore does this too, in its own
// commit; there a direction begins only with Start: see [swap.Control.Unsettled].
//
// by is an operator, whose call is in the journal, or the system; anybody else is [statemachine.ErrForbidden].
func (s *Swaps) Restored(ctx context.Context, by swap.By) (c swap.Control, err error) {
	err = call(ctx, s.update, by, DomainSwaps, "swap control", "swaps", "Restored", func(tx SwapUnit) error {
		c, err = changeControl(tx, func(c swap.Control, now time.Time) (swap.Control, error) {
			return s.policy.Restored(c, now), swap.SaysRestored(by)
		})
		return err
	})
	return c, err
}

// MissingSaid says, after a restore, that the finished items which the copy does not have are stored, by
// [swap.Policy.RecoverMissing], or that there are none. Until then a transfer that came in before is
// [swap.ErrUnsettled], and the waterline waits with it. by is as in [Swaps.Restored].
func (s *Swaps) MissingSaid(ctx context.Context, by swap.By) (c swap.Control, err error) {
	err = call(ctx, s.update, by, DomainSwaps, "swap control", "swaps", "MissingSaid", func(tx SwapUnit) error {
		c, err = changeControl(tx, func(c swap.Control, now time.Time) (swap.Control, error) {
			return c.SaysMissing(by, now)
		})
		return err
	})
	return c, err
}

// BooksRead is an operator's word, after a restore, that the books of the host elsewhere were
// read: each [swap.Settled], hold and order since the copy was made is said again.
func (s *Swaps) BooksRead(ctx context.Context, by swap.By) (c swap.Control, err error) {
	err = call(ctx, s.update, by, DomainSwaps, "swap control", "swaps", "BooksRead", func(tx SwapUnit) error {
		c, err = changeControl(tx, func(c swap.Control, now time.Time) (swap.Control, error) {
			return c.ReadsBooks(by, now)
		})
		return err
	})
	return c, err
}

// Seed raises the reference counter to what was seen on the chain. by is as in
// [Swaps.Restored].
func (s *Swaps) Seed(ctx context.Context, by swap.By, seen uint64) (c swap.Control, err error) {
	err = call(ctx, s.update, by, DomainSwaps, "swap control", "swaps", "Seed", func(tx SwapUnit) error {
		c, err = changeControl(tx, func(c swap.Control, _ time.Time) (swap.Control, error) {
			if err := swap.SaysRestored(by); err != nil {
				return c, err
			}
			return c.Seed(seen)
		})
		return err
	})
	return c, err
}

// unsettledSwaps is the first point that stands open before a direction may be started, nil
// for any other scope and in a store without swaps.
func unsettledSwaps(tx SwitchUnit, scope switches.Scope) (open, err error) {
	unit, has := tx.(SwapUnit)
	if !has || scope != swap.Scope(swap.ToUSDD) && scope != swap.Scope(swap.ToUSDC) {
		return nil, nil
	}
	c, err := unit.SwapHouse().Control(false)
	if errors.Is(err, ErrNoDomain) {
		return nil, nil
	}
	return c.Unsettled(), err
}

func changeControl(tx SwapUnit, change func(swap.Control, time.Time) (swap.Control, error)) (swap.Control, error) {
	old, err := tx.SwapHouse().Control(true)
	if err != nil {
		return old, err
	}
	now, err := tx.Now()
	if err != nil {
		return old, err
	}
	c, err := change(old, now)
	if err == nil && c.Version != old.Version {
		err = tx.SwapHouse().SaveControl(old, c)
	}
	return c, err
}

// Waterline returns how far a history is known, and the next scan to make, with the time when it begins and the time
// from which it reads. A host calls it before it asks a node, fills the scan with what it has read, and reports it by
// [Swaps.Scanned].
func (s *Swaps) Waterline(ctx context.Context, chain swap.Chain, own bool) (w swap.Waterline, next swap.Scan, err error) {
	err = s.view(ctx, func(tx SwapUnit) error {
		now, err := tx.Now()
		if err == nil {
			w, err = tx.SwapHouse().Waterline(chain, own)
		}
		if err != nil {
			return err
		}
		c, err := tx.SwapHouse().Control(false)
		next = s.policy.NextScan(w, c, now)
		return err
	})
	return w, next, err
}

// Scanned reports a scan of a history, after everything that it found was stored: the waterline moves if the scan is
// complete, and a complete scan of the vault's own history is recorded as such. After [Swaps.Restored] the scan counts
// only if [Swaps.Waterline] gave it since, and if it began more than [swap.Policy].WaterlineMargin + Lease +
// CallTimeout later, when nobody may still send a transaction that was begun before; until then the host goes on
// scanning. A scan that began in the future is [statemachine.ErrInvalid].
func (s *Swaps) Scanned(ctx context.Context, chain swap.Chain, own bool, scan swap.Scan) (w swap.Waterline, err error) {
	if !chain.Valid() {
		return w, fmt.Errorf("%w: a scan is of a chain", statemachine.ErrInvalid)
	}
	err = s.update(ctx, func(tx SwapUnit) error {
		_, err := changeControl(tx, func(c swap.Control, now time.Time) (swap.Control, error) {
			scan, err := s.policy.CheckScan(scan, now)
			if err != nil {
				return c, err
			}
			old, err := tx.SwapHouse().Waterline(chain, own)
			if err != nil {
				return c, err
			}
			var oldest time.Time
			switch vanished := now.Add(-s.policy.GoneAfter); {
			case own:
			case chain == swap.Inbound(swap.ToUSDD):
				oldest, err = tx.Deposits().Oldest(vanished)
			default:
				oldest, err = tx.Credits().Oldest(vanished)
			}
			if err != nil {
				return c, err
			}
			if w = s.policy.Advance(old, c, scan, oldest, now); w.Version != old.Version {
				if err := tx.SwapHouse().SaveWaterline(old, w); err != nil {
					return c, err
				}
			}
			return s.policy.Scanned(c, old, scan), nil
		})
		return err
	})
	return w, err
}

// AcceptGap moves an inbound waterline over a span that can no longer be read,
// by an operator's name, and records that.
func (s *Swaps) AcceptGap(ctx context.Context, chain swap.Chain, from, to time.Time, by swap.By,
	reason string) (w swap.Waterline, err error) {
	err = call(ctx, s.update, by, DomainSwaps, "swap waterline", chain.String(), "AcceptGap", func(tx SwapUnit) error {
		if by.At, err = tx.Now(); err != nil {
			return err
		}
		old, err := tx.SwapHouse().Waterline(chain, false)
		if err != nil {
			return err
		}
		var d swap.Discrepancy
		if w, d, err = swap.AcceptGap(old, from, to, by, reason); err != nil {
			return err
		}
		if err := tx.SwapHouse().SaveWaterline(old, w); err != nil {
			return err
		}
		return tx.SwapHouse().Note(d)
	})
	return w, err
}

// Outbound stores one transaction of the vault's own history: with the item that its memo or reference names, or as one
// that names no item. The reference counter is raised to its reference.
func (s *Swaps) Outbound(ctx context.Context, by swap.By, seen swap.Sighting) error {
	return s.update(ctx, func(tx SwapUnit) error {
		in := s.Within(tx)
		if err := saw(tx, seen); err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		nobodys := by
		nobodys.At = now
		note, err := swap.Unattributed(seen, nobodys)
		if err != nil || !seen.VaultSigned { // it proves nothing
			return err
		}
		tell := func(d swap.Direction, id string) (err error) {
			switch ev := (swap.Outbound{By: by, Seen: seen}); d {
			case swap.ToUSDD:
				_, err = in.Deposits.Do(ctx, id, ev)
			case swap.ToUSDC:
				_, err = in.Credits.Do(ctx, id, ev)
			}
			return err
		}
		d, id, err := named(tx, s.policy, &seen)
		if err == nil {
			err = tell(d, id)
		}
		if err == nil && seen.Chain == swap.Nexus { // the item that has its number hears of a misfit too
			of, x, misfit, _, failed := ofReference(tx, s.policy, &seen)
			if err = failed; err == nil && misfit {
				d, err = of, tell(of, x)
			}
		}
		if err != nil || d != 0 || seen.Errored {
			return err
		}
		return tx.SwapHouse().Note(note)
	})
}

// saw raises the reference counter. The row is locked only where it is raised.
func saw(tx SwapUnit, seen swap.Sighting) error {
	c, err := tx.SwapHouse().Control(false)
	if err == nil && c.Saw(seen).Version != c.Version {
		_, err = changeControl(tx, func(c swap.Control, _ time.Time) (swap.Control, error) { return c.Saw(seen), nil })
	}
	return err
}

// Named returns the stored item that an outbound names by its memo or reference, or for which it was filed; the
// direction is 0 and id empty if there is none. An outbound that is not what the item with its reference pays
// ([swap.Policy].Misfit) names no item by its reference, unless that item cannot be read.
func (s *Swaps) Named(ctx context.Context, seen swap.Sighting) (d swap.Direction, id string, err error) {
	err = s.view(ctx, func(tx SwapUnit) (err error) {
		d, id, err = named(tx, s.policy, &seen)
		return err
	})
	return d, id, err
}

// ofReference returns the item that has an intent with the reference of an outbound,
// whether that pays something else, and whether a person has said so.
func ofReference(tx SwapUnit, p swap.Policy, seen *swap.Sighting) (d swap.Direction, id string, misfit, denied bool, err error) {
	if seen.Reference != 0 {
		d, id, err = tx.SwapHouse().OfReference(seen.Reference)
	}
	switch {
	case err != nil || d == 0:
	case d == swap.ToUSDD:
		misfit, denied, err = judged(tx.Deposits().Get, id, p, seen)
	default:
		misfit, denied, err = judged(tx.Credits().Get, id, p, seen)
	}
	return d, id, misfit, denied, err
}

// judged says whether an outbound pays something else than an item, and whether a
// person has said so. An item that cannot be read keeps what names it.
func judged[A any](get func(...string) ([]A, error), id string, p swap.Policy, seen *swap.Sighting) (misfit, denied bool, err error) {
	of, _, err := readable(get, []string{id})
	for i := range of {
		r := any(&of[i]).(swap.Record)
		misfit, denied = p.Misfit(r, *seen), p.Denied(r, *seen)
	}
	return misfit, denied, err
}

func named(tx SwapUnit, p swap.Policy, seen *swap.Sighting) (d swap.Direction, id string, err error) {
	if seen.Chain == swap.Nexus {
		if d, id, misfit, _, err := ofReference(tx, p, seen); err != nil || d != 0 && !misfit {
			return d, id, err
		}
	}
	d, _, id, ok := swap.ReadMemo(seen.Memo)
	if ok = ok && seen.Chain == swap.Solana; ok && d == swap.ToUSDD {
		ok, err = known(tx.Deposits().Get, id)
	} else if ok {
		ok, err = known(tx.Credits().Get, id)
	}
	if claim := swap.ClaimOf(new(swap.Deposit), swap.Outbound{Seen: *seen}); err == nil && !ok && claim != "" { // a person may have filed it
		return tx.SwapHouse().OfClaim(claim)
	}
	if !ok {
		return 0, "", err
	}
	return d, id, nil
}

// known reports whether an item is stored, though it may be unreadable.
func known[A any](get func(...string) ([]A, error), id string) (bool, error) {
	as, unreadable, err := readable(get, []string{id})
	return len(unreadable) > 0 || err == nil && any(&as[0]).(swap.Record).Head().Version > 0, err
}

// Discrepancies pages through all, oldest first, after a cursor from 0.
func (s *Swaps) Discrepancies(ctx context.Context, after int64, limit int) (page []swap.Discrepancy, cursor int64, err error) {
	return paged(ctx, s.view, func(tx SwapUnit) ([]swap.Discrepancy, int64, error) {
		return tx.SwapHouse().Discrepancies(after, limit)
	})
}

// Policy returns the policy of the service.
func (s *Swaps) Policy() swap.Policy { return s.policy }

// Stats counts, with rates over a window that ends now; 1 microsecond to a year.
func (s *Swaps) Stats(ctx context.Context, window time.Duration) (swap.Stats, error) {
	if window < time.Microsecond || window > 366*24*time.Hour {
		return swap.Stats{}, fmt.Errorf("%w: a window of %v", statemachine.ErrInvalid, window)
	}
	return readNow(ctx, s.view, func(tx SwapUnit, now time.Time) (swap.Stats, error) { return tx.SwapHouse().Stats(now, window) })
}

// Alerts counts and compares with limits, see [swap.Alerts].
func (s *Swaps) Alerts(ctx context.Context, window time.Duration, limits swap.Thresholds) ([]statemachine.Alert, error) {
	stats, err := s.Stats(ctx, window)
	if err != nil {
		return nil, err
	}
	return swap.Alerts(stats, limits), nil
}

// Acknowledge says, in an operator's name, that a discrepancy which belongs to no item was dealt with, so that its
// alert ends. Discrepancies of an item are dealt with by [swap.Acknowledged].
func (s *Swaps) Acknowledge(ctx context.Context, operator string, d swap.Discrepancy) error {
	by := swap.By{Actor: operator, Role: swap.Operator}
	return call(ctx, s.update, by, DomainSwaps, "swap discrepancy", d.Key, "Acknowledge", func(tx SwapUnit) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		if d, err = d.Close(operator, now); err != nil {
			return err
		}
		return tx.SwapHouse().Close(d)
	})
}
