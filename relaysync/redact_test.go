package relaysync_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settlehq/settle/internal/growthtest"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
)

func TestRedact(t *testing.T) {
	const key = `S3cr3t/Key"é`
	for _, tt := range []struct{ name, text, want string }{
		{"as it is", `bad key S3cr3t/Key"é!`, "bad key [redacted]!"},
		{"another case", `s3CR3T/kEY"É`, "[redacted]"},
		{"JSON", `{"k":"S3cr3t/Key\"é"}`, `{"k":"[redacted]"}`},
		{"JSON with escaped slash and letters", `{"k":"S3cr3t\/\u004bey\"\u00e9"}`, `{"k":"[redacted]"}`},
		{"JSON in JSON", `"{\"k\":\"S3cr3t/Key\\\"\\u00E9\"}"`, `"{\"k\":\"[redacted]\"}"`},
		{"twice", key + key, "[redacted][redacted]"},
		{"a tail of four", "x S3cr", "x [redacted]"},
		{"a tail of three", "x S3c", "x S3c"},
		{"a tail that is escaped", `x S3cr3t\`, "x [redacted]"},
		{"a tail within an escape", `x S3cr3t/\u004`, "x [redacted]"},
		{"all but the end, not at the end", `S3cr3t/Key" and more`, `S3cr3t/Key" and more`},
		{"nothing", "connection refused", "connection refused"},
		{"deep in JSON", strings.Repeat("\\", 63) + `S3cr3t/Key\"\u00e9`, "[redacted]"},
		{"after a false start", "S3S3cr3t/Key\"é", "S3[redacted]"},
		{"no text", "", ""},
	} {
		if got := relaysync.Redact(tt.text, "", key); got != tt.want {
			t.Errorf("%s: %q, expected %q", tt.name, got, tt.want)
		}
	}
	backslashes := func(n int) string { return strings.Repeat("\\", n) }
	growthtest.AlmostLinear(t, 1<<16, backslashes, func(hostile string) {
		if got := relaysync.Redact(hostile, key, secret); got != hostile {
			t.Errorf("%d bytes of backslashes become %d", len(hostile), len(got))
		}
	})
	if got := relaysync.Redact("abcdef", "abc", "abcdef"); got != "[redacted]" {
		t.Errorf("the shorter secret leaves %q", got)
	}
	if got := relaysync.Redact(`x \ud83d\ude00abc`, "\U0001F600abc"); got != "x [redacted]" {
		t.Errorf("a surrogate pair: %q", got)
	}
}

// What is stored: without credentials, then bounded on a rune, never blank.
func TestErrorsAreRedactedAndBounded(t *testing.T) {
	ev := created(t0)
	ev.Config = full()
	for _, tt := range []struct{ name, text, want string }{
		{"S3 and livekit", "status 500: S3cr3t/Key\\\"\\u00e9 LK-SECRET-1", "status 500: [redacted] [redacted]"},
		{"blank", " \t\u00a0\n", "unknown error"}, {"empty", "", "unknown error"}, {"trimmed", "\n no \t", "no"},
		{"long", strings.Repeat("é", 600), strings.Repeat("é", 498) + "..."},
		{"a credential over the bound", strings.Repeat("x", 995) + "lk-secret-1", strings.Repeat("x", 995) + "[redacted]"[:2] + "..."},
		{"NUL and no UTF-8", "a\x00b\xff", "a\uFFFDb\uFFFD"},
	} {
		l := &log{t: t}
		s := l.do(ev, claimed(t0), finished(t0, 1, statemachine.Failed, tt.text))
		if got := s.Relay.SyncError; got != tt.want {
			t.Errorf("%s: %q, expected %q", tt.name, got, tt.want)
		}
		if strings.Contains(fmt.Sprintf("%+v", l.last.Log), "lk-secret") {
			t.Errorf("%s: the log has a credential", tt.name)
		}
	}
	r := relaysync.Relay{Config: full()}
	r.Livekit = `{"apikey":"k1-k1","token":{"inner":["t2-t2",1234567]},"password":"p3-p3","url":"u4-u4"}`
	if got := r.Redact("k1-k1 t2-t2 1234567 p3-p3 u4-u4"); got != "[redacted] [redacted] [redacted] [redacted] u4-u4" {
		t.Errorf("%q", got)
	}
	r.Config = full()
	if got := r.Redact("lk-secret-1 "+secret, secret); got != "[redacted] [redacted]" {
		t.Errorf("%q", got)
	}
	if got := relaysync.Redact("token Nostr abcDEF "+secret, secret, "Nostr abcdef"); got != "token [redacted] [redacted]" {
		t.Errorf("%q", got)
	}
}
