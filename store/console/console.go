// Package console is a page for people who operate what settle runs, in every domain: what is stopped, what alerts, what
// waits and why, and which actions they may take. It pays nothing, signs nothing, and sends nothing to a chain; it sends
// events of an operator or an approver.
//
//	c, err := console.New(console.Options{Services: services, Limits: ops.DefaultLimits(), Auth: whoIs})
//	mux.Handle("/ops/", http.StripPrefix("/ops", c))
//
// It works without JavaScript and under any prefix that ends with a slash: its links are relative. GET only reads. An
// action is a form with a reason and the version that was shown; if the record has changed since, the action is
// refused. Addresses, memos, users and error texts are shown by their ends. Texts from outside never become links.
package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
)

// Can is what an operator may do beside looking. The zero value looks.
type Can struct {
	Reveal bool // see addresses, memos, users and errors whole; each time is a line of the journal
	Stop   bool // switch off: a chain, a direction, charges, relays, a hot wallet
	// Operate, Approve and Lease are domains: of those whose events may be said, and whose workers' leases may be
	// ended. To switch on again is Operate: of [store.DomainSwitches], or of withdrawals for a hot wallet.
	Operate, Approve, Lease []store.Domain
}

// Operator is who asks.
type Operator struct {
	ID   string // the actor in journal and history; in the name space of Request.RequestedBy and of users
	Name string // for the page; empty: ID
	Can  Can
}

// Options of [New].
type Options struct {
	Services ops.Services
	Limits   ops.Limits
	// Auth says who asks; an error is 401. It is required.
	Auth func(*http.Request) (Operator, error)
	// TrustedOrigins may post, beside the console's own, such as "https://ops.example.com".
	TrustedOrigins []string
	// BothRoles lets one operator have both Operate and Approve of withdrawals; otherwise such a one is refused.
	BothRoles bool
}

// Console is an [http.Handler].
type Console struct {
	o       Options
	numbers *ops.Metrics // read once for all who look
	journal tail
	handler http.Handler
}

// New makes a console. Options without Auth, or without services, are [statemachine.ErrInvalid].
func New(o Options) (*Console, error) {
	if o.Auth == nil || o.Services.DB == nil {
		return nil, fmt.Errorf("%w: a console needs Auth and the services of a database", statemachine.ErrInvalid)
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
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	c.handler.ServeHTTP(w, r)
}

// Metrics serves the samples of the console's own statistics, which are read once for both; for another port.
func (c *Console) Metrics() http.Handler { return c.numbers }

// Health answers 200 while the console can read its data, else 503; for another port. What waits, is stopped, held or in
// review is no matter of health.
func (c *Console) Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readWait)
		defer cancel()
		if _, err := c.o.Services.Switches.List(ctx, "", 1); err != nil {
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// Bounds of what is asked and shown.
const (
	maxBody   = 64 << 10
	maxRows   = 200
	readWait  = 2 * time.Second
	writeWait = 15 * time.Second // a stop waits up to 5 s for what has begun
)

// need is what a route asks of an operator.
type need struct {
	name string
	ok   func(*Console, *http.Request, Can) bool
}

func domain(of []store.Domain, d store.Domain) bool { return slices.Contains(of, d) }

var (
	look   = need{"look", func(*Console, *http.Request, Can) bool { return true }}
	reveal = need{"reveal", func(_ *Console, _ *http.Request, can Can) bool { return can.Reveal }}
	stops  = need{"stop", func(_ *Console, _ *http.Request, can Can) bool { return can.Stop }}
	starts = need{"operate switches", func(_ *Console, _ *http.Request, can Can) bool { return domain(can.Operate, store.DomainSwitches) }}
	// acts is Approve of the domain for what an approver says, else Operate. Of an unknown kind or action the
	// route itself says so.
	acts = need{"operate or approve the domain", func(c *Console, r *http.Request, can Can) bool {
		k, err := c.o.Services.Kind(r.PathValue("kind"))
		if err != nil {
			return true
		}
		a, err := k.Action(r.PathValue("action"))
		return err != nil || may(can, k, a)
	}}
	leases = need{"lease the domain", func(_ *Console, r *http.Request, can Can) bool {
		return domain(can.Lease, store.Domain(r.PathValue("domain")))
	}}
	settles = need{"operate the domain", func(_ *Console, r *http.Request, can Can) bool {
		return domain(can.Operate, store.Domain(r.PathValue("domain")))
	}}
	resumes = need{"operate withdrawals", func(_ *Console, _ *http.Request, can Can) bool {
		return domain(can.Operate, store.DomainWithdrawals)
	}}
)

// may reports whether an operator may say an action of a kind.
func may(can Can, k *ops.Kind, a ops.Action) bool {
	if a.Approves() {
		return domain(can.Approve, k.Domain)
	}
	return domain(can.Operate, k.Domain)
}

// route is one of the table of all routes: what it needs, and what it does.
type route struct {
	pattern string
	need    need
	do      func(*Console, *request) error
}

var routes = []route{
	{"GET /{$}", look, (*Console).home},
	{"GET /style.css", look, (*Console).style},
	{"GET /draw/{machine}", look, (*Console).draw},
	{"GET /review", look, (*Console).review},
	{"GET /stuck", look, (*Console).review},
	{"GET /list/{kind}", look, (*Console).list},
	{"GET /find", look, (*Console).find},
	{"GET /item/{kind}/{id}", look, (*Console).item},
	{"POST /item/{kind}/{id}/reveal", reveal, (*Console).reveal},
	{"GET /item/{kind}/{id}/{action}", acts, (*Console).form},
	{"POST /item/{kind}/{id}/{action}", acts, (*Console).say},
	{"GET /incidents", look, (*Console).incidents},
	{"POST /incidents/{domain}", settles, (*Console).acknowledge},
	{"GET /wallets", look, (*Console).wallets},
	{"POST /wallets/pause", stops, (*Console).pause},
	{"POST /wallets/resume", resumes, (*Console).resume},
	{"GET /workers/{domain}/{holder}", leases, (*Console).worker},
	{"POST /workers/{domain}/{holder}", leases, (*Console).revoke},
	{"GET /journal", look, (*Console).lines},
	{"GET /help/{name}", look, (*Console).help},
	{"GET /stop", stops, (*Console).stopForm},
	{"POST /stop", stops, (*Console).stop},
	{"GET /start", starts, (*Console).startForm},
	{"POST /start", starts, (*Console).start},
}

// request is one request, by somebody who may make it.
type request struct {
	*http.Request
	w  http.ResponseWriter
	by Operator
}

func (c *Console) serve(w http.ResponseWriter, r *http.Request, to route) {
	who, err := c.o.Auth(r)
	if err != nil || who.ID == "" {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	wait := readWait
	if r.Method == http.MethodPost {
		wait = writeWait
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	req := &request{r.WithContext(ctx), w, who}
	req.Body = http.MaxBytesReader(w, r.Body, maxBody)
	both := domain(who.Can.Operate, store.DomainWithdrawals) && domain(who.Can.Approve, store.DomainWithdrawals) && !c.o.BothRoles
	if both || !to.need.ok(c, req.Request, who.Can) {
		err := fmt.Errorf("%w: you may not do this here: it needs %s", statemachine.ErrForbidden, to.need.name)
		if both {
			err = fmt.Errorf("%w: nobody operates and approves withdrawals", statemachine.ErrForbidden)
		}
		if r.Method == http.MethodPost {
			err = c.note(req, err)
		}
		c.failed(req, err)
		return
	}
	if r.Method == http.MethodPost {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if kind != "application/x-www-form-urlencoded" || req.ParseForm() != nil {
			http.Error(w, "a form is needed", http.StatusBadRequest)
			return
		}
	}
	if err := to.do(c, req); err != nil {
		c.failed(req, err)
	}
}

// note keeps in the journal what somebody tried at a path and was refused before any service was asked.
func (c *Console) note(r *request, refused error) error {
	line := statemachine.JournalLine{Actor: r.by.ID, Role: "operator", Domain: string(store.DomainSwitches), Machine: "console",
		ID: r.PathValue("id"), Event: strings.TrimPrefix(r.URL.Path, "/"), Via: via}
	if k, err := c.o.Services.Kind(r.PathValue("kind")); err == nil {
		line.Domain, line.Machine, line.Event = string(k.Domain), k.Machine, r.PathValue("action")
	}
	if line.Event == "" {
		line.Event = "Reveal"
	}
	line.Event = statemachine.Bounded(line.Event, 100)
	return c.o.Services.Note(r.Context(), line, refused)
}

// via is the program that the journal names.
const via = "console"

// failed says why something was refused, or could not be read.
func (c *Console) failed(r *request, err error) {
	code, title := http.StatusInternalServerError, "Not done"
	switch {
	case errors.Is(err, statemachine.ErrNotFound):
		code, title = http.StatusNotFound, "Not found"
	case errors.Is(err, statemachine.ErrConflict):
		code, title = http.StatusConflict, "It has changed since you looked"
	case errors.Is(err, statemachine.ErrForbidden):
		code = http.StatusForbidden
	case errors.Is(err, store.ErrUnknownCommit):
		title = "Whether it was stored is not known: say it again"
	case statemachine.CodeOf(err) != "":
		code = http.StatusUnprocessableEntity
	case errors.Is(err, context.DeadlineExceeded):
		code, title = http.StatusServiceUnavailable, "The database did not answer in time"
	}
	_ = r.page(code, "failed", title, map[string]any{"Code": code, "Text": err.Error()})
}

//go:embed page.html style.css
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{"mask": ops.Masked, "time": stamp, "ago": ago,
	"path":  url.PathEscape,
	"first": func(s string) string { return s[:min(8, len(s))] },
	"rows": func(page map[string]any, rows []ops.Row, kind string) map[string]any {
		return map[string]any{"Up": page["Up"], "Now": page["Now"], "Rows": rows, "Kind": kind}
	},
	"group": func(page map[string]any, l listed) map[string]any {
		return map[string]any{"Up": page["Up"], "Now": page["Now"], "L": l}
	}}).ParseFS(files, "page.html"))

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// ago is how long something has lasted, in the two largest units.
func ago(d time.Duration) string {
	d = max(0, d.Round(time.Second))
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd %dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return d.String()
}

// page writes a page; a template that fails writes none.
func (r *request) page(code int, name, title string, data map[string]any) error {
	up := strings.Repeat("../", max(0, strings.Count(r.URL.EscapedPath(), "/")-1))
	data["By"], data["Up"], data["Title"], data["Name"] = r.by, up, title, name
	var text strings.Builder
	if err := pages.ExecuteTemplate(&text, name, data); err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(code)
	_, _ = r.w.Write([]byte(text.String())) // whoever has left meanwhile reads no other page either
	return nil
}

// again makes a page without a field to type in load itself once more.
func (r *request) again() { r.w.Header().Set("Refresh", "15") }

// see sends the browser to a page, by a relative path: nobody here knows the prefix.
func (r *request) see(to string) error {
	r.w.Header().Set("Location", to)
	r.w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (c *Console) style(r *request) error {
	text, err := files.ReadFile("style.css")
	if err == nil {
		r.w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, err = r.w.Write(text)
	}
	return err
}
