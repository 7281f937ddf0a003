package ops

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// batchKind is the name of the kind of transactions that pay several requests.
const batchKind = "batch"

// batches is the kind of batches, by id. No form says anything of a batch, see [Action.NotOffered]: people speak of its
// members.
func (s *Services) batches() *Kind {
	if s.Batches == nil {
		return nil
	}
	overdue := []string{withdrawal.ListLeaseEnded.String(), withdrawal.ListCheckOverdue.String()}
	k := &Kind{Name: batchKind, Domain: store.DomainWithdrawals, Machine: withdrawal.BatchMachine.Name(), events: "withdrawal",
		Stuck: overdue,
		Lists: append([]string{withdrawal.ListOpen.String(), withdrawal.ListReview.String(), withdrawal.ListHeld.String(), everything},
			overdue...),
		Help: map[string]string{overdue[0]: "stuck", overdue[1]: "stuck"}}
	k.list = func(ctx context.Context, q List) (page Page, err error) {
		of := store.ListBatches{Limit: q.Limit, Backwards: q.Newest}
		if of.Filter, err = filterOf(q); err != nil {
			return page, err
		}
		if q.After != "" {
			b, err := s.batch(ctx, q.After)
			if err != nil {
				return page, err
			}
			of.After = &b.Batch
		}
		all, err := s.Batches.List(ctx, of)
		for i := range all {
			h := &all[i].Batch
			if q.State == "" || q.State == h.Status.String() {
				page.add(Row{ID: h.ID.String(), State: h.Status.String(), Since: h.CreatedAt, Holder: h.Lease.Holder,
					Cause: fmt.Sprintf("%s, at hot wallet %s", h.Status, short(h.Wallet))})
			}
		}
		page.next(len(all) == q.Limit, func() string { return all[len(all)-1].Batch.ID.String() })
		return page, err
	}
	k.get = func(ctx context.Context, id string) (*Item, error) {
		b, err := s.batch(ctx, id)
		if err != nil {
			return nil, err
		}
		h := &b.Batch
		step, _, err := s.Batches.Next(ctx, h.ID)
		if err != nil {
			return nil, err
		}
		is := &Item{Kind: k.Name, ID: h.ID.String(), State: h.Status.String(), Version: h.Version,
			Sentence: waits(step.Party, withdrawal.Operator, step.Due, "")}
		trail, err := s.Batches.Trail(ctx, h.ID)
		if err := is.tell(err, lines(trail)); err != nil {
			return nil, err
		}
		is.put("chain", h.Chain, "hot wallet", h.Wallet, "requests of its first version", h.Members, "newest transaction", h.TxHash,
			"input", h.Input, "next look-up", h.NextCheckAt, "another broadcast is owed", h.Rebroadcast, "held by", h.Lease.Holder,
			"held until", h.Lease.Until, "mined at height", h.EvidenceHeight, "in block", h.EvidenceHash, "made", h.CreatedAt, "ended", h.EndedAt)
		if h.HasNonce {
			is.put("nonce", fmt.Sprint(h.Nonce))
		}
		txs := Table{Name: "Versions", Columns: []string{"number", "hash", "since"}}
		for i := range b.Txs {
			txs.Rows = append(txs.Rows, row(b.Txs[i].Seq, b.Txs[i].Hash, b.Txs[i].CreatedAt))
		}
		members := Table{Name: "Requests", Columns: []string{"request", "state", "amount", "to"}}
		for i := range b.Members {
			w := &b.Members[i]
			members.Rows = append(members.Rows, row(w.Request.ID, stateOf(w), w.Request.Amount, Masked(w.Request.ToAddress)))
		}
		is.Tables = []Table{members, txs}
		is.digest()
		return is, nil
	}
	k.find = func(ctx context.Context, text string) ([]string, error) {
		if _, err := uuid.Parse(text); err != nil {
			found, err := s.Batches.ByHash(ctx, text)
			return texts(found), err
		}
		b, err := s.batch(ctx, text)
		if err != nil {
			return nil, err
		}
		return []string{b.Batch.ID.String()}, nil
	}
	return k
}

func (s *Services) batch(ctx context.Context, text string) (b withdrawal.Payout, err error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return b, fmt.Errorf("%w: %w", statemachine.ErrNotFound, err)
	}
	return s.Batches.Get(ctx, id)
}
