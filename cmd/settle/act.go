package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// via is the program that the journal names.
const via = "settle"

// says adds what every event of a person has.
func (a *app) says(f *pflag.FlagSet) {
	f.StringVar(&a.reason, "reason", "", "why: in the journal and in the history")
	f.StringVar(&a.actor, "actor", "", "who you are; the user of the database session is named beside it")
	f.Int64Var(&a.version, "version", 0, "the version that you looked at: if it has changed since, nothing is done (exit 5)")
	f.BoolVar(&a.dry, "dry-run", false, "say what would happen, and store nothing")
}

func (a *app) by(role withdrawal.Role) withdrawal.By {
	return withdrawal.By{Actor: a.speaks(), Role: role, Version: a.version, Via: via}
}

// event adds a command that sends one event to a withdrawal. of makes the event once the
// withdrawal is read.
func (a *app) event(to *cobra.Command, use, short string, of func(context.Context, withdrawal.Withdrawal) (withdrawal.Event, error),
) *cobra.Command {
	c := a.command(to, use+" ID", short, 1, func(ctx context.Context, args []string) error {
		w, err := a.get(ctx, args[0])
		if err != nil {
			return err
		}
		ev, err := of(ctx, w)
		if err != nil {
			return err
		}
		return a.send(ctx, w.Request.ID, ev)
	})
	a.says(c.Flags())
	return c
}

// send sends an event, or tries it. A refused one is sent too, since the journal keeps what was tried.
func (a *app) send(ctx context.Context, id uuid.UUID, ev withdrawal.Event) error {
	_, moves, err := a.Withdrawals.Try(ctx, id, ev)
	if a.dry {
		if err != nil {
			return err
		}
		return a.moved(moves, "would be ")
	}
	if _, err := a.Withdrawals.Do(ctx, id, ev); err != nil {
		return err
	}
	return a.moved(moves, "")
}

func (a *app) moved(moves []store.TriedMove, would string) error {
	if len(moves) == 0 {
		return a.print(map[string]any{"outcome": statemachine.JournalSame}, "already so")
	}
	for _, m := range moves {
		if err := a.print(m, "%s %s: %s%s -> %s, version %d", m.Machine, m.ID, would, m.From, m.To, m.Version); err != nil {
			return err
		}
	}
	return nil
}

// needed is a usage error for the first of flags that is empty: a name, then its value.
func needed(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return fmt.Errorf("%w: --%s is needed", errUsage, pairs[i])
		}
	}
	return nil
}

// acts adds the commands by which people speak.
func (a *app) acts(root *cobra.Command) {
	a.stops(root)
	type made = func(context.Context, withdrawal.Withdrawal) (withdrawal.Event, error)
	approver := func(of func() withdrawal.Event) made {
		return func(ctx context.Context, w withdrawal.Withdrawal) (withdrawal.Event, error) {
			ev, err := of(), a.mayApprove(&w)
			if err != nil && !a.dry {
				err = a.note(ctx, &w, withdrawal.Approver, statemachine.EventName(ev), err)
			}
			return ev, err
		}
	}
	operator := func(of func() withdrawal.Event) made {
		return func(context.Context, withdrawal.Withdrawal) (withdrawal.Event, error) {
			return of(), needed("reason", a.reason)
		}
	}
	approve := a.event(root, "approve", "An approver says yes", approver(func() withdrawal.Event {
		return withdrawal.Approved{By: a.by(withdrawal.Approver)}
	}))
	reject := a.event(root, "reject", "An approver says no: the request ends", approver(func() withdrawal.Event {
		return withdrawal.Rejected{By: a.by(withdrawal.Approver), Reason: a.reason}
	}))
	for _, c := range []*cobra.Command{approve, reject} {
		c.Flags().BoolVar(&a.anyone, "approve-as-anyone", false, "although the database session is of no single person")
	}
	a.event(root, "cancel", "Withdraw a request while nothing of it is out", operator(func() withdrawal.Event {
		return withdrawal.Cancelled{By: a.by(withdrawal.Operator), Reason: a.reason}
	}))
	a.event(root, "hold", "Stop a request for a while", operator(func() withdrawal.Event {
		return withdrawal.Held{By: a.by(withdrawal.Operator), Reason: a.reason}
	}))
	a.event(root, "release", "End a hold", operator(func() withdrawal.Event {
		return withdrawal.Released{By: a.by(withdrawal.Operator), Reason: a.reason}
	}))
	a.event(root, "acknowledge", "What was told of a request is settled with the user", operator(func() withdrawal.Event {
		return withdrawal.Acknowledged{By: a.by(withdrawal.Operator), Reason: a.reason}
	}))
	notRefunded := false
	const again = "Order another try of what has failed"
	requeue := a.event(root, "requeue", again, func(_ context.Context, w withdrawal.Withdrawal) (withdrawal.Event, error) {
		return withdrawal.Requeued{By: a.by(withdrawal.Operator), Job: w.Job.ID, Reason: a.reason, NotRefunded: notRefunded},
			needed("reason", a.reason)
	})
	requeue.Flags().BoolVar(&notRefunded, "not-refunded", false, "you have looked at your books: the money was not given back")
	a.resolves(root)
	a.settlesIncident(root)
}

// mayApprove refuses an approval that the rule of four eyes could not judge: of a session that
// is of no single person, or by a person under another spelling of the same name.
func (a *app) mayApprove(w *withdrawal.Withdrawal) error {
	if !a.personal() {
		return fmt.Errorf("%w: who speaks is the session %q, which is of no single person as far as the database knows; connect as a user "+
			"of your own and say --actor with that name, or --approve-as-anyone", statemachine.ErrForbidden, a.session)
	}
	for _, other := range []string{w.Request.RequestedBy, w.Request.FirstApprover} {
		name := other[strings.LastIndexByte(other, ':')+1:]
		if other != "" && other != a.speaks() && (name == a.actor || a.actor == "" && name == a.session) {
			return fmt.Errorf("%w: %q has requested it or approved it already", statemachine.ErrForbidden, other)
		}
	}
	return nil
}

func (a *app) resolves(root *cobra.Command) {
	var sent, notSent bool
	var hash, input string
	var nonce, output int64
	const short = "End a review: --sent --hash H, or --not-sent with the proof as reason"
	c := a.event(root, "resolve", short, func(_ context.Context, w withdrawal.Withdrawal) (withdrawal.Event, error) {
		if sent == notSent {
			return nil, fmt.Errorf("%w: either --sent or --not-sent", errUsage)
		}
		if a.version == 0 {
			return nil, fmt.Errorf("%w: --version of the job that you looked at is needed: settle show %s", errUsage, w.Request.ID)
		}
		ev := withdrawal.Resolved{By: a.by(withdrawal.Operator), Job: w.Job.ID, Sent: sent, Hash: hash, Input: input, Reason: a.reason}
		if nonce >= 0 {
			ev.Nonce, ev.HasNonce = uint64(nonce), true
		}
		if output >= 0 {
			ev.Output, ev.ByOutput = uint32(output), true
		}
		return ev, needed("reason", a.reason)
	})
	f := c.Flags()
	f.BoolVar(&sent, "sent", false, "it was sent, by the transaction --hash")
	f.BoolVar(&notSent, "not-sent", false, "it was not sent and cannot be any more")
	f.StringVar(&hash, "hash", "", "of the transaction")
	f.StringVar(&input, "input", "", "that it spends, on a chain with inputs")
	f.Int64Var(&nonce, "nonce", -1, "of the transaction, if the job's wallet sent it")
	f.Int64Var(&output, "output", -1, "index of the output that pays this request, where the transaction pays several")
}

func (a *app) settlesIncident(root *cobra.Command) {
	var hash, claim, block string
	var incidents *cobra.Command
	for _, c := range root.Commands() {
		if c.Name() == "incidents" {
			incidents = c
		}
	}
	c := a.command(incidents, "acknowledge REQUEST", "An incident is settled", 1, func(ctx context.Context, args []string) error {
		if err := needed("reason", a.reason, "hash", hash, "claim", claim); err != nil {
			return err
		}
		w, err := a.get(ctx, args[0])
		if err != nil {
			return err
		}
		ack := withdrawal.Acknowledgement{Request: w.Request.ID, Hash: hash, BlockHash: block, Actor: a.speaks(), Role: withdrawal.Operator,
			Reason: a.reason}
		if err := usage(ack.Claim.UnmarshalText([]byte(claim))); err != nil {
			return err
		}
		err = a.taken(ctx, func(s *store.Withdrawals) error { return s.Acknowledge(ctx, ack) })
		if err == nil {
			err = a.print(ack, "%s of %s is acknowledged", claim, hash)
		}
		return err
	})
	a.says(c.Flags())
	c.Flags().StringVar(&hash, "hash", "", "of the incident")
	c.Flags().StringVar(&claim, "claim", "", "of the incident")
	c.Flags().StringVar(&block, "block", "", "hash of its block, if it has one")
}

// taken does what is no event of a record, or with --dry-run takes it back.
func (a *app) taken(ctx context.Context, do func(*store.Withdrawals) error) error {
	if !a.dry {
		return do(a.Withdrawals)
	}
	err := a.store.Update(ctx, func(u store.Unit) error {
		if err := do(a.Withdrawals.Within(u)); err != nil {
			return err
		}
		return errTakenBack
	})
	if errors.Is(err, errTakenBack) {
		return nil
	}
	return err
}

var errTakenBack = errors.New("a dry run")

// scope adds the flags that name what is stopped.
func scope(f *pflag.FlagSet) func() (switches.Scope, error) {
	var chain, direction string
	var everything, charges, relays bool
	f.StringVar(&chain, "chain", "", "withdrawals of a chain, by its id")
	f.StringVar(&direction, "direction", "", "swaps in a direction: deposit or credit")
	f.BoolVar(&everything, "everything", false, "all of it, what is named later too")
	f.BoolVar(&charges, "charges", false, "charges of tenants")
	f.BoolVar(&relays, "relays", false, "syncs of relays")
	return func() (switches.Scope, error) {
		var named []switches.Scope
		if chain != "" {
			id, err := uuid.Parse(chain)
			if err != nil {
				return "", usage(err)
			}
			named = append(named, switches.Chain(id))
		}
		if direction != "" {
			named = append(named, switches.Direction(direction))
		}
		for s, is := range map[switches.Scope]bool{switches.Everything: everything, switches.Charges: charges, switches.Relays: relays} {
			if is {
				named = append(named, s)
			}
		}
		if len(named) != 1 {
			return "", fmt.Errorf("%w: one of --chain, --direction, --everything, --charges and --relays", errUsage)
		}
		return named[0], nil
	}
}

func (a *app) stops(root *cobra.Command) {
	var level, to string
	var recovery bool
	by := func() switches.By {
		return switches.By{Actor: a.speaks(), Role: switches.Operator, Version: a.version, Via: via}
	}
	var stopped, started func() (switches.Scope, error)
	const atOnce = "Stop payments: it is committed at once, and loses nothing"
	stop := a.command(root, "stop", atOnce, 0, func(ctx context.Context, _ []string) error {
		of, err := stopped()
		if err == nil {
			err = needed("reason", a.reason)
		}
		ev := switches.Stopped{By: by(), Scope: of, Reason: a.reason}
		if err == nil {
			err = usage(ev.Level.UnmarshalText([]byte(level)))
		}
		if err != nil {
			return err
		}
		if a.dry {
			_, moves, err := a.Switches.Try(ctx, of, ev)
			if err != nil {
				return err
			}
			return a.moved(moves, "would be ")
		}
		is, quiet, err := a.Switches.Stop(ctx, ev)
		if is.Version != 0 {
			if said := a.print(is, "%s is stopped at %v", is.Scope, is.Level); said != nil {
				return said
			}
		}
		if err != nil {
			return err
		}
		if quiet.Since.IsZero() {
			for _, t := range quiet.Open {
				if err := a.print(t, "still open: %+v; what it asked for before the stop may still begin", t); err != nil {
					return err
				}
			}
			return nil
		}
		return a.print(quiet, "nothing begins since %s", stamp(quiet.Since))
	})
	a.says(stop.Flags())
	stopped = scope(stop.Flags())
	stop.Flags().StringVar(&level, "level", switches.Send.String(),
		"begin: nothing begins; all, of swaps: no refund either; send: nothing is sent either")
	start := a.command(root, "start", "Lower a stop, or with --recovery end a recovery", 0, func(ctx context.Context, _ []string) error {
		of, err := started()
		if err == nil {
			err = needed("reason", a.reason)
		}
		ev := switches.Started{By: by(), Scope: of, Recovery: recovery, Reason: a.reason}
		if err == nil && to != "" {
			err = usage(ev.To.UnmarshalText([]byte(to)))
		}
		if err != nil {
			return err
		}
		_, moves, err := a.Switches.Try(ctx, of, ev)
		if a.dry {
			if err != nil {
				return err
			}
			return a.moved(moves, "would be ")
		}
		if _, err := a.Switches.Start(ctx, ev); err != nil {
			return err
		}
		return a.moved(moves, "")
	})
	a.says(start.Flags())
	started = scope(start.Flags())
	start.Flags().StringVar(&to, "to", "", "the level that stays; else on")
	start.Flags().BoolVar(&recovery, "recovery", false, "end the recovery of the scope, and leave a person's stop")
}
