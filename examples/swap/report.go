package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/settlehq/settle/examples/internal/claims"
	"github.com/settlehq/settle/examples/swap/chain"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/swap"
)

// report is what -json prints.
type report struct {
	Pass          bool                      `json:"pass"`
	Proof         []claims.Claim            `json:"proof"`
	Tables        map[string]map[string]int `json:"tables"` // by the source's own SQL
	Success       int64                     `json:"successBasisPoints"`
	Refund        int64                     `json:"refundBasisPoints"`
	Quarantine    int64                     `json:"quarantineBasisPoints"`
	Alerts        []statemachine.Alert      `json:"alerts"`
	Discrepancies map[string]int            `json:"discrepancies"`
	Intents       map[string]int            `json:"intents"` // by outcome
	Totals        map[string]string         `json:"totals"`
	Seconds       float64                   `json:"seconds"`
	Kills         int64                     `json:"kills"`
	Losses        int                       `json:"losses"`
}

func (s *story) report(ctx context.Context, ended error) (*report, error) {
	r := &report{Tables: map[string]map[string]int{}, Discrepancies: map[string]int{}, Intents: map[string]int{}, Totals: map[string]string{},
		Seconds: time.Since(s.Began).Seconds(), Kills: s.kills, Losses: s.Losses}
	for _, table := range []string{"unprocessed_sigs", "processed_sigs", "refunded_sigs", "quarantined_sigs", "unprocessed_txids",
		"processed_txids", "refunded_txids", "quarantined_txids"} {
		counts, err := count(ctx, s.db, s.schema, "SELECT status, COUNT(*) as count \nFROM "+table+" \nGROUP BY status;")
		if err != nil {
			return nil, err
		}
		r.Tables[table] = counts
	}
	stats, err := s.swaps.Stats(ctx, time.Hour)
	if err != nil {
		return nil, err
	}
	r.Success, r.Refund, r.Quarantine = stats.SuccessRate(), stats.RefundRate(), stats.QuarantineRate()
	r.Alerts = swap.Alerts(stats, swap.DefaultThresholds())
	if err := s.prove(ctx, r, ended); err != nil {
		return nil, err
	}
	r.Pass = claims.Pass(r.Proof)
	return r, nil
}

// prove compares the database with what the chains have written.
func (s *story) prove(ctx context.Context, r *report, ended error) error {
	finished := claims.That("everything that came in has ended, and nothing is owed")
	known := claims.That("what came in on the ledgers is one item each, with its amount")
	sound := claims.That("each record keeps its invariants, and its history replays to it")
	conserved := claims.That("per item: paid out + refunded + quarantined + fees = deposited")
	once := claims.That("per item: at most one outbound is on the ledgers, and it is the one on record")
	total := claims.That("in total: what left the vault on each chain is what the items say")
	named := claims.That("every outbound on the ledgers belongs to an item")
	quiet := claims.That("while new swaps were stopped none was begun")
	if ended != nil {
		finished.Fails("%v", ended)
	}
	in, out := map[string]chain.Transfer{}, map[string]chain.Transfer{}
	left := map[swap.Chain]uint64{}
	for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
		all, err := chain.Read(s.ledger(c))
		if err != nil {
			return err
		}
		for _, t := range all {
			switch {
			case t.Inbound:
				if _, twice := in[c.String()+" "+t.ID]; twice {
					known.Fails("%v %s is on the ledger twice", c, t.ID)
				}
				in[c.String()+" "+t.ID] = t
			case t.Vault && !t.Errored:
				out[c.String()+" "+t.ID] = t
				left[c] += t.Amount
			}
		}
	}
	claimed := map[string]bool{}
	says := map[swap.Chain]uint64{}
	var sum swap.Money
	err := each(ctx, s.swaps, func(rec swap.Record) error {
		i := rec.Head()
		d, money, check := swap.ToUSDC, swap.Money{}, error(nil)
		var trail []statemachine.Transition[string]
		var err error
		if dep, ok := rec.(*swap.Deposit); ok {
			d, money, check = swap.ToUSDD, dep.Money(), swap.CheckDeposit(*dep)
			trail, err = s.swaps.Deposits.Trail(ctx, i.ID)
		} else {
			c := rec.(*swap.Credit)
			money, check = c.Money(), swap.CheckCredit(*c)
			trail, err = s.swaps.Credits.Trail(ctx, i.ID)
		}
		if check != nil || err != nil || len(trail) == 0 {
			sound.Fails("%s: %v %v", i.ID, check, err)
		}
		if rec.Place() == swap.Unprocessed || !i.CheckAt.IsZero() {
			finished.Fails("%s %s is %s, held %v", d, i.ID, rec.State(), i.Hold.Kind)
		}
		key := swap.Inbound(d).String() + " " + i.ID
		if t, ok := in[key]; !ok || t.Amount != i.Amount {
			known.Fails("%s: %s came in, %s is stored", i.ID, swap.FormatAmount(t.Amount), swap.FormatAmount(i.Amount))
		}
		delete(in, key)
		if money.PaidOut+money.Refunded+money.Quarantined+money.Fees != money.Deposited || money.Held != 0 || money.Excess != 0 {
			conserved.Fails("%s: %+v", i.ID, money)
		}
		n := 0
		for _, intent := range i.Intents {
			outcome := intent.Outcome.String()
			if intent.Proof != 0 {
				outcome += ", " + intent.Proof.String()
			}
			r.Intents[outcome]++
			id := intent.TxID
			if id == "" {
				id = intent.Signature
			}
			t, ok := out[intent.Chain.String()+" "+id]
			if !ok || claimed[intent.Chain.String()+" "+id] {
				if intent.Final {
					once.Fails("%s: intent %d is final and not on the ledger", i.ID, intent.Number)
				}
				continue
			}
			claimed[intent.Chain.String()+" "+id] = true
			n++
			if !intent.Final || t.Amount != intent.Net || t.To != intent.Destination {
				once.Fails("%s: intent %d (%v) paid %s to %s", i.ID, intent.Number, intent.Outcome, swap.FormatAmount(t.Amount), t.To)
			}
			if intent.Final {
				says[intent.Chain] += intent.Net
			}
		}
		if n > 1 {
			once.Fails("%s: %d outbounds", i.ID, n)
		}
		for _, disc := range i.Discrepancies {
			r.Discrepancies[disc.Kind.String()]++
		}
		sum.Deposited += money.Deposited
		sum.PaidOut += money.PaidOut
		sum.Refunded += money.Refunded
		sum.Quarantined += money.Quarantined
		sum.Fees += money.Fees
		return nil
	})
	if err != nil {
		return err
	}
	for key := range in {
		known.Fails("%s is on the ledger and no item", key)
	}
	for key, t := range out {
		if !claimed[key] {
			named.Fails("%s of %s to %s is nobody's", key, swap.FormatAmount(t.Amount), t.To)
		}
	}
	for _, c := range []swap.Chain{swap.Solana, swap.Nexus} {
		if left[c] != says[c] {
			total.Fails("%v: %s left the vault, the items say %s", c, swap.FormatAmount(left[c]), swap.FormatAmount(says[c]))
		}
		r.Totals["left the vault on "+c.String()] = swap.FormatAmount(left[c])
	}
	for name, n := range map[string]uint64{"deposited": sum.Deposited, "paid out": sum.PaidOut, "refunded": sum.Refunded,
		"quarantined": sum.Quarantined, "fees": sum.Fees} {
		r.Totals[name] = swap.FormatAmount(n)
	}
	if sum.PaidOut+sum.Refunded+sum.Quarantined+sum.Fees != sum.Deposited {
		total.Fails("%+v", sum)
	}
	if s.Stopped[1].IsZero() {
		quiet.Fails("the day ended while they were stopped")
	}
	r.Proof = []claims.Claim{finished, known, sound, conserved, once, named, total, quiet}
	return nil
}

func (r *report) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	p := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	for _, table := range []string{"unprocessed_sigs", "processed_sigs", "refunded_sigs", "quarantined_sigs", "unprocessed_txids",
		"processed_txids", "refunded_txids", "quarantined_txids"} {
		p("%-18s %s", table, claims.Counts(r.Tables[table]))
	}
	p("rates:             %.1f %% processed, %.1f %% refunded, %.1f %% quarantined", float64(r.Success)/100,
		float64(r.Refund)/100, float64(r.Quarantine)/100)
	for _, a := range r.Alerts {
		p("alert:             %s: %s", a.Name, a.Text)
	}
	p("discrepancies:     %s", claims.Counts(r.Discrepancies))
	p("intents:           %s", claims.Counts(r.Intents))
	for _, name := range []string{"deposited", "paid out", "refunded", "quarantined", "fees",
		"left the vault on solana", "left the vault on nexus"} {
		p("%-26s %s", name, r.Totals[name])
	}
	p("run:               %.1f s, %d kills, %d database lost", r.Seconds, r.Kills, r.Losses)
	return claims.Print(out, r.Proof)
}
