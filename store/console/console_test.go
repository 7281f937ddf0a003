package console

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/ops/opstest"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/withdrawal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// desk is a console on a database, and who looks at it.
type desk struct {
	*opstest.House
	console *Console
	who     Operator
}

func newDesk(t *testing.T) *desk { return deskOf(opstest.New(t, sqlstore.SQLite)) }

func deskOf(h *opstest.House) *desk {
	h.T.Helper()
	d := &desk{House: h, who: Operator{ID: "olga"}}
	var err error
	d.console, err = New(Options{Services: d.Services, Limits: ops.DefaultLimits(), Auth: func(r *http.Request) (Operator, error) {
		if r.Header.Get("Authorization") == "" {
			return Operator{}, errors.New("no session")
		}
		return d.who, nil
	}})
	h.Check(err)
	return d
}

// ask makes a request as the operator of the desk.
func (d *desk) ask(method, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	d.T.Helper()
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

func path(kind, id string) string { return "/item/" + kind + "/" + url.PathEscape(id) }

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)"\s+value="([^"]*)"`)

// form reads the hidden fields of a form, and answers the rest.
func (d *desk) form(page string, pairs ...string) url.Values {
	v := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(page, -1) {
		v.Set(m[1], m[2])
	}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

func TestConsoleNeedsAuth(t *testing.T) {
	d := newDesk(t)
	if _, err := New(Options{Services: d.Services}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("without Auth: %v", err)
	}
	if _, err := New(Options{Auth: d.console.o.Auth}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("without services: %v", err)
	}
}

var all = []store.Domain{store.DomainSwitches, store.DomainWithdrawals, store.DomainSwaps, store.DomainRefreshes, store.DomainRelays,
	store.DomainWallets}

// Each route needs what the table says: nobody without a session passes, nobody without the capability, and one of another
// domain does not count. What was tried is in the journal.
func TestEachRouteIsGuarded(t *testing.T) {
	d := newDesk(t)
	w := d.Request()
	w.Request.Version = 0
	fill := strings.NewReplacer("{$}", "", "{machine}", "deposit", "{kind}", "withdrawal", "{id}", w.Request.ID.String(), "{name}", "hold",
		"{domain}", "swaps", "{holder}", "payer-1")
	one := func(of *[]store.Domain, d ...store.Domain) { *of = d }
	cans := map[string]Can{"nothing": {}, "reveal": {Reveal: true}, "stop": {Stop: true}}
	for _, domain := range all {
		var o, a, l Can
		one(&o.Operate, domain)
		one(&a.Approve, domain)
		one(&l.Lease, domain)
		cans["operate "+string(domain)], cans["approve "+string(domain)], cans["lease "+string(domain)] = o, a, l
	}
	needs := map[string]string{ // all else is looked at by everybody
		"POST /item/{kind}/{id}/reveal":   "reveal",
		"GET /item/{kind}/{id}/Held":      "operate withdrawals",
		"POST /item/{kind}/{id}/Held":     "operate withdrawals",
		"GET /item/{kind}/{id}/Approved":  "approve withdrawals",
		"POST /item/{kind}/{id}/Approved": "approve withdrawals",
		"POST /incidents/{domain}":        "operate swaps",
		"POST /wallets/pause":             "stop",
		"POST /wallets/resume":            "operate withdrawals",
		"GET /workers/{domain}/{holder}":  "lease swaps",
		"POST /workers/{domain}/{holder}": "lease swaps",
		"GET /stop":                       "stop",
		"POST /stop":                      "stop",
		"GET /start":                      "operate switches",
		"POST /start":                     "operate switches",
	}
	tried := 0
	for _, r := range routes {
		patterns := []string{r.pattern}
		if strings.Contains(r.pattern, "{action}") {
			patterns = []string{strings.Replace(r.pattern, "{action}", "Held", 1), strings.Replace(r.pattern, "{action}", "Approved", 1)}
		}
		for _, p := range patterns {
			need := needs[p]
			delete(needs, p)
			method, pattern, _ := strings.Cut(p, " ")
			if posts := method == http.MethodPost; posts && need == "" {
				t.Errorf("%s: everybody may", p)
			}
			at := fill.Replace(pattern)
			for _, name := range slices.Sorted(maps.Keys(cans)) {
				d.who.Can = cans[name]
				allowed := need == "" || name == need
				if got := d.ask(method, at, nil).Code; (got == http.StatusForbidden) == allowed {
					t.Errorf("%s by somebody who can %s: %d", p, name, got)
				}
				if method == http.MethodPost && !allowed {
					tried++
				}
			}
			if got := d.ask(method, at, nil, "Authorization", "").Code; got != http.StatusUnauthorized {
				t.Errorf("%s without a session: %d", p, got)
			}
			if method == http.MethodPost {
				d.who.Can = cans[need]
				if got := d.ask(method, at, nil, "Sec-Fetch-Site", "cross-site").Code; got != http.StatusForbidden {
					t.Errorf("%s from another site: %d", p, got)
				}
				if got := d.ask(method, at, nil, "Content-Type", "application/json").Code; got != http.StatusBadRequest {
					t.Errorf("%s with JSON: %d", p, got)
				}
				long := url.Values{"reason": {strings.Repeat("x", maxBody+1)}}
				if got := d.ask(method, at, long).Code; got != http.StatusBadRequest {
					t.Errorf("%s with a long body: %d", p, got)
				}
			}
			d.who.Can = Can{Operate: all, Approve: all}
			if got := d.ask(method, at, nil).Code; got != http.StatusForbidden {
				t.Errorf("%s with both roles: %d", p, got)
			}
			if method == http.MethodPost {
				tried++
			}
		}
	}
	if len(needs) > 0 {
		t.Errorf("no routes: %v", needs)
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH"} {
		if got := d.ask(method, "/stop", nil).Code; got != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, got)
		}
	}
	refused := 0
	for c := store.Cursor(""); ; {
		page, next, err := d.Journal.Page(t.Context(), c, store.MaxPage)
		d.Check(err)
		for _, l := range page {
			if l.Outcome == string(statemachine.CodeOf(statemachine.ErrForbidden)) && l.Actor == "olga" {
				refused++
			}
		}
		if c = next; len(page) == 0 {
			break
		}
	}
	if refused != tried {
		t.Errorf("%d of %d refused attempts are in the journal", refused, tried)
	}
}

var links = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

// Whatever others have written does nothing, no page shows what a thief could use, and each link of a page leads somewhere.
func TestPagesAreSafe(t *testing.T) {
	opstest.Both(t, func(t *testing.T, h *opstest.House) {
		d := deskOf(h)
		d.HotWallet()
		records := d.Others()
		w := d.Review()
		records["withdrawal"] = w.Request.ID.String()
		d.Sent(0)
		d.Stop()
		d.who.Can = Can{Stop: true, Reveal: true, Operate: all, Lease: all}
		seen := map[string]bool{"/": true}
		for todo := []string{"/"}; len(todo) > 0 && len(seen) < 400; todo = todo[1:] {
			got := d.ask("GET", todo[0], nil)
			text := got.Body.String()
			if got.Code != http.StatusOK {
				t.Errorf("%s: %d %s", todo[0], got.Code, text)
			}
			for _, bad := range []string{"<script", "<img src=x", "of-the-cust", w.Request.User.String(), "sender-of-the", "xpub-col", " style=", "onclick",
				"ZgotmplZ", "<no value>", "%!"} {
				if strings.Contains(text, bad) && !strings.HasPrefix(todo[0], "/draw/") {
					t.Errorf("%s shows %s", todo[0], bad)
				}
			}
			hdr := got.Header()
			if !strings.HasPrefix(hdr.Get("Content-Security-Policy"), "default-src 'none'") || hdr.Get("X-Content-Type-Options") != "nosniff" ||
				hdr.Get("Cache-Control") != "no-store" || hdr.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s: %q", todo[0], hdr)
			}
			if refresh := hdr.Get("Refresh") != ""; refresh && strings.Contains(text, "<form") {
				t.Errorf("%s has a form and goes away under the hands", todo[0])
			}
			base, err := url.Parse("http://host/any/prefix" + todo[0])
			d.Check(err)
			if !strings.HasPrefix(hdr.Get("Content-Type"), "text/html") {
				continue
			}
			for _, m := range links.FindAllStringSubmatch(text, -1) {
				to, err := base.Parse(html.UnescapeString(m[1]))
				if err != nil || to.Host != "host" || !strings.HasPrefix(to.Path, "/any/prefix/") {
					t.Errorf("%s links to %q", todo[0], m[1])
					continue
				}
				next := strings.TrimPrefix(to.EscapedPath(), "/any/prefix")
				posts := strings.Contains(m[0], "action=") && !strings.HasSuffix(next, "/find")
				if to.RawQuery != "" {
					next += "?" + to.RawQuery
				}
				if !seen[next] && !posts {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
		for kind, id := range records {
			if !seen[path(kind, id)] {
				t.Errorf("no page leads to the %s", kind)
			}
		}
		t.Logf("%d pages", len(seen))
		for _, at := range []string{"/item/withdrawal/no", "/help/none", "/list/none", "/list/relay?list=none", "/item/relay/none", "/draw/none"} {
			if got := d.ask("GET", at, nil).Code; got != http.StatusNotFound {
				t.Errorf("%s: %d", at, got)
			}
		}
	})
}

// A person who has not seen settle resolves a review: the alert leads to the list, that to the record, and two clicks end it.
func TestReviewIsResolved(t *testing.T) {
	opstest.Both(t, func(t *testing.T, h *opstest.House) {
		d := deskOf(h)
		d.HotWallet()
		w := d.Review()
		d.Later(24 * time.Hour)
		d.who.Can.Operate = []store.Domain{store.DomainWithdrawals}
		at := path("withdrawal", w.Request.ID.String())
		if text := d.ask("GET", "/", nil).Body.String(); !strings.Contains(text, `href="help/review%20wait"`) {
			t.Errorf("home is\n%s", text)
		}
		if text := d.ask("GET", "/review", nil).Body.String(); !strings.Contains(text, `href="`+at[1:]+`"`) || !strings.Contains(text, "1: <bdi>review") {
			t.Errorf("the list is\n%s", text)
		}
		text := d.ask("GET", at, nil).Body.String()
		for _, want := range []string{"In review since 20", "reference r7 was called", "It replays to what is", "/NotSent", "as JSON"} {
			if !strings.Contains(text, want) {
				t.Errorf("the item has no %q:\n%s", want, text)
			}
		}
		text = d.ask("GET", at+"/NotSent", nil).Body.String()
		if !strings.Contains(text, "processing to pending") {
			t.Errorf("the confirmation is\n%s", text)
		}
		got := d.ask("POST", at+"/NotSent", d.form(text, "field.Reason", "the signer has never heard of r7", "actor", "somebody"))
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "../"+w.Request.ID.String() {
			t.Fatalf("%d %s %s", got.Code, got.Header(), got.Body)
		}
		if again := d.ask("POST", at+"/NotSent", d.form(text, "field.Reason", "the signer has never heard of r7")).Code; again != http.StatusSeeOther {
			t.Errorf("a double click: %d", again)
		}
		text = d.ask("GET", at, nil).Body.String() + d.ask("GET", "/journal", nil).Body.String()
		if !strings.Contains(text, "never heard of r7") || !strings.Contains(text, "Resolved") || !strings.Contains(text, "olga") {
			t.Errorf("it is not told:\n%s", text)
		}
		var is ops.Item
		d.Check(json.Unmarshal(d.ask("GET", at+".json", nil).Body.Bytes(), &is))
		if is.ID != w.Request.ID.String() || is.Job < w.Job.Version || is.Payee != ops.Masked(opstest.Payee) {
			t.Errorf("as JSON it is %+v", is)
		}
	})
}

// What has evidence is typed, tried, and shown once more with what its own fields would move.
func TestEvidenceIsConfirmed(t *testing.T) {
	d := newDesk(t)
	d.HotWallet()
	w := d.Review()
	d.who.Can.Operate = []store.Domain{store.DomainWithdrawals}
	at := path("withdrawal", w.Request.ID.String()) + "/Sent"
	text := d.ask("GET", at, nil).Body.String()
	if strings.Contains(text, "field.Sent") || !strings.Contains(text, "field.Hash") || strings.Contains(text, `name="sure"`) {
		t.Errorf("the form is\n%s", text)
	}
	first := d.form(text, "field.Reason", "it is in block 7", "field.Hash", "0xabc")
	got := d.ask("POST", at, d.form(text, "field.Reason", "it is there"))
	if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "it is there") {
		t.Errorf("without a hash: %d %s", got.Code, got.Body)
	}
	got = d.ask("POST", at, first)
	text = got.Body.String()
	if got.Code != http.StatusOK || !strings.Contains(text, "processing to confirming") || !strings.Contains(text, `name="sure"`) {
		t.Fatalf("the confirmation is %d\n%s", got.Code, text)
	}
	if is, err := d.Withdrawals.Get(t.Context(), w.Request.ID); err != nil || is.Job.Version != w.Job.Version {
		t.Error("trying has moved it")
	}
	if got := d.ask("POST", at, d.form(text)); got.Code != http.StatusSeeOther {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if is, err := d.Withdrawals.Get(t.Context(), w.Request.ID); err != nil || is.Job.TxHash != "0xabc" || is.Job.HasNonce {
		t.Errorf("it is %+v, %v", is.Job, err)
	}
}

// What was seen is what is decided: what has changed since is refused, with what changed.
func TestChangedSinceSeen(t *testing.T) {
	d := newDesk(t)
	w := d.Request()
	at := path("withdrawal", w.Request.ID.String())
	d.who.Can.Operate = []store.Domain{store.DomainWithdrawals}
	cancel := d.form(d.ask("GET", at+"/Cancelled", nil).Body.String(), "field.Reason", "by the customer")
	held := d.form(d.ask("GET", at+"/Held", nil).Body.String(), "field.Reason", "a question about the payee")
	for _, bad := range []url.Values{{"version": {"1"}, "field.Reason": {"x"}}, {"version": {"0"}, "seen": {"x"}, "field.Reason": {"x"}},
		{"version": held["version"], "seen": held["seen"]}, {"version": held["version"], "seen": held["seen"], "field.Reason": {" "}},
		d.form(held.Encode(), "version", "1", "seen", held.Get("seen"), "field.Reason", "x", "field.Actor", "somebody")} {
		if got := d.ask("POST", at+"/Held", bad).Code; got != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d", bad, got)
		}
	}
	if got := d.ask("POST", at+"/Held", held).Code; got != http.StatusSeeOther {
		t.Errorf("%d", got)
	}
	got := d.ask("POST", at+"/Cancelled", cancel)
	if text := got.Body.String(); got.Code != http.StatusConflict || !strings.Contains(text, "a question about the payee") ||
		!strings.Contains(text, "Look at it again") {
		t.Errorf("what changed since: %d %s", got.Code, text)
	}
	d.who = Operator{ID: "alice", Can: Can{Approve: []store.Domain{store.DomainWithdrawals}}}
	approve := d.form(d.ask("GET", at+"/Approved", nil).Body.String())
	if got := d.ask("POST", at+"/Approved", approve); got.Code != http.StatusSeeOther {
		t.Errorf("an approval: %d %s", got.Code, got.Body)
	}
	page := d.Lines()
	if last := page[len(page)-1]; last.Actor != "alice" || last.Via != "console" || last.Event != "Approved" {
		t.Errorf("the journal has %+v", page)
	}
	if !slices.ContainsFunc(page, func(l statemachine.JournalLine) bool { return l.Event == "Cancelled" && l.Outcome == "conflict" }) {
		t.Errorf("the journal has no refused attempt: %+v", page)
	}
}

// The page of an action that nobody is offered says what it means and why, and no form says it.
func TestWhatIsNotOfferedIsExplained(t *testing.T) {
	d := newDesk(t)
	d.who.Can.Operate = []store.Domain{store.DomainWithdrawals}
	d.HotWallet()
	b := d.Batch(0)
	page := path("batch", b.Batch.ID.String()) + "/BatchMined"
	got := d.ask("GET", page, nil)
	if body := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(body, "No form says it here: it has many parts") ||
		!strings.Contains(body, "It means") || strings.Contains(body, "<form method=\"post\"") {
		t.Errorf("%d %s", got.Code, body)
	}
	seen := url.Values{"version": {"1"}, "seen": {"x"}, "field.Reason": {"seen in a block"}, "sure": {"yes"}}
	if got := d.ask("POST", page, seen); got.Code != http.StatusForbidden {
		t.Errorf("said by hand: %d %s", got.Code, got.Body)
	}
	if got := d.ask("GET", path("batch", b.Batch.ID.String())+"/Held", nil); got.Code != http.StatusNotFound {
		t.Errorf("an event of requests said of a batch: %d", got.Code)
	}
}

// An address names the open requests that it is paid by, and no other text does.
func TestAnAddressIsFound(t *testing.T) {
	d := newDesk(t)
	w := d.Request()
	if got := d.ask("GET", "/find?q="+opstest.Payee, nil); got.Code != http.StatusSeeOther ||
		got.Header().Get("Location") != "item/withdrawal/"+w.Request.ID.String() {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	if found, err := d.Find(t.Context(), opstest.Payee[1:]); err != nil || len(found) != 0 {
		t.Errorf("a part of an address finds %+v, %v", found, err)
	}
}

// Each page of the open discrepancies leads to the next one, also where all of a page are settled.
func TestDiscrepanciesArePaged(t *testing.T) {
	d := newDesk(t)
	var all []swap.Discrepancy
	for i := range 3*maxRows + 1 {
		all = append(all, swap.Discrepancy{Kind: swap.Mismatch, Chain: swap.Nexus, Key: fmt.Sprintf("tx-%04d", i), TxID: fmt.Sprintf("tx-%04d", i),
			At: d.Opts.Now()})
	}
	d.Check(d.DB.Update(t.Context(), func(u store.Unit) error {
		if err := u.SwapHouse().Note(all...); err != nil {
			return err
		}
		for _, settled := range all[:maxRows] { // a whole page
			settled.ClosedBy, settled.ClosedAt = "olga", d.Opts.Now()
			if err := u.SwapHouse().Close(settled); err != nil {
				return err
			}
		}
		return nil
	}))
	seen, at := 0, "/incidents"
	for range 10 {
		body := d.ask("GET", at, nil).Body.String()
		seen += strings.Count(body, "<bdi>tx-")
		if strings.Contains(body, "<bdi>tx-0000</bdi>") {
			t.Error("a settled one is open")
		}
		next := regexp.MustCompile(`href="(\?after=[^"]*)">more`).FindStringSubmatch(body)
		if next == nil {
			break
		}
		at = "/incidents" + html.UnescapeString(next[1])
	}
	if seen != 2*maxRows+1 {
		t.Errorf("%d are shown", seen)
	}
}

// Whoever may see all is in the journal before anything is seen.
func TestReveal(t *testing.T) {
	d := newDesk(t)
	w := d.Request()
	d.who.Can.Reveal = true
	text := d.ask("POST", path("withdrawal", w.Request.ID.String())+"/reveal", nil).Body.String()
	if !strings.Contains(text, opstest.Payee) || strings.Contains(text, "<script") {
		t.Errorf("it is\n%s", text)
	}
	if page := d.Lines(); len(page) != 1 || page[0].Event != "Reveal" || page[0].ID != w.Request.ID.String() {
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
	if !strings.Contains(text, "is stopped at send") || strings.Contains(text, "Start again") {
		t.Errorf("who may only stop sees\n%s", text)
	}
	d.who.Can = Can{Operate: []store.Domain{store.DomainSwitches}}
	if text := d.ask("GET", "/", nil).Body.String(); !strings.Contains(text, `href="start?scope=everything"`) {
		t.Errorf("who may start sees\n%s", text)
	}
	start := d.form(d.ask("GET", "/start?scope=everything", nil).Body.String(), "reason", "the key is safe")
	if got := d.ask("POST", "/start", start); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "." {
		t.Errorf("a start: %d", got.Code)
	}
	if got := d.ask("POST", "/start", start).Code; got != http.StatusConflict {
		t.Errorf("a start of what was seen before: %d", got)
	}
	if text := d.ask("GET", "/", nil).Body.String(); !strings.Contains(text, "Nothing is stopped") {
		t.Errorf("it is stopped still\n%s", text)
	}
	if is, err := d.Switches.Get(t.Context(), switches.Everything); err != nil || is.Level != switches.On || is.Actor != "olga" {
		t.Errorf("%+v, %v", is, err)
	}
}

// A hot wallet is switched off by who may stop, and on by who may operate; what changed since it was shown is refused.
func TestHotWallets(t *testing.T) {
	d := newDesk(t)
	d.HotWallet()
	d.Request()
	d.who.Can = Can{Stop: true}
	put := d.form(d.ask("GET", "/wallets", nil).Body.String())
	if got := d.ask("POST", "/wallets/pause", put); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	d.who.Can = Can{Operate: []store.Domain{store.DomainWithdrawals}}
	if got := d.ask("POST", "/wallets/resume", url.Values{"chain": put["chain"], "wallet": put["wallet"], "seen": {"unknown outbound"}}); got.Code != http.StatusConflict {
		t.Errorf("seen otherwise: %d", got.Code)
	}
	if got := d.ask("POST", "/wallets/resume", d.form(d.ask("GET", "/wallets", nil).Body.String())); got.Code != http.StatusSeeOther {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if all, err := d.Withdrawals.HotWallets(t.Context(), opstest.Chain); err != nil || all[0].Status != withdrawal.WalletActive {
		t.Errorf("%+v, %v", all, err)
	}
}

// The leases of a dead worker are ended by who may, in the journal with the reason.
func TestWorkerIsRevoked(t *testing.T) {
	d := newDesk(t)
	d.HotWallet()
	d.Request(opstest.Claimed()...)
	d.who.Can.Lease = []store.Domain{store.DomainWithdrawals}
	at := "/workers/withdrawals/payer-1"
	if got := d.ask("POST", at, url.Values{}).Code; got != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: %d", got)
	}
	if got := d.ask("POST", at, url.Values{"reason": {"its machine burns"}}); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	page, err := d.Withdrawals.List(t.Context(), store.ListWithdrawals{Filter: withdrawal.Filter{Holder: "payer-1"}, Limit: 10})
	if d.Check(err); len(page) != 0 {
		t.Errorf("it holds %+v", page)
	}
}

// A page is answered, with the age of what it shows, and a stop lands, while the tables of statistics are locked; many
// viewers cost one reading.
func TestStopWorksWhileStatisticsAreLocked(t *testing.T) {
	h := opstest.New(t, sqlstore.Postgres)
	d := deskOf(h)
	d.HotWallet()
	d.Review()
	d.Later(24 * time.Hour)
	d.who.Can = Can{Stop: true}
	before := d.ask("GET", "/", nil).Body.String()
	if !strings.Contains(before, "review wait") {
		t.Fatalf("home is\n%s", before)
	}
	tx, err := d.SQL.BeginTx(t.Context(), nil)
	d.Check(err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), fmt.Sprintf("LOCK TABLE %[1]s.withdrawal_requests, %[1]s.withdrawal_queue IN ACCESS EXCLUSIVE MODE", d.Opts.Schema))
	d.Check(err)
	began := time.Now()
	stop := url.Values{"scope": {string(switches.Chain(opstest.Chain))}, "level": {"send"}, "reason": {"a stolen key"}}
	if got := d.ask("POST", "/stop", stop); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "is stopped at send") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	t.Logf("the stop took %v", time.Since(began))
	d.console.numbers.Expire()
	began = time.Now()
	var viewers sync.WaitGroup
	for range 10 {
		viewers.Go(func() {
			for { // until the reading that does not end is given up
				text := d.ask("GET", "/", nil).Body.String()
				if !strings.Contains(text, "review wait") || !strings.Contains(text, "is stopped at send") {
					t.Errorf("home is\n%s", text)
				}
				if strings.Contains(text, "withdrawals cannot be read") && strings.Contains(text, "old.") || time.Since(began) > time.Minute {
					return
				}
			}
		})
	}
	viewers.Wait()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("nobody was told that statistics cannot be read, after %v", took)
	}
	if got := d.ask("GET", "/review", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Cannot be read") {
		t.Errorf("a list that is locked: %d", got.Code)
	}
}

// A user of the database who may only read looks at every page, and reveals nothing, since the journal cannot have it.
func TestWhoMayOnlyRead(t *testing.T) {
	d := deskOf(opstest.New(t, sqlstore.Postgres))
	d.HotWallet()
	records := d.Others()
	w := d.Review()
	records["withdrawal"] = w.Request.ID.String()
	db, err := sql.Open("pgx", pgtest.With(t, d.URL, "default_transaction_read_only", "on"))
	d.Check(err)
	defer db.Close()
	s, err := sqlstore.Open(t.Context(), db, sqlstore.Postgres, d.Opts)
	d.Check(err)
	defer s.Close()
	services, err := ops.NewServices(s, opstest.Policies())
	d.Check(err)
	services.WalletIDs = d.WalletIDs
	d.Services = services
	reads := deskOf(d.House)
	reads.who.Can = Can{Reveal: true, Stop: true, Operate: all, Lease: all}
	pages := []string{"/", "/review", "/stuck", "/incidents", "/wallets", "/journal", "/stop", "/find?q=" + w.Job.ID.String()}
	for kind, id := range records {
		pages = append(pages, path(kind, id), "/list/"+kind)
	}
	for _, page := range append(pages, path("withdrawal", w.Request.ID.String())+"/NotSent") {
		if got := reads.ask("GET", page, nil); got.Code != http.StatusOK && got.Code != http.StatusSeeOther {
			t.Errorf("%s: %d %s", page, got.Code, got.Body)
		}
	}
	if got := reads.ask("POST", path("withdrawal", w.Request.ID.String())+"/reveal", nil); got.Code == http.StatusOK ||
		strings.Contains(got.Body.String(), opstest.Payee) {
		t.Errorf("it reveals: %d", got.Code)
	}
}

// Health is of what the console can read, and metrics are of the same reading.
func TestHealthAndMetrics(t *testing.T) {
	d := newDesk(t)
	d.HotWallet()
	d.Review()
	d.Stop()
	ask := func(h http.Handler) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Code, w.Body.String()
	}
	if code, text := ask(d.console.Health()); code != http.StatusOK {
		t.Errorf("stopped and in review: %d %s", code, text)
	}
	if _, text := ask(d.console.Metrics()); !strings.Contains(text, `settle_in_review{domain="withdrawals"} 1`) {
		t.Error(text)
	}
	d.Check(d.DB.Close())
	d.Check(d.SQL.Close())
	if code, _ := ask(d.console.Health()); code != http.StatusServiceUnavailable {
		t.Errorf("without a database: %d", code)
	}
}

// The place of a record in a drawing, and an explanation of each list that a page links to.
func TestExplanationsOfLists(t *testing.T) {
	d := newDesk(t)
	for _, k := range d.Kinds() {
		for _, name := range slices.Concat(k.Review, k.Stuck) {
			if !slices.Contains(k.Lists, name) || len(ops.Explain(cmp.Or(k.Help[name], "no such"))) == 0 {
				t.Errorf("%s: %q is not explained", k.Name, name)
			}
		}
	}
}
