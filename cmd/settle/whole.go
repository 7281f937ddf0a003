package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/sqlstore"
)

func (a *app) verifyAll(ctx context.Context, _ []string) error {
	type audit = func(ctx context.Context, after string, limit int) (string, error)
	audits := map[string][]audit{string(store.DomainSwitches): {func(ctx context.Context, after string, limit int) (string, error) {
		last, err := a.Switches.Audit(ctx, switches.Scope(after), limit)
		return string(last), err
	}}}
	if a.Withdrawals != nil {
		audits[string(store.DomainWithdrawals)] = []audit{a.Withdrawals.Audit, a.Batches.Audit}
	}
	if a.Swaps != nil {
		audits[string(store.DomainSwaps)] = []audit{a.Swaps.Deposits.Audit, a.Swaps.Credits.Audit}
	}
	if a.Refreshes != nil {
		audits[string(store.DomainRefreshes)] = []audit{a.Refreshes.Audit}
	}
	if a.Relays != nil {
		audits[string(store.DomainRelays)] = []audit{a.Relays.Audit, a.Tenants.Audit}
	}
	domains := slices.Sorted(maps.Keys(audits))
	var wrong []error
	for _, domain := range domains {
		for _, audit := range audits[domain] {
			for after, more := "", true; more; more = after != "" {
				last, err := audit(ctx, after, store.MaxPage)
				wrong, after = append(wrong, err), last
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	return a.print(map[string]string{"records": "sound"}, "each record keeps its rules: "+strings.Join(domains, ", "))
}

func (a *app) doctor(ctx context.Context) error {
	if err := a.connect(); err != nil {
		return err
	}
	none := a.choose(ctx)
	d := ops.Doctor{DB: a.sql, Dialect: a.dialect, Options: a.opts}
	ill := false
	for _, answer := range d.Ask(ctx) {
		if answer.Check == "tables" && errors.Is(none, sqlstore.ErrNoTables) {
			answer.Is = none.Error() // of no domain; a doctor without a choice asks for all of them
		}
		text := "fine  %[1]s: %[2]s"
		if !answer.Fine {
			ill, text = true, "ILL   %[1]s: %[2]s\n      why: %[3]s\n      do:  %[4]s"
		}
		if err := a.print(answer, text+"%[5]s", answer.Check, answer.Is, answer.Why, answer.Do, ""); err != nil {
			return err
		}
	}
	if err := a.workers(ctx); err != nil || !ill {
		return err
	}
	return errAlerts
}

// workers names the workers that are on file: those have to end before a restore is said.
func (a *app) workers(ctx context.Context) error {
	db, err := sqlstore.Open(ctx, a.sql, a.dialect, a.opts)
	if err != nil {
		return nil // the doctor has said so
	}
	a.store = db
	lives, err := store.NewProcesses(db)
	if err != nil {
		return err
	}
	all, err := lives.List(ctx, processes.Key{}, store.MaxPage)
	for _, p := range all {
		err = cmp.Or(err, a.print(p, "seen  %s of %s, version %q, policy %s, until %s", p.Name, p.Domain, p.Version, p.Policy, stamp(p.Last)))
	}
	return err
}

func (a *app) migrates(root *cobra.Command) {
	c := &cobra.Command{Use: "migrate", Short: "The tables: status, up, down, sql"}
	root.AddCommand(c)
	var domains []string
	c.PersistentFlags().StringSliceVar(&domains, "domains", nil, "domains, such as withdrawals; else all")
	with := func(use, short string, of int, do func(ctx context.Context, args []string) error) *cobra.Command {
		one := &cobra.Command{Use: use, Short: short, RunE: func(c *cobra.Command, args []string) error {
			if err := exactly(of, args, "migrate "+use); err != nil {
				return err
			}
			if err := a.connect(); err != nil {
				return err
			}
			for _, d := range domains {
				a.opts.Domains = append(a.opts.Domains, store.Domain(d))
			}
			return do(c.Context(), args)
		}}
		c.AddCommand(one)
		return one
	}
	with("status", "Which domains the database has, and their latest migrations", 0, func(ctx context.Context, _ []string) error {
		found, err := a.migrated(ctx)
		for _, m := range found {
			err = cmp.Or(err, a.print(map[string]any{"domain": m.domain, "migration": m.version}, "%s %d", m.domain, m.version))
		}
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: settle migrate up makes them", sqlstore.ErrNoTables)
		}
		return err
	})
	with("up", "Run what is missing, in one transaction", 0, func(ctx context.Context, _ []string) error {
		err := sqlstore.Migrate(ctx, a.sql, a.dialect, a.opts)
		if err == nil {
			err = a.print(map[string]string{"tables": "current"}, "the tables are current")
		}
		return err
	})
	with("sql", "What up does to an empty database, as SQL", 0, func(context.Context, []string) error {
		text, err := sqlstore.Script(a.dialect, a.opts)
		if err == nil {
			_, err = fmt.Fprint(a.out, text)
		}
		return err
	})
	yes := false
	const undo = "Undo the latest migration of a domain, with all that is in its tables; it says what is lost, and asks"
	down := with("down DOMAIN", undo, 1, func(ctx context.Context, args []string) error { return a.down(ctx, store.Domain(args[0]), yes) })
	down.Flags().BoolVar(&yes, "yes", false, "do not ask")
	down.Flags().BoolVar(&a.dry, "dry-run", false, "say what would be lost, and do nothing")
}

// down undoes the latest migration of a domain, once somebody who has read what is lost has typed its name.
func (a *app) down(ctx context.Context, domain store.Domain, yes bool) error {
	version, losses, err := sqlstore.Losses(ctx, a.sql, a.dialect, a.opts, domain)
	for _, l := range losses {
		err = cmp.Or(err, a.print(l, "lost  %s: %d rows", l.Table, l.Rows))
	}
	if err != nil || a.dry {
		return err
	}
	if !yes {
		fmt.Fprintf(a.errs, "settle: migration %d of %s is undone, and these rows are gone. Payments of them are forgotten, and would be "+
			"made again by whoever asks again. Stop all processes, take a copy, then type %s: ", version, domain, domain)
		var typed string
		if _, err := fmt.Fscanln(a.in, &typed); err != nil || typed != string(domain) {
			return fmt.Errorf("%w: nothing is undone: the name of the domain is needed", errUsage)
		}
	}
	if err := sqlstore.Down(ctx, a.sql, a.dialect, a.opts, domain, version); err != nil {
		return err
	}
	return a.print(map[string]any{"domain": domain, "undone": version}, "migration %d of %s is undone", version, domain)
}
