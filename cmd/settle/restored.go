package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// restores adds what is said after a restore, in the order of docs/restore.md.
func (a *app) restores(root *cobra.Command) {
	c := &cobra.Command{Use: "restored", Short: "After a restore: docs/restore.md is the procedure"}
	root.AddCommand(c)
	a.begins(c)
	a.opens(c)
	a.tells(c)
	a.explains(c)
	a.swapsAgain(c)
}

// begins is steps 2 and 3.
func (a *app) begins(to *cobra.Command) {
	var nothingLost bool
	var lost string
	const short = "Say that the database was put back: everything stops at send, and is recovering"
	begin := &cobra.Command{Use: "begin", Short: short, RunE: func(c *cobra.Command, args []string) error {
		if err := cmp.Or(exactly(0, args, "restored begin"), needed("reason", a.reason, "lost", lost)); err != nil {
			return err
		}
		at, err := time.Parse(time.RFC3339, lost)
		if err != nil {
			return usage(err)
		}
		if err := a.connect(); err != nil {
			return err
		}
		if a.session, err = a.speaker(c.Context()); err != nil {
			return err
		}
		if err := a.choose(c.Context()); err != nil {
			return err
		}
		r := sqlstore.Restore{Actor: a.speaks(), Reason: a.reason, Lost: at, Lossless: nothingLost}
		if a.dry {
			return a.print(r, "%s would say that the database was lost at %s (nothing lost: %v): %s", r.Actor, stamp(at), nothingLost, a.reason)
		}
		if err := sqlstore.Restored(c.Context(), a.sql, a.dialect, a.opts, r); err != nil {
			return err
		}
		if nothingLost {
			return a.print(r, "it is noted where the database is; nothing was stopped")
		}
		return a.print(r, "everything is recovering at send; restart every process, then settle restored status")
	}}
	to.AddCommand(begin)
	a.says(begin.Flags())
	begin.Flags().BoolVar(&nothingLost, "nothing-lost", false, "of a synchronous standby, pg_upgrade or a planned move alone")
	begin.Flags().StringVar(&lost, "lost", "",
		"when the old database was lost, such as 2026-01-02T02:14:00Z; the same moment again changes nothing")

	var of func() (switches.Scope, error)
	const again = "Let a scope send again what is on file: sending was not stopped before the restore"
	send := a.command(to, "send", again, 0, func(ctx context.Context, _ []string) error {
		scope, err := of()
		if err == nil {
			err = needed("reason", a.reason)
		}
		if err != nil {
			return err
		}
		state, err := a.Switches.State(ctx, scope)
		if err != nil {
			return err
		}
		by := switches.By{Actor: a.speaks(), Role: switches.Operator, Version: a.version, Via: via}
		ev := switches.Recovering{By: by, Scope: scope, Level: switches.Begin, Generation: state.Generation, Reason: a.reason}
		_, moves, err := a.Switches.Try(ctx, scope, ev)
		if a.dry {
			if err != nil {
				return err
			}
			return a.moved(moves, "would be ")
		}
		if _, err := a.Switches.Recover(ctx, ev); err != nil {
			return err
		}
		return a.moved(moves, "")
	})
	a.says(send.Flags())
	of = scope(send.Flags())
}

// opens are the reads.
func (a *app) opens(to *cobra.Command) {
	chain := func(f *pflag.FlagSet) *string { return f.String("chain", "", "id of the chain") }
	points := func(ctx context.Context, chain string) ([]withdrawal.Open, error) {
		err := needed("chain", chain)
		var id uuid.UUID
		ids(&err, chain, &id)
		if err != nil {
			return nil, err
		}
		if err := a.withdrawals(ctx); err != nil {
			return nil, err
		}
		return a.Withdrawals.Unsettled(ctx, id, store.MaxPage)
	}
	var statusOf, openOf *string
	const short = "What is recovering; with --chain how many points of each kind stand open"
	status := a.command(to, "status", short, 0, func(ctx context.Context, _ []string) error {
		all, err := a.Switches.List(ctx, "", store.MaxPage)
		for _, s := range all {
			if s.Recovering || s.Generation > 0 {
				err = cmp.Or(err, a.print(s, "%s: recovering %v at %v, generation %d", s.Scope, s.Recovering, s.Recovery, s.Generation))
			}
		}
		if err != nil || *statusOf == "" {
			return err
		}
		open, err := points(ctx, *statusOf)
		if err != nil {
			return err
		}
		count := map[withdrawal.OpenPoint]int{}
		for _, o := range open {
			count[o.Point]++
		}
		for _, p := range withdrawal.OpenPoint(0).Values() {
			if count[p] > 0 {
				err = cmp.Or(err, a.print(map[string]any{"point": p, "open": count[p]}, "open: %d of %q; settle explain %[2]q", count[p], p.String()))
			}
		}
		if len(open) == 0 {
			err = a.print(map[string]any{"open": 0}, "nothing stands open: settle start --recovery --chain %s", *statusOf)
		}
		return err
	})
	statusOf = chain(status.Flags())
	open := a.command(to, "open", "Every point that stands open before a chain may begin", 0, func(ctx context.Context, _ []string) error {
		all, err := points(ctx, *openOf)
		for _, o := range all {
			err = cmp.Or(err, a.print(o, "%s: %s", o.Point, o))
		}
		return err
	})
	openOf = chain(open.Flags())
}

// statement adds a command that says one event, or several, about a hot wallet.
func (a *app) statement(to *cobra.Command, use, short string, args int, of func([]string) ([]withdrawal.Event, error)) *pflag.FlagSet {
	c := a.command(to, use, short, args, func(ctx context.Context, got []string) error {
		events, err := of(got)
		if err != nil {
			return err
		}
		if err := a.withdrawals(ctx); err != nil {
			return err
		}
		for _, ev := range events {
			if err := a.taken(ctx, func(s *store.Withdrawals) error { return s.Say(ctx, ev) }); err != nil {
				return err
			}
			if err := a.print(ev, "said: %T", ev); err != nil {
				return err
			}
		}
		return nil
	})
	a.says(c.Flags())
	return c.Flags()
}

// tells is steps 3 to 6.
func (a *app) tells(to *cobra.Command) {
	desk := func() withdrawal.By { return a.by(withdrawal.Operator) }
	var books struct{ chain, since string }
	const read = "Your own books were read since the copy, and all that people did is said again"
	f := a.statement(to, "books", read, 0, func([]string) ([]withdrawal.Event, error) {
		err := needed("chain", books.chain, "since", books.since, "reason", a.reason)
		ev := withdrawal.BooksRead{Reason: a.reason}
		ids(&err, books.chain, &ev.Chain)
		if err == nil {
			ev.Since, err = time.Parse(time.RFC3339, books.since)
			err = usage(err)
		}
		ev.By = desk()
		return []withdrawal.Event{ev}, err
	})
	f.StringVar(&books.chain, "chain", "", "id of the chain")
	f.StringVar(&books.since, "since", "", "the moment of the copy, such as 2026-01-02T00:00:00Z")

	var bound struct {
		wallet, source, coins  string
		through, from, barrier uint64
		ended, none            bool
	}
	f = a.statement(to, "bound", "How far a wallet may have signed", 0, func([]string) ([]withdrawal.Event, error) {
		err := needed("wallet", bound.wallet, "source", bound.source, "reason", a.reason)
		ev := withdrawal.Bound{By: desk(), Through: bound.through, From: bound.from, Barrier: bound.barrier, SignerEnded: bound.ended,
			NoCoins: bound.none,
			Reason:  a.reason}
		ids(&err, bound.wallet, &ev.Wallet)
		if err == nil {
			err = usage(ev.Source.UnmarshalText([]byte(bound.source)))
		}
		if err == nil && bound.coins != "" {
			ev.Coins, err = lines(bound.coins)
		}
		return []withdrawal.Event{ev}, err
	})
	f.StringVar(&bound.wallet, "wallet", "", "id of the hot wallet")
	f.StringVar(&bound.source, "source", "", "signer log, signer list, payer log, margin")
	f.Uint64Var(&bound.through, "through", 0, "with nonces: one above the highest that was signed")
	f.Uint64Var(&bound.from, "from", 0, "transactions in blocks before the copy, where it knows none at depth")
	f.StringVar(&bound.coins, "coins", "", "with inputs: file with a coin a line")
	f.BoolVar(&bound.none, "no-coins", false, "with inputs: the wallet had no coin, and got none")
	f.Uint64Var(&bound.barrier, "barrier", 0, "with neither: height of the tip")
	f.BoolVar(&bound.ended, "signer-ended", false, "with a signer list, or a signer that sends: each entry has ended at the signer")

	var depth struct {
		wallet string
		block  withdrawal.Block
		next   uint64
		told   bool
	}
	const deep = "What the chain shows of a wallet at a block that is deep enough"
	f = a.statement(to, "at-depth", deep, 0, func([]string) ([]withdrawal.Event, error) {
		err := needed("wallet", depth.wallet, "block-hash", depth.block.Hash)
		ev := withdrawal.AtDepth{By: desk(), Block: depth.block, Next: depth.next, AllTold: depth.told, Reason: a.reason}
		ids(&err, depth.wallet, &ev.Wallet)
		return []withdrawal.Event{ev}, err
	})
	f.StringVar(&depth.wallet, "wallet", "", "id of the hot wallet")
	f.Uint64Var(&depth.block.Height, "block", 0, "height of the block")
	f.StringVar(&depth.block.Hash, "block-hash", "", "its hash")
	f.StringVar(&depth.block.Canonical, "canonical", "", "hash of the best chain's block at this height, as it was read with the head")
	f.Uint64Var(&depth.block.Head, "head", 0, "height of the tip")
	f.Uint64Var(&depth.next, "next", 0, "with nonces: transactions of the wallet in that block and below it")
	f.BoolVar(&depth.told, "all-told", false, "with neither: each transaction that the wallet has sent since the copy was told")

	var used string
	const spent = "What used nonces or coins: a file with one transaction a line"
	f = a.statement(to, "used", spent, 0, func([]string) ([]withdrawal.Event, error) {
		if err := needed("file", used); err != nil {
			return nil, err
		}
		return events(used, func(ev *withdrawal.Used) withdrawal.Event {
			ev.By, ev.Reason = desk(), cmp.Or(ev.Reason, a.reason)
			return *ev
		})
	})
	f.StringVar(&used, "file", "", "withdrawal.Used as JSON, a line each: Wallet, Tx, Height, Hash, Canonical, Head, Nonce, Inputs, "+
		"Reverted, Transfers with Own, Coins")

	var pays transfer
	const nobody = "A transfer paid somebody, and nobody knows for which request"
	f = a.statement(to, "unclaimed", nobody, 0, func([]string) ([]withdrawal.Event, error) {
		ev := withdrawal.Unclaimed{By: desk(), Tx: pays.tx, Reason: a.reason}
		var err error
		ev.Transfer, err = pays.parsed()
		err = cmp.Or(err, needed("reason", a.reason))
		ids(&err, pays.wallet, &ev.Wallet)
		return []withdrawal.Event{ev}, err
	})
	pays.flags(f, true)

	var not, drop struct {
		wallet, tx string
		output     uint32
	}
	const another = "An unclaimed transfer did not pay this request"
	f = a.statement(to, "not-this REQUEST", another, 1, func(args []string) ([]withdrawal.Event, error) {
		err := needed("wallet", not.wallet, "tx", not.tx, "reason", a.reason)
		ev := withdrawal.NotThis{By: desk(), Tx: not.tx, Output: not.output, Reason: a.reason}
		ids(&err, not.wallet, &ev.Wallet, args[0], &ev.Request)
		return []withdrawal.Event{ev}, err
	})
	f.StringVar(&not.wallet, "wallet", "", "id of the hot wallet")
	f.StringVar(&not.tx, "tx", "", "hash of the transaction")
	f.Uint32Var(&not.output, "output", 0, "index of the output or transfer")
	f = a.statement(to, "drop", "An unclaimed transfer keeps nothing back any more", 0, func([]string) ([]withdrawal.Event, error) {
		err := needed("wallet", drop.wallet, "tx", drop.tx, "reason", a.reason)
		ev := withdrawal.Dropped{By: desk(), Tx: drop.tx, Output: drop.output, Reason: a.reason}
		ids(&err, drop.wallet, &ev.Wallet)
		return []withdrawal.Event{ev}, err
	})
	f.StringVar(&drop.wallet, "wallet", "", "id of the hot wallet")
	f.StringVar(&drop.tx, "tx", "", "hash of the transaction")
	f.Uint32Var(&drop.output, "output", 0, "index of the output or transfer")
}

// transfer is what pays somebody, as the chain shows it.
type transfer struct {
	wallet, tx, payee, asset, amount string
	output                           uint32
}

func (t *transfer) flags(f *pflag.FlagSet, wallet bool) {
	if wallet {
		f.StringVar(&t.wallet, "wallet", "", "id of the hot wallet")
	}
	f.StringVar(&t.tx, "tx", "", "hash of the transaction")
	f.Uint32Var(&t.output, "output", 0, "index of the output or transfer")
	f.StringVar(&t.payee, "payee", "", "who was paid, as the chain shows it")
	f.StringVar(&t.asset, "asset", "", "id of the asset on the chain")
	f.StringVar(&t.amount, "amount", "", "in base units")
}

func (t *transfer) parsed() (withdrawal.Transfer, error) {
	err := needed("tx", t.tx, "payee", t.payee, "asset", t.asset, "amount", t.amount)
	is := withdrawal.Transfer{Output: t.output, Payee: t.payee, AmountRaw: withdrawal.Raw(t.amount)}
	ids(&err, t.asset, &is.AssetOnChain)
	return is, err
}

// explains is step 6 for the requests themselves.
func (a *app) explains(to *cobra.Command) {
	var paid struct {
		transfer
		block     withdrawal.Block
		reference string
	}
	const pays = "A transaction that is not on file pays this request"
	c := a.event(to, "paid", pays, func(context.Context, withdrawal.Withdrawal) (withdrawal.Event, error) {
		t, err := paid.parsed()
		return withdrawal.PaidBy{By: a.by(withdrawal.Operator), Block: paid.block, Tx: paid.tx, Output: t.Output, Payee: t.Payee,
				AssetOnChain: t.AssetOnChain, AmountRaw: t.AmountRaw, Reference: paid.reference, Reason: a.reason},
			cmp.Or(err, needed("reason", a.reason))
	})
	paid.flags(c.Flags(), false)
	c.Flags().StringVar(&paid.reference, "reference", "", "that the signer was called with")
	c.Flags().Uint64Var(&paid.block.Height, "block", 0, "height where it was mined, if it was")
	c.Flags().StringVar(&paid.block.Hash, "block-hash", "", "hash of that block")
	c.Flags().StringVar(&paid.block.Canonical, "canonical", "", "hash of the best chain's block at this height")
	c.Flags().Uint64Var(&paid.block.Head, "head", 0, "height of the tip")

	var reference string
	const gaveBack = "The money was given back before the restore"
	c = a.event(to, "refunded", gaveBack, func(context.Context, withdrawal.Withdrawal) (withdrawal.Event, error) {
		return withdrawal.Refunded{By: a.by(withdrawal.Operator), Reference: reference, Reason: a.reason, Already: true},
			needed("reference", reference, "reason", a.reason)
	})
	c.Flags().StringVar(&reference, "reference", "", "of the posting in your books")

	const whole = "Requests of your books that the copy does not have, or had failed: withdrawal.Imported as JSON, a line each"
	imports := a.command(to, "import FILE", whole, 1,
		func(ctx context.Context, args []string) error {
			all, err := events(args[0], func(ev *withdrawal.Imported) withdrawal.Event {
				ev.By = a.by(withdrawal.System)
				return *ev
			})
			if err == nil {
				err = a.withdrawals(ctx)
			}
			for _, ev := range all {
				if err == nil {
					err = a.send(ctx, ev.(withdrawal.Imported).Request, ev)
				}
			}
			return err
		})
	a.says(imports.Flags())
}

// lines are those of a file that are not empty.
func lines(file string) (all []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if in.Text() != "" {
			all = append(all, in.Text())
		}
	}
	return all, in.Err()
}

// events are those of a file with one object of JSON a line.
func events[E any](file string, said func(*E) withdrawal.Event) (all []withdrawal.Event, err error) {
	texts, err := lines(file)
	for i, text := range texts {
		var ev E
		if err := json.Unmarshal([]byte(text), &ev); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, i+1, err)
		}
		all = append(all, said(&ev))
	}
	return all, err
}
