package console

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

type desk struct {
	ops.Services
	t       *testing.T
	console *Console
	who     Operator
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	db, err := sql.Open("sqlite", pgtest.FileURL(filepath.Join(t.TempDir(), "console.db")))
	d := &desk{t: t, who: Operator{ID: "olga"}}
	d.check(err)
	t.Cleanup(func() { db.Close() })
	opts := sqlstore.Options{Domains: []store.Domain{store.DomainWithdrawals}}
	d.check(sqlstore.Migrate(t.Context(), db, sqlstore.SQLite, opts))
	s, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, opts)
	d.check(err)
	t.Cleanup(func() { s.Close() })
	d.Services, err = ops.NewServices(s, ops.DefaultPolicies())
	d.check(err)
	d.console, err = New(Options{Services: d.Services, Limits: ops.DefaultLimits(), Auth: func(r *http.Request) (Operator, error) {
		if r.Header.Get("Authorization") == "" {
			return Operator{}, errors.New("no session")
		}
		return d.who, nil
	}})
	d.check(err)
	return d
}

func (d *desk) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

const hostile = "<script>alert(1)</script>\u202e\x1b" // and a right-to-left mark

func (d *desk) request() withdrawal.Withdrawal {
	d.t.Helper()
	id := uuid.New()
	by := withdrawal.By{Actor: hostile, Role: withdrawal.System}
	w, err := d.Withdrawals.Submit(d.t.Context(), withdrawal.Submitted{By: by, Request: id, User: uuid.New(), Asset: uuid.New(),
		Chain: uuid.New(), ToAddress: "payee-of-the-customer", Memo: hostile, Amount: "5"})
	d.check(err)
	return w
}

// ask makes a request as the operator of the desk.
func (d *desk) ask(method, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	d.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Authorization", "yes")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.console.ServeHTTP(w, r)
	return w
}

func TestConsoleNeedsAuth(t *testing.T) {
	d := newDesk(t)
	if _, err := New(Options{Services: d.Services}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("without Auth: %v", err)
	}
	if _, err := New(Options{Auth: d.console.o.Auth}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("without withdrawals: %v", err)
	}
}

// Each route needs what the table says: nobody without a session passes, and nobody without the capability.
func TestEachRouteIsGuarded(t *testing.T) {
	d := newDesk(t)
	w := d.request()
	path := strings.NewReplacer("{$}", "", "{kind}", "review", "{id}", w.Request.ID.String(), "{name}", "hold", "{event}", "none")
	needs := map[string]Can{"/stop": {Stop: true}, "/start": {Operate: true}, "/item/{id}/operate/{event}": {Operate: true},
		"/item/{id}/approve/{event}": {Approve: true}}
	for _, r := range routes {
		method, pattern, _ := strings.Cut(r.pattern, " ")
		need, posts := needs[pattern]
		if posts != (method == http.MethodPost) {
			t.Errorf("%s: what it needs is not said here", r.pattern)
		}
		for _, can := range []Can{{}, {Stop: true}, {Operate: true}, {Approve: true}} {
			d.who.Can = can
			allowed := !posts || can == need
			got := d.ask(method, path.Replace(pattern), nil).Code
			if (got == http.StatusForbidden) == allowed {
				t.Errorf("%s with %+v: %d", r.pattern, can, got)
			}
			if got := d.ask(method, path.Replace(pattern), nil, "Authorization", "").Code; got != http.StatusUnauthorized {
				t.Errorf("%s without a session: %d", r.pattern, got)
			}
			if got := d.ask(method, path.Replace(pattern), nil, "Sec-Fetch-Site", "cross-site").Code; posts && got != http.StatusForbidden {
				t.Errorf("%s from another site: %d", r.pattern, got)
			}
		}
		d.who.Can = Can{Operate: true, Approve: true}
		if got := d.ask(method, path.Replace(pattern), nil).Code; got != http.StatusForbidden {
			t.Errorf("%s with both roles: %d", r.pattern, got)
		}
		other := map[string]string{"GET": "POST", "POST": "GET"}[method]
		if got := d.ask(other, path.Replace(pattern), nil).Code; got != http.StatusMethodNotAllowed && got != http.StatusNotFound {
			t.Errorf("%s by %s: %d", r.pattern, other, got)
		}
	}
}

// Whatever others have written does nothing, and no page shows what a thief could use.
func TestPagesAreSafe(t *testing.T) {
	d := newDesk(t)
	d.who.Can = Can{Operate: true}
	w := d.request()
	for _, path := range []string{"/", "/list/open", "/list/review", "/item/" + w.Request.ID.String(), "/help/review%20wait", "/item/no",
		"/help/none", "/list/none"} {
		got := d.ask("GET", path, nil)
		text := got.Body.String()
		for _, bad := range []string{"<script>", "of-the-cust", w.Request.User.String(), "style=", "onclick"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s shows %s", path, bad)
			}
		}
		if strings.Contains(text, "ZgotmplZ") || got.Code == http.StatusInternalServerError {
			t.Errorf("%s: %d %s", path, got.Code, text)
		}
		h := got.Header()
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %q", path, h)
		}
	}
}

// What was seen is what is decided, by the name of the session, with a reason; a double click changes nothing.
func TestEventsByForm(t *testing.T) {
	d := newDesk(t)
	w := d.request()
	at := "/item/" + w.Request.ID.String()
	form := url.Values{"version": {fmt.Sprint(w.Request.Version)}, "reason": {"a question"}, "actor": {"somebody"}}
	d.who.Can = Can{Operate: true}
	if text := d.ask("GET", at, nil).Body.String(); !strings.Contains(text, "/operate/Held") || strings.Contains(text, "/approve/Approved") {
		t.Errorf("the forms are\n%s", text)
	}
	for _, bad := range []url.Values{{"version": {"1"}}, {"reason": {"x"}}, {"version": {"0"}, "reason": {"x"}}} {
		if got := d.ask("POST", at+"/operate/Held", bad).Code; got != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d", bad, got)
		}
	}
	if got := d.ask("POST", at+"/operate/Approved", form).Code; got != http.StatusNotFound {
		t.Errorf("an operator approves: %d", got)
	}
	got := d.ask("POST", at+"/operate/Held", form)
	if got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	back, err := url.Parse("http://host/any/prefix" + at + "/operate/Held")
	d.check(err)
	if to, err := back.Parse(got.Header().Get("Location")); err != nil || to.Path != "/any/prefix"+at {
		t.Errorf("it leads to %v, %v", to, err)
	}
	if got := d.ask("POST", at+"/operate/Held", form).Code; got != http.StatusSeeOther && got != http.StatusConflict {
		t.Errorf("a double click: %d", got)
	}
	if got := d.ask("POST", at+"/operate/Cancelled", form).Code; got != http.StatusConflict {
		t.Errorf("what changed since: %d", got)
	}
	d.who = Operator{ID: "alice", Can: Can{Approve: true}}
	form.Set("version", "2")
	if got := d.ask("POST", at+"/approve/Approved", form).Code; got != http.StatusSeeOther {
		t.Errorf("an approval: %d", got)
	}
	page, _, err := d.Journal.Page(t.Context(), "", 100)
	d.check(err)
	if len(page) < 3 || page[0].Actor != "olga" || page[0].Via != "console" || page[len(page)-1].Actor != "alice" {
		t.Errorf("the journal has %+v", page)
	}
}

func TestStopAndStart(t *testing.T) {
	d := newDesk(t)
	d.who.Can = Can{Stop: true}
	stop := url.Values{"scope": {"everything"}, "level": {"send"}, "reason": {"a stolen key"}}
	if got := d.ask("POST", "/stop", stop); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Nothing begins since") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	stop.Del("reason")
	if got := d.ask("POST", "/stop", stop).Code; got != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: %d", got)
	}
	text := d.ask("GET", "/", nil).Body.String()
	if !strings.Contains(text, "everything at send") || strings.Contains(text, `action="start"`) {
		t.Errorf("who may only stop sees\n%s", text)
	}
	d.who.Can = Can{Operate: true}
	start := url.Values{"scope": {"everything"}, "version": {"1"}, "reason": {"the key is safe"}}
	if got := d.ask("POST", "/start", start); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "." {
		t.Errorf("a start: %d", got.Code)
	}
	if got := d.ask("POST", "/start", start).Code; got != http.StatusConflict {
		t.Errorf("a start of what was seen before: %d", got)
	}
	if text := d.ask("GET", "/", nil).Body.String(); strings.Contains(text, "everything at send") {
		t.Errorf("it is stopped still\n%s", text)
	}
	if is, err := d.Switches.Get(t.Context(), switches.Everything); err != nil || is.Level != switches.On || is.Actor != "olga" {
		t.Errorf("%+v, %v", is, err)
	}
}
