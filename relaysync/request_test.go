package relaysync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

var secret = strings.Repeat("5e", 32)

// Every row of the truth table.
func TestIsNew(t *testing.T) {
	for _, row := range []struct{ synced, completed, isNew bool }{
		{false, false, true}, {false, true, false}, {true, false, false}, {true, true, false},
	} {
		if got := relaysync.IsNew(row.synced, row.completed); got != row.isNew {
			t.Errorf("synced %v, completed before %v: new is %v", row.synced, row.completed, got)
		}
		l := start(t)
		l.s.Relay.Synced, l.s.History.Completed = row.synced, row.completed
		a, err := policy.Attempt(l.s)
		if err != nil {
			t.Fatal(err)
		}
		if first := a.Requests[0]; (first.Method == "POST") != row.isNew || first.NeedsSecret != row.isNew || len(a.Requests) == 2 != row.isNew {
			t.Errorf("synced %v, completed before %v: %s", row.synced, row.completed, first.Method)
		}
		l.s.Relay.Recreate = true
		if a, err = policy.Attempt(l.s); err != nil || a.Requests[0].Method != "POST" {
			t.Errorf("an operator's Recreate: %s, %v", a.Requests[0].Method, err)
		}
	}
}

func full() relaysync.Config {
	return relaysync.Config{
		Info:   relaysync.Document(`{"name":"a <b> & é","pubkey":"` + pubkey + `","n":12345678901234567890.10}`),
		Policy: `{"open":true}`, Groups: `{"enabled":true}`, Management: `{"methods":["a","b"]}`, Push: `{"enabled":false}`,
		Roles:          `{"admin":{"pubkeys":["x"],"can":{"ban":true}}}`,
		BlossomEnabled: 1, Blossom: `{"adapter":"s3","s3":{"bucket":"b","secret_key":"S3cr3t/Key\"é"}}`,
		LivekitEnabled: 1, Livekit: `{"server":"wss://x","api_secret":"lk-secret-1"}`,
	}
}

func body(t *testing.T, q relaysync.Request, secret string) map[string]any {
	t.Helper()
	b, err := q.Bytes(secret)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

func TestBody(t *testing.T) {
	ev := created(t0)
	ev.Config = full()
	l := &log{t: t}
	l.do(ev, claimed(t0))
	a, err := policy.Attempt(l.s)
	if err != nil {
		t.Fatal(err)
	}
	post, patch := a.Requests[0], a.Requests[1]
	if post.Method != "POST" || post.Path != "/relay/relay_1" || patch.Method != "PATCH" || patch.Path != post.Path ||
		a.Key != "sync/relay_1/1" {
		t.Errorf("%+v", a)
	}
	b, err := post.Bytes(secret)
	want := `{"blossom":{"adapter":"s3","enabled":true,"s3":{"bucket":"b","secret_key":"S3cr3t/Key\"é"}},"groups":{"enabled":true},` +
		`"host":"one.relays.example","inactive":false,` +
		`"info":{"n":12345678901234567890.10,"name":"a <b> & é","pubkey":"` + pubkey + `"},` +
		`"livekit":{"api_secret":"lk-secret-1","enabled":true,"server":"wss://x"},"management":{"methods":["a","b"]},` +
		`"policy":{"open":true},"push":{"enabled":false},"roles":{"admin":{"can":{"ban":true},"pubkeys":["x"]}},` +
		`"schema":"relay_1","secret":"` + secret + `"}`
	var got, expect any
	if err != nil || json.Unmarshal(b, &got) != nil || json.Unmarshal([]byte(want), &expect) != nil || !reflect.DeepEqual(got, expect) ||
		!strings.Contains(string(b), "12345678901234567890.10") {
		t.Errorf("%v\n%s\nexpected\n%s", err, b, want)
	}
	if m := body(t, patch, ""); m["secret"] != nil || strings.Contains(string(patch.Body), "null") ||
		strings.Contains(string(patch.Body), secret) {
		t.Errorf("the PATCH is %s", patch.Body)
	}
	if strings.Contains(fmt.Sprintf("%+v", l.s)+fmt.Sprintf("%+v", a), secret) {
		t.Error("the secret is in a record or an action")
	}
	for _, bad := range []string{"", secret[1:], secret + "a", strings.ToUpper(secret), strings.Repeat("zz", 32)} {
		if _, err := post.Bytes(bad); !errors.Is(err, statemachine.ErrInvalid) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("secret %q: %v", bad, err)
		}
	}
	if _, err := patch.Bytes(secret); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("a PATCH takes a secret: %v", err)
	}
	for base, url := range map[string]string{"http://z": "http://z/relay/relay_1", "http://z/": "http://z/relay/relay_1",
		"http://z/a///": "http://z/a/relay/relay_1"} {
		if got := post.URL(base); got != url {
			t.Errorf("%s: %s", base, got)
		}
	}
	l.do(finished(sec(1), 1, statemachine.Done, ""), relaysync.Deactivated{By: by(relaysync.Host, sec(2))})
	if a, err = policy.Attempt(l.s); err != nil || body(t, a.Requests[0], "")["inactive"] != true {
		t.Errorf("%v: %s", err, a.Requests[0].Body)
	}
}

// Only the flag 1 means on; off is sent as exactly {"enabled": false}. The other documents have
// no flag.
func TestFlags(t *testing.T) {
	for _, flag := range []int64{-1, 0, 1, 2} {
		ev := created(t0)
		ev.Config = full()
		ev.BlossomEnabled, ev.LivekitEnabled = flag, flag
		l := &log{t: t}
		l.do(ev)
		a, err := policy.Attempt(l.s)
		if err != nil {
			t.Fatal(err)
		}
		m := body(t, a.Requests[1], "")
		for _, k := range []string{"blossom", "livekit"} {
			block := m[k].(map[string]any)
			if flag != 1 && !reflect.DeepEqual(block, map[string]any{"enabled": false}) ||
				flag == 1 && (block["enabled"] != true || len(block) != 3) {
				t.Errorf("flag %d: %s is %v", flag, k, block)
			}
		}
		if !reflect.DeepEqual(m["push"], map[string]any{"enabled": false}) || m["groups"] == nil {
			t.Errorf("flag %d: %v", flag, m)
		}
	}
}

// merge is what the server does with a PATCH.
func merge(target, patch map[string]any) {
	for k, v := range patch {
		old, both := target[k].(map[string]any)
		inner, is := v.(map[string]any)
		switch {
		case v == nil:
			delete(target, k)
		case is && both:
			merge(old, inner)
		case is:
			fresh := map[string]any{}
			merge(fresh, inner)
			target[k] = fresh
		default:
			target[k] = v
		}
	}
}

// What a body no longer has is removed at the server, whichever of the earlier requests arrived;
// the secret stays.
func TestPatchesRemoveWhatIsGone(t *testing.T) {
	configs := []relaysync.Config{full(), config("b"),
		{Info: full().Info, Roles: `{"admin":[1,2],"x":{}}`, BlossomEnabled: 1, Blossom: `{"s3":"none"}`}, full(),
		{Info: full().Info, Roles: `{"admin":{"can":{}}}`, Policy: `{"a":{"b":{"c":{"d":1}}}}`},
		{Info: full().Info, Policy: `{"a":{"b":{"e":1}}}`}}
	for arrives := range 1 << len(configs) { // which of the requests get there
		l := &log{t: t}
		server := map[string]any{}
		for i, cfg := range configs {
			at := sec(float64(i) * 100)
			if i == 0 {
				ev := created(at)
				ev.Config = cfg
				l.do(ev)
			} else {
				ev := updated(at, "")
				ev.Config = cfg
				l.do(ev)
			}
			s := l.do(claimed(at))
			a, err := policy.Attempt(s)
			if err != nil {
				t.Fatal(err)
			}
			last := i == len(configs)-1
			if arrives&(1<<i) == 0 && !last {
				l.do(finished(at, s.Timer.Lease.Fence, statemachine.Unknown, "")) // it is known to nobody
				continue
			}
			if q := a.Requests[0]; q.Method == "POST" && len(server) == 0 {
				merge(server, body(t, q, secret))
			} else {
				merge(server, body(t, a.Requests[len(a.Requests)-1], ""))
			}
			outcome := statemachine.Done
			if arrives&2 == 0 && !last {
				outcome = statemachine.Unknown // it arrived, and nobody knows
			}
			l.do(finished(at, s.Timer.Lease.Fence, outcome, ""))
			if server["secret"] != secret {
				t.Fatalf("%b: the secret is %v", arrives, server["secret"])
			}
		}
		want := body(t, relaysync.Request{Body: encodeBody(t, l)}, "")
		want["secret"] = secret
		if !reflect.DeepEqual(server, want) {
			t.Fatalf("%b: the server has\n%v\nexpected\n%v", arrives, server, want)
		}
	}
}

// No PATCH touches the secret, whatever a row says that was sent.
func TestPatchesNeverNameTheSecret(t *testing.T) {
	l := start(t)
	l.s.Relay.Sent = `{"secret":{},"gone":{"secret":{}},"info":{"secret":{},"name":{}}}`
	a, err := policy.Attempt(l.s)
	if err != nil {
		t.Fatal(err)
	}
	m := body(t, a.Requests[1], "")
	if _, named := m["secret"]; named {
		t.Errorf("the PATCH is %s", a.Requests[1].Body)
	}
	gone, there := m["gone"]
	inner, both := m["info"].(map[string]any)["secret"]
	if gone != nil || !there || inner != nil || !both {
		t.Errorf("the PATCH is %s", a.Requests[1].Body)
	}
	if strings.Contains(string(a.Requests[0].Body), "null") {
		t.Errorf("the POST is %s", a.Requests[0].Body)
	}
}

// encodeBody is the body of a relay that was never sent: without nulls.
func encodeBody(t *testing.T, l *log) []byte {
	t.Helper()
	s := l.s
	s.Relay.Sent, s.Relay.Synced, s.History.Completed = "", false, false
	a, err := policy.Attempt(s)
	if err != nil {
		t.Fatal(err)
	}
	return a.Requests[1].Body
}

func TestJudge(t *testing.T) {
	post := relaysync.Attempt{Requests: []relaysync.Request{{Method: "POST", NeedsSecret: true}, {Method: "PATCH"}}}
	patch := relaysync.Attempt{Requests: post.Requests[1:]}
	const next = "next"
	for _, tt := range []struct {
		name    string
		attempt relaysync.Attempt
		answers []relaysync.Answer
		want    string // outcome, text
	}{
		{"created", post, []relaysync.Answer{{201, ""}}, "done: "},
		{"a create whose answer was lost", post, []relaysync.Answer{{409, "relay already exists"}, {200, ""}}, "done: "},
		{"the conflict is another's", post, []relaysync.Answer{{409, "host is taken"}, {404, "no such relay"}},
			"failed: status 409: host is taken"},
		{"any 409", post, []relaysync.Answer{{409, "whatever"}}, next},
		{"the PATCH fails otherwise", post, []relaysync.Answer{{409, "exists"}, {500, "boom"}}, "failed: status 500: boom"},
		{"the PATCH meets a conflict", post, []relaysync.Answer{{409, "exists"}, {409, "schema"}}, "failed: status 409: schema"},
		{"the PATCH has no answer", post, []relaysync.Answer{{409, "exists"}, {0, "time-out"}}, "unknown: time-out"},
		{"no answer", post, []relaysync.Answer{{0, "time-out"}}, "unknown: time-out"},
		{"another status", post, []relaysync.Answer{{422, "bad"}}, "failed: status 422: bad"},
		{"404 to a POST", post, []relaysync.Answer{{404, "no route"}}, "failed: status 404: no route"},
		{"a redirect", post, []relaysync.Answer{{307, ""}}, "failed: status 307:"},
		{"patched", patch, []relaysync.Answer{{204, ""}}, "done: "},
		{"404 on PATCH is never a POST", patch, []relaysync.Answer{{404, "no such relay"}}, "failed: status 404: no such relay"},
		{"409 on PATCH is final", patch, []relaysync.Answer{{409, "host"}}, "failed: status 409: host"},
		{"a gateway without an answer of the server", post, []relaysync.Answer{{504, "late"}}, "unknown: status 504: late"},
		{"the PATCH meets one", post, []relaysync.Answer{{409, "exists"}, {502, ""}}, "unknown: status 502:"},
		{"520", patch, []relaysync.Answer{{520, ""}}, "unknown: status 520:"},
		{"522", patch, []relaysync.Answer{{522, ""}}, "unknown: status 522:"},
		{"524", patch, []relaysync.Answer{{524, ""}}, "unknown: status 524:"},
		{"503 is the server's own", patch, []relaysync.Answer{{503, "busy"}}, "failed: status 503: busy"},
		{"505", patch, []relaysync.Answer{{505, ""}}, "failed: status 505:"},
		{"299", patch, []relaysync.Answer{{299, ""}}, "done: "}, {"300", patch, []relaysync.Answer{{300, ""}}, "failed: status 300:"},
		{"199", patch, []relaysync.Answer{{199, ""}}, "failed: status 199:"},
	} {
		q, o, text := tt.attempt.Judge(tt.answers...)
		got := fmt.Sprintf("%v: %s", o, text)
		if q != nil {
			got = next
			if q.Method != "PATCH" || o != 0 {
				t.Errorf("%s: %s follows, %v", tt.name, q.Method, o)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, expected %q", tt.name, got, tt.want)
		}
	}
	for _, a := range []relaysync.Attempt{post, patch} {
		if q, _, _ := a.Judge(); q.Method != a.Requests[0].Method {
			t.Errorf("an attempt begins with %s", q.Method)
		}
	}
}

func TestServerLimits(t *testing.T) {
	big := func(n int) relaysync.Document {
		return relaysync.Document(`{"t":"` + strings.Repeat("x", n) + `"}`)
	}
	wide := func(prefix string, n int) relaysync.Document {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d":1`, prefix, i)
		}
		return relaysync.Document("{" + b.String()[1:] + "}")
	}
	fits := created(t0)
	least, most := 0, 1<<20 // the boundary of 1 MiB: least fits, most does not
	for most-least > 1 {
		n := (least + most) / 2
		fits.Config.Policy = big(n)
		if _, err := policy.Apply(relaysync.Sync{}, fits); err == nil {
			least = n
		} else {
			most = n
		}
	}
	fits.Config.Policy = big(least)
	c, err := policy.Apply(relaysync.Sync{}, fits)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := policy.Attempt(c.New)
	if b, err := a.Requests[0].Bytes(secret); err != nil || len(b) > 1<<20 || len(b) < 1<<20-100 {
		t.Errorf("the largest body has %d bytes, %v", len(b), err)
	}
	for _, tt := range []struct {
		name string
		set  func(*relaysync.Created)
		good bool
	}{
		{"as it is", func(e *relaysync.Created) {}, true},
		{"63 bytes of id", func(e *relaysync.Created) { e.Relay = "_" + strings.Repeat("a", 62) }, true},
		{"64 bytes of id", func(e *relaysync.Created) { e.Relay = strings.Repeat("a", 64) }, false},
		{"no id", func(e *relaysync.Created) { e.Relay = "" }, false},
		{"a digit first", func(e *relaysync.Created) { e.Relay = "1a" }, false},
		{"a hyphen in the id", func(e *relaysync.Created) { e.Relay = "a-b" }, false},
		{"a slash in the id", func(e *relaysync.Created) { e.Relay = "a/b" }, false},
		{"a letter outside of ASCII", func(e *relaysync.Created) { e.Relay = "aé" }, false},
		{"characters between Z and a", func(e *relaysync.Created) { e.Relay = "a[" }, false},
		{"upper case", func(e *relaysync.Created) { e.Relay = "ZA_z09" }, true},
		{"no tenant", func(e *relaysync.Created) { e.Tenant = "" }, false},
		{"a dot in the subdomain", func(e *relaysync.Created) { e.Subdomain = "a.b" }, false},
		{"no pubkey", func(e *relaysync.Created) { e.Info = `{"name":"a"}` }, false},
		{"no info", func(e *relaysync.Created) { e.Info = "" }, false},
		{"a pubkey of 63", func(e *relaysync.Created) { e.Info = relaysync.Document(`{"pubkey":"` + pubkey[1:] + `"}`) }, false},
		{"a pubkey that is no hex", func(e *relaysync.Created) {
			e.Info = relaysync.Document(`{"pubkey":"` + strings.Repeat("zz", 32) + `"}`)
		}, false},
		{"a null", func(e *relaysync.Created) { e.Roles = `{"a":null}` }, false},
		{"a null in an array", func(e *relaysync.Created) { e.Roles = `{"a":[{"b":[null]}]}` }, false},
		{"null itself", func(e *relaysync.Created) { e.Roles = `null` }, false},
		{"an array", func(e *relaysync.Created) { e.Roles = `[]` }, false},
		{"two objects", func(e *relaysync.Created) { e.Roles = `{}{}` }, false},
		{"no JSON", func(e *relaysync.Created) { e.Roles = `{` }, false},
		{"an empty object", func(e *relaysync.Created) { e.Roles = ` { } ` }, true},
		{"no UTF-8", func(e *relaysync.Created) { e.Roles = "{\"a\":\"\xff\"}" }, false},
		{"a null in a block that is off", func(e *relaysync.Created) { e.Blossom = `{"a":null}` }, false},
		{"31 deep", func(e *relaysync.Created) {
			e.Roles = relaysync.Document(strings.Repeat(`{"a":`, 31) + "1" + strings.Repeat("}", 31))
		}, true},
		{"too deep", func(e *relaysync.Created) {
			e.Roles = relaysync.Document(strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000))
		}, false},
		{"4000 paths", func(e *relaysync.Created) { e.Roles = wide("a", 4000) }, true},
		{"5000 paths", func(e *relaysync.Created) { e.Roles = wide("a", 5000) }, false},
		{"a large document that is off", func(e *relaysync.Created) { e.Blossom = big(1 << 21) }, false},
	} {
		ev := created(t0)
		tt.set(&ev)
		c, err := policy.Apply(relaysync.Sync{}, ev)
		if (err == nil) != tt.good || err != nil && !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %.200v", tt.name, err)
		}
		if err == nil && relaysync.Check(c.New) != nil {
			t.Errorf("%s: %v", tt.name, relaysync.Check(c.New))
		}
	}
	// All paths that were ever sent count, also of an update that nobody claimed.
	l := start(t)
	u := updated(t0, "b")
	u.Roles = wide("a", 3000)
	l.do(u)
	u.Roles = wide("b", 3000)
	l.refused(statemachine.ErrInvalid, u)
	// What another writer made too wide is no attempt: not all of it could be on file.
	row := start(t).s
	row.Relay.Roles = wide("a", 5000)
	if a, err := policy.Attempt(row); !errors.Is(err, statemachine.ErrInvalid) {
		t.Errorf("%d requests of 5000 paths, %v", len(a.Requests), err)
	}
	// A PATCH with all its nulls fits too.
	long := strings.Repeat("k", 200)
	u.Roles = wide(long, 3000)
	l = start(t)
	l.do(u, claimed(t0), finished(t0, 1, statemachine.Done, ""))
	u.Roles = big(1<<20 - 700*1000)
	l.do(u)
	u.Roles = relaysync.Document(`{"t":"` + strings.Repeat("x", 600*1000) + `"}`)
	l.refused(statemachine.ErrInvalid, u)
}

func TestAuth(t *testing.T) {
	ev := relaysync.Auth("POST", "http://z/relay/a", []byte("body"), sec(0.9))
	want := relaysync.AuthEvent{Kind: 27235, CreatedAt: t0.Unix(), Tags: [][]string{{"u", "http://z/relay/a"}, {"method", "POST"},
		{"payload", "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5"}}}
	if !reflect.DeepEqual(ev, want) {
		t.Errorf("%+v", ev)
	}
}
