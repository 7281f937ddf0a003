package refresh_test

import (
	"errors"
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
)

// The source's section "Configuration", with its defaults.
func TestDefaults(t *testing.T) {
	c, err := refresh.ParsePolicy(func(string) (string, bool) { return "", false })
	if err != nil || c != config {
		t.Fatal(err, c)
	}
	source := map[string]string{
		"REFRESH_INTERVAL": "30", "MAX_REFRESH_RETRIES": "10", "RETRY_DELAY_BASE": "5", "POLL_INTERVAL": "1", "WATCHER_TTL": "86400",
		"WALLET_WORKER_IDLE_TIMEOUT": "60", "WALLET_WORKER_POLL_INTERVAL": "5", "MAX_WALLET_PROCESSES": "50",
		"API_URL": "http://localhost:8000", "HTTP_TIMEOUT": "60", "POSTGRES_MIN_CONNECTIONS": "2", "POSTGRES_MAX_CONNECTIONS": "10",
		"DURATION_RCV_TRANSFER": "86400", "POSTGRES_URL": "",
	}
	asked := map[string]bool{}
	c, err = refresh.ParsePolicy(func(name string) (string, bool) {
		asked[name] = true
		text, ok := source[name]
		return text, ok
	})
	if err != nil || c != config {
		t.Errorf("%v: %+v", err, c)
	}
	for name := range source {
		if !asked[name] {
			t.Errorf("%s is not read", name)
		}
	}
	if len(asked) != len(source) {
		t.Errorf("read %v", asked)
	}
	c, err = refresh.ParsePolicy(func(name string) (string, bool) {
		return map[string]string{"REFRESH_INTERVAL": "0.5", "MAX_WALLET_PROCESSES": "7", "POSTGRES_URL": "postgresql://db"}[name], true
	})
	if err != nil || c.RefreshInterval != 500*time.Millisecond || c.MaxWalletProcesses != 7 || c.PostgresURL != "postgresql://db" {
		t.Errorf("%v: %+v", err, c)
	}
	for name, text := range map[string]string{"REFRESH_INTERVAL": "30s", "WATCHER_TTL": "-1", "POLL_INTERVAL": "1e3", "HTTP_TIMEOUT": "0",
		"RETRY_DELAY_BASE": ".", "MAX_REFRESH_RETRIES": "1.5", "MAX_WALLET_PROCESSES": "99999999999", "POSTGRES_MIN_CONNECTIONS": "11",
		"DURATION_RCV_TRANSFER": "9999999999999"} {
		_, err := refresh.ParsePolicy(func(asked string) (string, bool) { return text, asked == name })
		if !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s=%s: %v", name, text, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*refresh.Policy){
		"no interval":                        func(c *refresh.Policy) { c.RefreshInterval = 0 },
		"an enormous interval":               func(c *refresh.Policy) { c.RefreshInterval = 1 << 62 },
		"finer than a microsecond":           func(c *refresh.Policy) { c.RefreshInterval++ },
		"no retries":                         func(c *refresh.Policy) { c.MaxRefreshRetries = 0 },
		"no processes":                       func(c *refresh.Policy) { c.MaxWalletProcesses = 0 },
		"too many processes":                 func(c *refresh.Policy) { c.MaxWalletProcesses = 10_001 },
		"no jobs":                            func(c *refresh.Policy) { c.MaxJobs = 0 },
		"no lock":                            func(c *refresh.Policy) { c.LockTTL = 0 },
		"no life":                            func(c *refresh.Policy) { c.ProvisionalTTL = 0 },
		"no pause":                           func(c *refresh.Policy) { c.MaxHungPause = 0 },
		"a time-out above an unrenewed lock": func(c *refresh.Policy) { c.RenewLock = false },
		"a slot that ends between rounds":    func(c *refresh.Policy) { c.WalletWorkerPollInterval = 19*time.Second + time.Microsecond },
		"no URL":                             func(c *refresh.Policy) { c.APIURL = "" },
	} {
		c := config
		change(&c)
		if err := c.Validate(); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, change := range []func(*refresh.Policy){
		func(c *refresh.Policy) {},
		func(c *refresh.Policy) { c.RenewLock, c.HTTPTimeout = false, 30*time.Second },
		func(c *refresh.Policy) { c.LockTTL = time.Minute; c.RenewLock = false },
		func(c *refresh.Policy) { c.WalletWorkerPollInterval = 19 * time.Second },
	} {
		c := config
		change(&c)
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
	if err := (refresh.Policy{}).Validate(); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error("the zero value is closed")
	}
}

func TestAlerts(t *testing.T) {
	none := refresh.Stats{At: t0, OldestLive: after(-time.Hour), OldestJob: after(-time.Minute), OldestWatcher: after(-time.Minute),
		OldestLapse: after(-time.Minute), OldestExpiry: after(-time.Minute), Newest: after(time.Minute),
		Failed: []refresh.WalletCount{{XpubVan: "a", Count: 1}}}
	limits := refresh.Thresholds{JobAge: time.Hour, JobWait: time.Minute, LeaseWait: time.Minute, TickWait: time.Minute,
		ExpiryWait: time.Minute, Ahead: time.Minute, FailedJobs: 1}
	if got := refresh.Alerts(none, limits); len(got) != 0 {
		t.Error(got)
	}
	all := refresh.Stats{At: t0, OldestLive: after(-time.Hour - 1), OldestJob: after(-time.Minute - 1), OldestWatcher: after(-time.Minute - 1),
		OldestLapse: after(-time.Minute - 1), OldestExpiry: after(-time.Minute - 1), Newest: after(time.Minute + 1), NotEnqueued: 1,
		ExpiredOpen: 1, Refused: 1, Hung: 1,
		Failed: []refresh.WalletCount{{XpubVan: "a", Count: 3}, {XpubVan: "b", Count: 2}}}
	var names []string
	for _, a := range refresh.Alerts(all, limits) {
		names = append(names, a.Name)
	}
	want := []string{"job age", "job wait", "lease expired", "tick wait", "past expiry", "refresh ahead",
		"expired open", "cancellation refused", "hung", "not enqueued", "failed jobs", "failed jobs"}
	if len(names) != len(want) {
		t.Fatal(names)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("%s, want %s", names[i], want[i])
		}
	}
	if got := refresh.Alerts(all, refresh.Thresholds{NotEnqueued: 1, ExpiredOpen: 1, Refused: 1, Hung: 1, FailedJobs: 3}); len(got) != 0 {
		t.Error(got)
	}
}
