package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/claims"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// report is what -json prints. Everything but Run is of the whole database.
type report struct {
	Pass         bool           `json:"pass"`
	Proof        []claim        `json:"proof"`
	Rows         int            `json:"rows"`    // of the batch, without those that cannot be read
	Refused      []refusal      `json:"refused"` // of the batch
	Requests     map[string]int `json:"requests"`
	Approvals    map[int32]int  `json:"approvals"` // how many requests needed so many people
	Failures     map[string]int `json:"failures"`
	Attempts     map[string]int `json:"attempts"`     // executions by outcome
	Transactions int            `json:"transactions"` // signed
	Bumped       int            `json:"bumped"`       // of them replacements
	Dead         int            `json:"dead"`         // of them proven dead
	Shared       int            `json:"shared"`       // payments that are not alone in their transaction
	Batches      map[string]int `json:"batches"`      // by status
	Replaced     int            `json:"replaced"`     // versions of batches beside the first
	Incidents    int            `json:"incidents"`    // reports of the chain against finished requests
	GasUsed      string         `json:"gasUsed"`
	GasCost      string         `json:"gasCost"`
	Assets       []assetTotal   `json:"assets"`
	Run          runFigures     `json:"run"`
}

type claim = claims.Claim

type refusal struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

type assetTotal struct {
	Asset     string `json:"asset"`
	Completed string `json:"completed"` // by the database, base units
	Ledger    string `json:"ledger"`    // what the hot wallets have less on the chain
}

type runFigures struct {
	Seconds float64     `json:"seconds"`
	Workers int         `json:"workers"`
	Kills   int64       `json:"kills"`
	Faults  node.Counts `json:"faults"` // at least: what a killed node counted last is lost
	Blocks  uint64      `json:"blocks"`
	Reorgs  int         `json:"reorgs"`
	People  people      `json:"people"`
}

// people is what the operators of a chaotic run did.
type people struct {
	Cancelled int64 `json:"cancelled"`
	Held      int64 `json:"held"`
	Bumped    int64 `json:"bumped"`    // payments, in another wallet
	Refused   int64 `json:"refused"`   // statements that were wrong
	Explained int64 `json:"explained"` // wallets that were off since somebody else had used their keys
}

// everything is what the database knows of one request.
type everything struct {
	withdrawal.Withdrawal
	attempts []withdrawal.Attempt
	ended    string // the trigger that ended the job, if it is over
}

func (c *coordinator) report(ctx context.Context, db store.Store[store.Unit]) (*report, error) {
	chain, err := node.Read(c.ledger)
	if err != nil {
		return nil, err
	}
	r := &report{Rows: len(c.rows), Requests: map[string]int{}, Approvals: map[int32]int{},
		Failures: map[string]int{}, Attempts: map[string]int{}}
	for _, e := range c.refused {
		r.Refused = append(r.Refused, refusal{e.Line, e.Error()})
	}
	slices.SortFunc(r.Refused, func(a, b refusal) int { return cmp.Compare(a.Line, b.Line) })
	p := newProof(chain)
	gasUsed, gasCost := new(big.Int), new(big.Int)
	r.Shared, r.Batches = p.shared, map[string]int{}
	if err := eachBatch(ctx, c.batches, func(b withdrawal.Payout) {
		r.Batches[b.Batch.Status.String()]++
		r.Replaced += len(b.Txs) - 1
		if err := withdrawal.CheckBatch(b); err != nil {
			p.broken.Fails("%v", err)
		}
		if b.Batch.Status == withdrawal.BatchConfirming {
			p.unfinished.Fails("batch %s is %s", b.Batch.ID, b.Batch.Status)
		}
	}); err != nil {
		return nil, err
	}
	err = each(ctx, db, c.service, func(w everything, broken error) {
		p.request(&w, broken)
		r.Requests[w.Request.Status.String()]++
		r.Approvals[w.Request.ApprovalsNeeded]++
		if w.Request.Status == withdrawal.RequestFailed {
			r.Failures[w.Job.ErrorMessage]++
		}
		for _, a := range w.attempts {
			r.Attempts[outcome(a)]++
		}
		r.Transactions += len(w.Txs)
		r.Dead += int(w.Job.TxsDead)
		for i := 1; i < len(w.Txs); i++ {
			if w.Txs[i].Nonce == w.Txs[i-1].Nonce && w.Txs[i].Wallet == w.Txs[i-1].Wallet {
				r.Bumped++
			}
		}
		gasUsed.Add(gasUsed, w.Job.GasUsed.Int())
		gasCost.Add(gasCost, new(big.Int).Mul(w.Job.GasUsed.Int(), w.Job.GasPrice.Int()))
	})
	if err != nil {
		return nil, err
	}
	var incidents []withdrawal.Incident
	for after := int64(0); ; {
		page, next, err := c.service.Incidents(ctx, after, store.MaxPage)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		incidents, after = append(incidents, page...), next
	}
	r.Incidents = len(incidents)
	r.GasUsed, r.GasCost = gasUsed.String(), gasCost.String()
	r.Proof, r.Assets = p.claims(c.rows, r.Refused, incidents)
	wrong := claims.That("nothing that a wrong operator said was taken")
	if text := c.operators.taken.Load(); text != nil {
		wrong.Fails("%s", *text)
	}
	r.Proof = append(r.Proof, wrong)
	r.Pass = !slices.ContainsFunc(r.Proof, func(c claim) bool { return !c.Holds })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Add(c.last.Counts)
	r.Run = runFigures{time.Since(c.started).Round(time.Millisecond).Seconds(), c.options.workers, c.killed(),
		c.counts, chain.Head(), chain.Reorgs,
		people{c.operators.cancelled.Load(), c.operators.held.Load(), c.operators.bumped.Load(), c.operators.refused.Load(),
			c.operators.explained.Load()}}
	return r, nil
}

func outcome(a withdrawal.Attempt) string {
	if a.EndedAt.IsZero() {
		return "open"
	}
	return a.Outcome.String()
}

func eachBatch(ctx context.Context, s *store.Batches, visit func(withdrawal.Payout)) error {
	q := store.ListBatches{Limit: 200}
	for {
		page, err := s.List(ctx, q)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, b := range page {
			visit(b)
		}
		q.After = &page[len(page)-1].Batch
	}
}

// each visits all requests, page by page, with what is wrong about their
// records: an invariant, or a history that does not lead to them.
func each(ctx context.Context, db store.Store[store.Unit], s *store.Withdrawals, visit func(everything, error)) error {
	var after *withdrawal.Request
	for {
		var page []everything
		var broken []error
		err := db.View(ctx, func(tx store.Unit) error {
			page, broken = nil, nil
			requests, err := tx.Withdrawals().Requests(0, after, 200)
			if err != nil {
				return err
			}
			for _, r := range requests {
				ws, err := tx.Withdrawals().Get(r.ID)
				if err != nil {
					return err
				}
				w := everything{Withdrawal: ws[0]}
				wrong := withdrawal.Check(w.Withdrawal)
				if wrong == nil {
					wrong = s.Within(tx).Verify(ctx, r.ID)
				}
				if wrong == nil && w.Job.Status != 0 {
					var trail []statemachine.Transition[uuid.UUID]
					if trail, wrong = s.Within(tx).Trail(ctx, w.Job.ID); wrong == nil && withdrawal.JobMachine.Terminal(w.Job.Status) {
						w.ended = trail[len(trail)-1].Trigger
					}
				}
				if w.attempts, err = tx.Withdrawals().Attempts(w.Job.ID); err != nil {
					return err
				}
				page, broken = append(page, w), append(broken, wrong)
			}
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			visit(page[i], broken[i])
		}
		after = &page[len(page)-1].Request
	}
}

func (r *report) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	p := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	p("%d rows, %d refused", r.Rows+len(r.Refused), len(r.Refused))
	for _, f := range r.Refused[:min(len(r.Refused), 20)] {
		p("  %s", f.Reason)
	}
	p("requests:  %s", claims.Counts(r.Requests))
	p("approvals: %d needed nobody, %d one person, %d two", r.Approvals[0], r.Approvals[1], r.Approvals[2])
	if len(r.Failures) > 0 {
		p("failures:  %s", claims.Counts(r.Failures))
	}
	p("attempts:  %s", claims.Counts(r.Attempts))
	if r.Shared > 0 {
		p("together:  %d payments, batches %s, %d replaced", r.Shared, claims.Counts(r.Batches), r.Replaced)
	}
	p("signed:    %d transactions, %d of them with a higher fee, %d proven dead", r.Transactions, r.Bumped, r.Dead)
	if r.Incidents > 0 {
		p("incidents: %d, to be looked at", r.Incidents)
	}
	p("gas:       %s used, %s paid", r.GasUsed, r.GasCost)
	for _, a := range r.Assets {
		p("%s:      %s completed, %s left the hot wallets", a.Asset, a.Completed, a.Ledger)
	}
	p("run:       %.1f s, %d workers, %d kills, faults %+v, %d blocks, %d reorganisations, people %+v",
		r.Run.Seconds, r.Run.Workers, r.Run.Kills, r.Run.Faults, r.Run.Blocks, r.Run.Reorgs, r.Run.People)
	return claims.Print(out, r.Proof)
}
