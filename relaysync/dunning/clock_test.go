package dunning_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
)

// A biller stores its intent and is slow. The store's clock jumps, so that another
// biller's look-up is taken for complete, or its look-up comes early; the tenant chooses
// another way to pay meanwhile, or owes less. Then the first one charges. Whatever the
// clock does, one charge is made.
func TestAClockThatJumpsWhileAChargeIsUnderWay(t *testing.T) {
	arrived := policy.Hold + policy.Linger
	host := func(d time.Duration) dunning.By { return by(dunning.Host, after(d)) }
	changes := map[string]func(time.Duration) []dunning.Event{
		"nothing": func(time.Duration) []dunning.Event { return nil },
		"method": func(d time.Duration) []dunning.Event {
			return []dunning.Event{dunning.MethodSet{By: host(d), Method: dunning.NWC}}
		},
		"by hand and back": func(d time.Duration) []dunning.Event {
			return []dunning.Event{dunning.MethodSet{By: host(d), Method: dunning.Manual}, dunning.MethodSet{By: host(d), Method: dunning.NWC}}
		},
		"amount": func(d time.Duration) []dunning.Event {
			return []dunning.Event{dunning.Amended{By: host(d), Invoice: "i1", Amount: 50}}
		},
	}
	for what, change := range changes {
		for _, jumps := range [][]time.Duration{{0}, {arrived - time.Second}, {arrived}, {arrived + time.Second}, {8 * time.Minute},
			{day}, {10 * day}, {-time.Second}, {-hour}, {-day},
			{-day + arrived - time.Second}, {-day + arrived - 2*time.Second}, {-10 * day}, {8 * time.Minute, 16 * time.Minute,
				24 * time.Minute}, {-2 * day, 0, -2 * day, day, -2 * day}} {
			for _, changed := range []bool{false, true} { // before the first look-up, or behind it
				x, taken, looked := open(t, dunning.Stripe), map[string]bool{}, false
				x.jumps = true
				x.do(intended(0, "i1/0"))
				say := func(d time.Duration) {
					for _, ev := range change(d) {
						if c, err := x.p.Apply(x.a, ev); err == nil { // an amount is not lowered while a charge may arrive
							x.a = c.New
						}
					}
				}
				for n, d := range jumps {
					if changed && n == 0 {
						say(d)
					}
					if do := x.p.Next(x.a, after(d)).Action; do != nil && do.Do == dunning.DoLookUp && !taken[do.Method.String()+do.Key] {
						looked = true
						x.do(asked(d, d, do.Key)) // that is the truth
					}
					say(d)
					if do := x.p.Next(x.a, after(d)).Action; do != nil && do.Do == dunning.DoCharge && n == len(jumps)-1 {
						x.do(dunning.ChargeIntended{By: by(dunning.Biller, after(d)), Invoice: "i1", Key: do.Key})
						taken[do.Method.String()+do.Key] = true // its answer is lost
					} else if do != nil && do.Do == dunning.DoCharge {
						x.do(dunning.ChargeIntended{By: by(dunning.Biller, after(d)), Invoice: "i1", Key: do.Key}) // and it sleeps as well
					}
				}
				if first := jumps[0]; len(jumps) == 1 && looked != (first >= arrived || arrived-first > day+time.Second) {
					t.Errorf("a jump of %v: looked up %v", first, looked)
				}
				taken["stripei1/0"] = true
				if len(taken) != 1 {
					t.Errorf("%s (%v), jumps of %v: %v were charged", what, changed, jumps, taken)
				}
				last := jumps[len(jumps)-1] + time.Second
				x.do(answered(last, "i1/0", statemachine.Done))
				if i := x.a.Invoices[0]; i.PaidKey != "i1/0" || i.Overpayments() != nil {
					t.Errorf("%s, jumps of %v: %+v", what, jumps, i)
				}
			}
		}
	}
}

// billed lets days pass, with a step each hour, and says when each thing was done, by a
// right clock. clock is by how much the store's is ahead at a time.
func billed(x *account, days int, clock func(hour int) time.Duration) (done []string) {
	return billedFrom(x, 0, days*24, clock)
}

// billedFrom is billed from an hour to another one.
func billedFrom(x *account, from, to int, clock func(hour int) time.Duration) (done []string) {
	x.jumps = true
	for h := from; h < to; h++ {
		at := time.Duration(h)*hour + clock(h)
		if due, ok := x.a.Tenant.Due(); !ok || due.After(after(at)) && !x.p.Overslept(&x.a.Tenant, after(at)) {
			continue
		}
		x.do(dunning.StepBegun{By: by(dunning.Biller, after(at))})
		for {
			do := x.p.Next(x.a, after(at)).Action
			if do == nil {
				break
			}
			done = append(done, fmt.Sprint(do.Do, " ", time.Duration(h)*hour))
			b := by(dunning.Biller, after(at))
			switch do.Do {
			case dunning.DoCharge:
				x.do(dunning.ChargeIntended{By: b, Invoice: "i1", Key: do.Key}, dunning.ChargeAnswered{By: b, Invoice: "i1", Key: do.Key,
					Outcome: statemachine.Failed})
			case dunning.DoNotify:
				x.do(dunning.NoticeIntended{By: b, Notice: do.Key}, dunning.NoticeAnswered{By: b, Notice: do.Key, Outcome: statemachine.Done})
			case dunning.DoChurn:
				x.do(dunning.Churned{By: b})
			default:
				x.t.Fatalf("%v", do.Do)
			}
		}
	}
	return done
}

// An invoice of a clock that was ahead is charged, reminded of and churned for in time by
// the right one: as if it had been issued when the right one first saw it.
func TestAnInvoiceOfAClockThatWasAhead(t *testing.T) {
	for _, r := range []struct {
		ahead time.Duration
		late  time.Duration // how much later everything is than it would have been
	}{
		{0, 0}, {hour, hour}, {2 * hour, 2 * hour}, {2*hour + time.Second, 0}, {5 * day, 0}, {10 * day, 0}, {3000 * day, 0},
	} {
		x := &account{t: t, p: policy}
		x.p.Grace, x.p.NoticeEvery = 20*day, 12*day
		x.do(dunning.Enrolled{By: by(dunning.Host, after(r.ahead)), Tenant: "tenant", Method: dunning.Manual},
			dunning.Issued{By: by(dunning.Host, after(r.ahead)), Invoice: "i1", Amount: 100})
		var names []string
		for _, a := range dunning.Alerts(x.statsAt(0), dunning.DefaultThresholds()) {
			names = append(names, a.Name)
		}
		if told := slices.Contains(names, "tenant ahead"); told != (r.ahead > 2*hour-hour) { // it is due an hour behind its issue
			t.Errorf("%v ahead: alerts %v", r.ahead, names)
		}
		got := billed(x, 30, func(int) time.Duration { return 0 })
		want := []string{fmt.Sprint("notify ", day+r.late), fmt.Sprint("notify ", 13*day+r.late), fmt.Sprint("churn ", 20*day+r.late)}
		if !slices.Equal(got, want) {
			t.Errorf("%v ahead: %v, expected %v", r.ahead, got, want)
		}
	}
	x := open(t, dunning.Stripe) // charged at once
	x.a.Invoices[0].CreatedAt, x.a.Tenant.DueAt = after(10*day), after(10*day)
	x.do(dunning.StepBegun{By: by(dunning.Biller, after(0))})
	x.expect(0, "charge i1")
	if s := x.statsAt(0); !s.OldestOwed.Equal(t0) || !s.Latest.Equal(after(policy.Hold)) {
		t.Errorf("%+v", s)
	}
}

func (x *account) statsAt(d time.Duration) dunning.Stats {
	s := dunning.Stats{At: after(d), Tenants: map[dunning.TenantStatus]int64{}}
	s.Add(&x.a)
	return s
}

// It can be issued again with its right date, and with no date of the future.
func TestIssuedAgainWithTheRightDate(t *testing.T) {
	x := &account{t: t, p: policy}
	issued := func(d, created time.Duration) dunning.Issued {
		return dunning.Issued{By: by(dunning.Host, after(d)), Invoice: "i1", Amount: 100, CreatedAt: after(created)}
	}
	x.do(dunning.Enrolled{By: by(dunning.Host, t0), Tenant: "tenant", Method: dunning.Manual})
	x.refused(statemachine.ErrInvalid, issued(0, 2*hour+time.Second))
	x.do(issued(0, 2*hour)) // a clock of a host that is a little ahead
	x.nothing(issued(0, 2*hour))
	x.refused(statemachine.ErrIllegal, issued(0, hour))
	x.a.Invoices = nil
	x.do(issued(10*day, 10*day))
	x.refused(statemachine.ErrIllegal, issued(0, 11*day))
	x.do(issued(0, -hour))
	x.nothing(issued(0, -hour))
	x.do(dunning.StepBegun{By: by(dunning.Biller, t0)})
	x.expect(23*hour-time.Second, "wait 1s")
	x.expect(23*hour, "notify i1")
	x.do(issued(0, -2*hour)) // better known
	x.expect(22*hour, "notify i1")
	x.nothing(issued(11*day, -2*hour))
	x.refused(statemachine.ErrIllegal, issued(11*day, 0)) // it lies in no future now
}

// inTime says whether each thing was done when it was due by a right clock, by at most so
// much sooner or later.
func inTime(got, want []string, early, late time.Duration) bool {
	return slices.EqualFunc(got, want, func(got, want string) bool {
		do, at, _ := strings.Cut(got, " ")
		due, when, _ := strings.Cut(want, " ")
		x, err1 := time.ParseDuration(at)
		y, err2 := time.ParseDuration(when)
		return err1 == nil && err2 == nil && do == due && x >= y-early && x <= y+late
	})
}

// A clock that is wrong for a while, or goes wrong and right again in any order, reminds
// and churns nobody sooner, and later by three of Policy.Tick for each jump at most.
func TestAClockThatWasWrong(t *testing.T) {
	want := []string{"notify 24h0m0s", "churn 168h0m0s"}
	for _, wrong := range []time.Duration{hour, 2 * hour, 2*hour + time.Second, 3 * hour, 8 * day, 400 * day, -hour, -2 * hour,
		-2*hour - time.Second, -3 * hour, -8 * day, -400 * day} {
		early := max(0, wrong) // so little counts as time that passed
		if wrong > 2*policy.Tick {
			early = 0
		}
		for _, hours := range []int{1, 2, 30} {
			got := billed(open(t, dunning.Manual), 10, func(h int) time.Duration {
				if h >= 2 && h < 2+hours {
					return wrong
				}
				return 0
			})
			if !inTime(got, want, early, 6*policy.Tick) {
				t.Errorf("%v ahead for %d hours: %v, expected %v", wrong, hours, got, want)
			}
		}
	}
	type clock = map[int]time.Duration // by how much it is ahead from an hour on
	for name, r := range map[string]clock{
		"behind at the issue":                       {0: -7 * day, 1: 0},
		"far behind at the issue":                   {0: -10 * day, 1: 0},
		"behind at the issue, and for a day":        {0: -10 * day, 24: 0},
		"behind at the issue, by more than a grace": {0: -400 * day, 2: 0},
		"behind at the issue, then ahead":           {0: -5 * day, 2: 6 * day, 4: 0},
		"ahead, behind, right":                      {0: 10 * day, 1: -5 * day, 2: 0},
		"ahead, behind, right, each for a day":      {0: 10 * day, 24: -5 * day, 48: 0},
		"behind, further behind, right":             {0: -5 * day, 2: -8 * day, 4: 0},
		"behind, right, behind, right":              {0: -5 * day, 2: 0, 4: -5 * day, 6: 0},
		"ahead each night":                          {3: 10 * day, 4: 0, 27: 10 * day, 28: 0, 51: 10 * day, 52: 0},
		"behind each night":                         {3: -10 * day, 4: 0, 27: -10 * day, 28: 0, 51: -10 * day, 52: 0},
		"two clocks that differ":                    {0: -3 * day, 1: 0, 2: -3 * day, 3: 0, 4: -3 * day, 5: 0, 6: -3 * day, 7: 0},
	} {
		for _, said := range []bool{false, true} { // the host says something before each jump is seen
			ahead := func(h int) (at time.Duration) {
				for from := range h + 1 {
					if d, ok := r[from]; ok {
						at = d
					}
				}
				return at
			}
			x := &account{t: t, p: policy, jumps: true}
			first := by(dunning.Host, after(ahead(0)))
			x.do(dunning.Enrolled{By: first, Tenant: "tenant", Method: dunning.Manual}, dunning.Issued{By: first, Invoice: "i1", Amount: 100})
			got := billed(x, 12, func(h int) time.Duration {
				if _, ok := r[h]; ok && h > 0 && said {
					x.do(dunning.Provisioned{By: by(dunning.Host, after(time.Duration(h)*hour+ahead(h)))})
				}
				return ahead(h)
			})
			// Each step of the clock costs the age three ticks at most. Where the host says
			// something first, it may cost what has passed until then, and of what passes
			// after the last step of the clock nothing.
			late := time.Duration(3*len(r)) * policy.Tick
			if said {
				late += time.Duration(slices.Max(slices.Collect(maps.Keys(r)))) * hour
			}
			if !inTime(got, want, 0, late) {
				t.Errorf("%s, said %v: %v, expected %v", name, said, got, want)
			}
		}
	}
}

// For days no biller comes, which a jump of the clock looks like. No age grows meanwhile:
// the reminder comes as long before the churn as ever.
func TestNoBillerForDays(t *testing.T) {
	right := func(int) time.Duration { return 0 }
	for _, r := range []struct {
		from, to int // hours
		want     []string
	}{
		{0, 2, []string{"notify 24h0m0s", "churn 168h0m0s"}}, // a step that is late by a tick has been seen
		{1, 240, []string{"notify 263h0m0s", "churn 407h0m0s"}},
		{20, 240, []string{"notify 244h0m0s", "churn 388h0m0s"}},
		{100, 240, []string{"notify 24h0m0s", "churn 308h0m0s"}},
		{166, 240, []string{"notify 24h0m0s", "churn 242h0m0s"}},
	} {
		x := open(t, dunning.Manual)
		got := append(billedFrom(x, 0, r.from, right), billedFrom(x, r.to, 500, right)...)
		if !inTime(got, r.want, 0, 2*policy.Tick) {
			t.Errorf("away from %d to %d: %v, expected %v", r.from, r.to, got, r.want)
		}
	}
}

// What the host says meanwhile hides no jump; a reinstatement, and a message, of a clock
// that was ahead.
func TestWhatIsSaidMeanwhile(t *testing.T) {
	x := open(t, dunning.Manual)
	x.jumps = true
	x.do(dunning.StepBegun{By: by(dunning.Biller, after(-8*day))}, dunning.Provisioned{By: by(dunning.Host, after(hour))})
	x.refused(statemachine.ErrIllegal, dunning.Churned{By: by(dunning.Biller, after(hour))})
	x.do(dunning.StepBegun{By: by(dunning.Biller, after(hour))})
	x.jumps = false
	x.expect(hour, "wait 1h0m0s")
	x.expect(7*day+hour-time.Second, "notify i1")
	x.expect(7*day+hour, "churn")
	// A reinstatement, and a message, of a clock that was ahead.
	x = open(t, dunning.Manual)
	x.p.NoticeEvery = 3 * day
	x.do(dunning.Churned{By: by(dunning.Biller, after(10*day))}, dunning.Reinstated{By: by(dunning.Host, after(10*day))})
	if got, want := billed(x, 10, func(int) time.Duration { return 0 }), []string{"notify 24h0m0s", "notify 96h0m0s",
		"churn 168h0m0s"}; !slices.Equal(got, want) {
		t.Errorf("reinstated by a clock that was ahead: %v, expected %v", got, want)
	}
	x = open(t, dunning.Manual)
	x.p.Grace, x.p.NoticeEvery = 30*day, 3*day
	x.notify(10 * day)
	if got, want := billed(x, 6, func(int) time.Duration { return 0 }), []string{"notify 72h0m0s"}; !slices.Equal(got, want) {
		t.Errorf("reminded by a clock that was ahead: %v, expected %v", got, want)
	}
}

// A clock that is ahead from step to step, as one that goes too fast is, churns: somebody
// is told, as long as the right clock knows it, and reinstates.
func TestAChurnByAClockThatWasAhead(t *testing.T) {
	x := open(t, dunning.Manual)
	x.do(dunning.Churned{By: by(dunning.Biller, after(8*day))})
	for d, want := range map[time.Duration]int{0: 1, 8*day - 2*hour - time.Second: 1, 8*day - 2*hour: 0} {
		got := dunning.Alerts(x.statsAt(d), dunning.DefaultThresholds())
		if len(got) != want || want == 1 && got[0].Name != "tenant ahead" {
			t.Errorf("after %v: %v", d, got)
		}
	}
	x.do(dunning.Reinstated{By: by(dunning.Host, after(hour))})
	x.expect(7*day+hour-time.Second, "notify i1")
	x.expect(7*day+hour, "churn")
}
