package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// A commit is what costs, so a transaction takes many rows, within bounds.
const chunk = 50

// submit brings rows into the database. Rows that are there already change
// nothing; rows that are refused are returned, and the others count.
func submit(ctx context.Context, s *store.Withdrawals, rows []row) (refused []*RowError, err error) {
	for part := range slices.Chunk(rows, chunk) {
		commands := make([]store.WithdrawalCommand, len(part))
		for i, r := range part {
			what := assets[r.Asset]
			commands[i] = store.WithdrawalCommand{Request: r.Request, Events: []withdrawal.Event{withdrawal.Submitted{
				By:      withdrawal.By{Actor: "batch", Role: withdrawal.System},
				Request: r.Request, User: statemachine.ID("user", r.User), Asset: what.id(r.Asset), Chain: chainID,
				ToAddress: r.Address, Amount: r.Amount, Decimals: what.decimals,
			}}}
		}
		_, err := s.DoAll(ctx, commands...)
		if !isRefusal(err) {
			if err != nil {
				return refused, err
			}
			continue
		}
		// One of them is refused, and so are all. One by one, the error is
		// that of one row.
		for i := range commands {
			_, err := s.DoAll(ctx, commands[i])
			switch {
			case isRefusal(err):
				refused = append(refused, &RowError{part[i].Line, "", err})
			case err != nil:
				return refused, err
			}
		}
	}
	return refused, nil
}

// isRefusal reports whether asking again gives the same answer.
func isRefusal(err error) bool {
	var refusal *statemachine.Refusal
	return errors.As(err, &refusal) || errors.Is(err, statemachine.ErrInvalid)
}

// approve gives every pending request the approvals that it needs.
func approve(ctx context.Context, s *store.Withdrawals) error {
	for {
		page, err := s.Requests(ctx, withdrawal.RequestPending, nil, chunk)
		if err != nil || len(page) == 0 {
			return err
		}
		commands := make([]store.WithdrawalCommand, len(page))
		for i, r := range page {
			commands[i].Request = r.ID
			for _, actor := range approvers[:r.ApprovalsNeeded] {
				commands[i].Events = append(commands[i].Events,
					withdrawal.Approved{By: withdrawal.By{Actor: actor, Role: withdrawal.Approver}})
			}
		}
		if _, err := s.DoAll(ctx, commands...); err != nil {
			return err
		}
	}
}

// clerk makes jobs of approved requests and picks up what dead workers left.
type clerk struct {
	*store.Withdrawals
	priorities map[uuid.UUID]withdrawal.Priority // of the rows of the batch
}

// round does what is due, and returns when to come again.
func (c *clerk) round(ctx context.Context) (time.Duration, error) {
	by := withdrawal.By{Actor: "clerk", Role: withdrawal.System}
	_, rescue, err := c.Rescue(ctx, by, chunk)
	if err != nil {
		return 0, err
	}
	_, enqueue, err := c.EnqueueDue(ctx, chainID, chunk, func(r withdrawal.Request) withdrawal.Enqueued {
		priority := c.priorities[r.ID]
		if priority == 0 { // of another batch
			priority = withdrawal.Normal
		}
		// The id is that of the step: enqueued twice, it is the same job.
		return withdrawal.Enqueued{By: by, Job: uuid.NewSHA1(r.ID, []byte("job/"+strconv.FormatInt(r.Version, 10))),
			AssetOnChain: r.Asset, Priority: priority}
	})
	return min(rescue, enqueue), err
}
