package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

// said is what a form says, by the name of who asks.
func (r *request) said() ops.Said { return ops.Said{Actor: r.by.ID, Via: via} }

// switcher is who stops or starts.
func (r *request) switcher() switches.By {
	return switches.By{Actor: r.by.ID, Role: switches.Operator, Via: via}
}

// text is a field of a form, without the space around it.
func (r *request) text(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }

// version is what the form says was shown.
func (r *request) version() (int64, error) {
	v, err := strconv.ParseInt(r.PostForm.Get("version"), 10, 64)
	if err != nil || v < 1 {
		err = fmt.Errorf("%w: the version that was shown is needed", statemachine.ErrInvalid)
	}
	return v, err
}

// form is the confirmation of an action: what it would move, and what has to be typed.
func (c *Console) form(r *request) error {
	k, is, err := c.record(r)
	if err != nil {
		return err
	}
	a, err := k.Action(r.PathValue("action"))
	if err != nil {
		return err
	}
	o, err := k.Offer(r.Context(), is, a, r.by.ID)
	if err != nil {
		return err
	}
	return c.confirm(r, http.StatusOK, is, o, nil, nil)
}

// field is an input of a form, with what the person has typed.
type field struct {
	ops.Input
	Value string
}

func (c *Console) confirm(r *request, code int, is *ops.Item, o ops.Offer, typed map[string]string, refused error) error {
	var fields []field
	for _, in := range is.Inputs(o.Action) {
		fields = append(fields, field{in, typed[in.Name]})
	}
	version := is.Version
	if o.OfJob {
		version = is.Job
	}
	return r.page(code, "form", o.As()+"?", map[string]any{"Is": is.Masked(), "O": o, "Fields": fields, "Version": version,
		"Shown": len(is.Trail), "Typed": typed, "Err": refused, "Sure": typed != nil && refused == nil,
		"Explained": ops.Explain(o.Explained())})
}

// say sends an event with the fields, the version and the digest of the form. What has evidence is tried first and
// shown once more, with what its own fields would move.
func (c *Console) say(r *request) error {
	k, is, err := c.record(r)
	if err != nil {
		return err
	}
	a, err := k.Action(r.PathValue("action"))
	if err != nil {
		return err
	}
	s := r.said()
	s.Action, s.Fields, s.Seen = a.As(), map[string]string{}, r.PostForm.Get("seen")
	if s.Version, err = r.version(); err != nil {
		return err
	}
	if s.Seen == "" {
		return fmt.Errorf("%w: what was shown is needed", statemachine.ErrInvalid)
	}
	for name := range r.PostForm {
		if field, is := strings.CutPrefix(name, "field."); is && r.text(name) != "" {
			s.Fields[field] = r.text(name)
		}
	}
	if a.Fields["Reason"] == ops.Typed && s.Fields["Reason"] == "" {
		return c.confirm(r, http.StatusUnprocessableEntity, is, ops.Offer{Action: a, Form: true}, s.Fields,
			fmt.Errorf("%w: a reason is needed", statemachine.ErrInvalid))
	}
	if a.Evidence() && r.PostForm.Get("sure") == "" && s.Seen == is.Seen {
		moves, err := k.Try(r.Context(), is, s)
		switch {
		case errors.Is(err, statemachine.ErrInvalid):
			return c.confirm(r, http.StatusUnprocessableEntity, is, ops.Offer{Action: a, Form: true}, s.Fields, err)
		case err == nil:
			return c.confirm(r, http.StatusOK, is, ops.Offer{Action: a, Moves: moves}, s.Fields, nil)
		}
	}
	err = k.Say(r.Context(), is, s)
	if errors.Is(err, statemachine.ErrConflict) {
		shown, _ := strconv.Atoi(r.PostForm.Get("shown"))
		return r.page(http.StatusConflict, "changed", "It has changed since you looked", map[string]any{"Is": is.Masked(), "Text": err.Error(),
			"Since": is.Trail[min(max(0, shown), len(is.Trail)):]})
	}
	if err != nil {
		return err
	}
	return r.see("../" + url.PathEscape(is.ID))
}

func (c *Console) stopForm(r *request) error {
	var scopes []switches.Scope
	scopes = append(scopes, switches.Everything)
	if all, err := c.o.Services.Switches.List(r.Context(), "", store.MaxPage); err == nil {
		for _, w := range all {
			if w.Scope != switches.Everything && w.Scope != switches.Charges && w.Scope != switches.Relays {
				scopes = append(scopes, w.Scope)
			}
		}
	}
	if w := c.o.Services.Withdrawals; w != nil {
		for id := range w.Policy().Chains {
			scopes = append(scopes, switches.Chain(id))
		}
	}
	for _, d := range swap.Direction(0).Values() {
		scopes = append(scopes, swap.Scope(d))
	}
	scopes = append(scopes, switches.Charges, switches.Relays)
	return r.page(http.StatusOK, "stop", "Stop payments", map[string]any{"Scopes": scopes, "Levels": []string{"send", "begin", "all"}})
}

func (c *Console) stop(r *request) error {
	ev := switches.Stopped{By: r.switcher(), Scope: switches.Scope(r.PostForm.Get("scope")), Reason: r.text("reason")}
	if err := ev.Level.UnmarshalText([]byte(r.PostForm.Get("level"))); err != nil {
		return err
	}
	is, quiet, err := c.o.Services.Switches.Stop(r.Context(), ev)
	if is.Version == 0 && err != nil {
		return err
	}
	return r.page(http.StatusOK, "stopped", "Stopped", map[string]any{"Switch": is, "Quiet": quiet, "Err": err})
}

func (c *Console) startForm(r *request) error {
	scope := switches.Scope(r.URL.Query().Get("scope"))
	is, err := c.o.Services.Switches.Get(r.Context(), scope)
	if err != nil {
		return err
	}
	return r.page(http.StatusOK, "start", "Start again", map[string]any{"Switch": is})
}

func (c *Console) start(r *request) error {
	ev := switches.Started{By: r.switcher(), Scope: switches.Scope(r.PostForm.Get("scope")), Recovery: r.PostForm.Get("recovery") != "",
		Reason: r.text("reason")}
	var err error
	if ev.By.Version, err = r.version(); err != nil {
		return err
	}
	if _, err := c.o.Services.Switches.Start(r.Context(), ev); err != nil {
		return err
	}
	return r.see(".")
}

func (c *Console) worker(r *request) error {
	return r.page(http.StatusOK, "worker", "End the leases of a worker", map[string]any{"Domain": r.PathValue("domain"),
		"Holder": r.PathValue("holder")})
}

func (c *Console) revoke(r *request) error {
	of := statemachine.Revocation{Holder: r.PathValue("holder"), Reason: r.text("reason")}
	if of.Reason == "" {
		return fmt.Errorf("%w: a reason is needed", statemachine.ErrInvalid)
	}
	if _, err := c.o.Services.Revoke(r.Context(), store.Domain(r.PathValue("domain")), r.said(), of); err != nil {
		return err
	}
	return r.see("../../.")
}

// acknowledge settles an incident, or a discrepancy of no item.
func (c *Console) acknowledge(r *request) error {
	f := r.PostForm
	switch s := c.o.Services; store.Domain(r.PathValue("domain")) {
	case store.DomainWithdrawals:
		a := withdrawal.Acknowledgement{Hash: f.Get("hash"), BlockHash: f.Get("block"), Actor: r.by.ID, Role: withdrawal.Operator,
			Reason: r.text("reason")}
		var err error
		if a.Request, err = uuid.Parse(f.Get("request")); err == nil {
			err = a.Claim.UnmarshalText([]byte(f.Get("claim")))
		}
		if err != nil || s.Withdrawals == nil {
			return fmt.Errorf("%w: no such incident: %v", statemachine.ErrInvalid, err)
		}
		if err := s.Withdrawals.Acknowledge(r.Context(), a); err != nil {
			return err
		}
	case store.DomainSwaps:
		d := swap.Discrepancy{Key: f.Get("key")}
		if err := d.Kind.UnmarshalText([]byte(f.Get("claim"))); err != nil || s.Swaps == nil {
			return fmt.Errorf("%w: no such discrepancy: %v", statemachine.ErrInvalid, err)
		}
		if err := s.Swaps.Acknowledge(r.Context(), r.by.ID, d); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: no incidents of this domain", statemachine.ErrNotFound)
	}
	return r.see("../incidents")
}

func (c *Console) pause(r *request) error { return c.put(r, ops.WalletPaused) }

func (c *Console) resume(r *request) error { return c.put(r, withdrawal.WalletActive) }

func (c *Console) put(r *request, status string) error {
	chain, err := uuid.Parse(r.PostForm.Get("chain"))
	wallet, bad := uuid.Parse(r.PostForm.Get("wallet"))
	if err != nil || bad != nil || r.PostForm.Get("seen") == "" {
		return fmt.Errorf("%w: chain, wallet and what was seen are needed", statemachine.ErrInvalid)
	}
	if err := c.o.Services.PutWallet(r.Context(), r.said(), chain, wallet, r.PostForm.Get("seen"), status); err != nil {
		return err
	}
	return r.see("../wallets")
}
