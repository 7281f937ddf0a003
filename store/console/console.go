// Package console is a page for people who operate withdrawals: what is stopped, what alerts,
// what waits and why, and what they may say. It pays nothing, signs nothing, and sends
// nothing to a chain; it sends events of an operator or an approver.
//
//	c, err := console.New(console.Options{Services: services, Limits: ops.DefaultLimits(), Auth: whoIs})
//	mux.Handle("/ops/", http.StripPrefix("/ops", c))
//
// It works without JavaScript and under any prefix that ends with a slash: its links are
// relative. All that is read is read by GET. What a person says is a form with a reason and
// the version that was shown; where the record has changed since, it is refused. Addresses,
// memos, users and error texts are shown by their ends. Texts from outside never become links.
package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/withdrawal"
)

// Can is what an operator may do beside looking. The zero value may look.
type Can struct {
	Stop    bool // stop payments; to start them again is Operate
	Operate bool // speak as an operator
	Approve bool // speak as an approver
}

// Operator is who asks.
type Operator struct {
	ID  string // the actor in journal and history; in the name space of Request.RequestedBy
	Can Can
}

// Options of [New].
type Options struct {
	Services ops.Services // with withdrawals
	Limits   ops.Limits
	// Auth says who asks; an error is 401. It is required.
	Auth func(*http.Request) (Operator, error)
	// TrustedOrigins may post, beside the console's own, such as "https://ops.example.com".
	TrustedOrigins []string
	// BothRoles lets one operator have both Operate and Approve; otherwise such a one is refused.
	BothRoles bool
}

// Console is an [http.Handler].
type Console struct {
	o       Options
	numbers *ops.Metrics // read once for all who look
	handler http.Handler
}

// New makes a console. Options without Auth, or without the service of withdrawals, are
// [statemachine.ErrInvalid].
func New(o Options) (*Console, error) {
	if o.Auth == nil || o.Services.Withdrawals == nil {
		return nil, fmt.Errorf("%w: a console needs Auth and the service of withdrawals", statemachine.ErrInvalid)
	}
	c := &Console{o: o, numbers: ops.NewMetrics(o.Services, o.Limits)}
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { c.serve(w, req, r) })
	}
	guard := http.NewCrossOriginProtection()
	for _, origin := range o.TrustedOrigins {
		if err := guard.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
		}
	}
	c.handler = guard.Handler(mux)
	return c, nil
}

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	c.handler.ServeHTTP(w, r)
}

// route is one of the table of all routes: what it needs, and what it does.
type route struct {
	pattern string
	may     func(Can) bool
	do      func(*Console, *request) error
}

func look(Can) bool { return true }

var routes = []route{
	{"GET /{$}", look, (*Console).home},
	{"GET /style.css", look, (*Console).style},
	{"GET /list/{kind}", look, (*Console).list},
	{"GET /item/{id}", look, (*Console).item},
	{"GET /help/{name}", look, (*Console).help},
	{"POST /stop", func(c Can) bool { return c.Stop }, (*Console).stop},
	{"POST /start", func(c Can) bool { return c.Operate }, (*Console).start},
	{"POST /item/{id}/operate/{event}", func(c Can) bool { return c.Operate }, (*Console).say},
	{"POST /item/{id}/approve/{event}", func(c Can) bool { return c.Approve }, (*Console).say},
}

// Bounds of what is asked and shown.
const (
	maxBody  = 64 << 10
	maxRows  = 200
	deadline = 5 * time.Second
)

// request is one request, by somebody who may make it.
type request struct {
	*http.Request
	w  http.ResponseWriter
	by Operator
}

func (c *Console) serve(w http.ResponseWriter, r *http.Request, to route) {
	who, err := c.o.Auth(r)
	switch {
	case err != nil || who.ID == "":
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	case !to.may(who.Can), who.Can.Operate && who.Can.Approve && !c.o.BothRoles:
		http.Error(w, "you may not do this here", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if r.Method == http.MethodPost {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if kind != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
			http.Error(w, "a form is needed", http.StatusBadRequest)
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), deadline)
	defer cancel()
	if err := to.do(c, &request{r.WithContext(ctx), w, who}); err != nil {
		c.failed(w, err)
	}
}

// failed says why something was refused, or could not be read.
func (c *Console) failed(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, statemachine.ErrNotFound):
		code = http.StatusNotFound
	case errors.Is(err, statemachine.ErrConflict):
		code = http.StatusConflict
	case errors.Is(err, statemachine.ErrForbidden):
		code = http.StatusForbidden
	case statemachine.CodeOf(err) != "":
		code = http.StatusUnprocessableEntity
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = pages.ExecuteTemplate(w, "failed", map[string]any{"Code": code, "Text": err.Error(), "Changed": code == http.StatusConflict})
}

//go:embed page.html style.css
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{"mask": ops.Masked, "time": stamp}).ParseFS(files, "page.html"))

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// page writes a page; a template that fails writes none.
func (r *request) page(name string, data map[string]any) error {
	data["By"] = r.by
	var text strings.Builder
	if err := pages.ExecuteTemplate(&text, name, data); err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err := r.w.Write([]byte(text.String()))
	return err
}

func (c *Console) style(r *request) error {
	text, err := files.ReadFile("style.css")
	if err == nil {
		r.w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, err = r.w.Write(text)
	}
	return err
}

// home shows what is stopped, what alerts and how much waits, also where a part cannot be read.
func (c *Console) home(r *request) error {
	s := c.numbers.Statistics(r.Context())
	if fresh, err := c.o.Services.Switches.List(r.Context(), "", store.MaxPage); err == nil { // who has stopped sees it at once
		s.Switches = fresh
	}
	if r.by.Can == (Can{}) { // whoever may act is not interrupted while typing
		r.w.Header().Set("Refresh", "10")
	}
	return r.page("home", map[string]any{"Stats": s, "Alerts": s.Alerts(c.o.Limits), "Kinds": withdrawal.ListKind(0).Values(),
		"On": switches.On})
}

func (c *Console) list(r *request) error {
	q := store.ListWithdrawals{Limit: maxRows}
	if err := q.Kind.UnmarshalText([]byte(r.PathValue("kind"))); err != nil {
		return fmt.Errorf("%w: %w", statemachine.ErrNotFound, err)
	}
	if after := r.URL.Query().Get("after"); after != "" {
		w, err := c.get(r.Context(), after)
		if err != nil {
			return err
		}
		q.After = &w.Request
	}
	rows, err := c.o.Services.Withdrawals.List(r.Context(), q)
	if err != nil {
		return err
	}
	return r.page("list", map[string]any{"Kind": q.Kind, "Rows": rows, "More": len(rows) == maxRows})
}

func (c *Console) get(ctx context.Context, text string) (w withdrawal.Withdrawal, err error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return w, fmt.Errorf("%w: no id", statemachine.ErrNotFound)
	}
	return c.o.Services.Withdrawals.Get(ctx, id)
}

// said are the events that a form with a reason is enough for.
var said = []string{"Approved", "Rejected", "Cancelled", "Held", "Released", "Acknowledged"}

// item shows one request: the sentence, its fields, what could be said of it, and its history.
func (c *Console) item(r *request) error {
	w, err := c.get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	kind, err := c.o.Services.Kind("withdrawal")
	if err != nil {
		return err
	}
	is, err := kind.Get(r.Context(), w.Request.ID.String())
	if err != nil {
		return err
	}
	offers, err := kind.Offers(r.Context(), is, r.by.ID)
	if err != nil {
		return err
	}
	trail, err := c.o.Services.Withdrawals.Trail(r.Context(), w.Request.ID)
	if err != nil {
		return err
	}
	if w.Job.Status != 0 {
		jobs, err := c.o.Services.Withdrawals.Trail(r.Context(), w.Job.ID)
		if err != nil {
			return err
		}
		trail = append(trail, jobs...)
		slices.SortStableFunc(trail, func(a, b statemachine.Transition[uuid.UUID]) int { return a.At.Compare(b.At) })
	}
	var hashes []string
	for _, tx := range w.Live() {
		hashes = append(hashes, tx.Hash)
	}
	return r.page("item", map[string]any{"W": w, "Sentence": is.Sentence, "Offers": offers, "Trail": trail, "Hashes": hashes,
		"Forms": said, "Approver": []string{"Approved", "Rejected"}})
}

func (c *Console) help(r *request) error {
	found := ops.Explain(r.PathValue("name"))
	if len(found) == 0 {
		return fmt.Errorf("%w: nothing is explained under this name", statemachine.ErrNotFound)
	}
	return r.page("help", map[string]any{"Entries": found})
}

// say sends an event with the reason and the version of the form, by the name of who asks.
func (c *Console) say(r *request) error {
	w, err := c.get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	role, name, reason := withdrawal.Operator, r.PathValue("event"), strings.TrimSpace(r.PostForm.Get("reason"))
	approves := strings.Contains(r.Pattern, "/approve/")
	if approves {
		role = withdrawal.Approver
	}
	by := withdrawal.By{Actor: r.by.ID, Role: role, Via: "console"}
	if _, err := fmt.Sscan(r.PostForm.Get("version"), &by.Version); err != nil || by.Version < 1 {
		return fmt.Errorf("%w: the version that was shown is needed", statemachine.ErrInvalid)
	}
	if reason == "" && name != "Approved" {
		return fmt.Errorf("%w: a reason is needed", statemachine.ErrInvalid)
	}
	events := map[string]withdrawal.Event{
		"Cancelled":    withdrawal.Cancelled{By: by, Reason: reason},
		"Held":         withdrawal.Held{By: by, Reason: reason},
		"Released":     withdrawal.Released{By: by, Reason: reason},
		"Acknowledged": withdrawal.Acknowledged{By: by, Reason: reason},
	}
	if approves {
		events = map[string]withdrawal.Event{"Approved": withdrawal.Approved{By: by}, "Rejected": withdrawal.Rejected{By: by, Reason: reason}}
	}
	if events[name] == nil {
		return fmt.Errorf("%w: there is no such form", statemachine.ErrNotFound)
	}
	if _, err := c.o.Services.Withdrawals.Do(r.Context(), w.Request.ID, events[name]); err != nil {
		return err
	}
	return r.see("../../" + w.Request.ID.String())
}

// see sends the browser to a page, by a relative path: nobody here knows the prefix.
func (r *request) see(to string) error {
	r.w.Header().Set("Location", to)
	r.w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (c *Console) stop(r *request) error {
	by := switches.By{Actor: r.by.ID, Role: switches.Operator, Via: "console"}
	ev := switches.Stopped{By: by, Scope: switches.Scope(r.PostForm.Get("scope")), Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	if err := ev.Level.UnmarshalText([]byte(r.PostForm.Get("level"))); err != nil {
		return err
	}
	is, quiet, err := c.o.Services.Switches.Stop(r.Context(), ev)
	if is.Version == 0 && err != nil {
		return err
	}
	return r.page("stopped", map[string]any{"Switch": is, "Quiet": quiet, "Err": err})
}

func (c *Console) start(r *request) error {
	by := switches.By{Actor: r.by.ID, Role: switches.Operator, Via: "console"}
	if _, err := fmt.Sscan(r.PostForm.Get("version"), &by.Version); err != nil || by.Version < 1 {
		return fmt.Errorf("%w: the version that was shown is needed", statemachine.ErrInvalid)
	}
	ev := switches.Started{By: by, Scope: switches.Scope(r.PostForm.Get("scope")), Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	if _, err := c.o.Services.Switches.Start(r.Context(), ev); err != nil {
		return err
	}
	return r.see(".")
}
