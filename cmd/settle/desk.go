package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/console"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// desks adds what all domains have in common: the same lists, records and actions as the console.
func (a *app) desks(root *cobra.Command) {
	causes := func(use, short string, of func(*ops.Kind) []string) {
		a.command(root, use, short, 0, func(ctx context.Context, _ []string) error { return a.causes(ctx, of) })
	}
	causes("review", "All that rests with a person, of every domain, by what it waits for", func(k *ops.Kind) []string { return k.Review })
	causes("stuck", "All that somebody has forgotten, of every domain, by what it waits for", func(k *ops.Kind) []string { return k.Stuck })
	a.command(root, "item KIND ID", "A record of any domain: withdrawal, batch, deposit, credit, refresh, relay, tenant, wallet", 2, a.item)
	a.command(root, "offers KIND ID", "What could be said of a record now, as the service would take it", 2, a.offers)
	a.saysAny(root)
	a.bundles(root)
	a.hotWallets(root)
	a.revokes(root)
	a.serves(root)
}

func (a *app) causes(ctx context.Context, of func(*ops.Kind) []string) error {
	now, err := a.Now(ctx)
	if err != nil {
		return err
	}
	for _, k := range a.Kinds() {
		for _, name := range of(k) {
			for q := (ops.List{Name: name, Limit: store.MaxPage}); ; {
				page, err := k.List(ctx, q)
				if err != nil {
					return fmt.Errorf("%s %s: %w", k.Name, name, err)
				}
				for _, g := range statemachine.ByCause(page.Rows, func(r *ops.Row) string { return cmp.Or(r.Cause, r.State) }) {
					if !a.json {
						fmt.Fprintf(a.out, "%s %s, %d: %s\n", k.Name, name, len(g.Items), g.Cause)
					}
					for _, i := range g.Items {
						r := page.Rows[i]
						err = cmp.Or(err, a.print(map[string]any{"kind": k.Name, "list": name, "row": r}, "  %s %s %s for %v", r.ID, r.State, r.Amount,
							now.Sub(r.Since).Round(time.Second)))
					}
				}
				if q.After = page.Next; err != nil || page.Next == "" {
					break
				}
			}
		}
	}
	return nil
}

// record reads a record of any domain.
func (a *app) record(ctx context.Context, args []string) (*ops.Kind, *ops.Item, error) {
	k, err := a.Kind(args[0])
	if err != nil {
		return nil, nil, err
	}
	is, err := k.Get(ctx, args[1])
	return k, is, err
}

func (a *app) item(ctx context.Context, args []string) error {
	k, is, err := a.record(ctx, args)
	if err != nil {
		return err
	}
	if a.reveal {
		line := statemachine.JournalLine{Actor: a.speaks(), Role: "operator", Domain: string(k.Domain), Machine: k.Machine, ID: is.ID,
			Version: is.Version, Event: "Reveal", Via: via}
		if err := a.Note(ctx, line, nil); err != nil {
			return err
		}
	} else {
		is = is.Masked()
	}
	if a.json {
		return a.print(is, "")
	}
	fmt.Fprintf(a.out, "%s %s: %s, version %d\n%s\n", k.Name, is.ID, is.State, is.Version, is.Sentence)
	for _, f := range is.Fields {
		fmt.Fprintf(a.out, "  %-22s %s\n", f.Name, f.Text)
	}
	for _, t := range is.Tables {
		for _, r := range t.Rows {
			fmt.Fprintf(a.out, "  %s:", t.Name)
			for i, text := range r {
				if text != "" {
					fmt.Fprintf(a.out, " %s=%s", t.Columns[i], text)
				}
			}
			fmt.Fprintln(a.out)
		}
	}
	return nil
}

func (a *app) offers(ctx context.Context, args []string) error {
	k, is, err := a.record(ctx, args)
	if err != nil {
		return err
	}
	offers, err := k.Offers(ctx, is, a.speaks())
	for _, o := range offers {
		what := "already so"
		switch {
		case o.Why != "":
			what = "refused: " + o.Why
		case len(o.Moves) > 0:
			what = ""
			for _, m := range o.Moves {
				what += fmt.Sprintf("%s %s to %s; ", m.Machine, m.From, m.To)
			}
		case o.Form:
			what = "depends on what you have found out"
		}
		var asks []string
		for _, in := range is.Inputs(o.Action) {
			asks = append(asks, in.Name)
		}
		err = cmp.Or(err, a.print(map[string]any{"action": o.As(), "moves": o.Moves, "form": o.Form, "why": o.Why, "asks": asks},
			"%-18s %s\n%18s asks %s", o.As(), strings.TrimSuffix(what, "; "), "", strings.Join(asks, ", ")))
	}
	return err
}

// saysAny adds the command by which any action of any domain is said.
func (a *app) saysAny(root *cobra.Command) {
	var fields []string
	const short = "Say an action of settle offers: what is typed as --field Name=text"
	c := a.command(root, "say KIND ID ACTION", short, 3, func(ctx context.Context, args []string) error {
		k, is, err := a.record(ctx, args)
		if err != nil {
			return err
		}
		act, err := k.Action(args[2])
		if err != nil {
			return err
		}
		said := ops.Said{Action: args[2], Actor: a.speaks(), Via: via, Version: a.version, Fields: map[string]string{}}
		if act.OfJob && a.version == 0 {
			return fmt.Errorf("%w: --version of the job that you looked at is needed: settle show %s", errUsage, is.ID)
		}
		if act.Fields["Reason"] == ops.Typed {
			if err := needed("reason", a.reason); err != nil {
				return err
			}
			said.Fields["Reason"] = a.reason
		}
		for _, f := range fields {
			name, text, ok := strings.Cut(f, "=")
			if !ok {
				return fmt.Errorf("%w: --field %q has no =", errUsage, f)
			}
			said.Fields[name] = text
		}
		if act.Approves() {
			id, err := uuid.Parse(is.ID)
			if err != nil {
				return err
			}
			w, err := a.Withdrawals.Get(ctx, id)
			if err == nil {
				err = a.mayApprove(&w)
			}
			if err != nil && !a.dry {
				return a.note(ctx, &w, withdrawal.Approver, act.As(), err)
			}
		}
		moves, err := k.Try(ctx, is, said)
		if a.dry {
			if err != nil {
				return err
			}
			return a.moved(moves, "would be ")
		}
		if err := k.Say(ctx, is, said); err != nil {
			return err
		}
		return a.moved(moves, "")
	})
	a.says(c.Flags())
	c.Flags().StringArrayVar(&fields, "field", nil, "Name=text of a field that settle offers names; yes or no where it asks")
	c.Flags().BoolVar(&a.anyone, "approve-as-anyone", false, "although the database session is of no single person")
}

// bundles adds the command that writes one masked file for a ticket.
func (a *app) bundles(root *cobra.Command) {
	const short = "One masked object for a ticket: the record, its history, incidents, versions"
	a.command(root, "bundle ID", short, 1, func(ctx context.Context, args []string) error {
		found, err := a.Find(ctx, args[0])
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: nothing is known as %q", statemachine.ErrNotFound, args[0])
		}
		if err != nil {
			return err
		}
		now, err := a.Now(ctx)
		if err != nil {
			return err
		}
		bundle := map[string]any{"at": now, "settle": version()}
		var records []any
		var incidents []withdrawal.Incident
		for _, f := range found {
			is, err := f.Kind.Get(ctx, f.ID)
			if err != nil {
				return err
			}
			is = is.Masked()
			offers, err := f.Kind.Offers(ctx, is, a.speaks())
			if err != nil {
				return err
			}
			could := map[string]string{}
			for _, o := range offers {
				could[o.As()] = cmp.Or(o.Why, map[bool]string{true: "a form", false: "taken"}[o.Form])
			}
			records = append(records, map[string]any{"record": is, "could be said": could})
			if f.Kind.Domain == store.DomainWithdrawals {
				of, err := a.incidentsOf(ctx, is.ID)
				if err != nil {
					return err
				}
				incidents = append(incidents, of...)
			}
		}
		migrations := map[store.Domain]int64{}
		all, err := a.migrated(ctx)
		for _, m := range all {
			migrations[m.domain] = m.version
		}
		bundle["records"], bundle["incidents"], bundle["migrations"] = records, incidents, migrations
		if err != nil {
			return err
		}
		a.json = true
		return a.print(bundle, "")
	})
}

// incidentsOf are the open incidents of a request.
func (a *app) incidentsOf(ctx context.Context, request string) (all []withdrawal.Incident, err error) {
	for cursor := int64(0); ; {
		page, next, err := a.Withdrawals.OpenIncidents(ctx, cursor, store.MaxPage)
		for _, i := range page {
			if i.Request.String() == request {
				all = append(all, i)
			}
		}
		if cursor = next; err != nil || len(page) == 0 {
			return all, err
		}
	}
}

// version is that of this binary.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

func (a *app) hotWallets(root *cobra.Command) {
	c := &cobra.Command{Use: "wallet", Short: "Hot wallets of withdrawals: list, pause, resume"}
	root.AddCommand(c)
	const those = "Hot wallets of the chains that policy, switches or open requests name"
	a.command(c, "list", those, 0, func(ctx context.Context, _ []string) error {
		s := a.Read(ctx, ops.DefaultLimits().Window, ops.Statistics{})
		all, err := a.HotWallets(ctx, s.Withdrawals)
		for _, w := range all {
			err = cmp.Or(err, a.print(w, "%s of chain %s: %s, next nonce %d, reserved %s", w.ID, w.Chain, w.Status, w.NextNonce, w.BalanceReserved))
		}
		return err
	})
	for status, use := range map[string]string{ops.WalletPaused: "pause", withdrawal.WalletActive: "resume"} {
		var chain, seen string
		short := map[string]string{"pause": "Switch a hot wallet off: it begins nothing new", "resume": "Switch a hot wallet on"}[use]
		one := a.command(c, use+" WALLET", short, 1, func(ctx context.Context, args []string) error {
			err := needed("chain", chain, "reason", a.reason)
			var of, wallet uuid.UUID
			ids(&err, chain, &of, args[0], &wallet)
			if err == nil {
				err = a.withdrawals(ctx)
			}
			if err != nil {
				return err
			}
			if a.dry {
				return a.print(map[string]string{"wallet": args[0], "status": status}, "%s would be %s", args[0], status)
			}
			if err := a.PutWallet(ctx, a.said(), of, wallet, seen, status); err != nil {
				return err
			}
			return a.print(map[string]string{"wallet": args[0], "status": status}, "%s is %s", args[0], status)
		})
		a.says(one.Flags())
		one.Flags().StringVar(&chain, "chain", "", "id of its chain")
		one.Flags().StringVar(&seen, "seen", "", "the status that you looked at: if it has changed since, nothing is done (exit 5)")
	}
}

// said is who speaks, of what is no event of a record; the reason goes into the trace.
func (a *app) said() ops.Said {
	return ops.Said{Actor: a.speaks(), Via: via, Trace: statemachine.Bounded(a.reason, statemachine.MaxTrace)}
}

func (a *app) revokes(root *cobra.Command) {
	c := &cobra.Command{Use: "worker", Short: "Workers: revoke"}
	root.AddCommand(c)
	const short = "End the leases of a worker that is dead: withdrawals, swaps, refreshes or relays, and its name"
	one := a.command(c, "revoke DOMAIN NAME", short, 2, func(ctx context.Context, args []string) error {
		if err := needed("reason", a.reason); err != nil {
			return err
		}
		if a.dry {
			return a.print(map[string]string{"worker": args[1]}, "the leases of %s would end", args[1])
		}
		n, err := a.Revoke(ctx, store.Domain(args[0]), a.said(), statemachine.Revocation{Holder: args[1], Reason: a.reason})
		if err != nil {
			return err
		}
		return a.print(map[string]any{"worker": args[1], "records": n}, "%d records are free of %s", n, args[1])
	})
	a.says(one.Flags())
}

// serves adds the console on this machine.
func (a *app) serves(root *cobra.Command) {
	var listen string
	var act bool
	c := a.command(root, "serve", "The console on this machine; it looks only, unless --act", 0, func(ctx context.Context, _ []string) error {
		host, _, err := net.SplitHostPort(listen)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("%w: --listen is an address of this machine, such as 127.0.0.1:0", errUsage)
		}
		who := console.Operator{ID: a.speaks()}
		if act {
			domains := []store.Domain{store.DomainSwitches, store.DomainWithdrawals, store.DomainSwaps, store.DomainRefreshes, store.DomainRelays,
				store.DomainWallets}
			who.Can = console.Can{Reveal: true, Stop: true, Operate: domains, Lease: domains}
		}
		page, err := console.New(console.Options{Services: a.Services, Limits: ops.DefaultLimits(),
			Auth: func(*http.Request) (console.Operator, error) { return who, nil }})
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return err
		}
		secret := rand.Text()
		server := &http.Server{Handler: behind(secret, l.Addr().String(), page), ReadHeaderTimeout: 5 * time.Second}
		link := "http://" + l.Addr().String() + "/" + secret + "/"
		if err := a.print(map[string]string{"link": link}, "%s", link); err != nil {
			return errors.Join(err, l.Close())
		}
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of this machine")
	c.Flags().BoolVar(&act, "act", false, "operate too, by the name of the database session and --actor; nobody approves here")
	c.Flags().StringVar(&a.actor, "actor", "", "who you are; the user of the database session is named beside it")
}

// behind shows a page to whoever has the link: its host, and the secret in its path. Another host, which a name of
// somebody else may lead here, is refused.
func behind(secret, host string, page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if r.Host != host || !ok || subtle.ConstantTimeCompare([]byte(first), []byte(secret)) != 1 {
			http.Error(w, "the link that settle serve has printed is needed", http.StatusForbidden)
			return
		}
		http.StripPrefix("/"+secret, page).ServeHTTP(w, r)
	})
}

// swapsAgain adds what is said of swaps after a restore.
func (a *app) swapsAgain(to *cobra.Command) {
	var margin time.Duration
	const again = "Begin the look-back of swaps once more, with a wider margin than the policy's default"
	add := func(use, short string, say func(context.Context, *store.Swaps, swap.By) (swap.Control, error)) *cobra.Command {
		c := a.command(to, use, short, 0, func(ctx context.Context, _ []string) error {
			if err := needed("reason", a.reason); err != nil {
				return err
			}
			if a.Swaps == nil {
				_, err := a.Kind("deposit")
				return err
			}
			p := a.Swaps.Policy()
			p.WaterlineMargin = max(p.WaterlineMargin, margin)
			s, err := store.NewSwaps(a.store, p)
			if err != nil {
				return err
			}
			if a.dry {
				return a.print(map[string]string{"said": use}, "would be said: %s", use)
			}
			by := swap.By{Actor: a.speaks(), Role: swap.Operator, Via: via, Trace: statemachine.Bounded(a.reason, statemachine.MaxTrace)}
			is, err := say(ctx, s, by)
			if err != nil {
				return err
			}
			return a.print(is, "said: %s, generation %d", use, is.Generation)
		})
		a.says(c.Flags())
		return c
	}
	begin := add("swaps", again, func(ctx context.Context, s *store.Swaps, by swap.By) (swap.Control, error) {
		return s.Restored(ctx, by)
	})
	begin.Flags().DurationVar(&margin, "margin", 0, "how far clocks may have been off, such as 10m")
	add("missing", "What swap.Policy.RecoverMissing found is stored, or there is none",
		func(ctx context.Context, s *store.Swaps, by swap.By) (swap.Control, error) {
			return s.MissingSaid(ctx, by)
		})
	add("swap-books", "Your own books were read since the copy: what people did to swaps is said again",
		func(ctx context.Context, s *store.Swaps, by swap.By) (swap.Control, error) {
			return s.BooksRead(ctx, by)
		})
}
