// Package browsertest looks at the console in a real browser: each page in light, dark and at 320 pixels, with the
// keyboard alone, and with what others have written. It keeps its screenshots under SETTLE_SHOTS, where that is set.
package browsertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/console"
	"github.com/settlehq/settle/store/ops"
	"github.com/settlehq/settle/store/ops/opstest"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// look is a browser at a console.
type look struct {
	*opstest.House
	url string
	ctx context.Context

	sync.Mutex
	said []string // by the browser's console: a script that ran, a rule of the CSP that something broke
}

func newLook(t *testing.T) *look {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("SETTLE_REQUIRE_BROWSER") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no browser: %v", err)
	}
	l := &look{House: opstest.New(t, sqlstore.SQLite)}
	domains := []store.Domain{store.DomainSwitches, store.DomainWithdrawals, store.DomainSwaps, store.DomainRefreshes, store.DomainRelays,
		store.DomainWallets}
	who := console.Operator{ID: "olga", Name: "Olga", Can: console.Can{Reveal: true, Stop: true, Operate: domains, Lease: domains}}
	c, err := console.New(console.Options{Services: l.Services, Limits: ops.DefaultLimits(), Auth: func(*http.Request) (console.Operator, error) {
		return who, nil
	}})
	l.Check(err)
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", c))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	l.url = server.URL + "/ops"
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	browser, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	l.ctx = browser
	l.run() // starts it
	bounded, cancel := context.WithTimeout(browser, 4*time.Minute)
	t.Cleanup(cancel)
	l.ctx = bounded
	l.Check(chromedp.Listen(l.ctx, func(ev any) {
		l.Lock()
		defer l.Unlock()
		switch ev := ev.(type) {
		case *log.EventEntryAdded:
			l.said = append(l.said, ev.Entry.Text+" "+ev.Entry.URL)
		case *runtime.EventConsoleAPICalled:
			l.said = append(l.said, string(ev.Type))
		case *runtime.EventExceptionThrown:
			l.said = append(l.said, ev.ExceptionDetails.Text)
		}
	}))
	_, err = chromedp.Call(l.ctx, log.Enable, cdp.Empty{})
	l.Check(err)
	_, err = chromedp.Call(l.ctx, runtime.Enable, cdp.Empty{})
	l.Check(err)
	return l
}

func (l *look) run(actions ...chromedp.Action[chromedp.Void]) {
	l.T.Helper()
	l.Check(chromedp.Do(l.ctx, actions...))
}

// quiet fails if the browser has said anything.
func (l *look) quiet(where string) {
	l.T.Helper()
	l.Lock()
	defer l.Unlock()
	for _, text := range l.said {
		if !strings.Contains(text, "favicon") {
			l.T.Errorf("%s: the browser says %s", where, text)
		}
	}
	l.said = nil
}

func (l *look) eval(script string) bool {
	l.T.Helper()
	is, err := chromedp.Run(l.ctx, chromedp.Evaluate[bool](script))
	l.Check(err)
	return is
}

// seed makes a night: a chain that is stopped, a review, a stuck nonce with what waits behind it, and more of every domain.
func (l *look) seed() (review withdrawal.Withdrawal, pages []string) {
	l.HotWallet()
	records := l.Others()
	review = l.Review()
	for n := range uint64(4) {
		l.Sent(n)
	}
	records["batch"] = l.Batch(4).Batch.ID.String()
	l.Request()
	l.Stop()
	l.Check(l.DB.Update(l.T.Context(), func(u store.Unit) error {
		now, err := u.Now()
		if err != nil {
			return err
		}
		return u.Processes().Put(processes.Process{Key: processes.Key{Domain: "withdrawals", Name: "payer-1", Version: "v1.4.2", Policy: "0123456789abcdef"},
			First: now.Add(-time.Hour), Last: now})
	}))
	k, err := l.Kind("withdrawal")
	l.Check(err)
	is, err := k.Get(l.T.Context(), review.Request.ID.String())
	l.Check(err)
	l.Check(k.Say(l.T.Context(), is, ops.Said{Action: "Held", Actor: "olga", Via: "console", Version: is.Version,
		Fields: map[string]string{"Reason": "the customer asks where it is"}}))
	l.Later(25 * time.Hour)
	pages = []string{"/", "/review", "/stuck", "/list/withdrawal?list=open", "/list/deposit?list=held", "/list/tenant", "/find", "/find?q=nothing",
		"/incidents", "/wallets", "/journal", "/help/review%20wait", "/stop", "/start?scope=chain/10000000-0000-4000-8000-000000000001", "/workers/withdrawals/payer-1"}
	records["withdrawal"] = review.Request.ID.String()
	for kind, id := range records {
		pages = append(pages, "/item/"+kind+"/"+id)
	}
	return review, append(pages, "/item/withdrawal/"+records["withdrawal"]+"/Sent", "/item/withdrawal/"+records["withdrawal"]+"/NotSent",
		"/item/deposit/"+records["deposit"]+"/Released",
		"/list/batch?list=open", "/item/batch/"+records["batch"]+"/BatchMined")
}

// Each page is read in light, in dark and at 320 pixels: nothing runs, nothing breaks the CSP, nothing is wider than the
// window, all text stands out from what is behind it, and the first key reaches a link.
func TestPages(t *testing.T) {
	l := newLook(t)
	_, pages := l.seed()
	shots := os.Getenv("SETTLE_SHOTS")
	for _, style := range []struct {
		name   string
		scheme string
		width  int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 320}} {
		l.run(chromedp.EmulateViewport(style.width, 900))
		_, err := chromedp.Call(l.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: style.scheme}}})
		l.Check(err)
		for _, page := range pages {
			where := style.name + " " + page
			l.run(chromedp.Navigate(l.url+page), chromedp.WaitReady("main"))
			l.quiet(where)
			if !l.eval(`document.documentElement.scrollWidth <= window.innerWidth`) {
				t.Errorf("%s is wider than the window", where)
			}
			if !l.eval(`document.scripts.length === 0 && document.querySelectorAll('img[src="x"]').length === 0 && document.title.endsWith("settle")`) {
				t.Errorf("%s has what others wrote as elements", where)
			}
			if !l.eval(`[...document.querySelectorAll("td")].every(e => e.innerText.length < 12 || !e.offsetParent || e.clientWidth >= 90)`) {
				t.Errorf("%s squeezes a text", where)
			}
			if !l.eval(contrast) {
				t.Errorf("%s: a text does not stand out", where)
			}
			if shots != "" {
				png, err := chromedp.Run(l.ctx, chromedp.FullScreenshot(100))
				l.Check(err)
				name := strings.NewReplacer("/", "_", "?", "_", "%20", "_", "=", "_", ":", "_").Replace(page)
				l.Check(os.WriteFile(filepath.Join(shots, style.name+name[:min(120, len(name))]+".png"), png, 0o644))
			}
			l.run(chromedp.KeyEvent(kb.Tab))
			if !l.eval(`document.activeElement !== document.body && getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
				t.Errorf("%s: a key shows no place", where)
			}
		}
	}
}

// contrast holds each element with a text of its own against 4.5 : 1.
const contrast = `(() => {
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b };
	const parse = s => { const m = s.match(/[\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m.slice(0, 3) };
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.offsetParent || e.tagName === "OPTION") continue;
		let back = null;
		for (let p = e; p && !back; p = p.parentElement) back = parse(getComputedStyle(p).backgroundColor);
		const a = light(parse(getComputedStyle(e).color)), b = light(back || [255, 255, 255]);
		if ((Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5) return false;
	}
	return true })()`

// With the keyboard alone a person comes from the first page to the review and ends it.
func TestReviewByKeyboard(t *testing.T) {
	l := newLook(t)
	w, _ := l.seed()
	to := func(text string) { // presses Tab until what has the focus says so, then Enter
		for range 200 {
			l.run(chromedp.KeyEvent(kb.Tab))
			has, err := chromedp.Run(l.ctx, chromedp.Evaluate[string](`document.activeElement.innerText || document.activeElement.name || ""`))
			l.Check(err)
			if strings.HasPrefix(has, text) {
				return
			}
		}
		l.T.Fatalf("no key leads to %q", text)
	}
	enter := func() { // and waits for the page that it leads to
		l.run(chromedp.Evaluate[chromedp.Void](`document.body.id = "before"`), chromedp.KeyEvent(kb.Enter), chromedp.WaitReady("body:not(#before) main"))
	}
	l.run(chromedp.Navigate(l.url + "/"))
	to("Review")
	enter()
	to(w.Request.ID.String())
	enter()
	to("NotSent")
	enter()
	to("field.Reason")
	l.run(chromedp.KeyEvent("the signer has never heard of r7"))
	to("NotSent")
	enter()
	is, err := l.Withdrawals.Get(t.Context(), w.Request.ID)
	if l.Check(err); is.Job.Review || is.Job.Status != withdrawal.JobPending {
		t.Errorf("it is %+v", is.Job)
	}
	l.quiet("the way")
	last := l.Lines()[len(l.Lines())-1]
	if last.Event != "Resolved" || last.Outcome != statemachine.JournalDone || last.Actor != "olga" {
		t.Errorf("the journal has %+v", last)
	}
}
