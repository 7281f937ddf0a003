package statemachine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestLeaseIsHalfOpen(t *testing.T) {
	lease, err := statemachine.Lease{}.Claim("a", noon, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	until := noon.Add(time.Minute)
	for _, c := range []struct {
		rule string
		now  time.Time
		held bool
	}{
		{"held at the claim", noon, true},
		{"held just before its end", until.Add(-time.Microsecond), true},
		{"free at its end", until, false},
		{"free just after its end", until.Add(time.Microsecond), false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var fenced, held error
			if !c.held {
				fenced = statemachine.ErrFenced
			} else {
				held = statemachine.ErrHeld
			}
			if got := lease.Held(c.now); got != c.held {
				t.Errorf("Held: %v", got)
			}
			if err := lease.Fenced(1, c.now); !errors.Is(err, fenced) {
				t.Errorf("Fenced: %v, want %v", err, fenced)
			}
			if _, err := lease.Renew(1, c.now, time.Minute); !errors.Is(err, fenced) {
				t.Errorf("Renew: %v, want %v", err, fenced)
			}
			for _, holder := range []string{"a", "b"} {
				if _, err := lease.Claim(holder, c.now, time.Minute); !errors.Is(err, held) {
					t.Errorf("Claim by %s: %v, want %v", holder, err, held)
				}
			}
		})
	}
}

func TestLeaseRefusals(t *testing.T) {
	held := statemachine.Lease{Holder: "a", Fence: 7, Until: noon.Add(time.Minute)}
	claim := func(l statemachine.Lease, holder string, d time.Duration) error {
		got, err := l.Claim(holder, noon, d)
		if err != nil && got != l {
			t.Errorf("a refused claim changed %v to %v", l, got)
		}
		return err
	}
	renew := func(fence int64, d time.Duration) error {
		got, err := held.Renew(fence, noon, d)
		if err != nil && got != held {
			t.Errorf("a refused renewal changed %v to %v", held, got)
		}
		return err
	}
	for _, c := range []struct {
		rule string
		got  error
		want error
	}{
		{"a claim without a holder", claim(statemachine.Lease{}, "", 1), statemachine.ErrInvalid},
		{"a claim by the longest name", claim(statemachine.Lease{}, strings.Repeat("x", statemachine.MaxHolder), 1), nil},
		{"a claim by a longer name", claim(statemachine.Lease{}, strings.Repeat("x", statemachine.MaxHolder+1), 1), statemachine.ErrInvalid},
		{"a claim for the shortest time", claim(statemachine.Lease{}, "a", 1), nil},
		{"a claim for no time", claim(statemachine.Lease{}, "a", 0), statemachine.ErrInvalid},
		{"a claim for negative time", claim(statemachine.Lease{}, "a", -1), statemachine.ErrInvalid},
		{"malformed input comes before held", claim(held, "", 1), statemachine.ErrInvalid},
		{"a renewal under the fence", renew(7, 1), nil},
		{"a renewal under an older fence", renew(6, 1), statemachine.ErrFenced},
		{"a renewal under a fence not yet given", renew(8, 1), statemachine.ErrFenced},
		{"a renewal for no time", renew(7, 0), statemachine.ErrInvalid},
		{"malformed input comes before fenced", renew(6, 0), statemachine.ErrInvalid},
		{"a write to a free lease under fence zero", statemachine.Lease{}.Fenced(0, noon), statemachine.ErrFenced},
		{"a write after release under the old fence", held.Release().Fenced(7, noon), statemachine.ErrFenced},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if !errors.Is(c.got, c.want) {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
	if err := claim(held, "b", 1); !strings.Contains(err.Error(), "by a until 2026-01-02T12:01:00Z") {
		t.Errorf("a held lease does not say by whom and until when: %v", err)
	}
	if got, _ := held.Renew(7, noon, time.Hour); got != (statemachine.Lease{Holder: "a", Fence: 7, Until: noon.Add(time.Hour)}) {
		t.Errorf("a renewal gives %v", got)
	}
}

// Random calls on one lease are compared with the obvious model: the fence of the last claim, its
// holder and its end.
func TestLeaseFenceGrowsAndNeverRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			lease  statemachine.Lease
			now    = noon
			fences = int64(0)
			owned  bool
			end    time.Time
		)
		duration := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second
		})
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) { now = now.Add(duration.Draw(t, "wait")) },
			"claim": func(t *rapid.T) {
				d := duration.Draw(t, "for")
				next, err := lease.Claim("a", now, d)
				if owned != errors.Is(err, statemachine.ErrHeld) {
					t.Fatalf("held %v, claim: %v", owned, err)
				}
				if err == nil {
					fences, owned, end = fences+1, true, now.Add(d)
				}
				lease = next
			},
			"renew": func(t *rapid.T) {
				d, fence := duration.Draw(t, "for"), rapid.Int64Range(0, fences+1).Draw(t, "fence")
				next, err := lease.Renew(fence, now, d)
				if ok := owned && fence == fences; ok != (err == nil) {
					t.Fatalf("held %v under %d, renewal under %d: %v", owned, fences, fence, err)
				}
				if err == nil {
					end = now.Add(d)
				}
				lease = next
			},
			"release": func(t *rapid.T) { lease, owned = lease.Release(), false },
			"": func(t *rapid.T) {
				owned = owned && now.Before(end)
				if lease.Held(now) != owned || lease.Fence != fences {
					t.Fatalf("%+v at %v: want held %v, fence %d", lease, now, owned, fences)
				}
			},
		})
	})
}
