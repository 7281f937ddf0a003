package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// SelfCheck tells at start-up whether a store of all domains keeps the rules
// that money depends on: it writes, compares, and takes everything back. What
// it finds broken is [statemachine.ErrCorrupt]. Package storetest proves far
// more.
func SelfCheck(ctx context.Context, s Store[Tx]) error { return SelfCheckWithdrawals(ctx, s) }

// errTakenBack ends the transaction of a self-check.
var errTakenBack = errors.New("taken back")

// SelfCheckWithdrawals is [SelfCheck] for a store that has withdrawals.
func SelfCheckWithdrawals[T WithdrawalTx](ctx context.Context, s Store[T]) error {
	request, chain := uuid.New(), uuid.New()
	var approved withdrawal.Change
	err := s.Update(ctx, func(tx T) (err error) {
		if approved, err = selfCheck(tx, request, chain); err == nil {
			err = errTakenBack
		}
		return err
	})
	if broken := unless(err, errTakenBack, "an update that failed reported"); broken != nil {
		return broken
	}
	err = s.View(ctx, func(tx T) error {
		ws, err := tx.Withdrawals().Get(request)
		if err == nil && ws[0].Request.Status != 0 {
			err = broken("an update that failed left a trace")
		}
		return err
	})
	if err != nil {
		return err
	}
	err = s.Update(ctx, func(tx T) error { return tx.Withdrawals().Save(approved) })
	if broken := unless(err, statemachine.ErrConflict, "a change of a version that is not stored gave"); broken != nil {
		return broken
	}
	err = s.View(ctx, func(tx T) error { return tx.Withdrawals().Save(approved) })
	return unless(err, statemachine.ErrIllegal, "a write in a View gave")
}

// selfCheck stores a request with values that stores like to change, and
// returns a change of it that is not saved.
func selfCheck(tx WithdrawalTx, request, chain uuid.UUID) (withdrawal.Change, error) {
	s := Withdrawals{policy: withdrawal.DefaultPolicy()}
	s = *s.Within(tx)
	ctx := context.Background()
	by := withdrawal.By{Actor: "self-check", Role: withdrawal.System}
	submitted := withdrawal.Submitted{By: by, Request: request, User: uuid.New(), Asset: uuid.New(), Chain: chain, ToAddress: "0xé\u4e16", Memo: "",
		Amount: "12345678901234567890123456789012345678901234567890123456789.000000000000000001", Decimals: 18}
	stored, err := s.Submit(ctx, submitted)
	if err != nil {
		return withdrawal.Change{}, err
	}
	loaded, err := s.Get(ctx, request)
	if err != nil {
		return withdrawal.Change{}, err
	}
	a, b := &stored.Request, &loaded.Request
	if !a.Amount.Equal(b.Amount) || a.AmountRaw != b.AmountRaw || a.ToAddress != b.ToAddress || a.Memo != b.Memo ||
		!a.CreatedAt.Equal(b.CreatedAt) || a.Status != b.Status || a.Version != b.Version {
		return withdrawal.Change{}, broken(fmt.Sprintf("stored %+v, read %+v", *a, *b))
	}
	if err := withdrawal.Check(loaded); err != nil {
		return withdrawal.Change{}, err
	}
	if err := s.Verify(ctx, request); err != nil {
		return withdrawal.Change{}, err
	}
	by.Actor, by.Role, by.At = "approver", withdrawal.Approver, loaded.Request.CreatedAt
	return s.policy.Apply(loaded, withdrawal.Approved{By: by})
}

// unless returns nil for an error that was expected and nothing else.
func unless(err, expected error, what string) error {
	switch {
	case err == nil:
		return broken(what + " no error")
	case errors.Is(err, statemachine.ErrCorrupt) || !errors.Is(err, expected):
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func broken(what string) error {
	return fmt.Errorf("%w: the store breaks a rule: %s", statemachine.ErrCorrupt, what)
}
