package refresh

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Policy has the settings of the source under their names, and settings for numbers that the source
// has as constants. Start from [DefaultPolicy] or [ParsePolicy] and check with [Policy.Validate].
// All processes of a store must have the same Policy: a process with a smaller LockTTL, interval,
// delay or pause would take the times that another process set for times of a clock that was ahead
// ([Reconciled]). Stop all processes to change one of these.
type Policy struct {
	RefreshInterval          time.Duration // REFRESH_INTERVAL: between the refreshes of a watcher
	MaxRefreshRetries        int32         // MAX_REFRESH_RETRIES: attempts of a job
	RetryDelayBase           time.Duration // RETRY_DELAY_BASE: after the first failure; doubles up to a day
	PollInterval             time.Duration // POLL_INTERVAL: of an orchestrator
	WatcherTTL               time.Duration // WATCHER_TTL: a watcher lives so long at least
	WalletWorkerIdleTimeout  time.Duration // WALLET_WORKER_IDLE_TIMEOUT
	WalletWorkerPollInterval time.Duration // WALLET_WORKER_POLL_INTERVAL: between the rounds of a wallet
	MaxWalletProcesses       int32         // MAX_WALLET_PROCESSES: wallets that are served at once, over all processes
	APIURL                   string        // API_URL
	HTTPTimeout              time.Duration // HTTP_TIMEOUT: bounds each call of the host
	PostgresURL              string        // POSTGRES_URL; empty: the host has another store
	PostgresMinConnections   int32         // POSTGRES_MIN_CONNECTIONS
	PostgresMaxConnections   int32         // POSTGRES_MAX_CONNECTIONS
	// DURATION_RCV_TRANSFER: how long after its expiration a transfer that is no blind receive may still be paid
	DurationRcvTransfer time.Duration
	ProvisionalTTL      time.Duration // 180 s: life of the watcher of an invoice without asset
	LockTTL             time.Duration // 30 s, no name in the source: of the lock, and of slot and job leases
	RenewLock           bool          // the lock is renewed every LockTTL/3 while a call runs
	// Coalesce: a new sync or recovery job joins a pending one that was never tried. The sync
	// job of a provisional expiry never joins another.
	Coalesce     bool
	MaxHungPause time.Duration // 15 min: longest pause of a wallet whose calls time out
	MaxJobs      int           // 10: jobs of one round
}

// DefaultPolicy has the defaults of the source.
func DefaultPolicy() Policy {
	return Policy{
		RefreshInterval:          30 * time.Second,
		MaxRefreshRetries:        10,
		RetryDelayBase:           5 * time.Second,
		PollInterval:             time.Second,
		WatcherTTL:               24 * time.Hour,
		WalletWorkerIdleTimeout:  time.Minute,
		WalletWorkerPollInterval: 5 * time.Second,
		MaxWalletProcesses:       50,
		APIURL:                   "http://localhost:8000",
		HTTPTimeout:              time.Minute,
		PostgresMinConnections:   2,
		PostgresMaxConnections:   10,
		DurationRcvTransfer:      24 * time.Hour,
		ProvisionalTTL:           180 * time.Second,
		LockTTL:                  30 * time.Second,
		RenewLock:                true,
		MaxHungPause:             15 * time.Minute,
		MaxJobs:                  10,
	}
}

// setting is one name of the source's configuration.
type setting struct {
	name string
	d    *time.Duration
	n    *int32
	text *string
}

func (c *Policy) settings() []setting {
	return []setting{
		{name: "REFRESH_INTERVAL", d: &c.RefreshInterval},
		{name: "MAX_REFRESH_RETRIES", n: &c.MaxRefreshRetries},
		{name: "RETRY_DELAY_BASE", d: &c.RetryDelayBase},
		{name: "POLL_INTERVAL", d: &c.PollInterval},
		{name: "WATCHER_TTL", d: &c.WatcherTTL},
		{name: "WALLET_WORKER_IDLE_TIMEOUT", d: &c.WalletWorkerIdleTimeout},
		{name: "WALLET_WORKER_POLL_INTERVAL", d: &c.WalletWorkerPollInterval},
		{name: "MAX_WALLET_PROCESSES", n: &c.MaxWalletProcesses},
		{name: "API_URL", text: &c.APIURL},
		{name: "HTTP_TIMEOUT", d: &c.HTTPTimeout},
		{name: "POSTGRES_URL", text: &c.PostgresURL},
		{name: "POSTGRES_MIN_CONNECTIONS", n: &c.PostgresMinConnections},
		{name: "POSTGRES_MAX_CONNECTIONS", n: &c.PostgresMaxConnections},
		{name: "DURATION_RCV_TRANSFER", d: &c.DurationRcvTransfer},
	}
}

// ParsePolicy is [DefaultPolicy] with the settings that lookup, such as os.LookupEnv, finds
// under the source's names. Durations are seconds in decimal notation ("30", "0.5"). A name
// with an empty text is not set. The source has no name for its lock's 30 s nor for its 180 s.
// The settings from ProvisionalTTL on are not read from the environment: all processes of one
// store must agree on LockTTL, so it belongs to the program.
func ParsePolicy(lookup func(name string) (string, bool)) (Policy, error) {
	c := DefaultPolicy()
	for _, s := range c.settings() {
		text, ok := lookup(s.name)
		if !ok || text == "" {
			continue
		}
		var err error
		switch {
		case s.d != nil && strings.Trim(text, "0123456789.") == "":
			*s.d, err = time.ParseDuration(text + "s")
		case s.d != nil:
			err = strconv.ErrSyntax
		case s.n != nil:
			var n int64
			n, err = strconv.ParseInt(text, 10, 32)
			*s.n = int32(n)
		default:
			*s.text = text
		}
		if err != nil {
			return c, fmt.Errorf("%w: %s is %s: a number is needed", statemachine.ErrInvalid, s.name,
				statemachine.Bounded(strconv.Quote(text), 60))
		}
	}
	return c, c.Validate()
}

// longest bounds every duration of a Policy.
const longest = 10 * 365 * 24 * time.Hour

// Validate returns [statemachine.ErrInvalid] with the first setting that is out
// of bounds.
func (c Policy) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: refresh.Policy: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	named := append(c.settings(), setting{name: "ProvisionalTTL", d: &c.ProvisionalTTL},
		setting{name: "LockTTL", d: &c.LockTTL}, setting{name: "MaxHungPause", d: &c.MaxHungPause})
	for _, s := range named {
		switch {
		case s.d != nil && (*s.d < time.Millisecond || *s.d > longest || *s.d%time.Microsecond != 0):
			return bad("%s is %v, 1 ms to ten years in whole microseconds is possible", s.name, *s.d)
		case s.n != nil && (*s.n < 1 || *s.n > 10_000):
			return bad("%s is %d, 1 to 10000 is possible", s.name, *s.n)
		}
	}
	switch {
	case c.MaxJobs < 1 || c.MaxJobs > 1000:
		return bad("MaxJobs is %d, 1 to 1000 is possible", c.MaxJobs)
	case !c.RenewLock && c.HTTPTimeout > c.LockTTL:
		return bad("HTTP_TIMEOUT is %v: above LockTTL (%v) a call outlives a lock that is not renewed",
			c.HTTPTimeout, c.LockTTL)
	case c.WalletWorkerPollInterval+c.PollInterval > c.LockTTL*2/3: // a round shorter than LockTTL/3 is not renewed
		return bad("WALLET_WORKER_POLL_INTERVAL and POLL_INTERVAL are %v and %v: above two thirds of a slot's lease (%v) "+
			"it ends between two rounds", c.WalletWorkerPollInterval, c.PollInterval, c.LockTTL)
	case c.PostgresMinConnections > c.PostgresMaxConnections:
		return bad("POSTGRES_MIN_CONNECTIONS is %d, above POSTGRES_MAX_CONNECTIONS (%d)",
			c.PostgresMinConnections, c.PostgresMaxConnections)
	case c.APIURL == "":
		return bad("API_URL is empty")
	}
	return nil
}

// RetryDelay is how long a job waits after failure n, which counts from 1: RETRY_DELAY_BASE x
// 2^(n-1), at most a day.
func (c *Policy) RetryDelay(n int32) time.Duration {
	return statemachine.Backoff{Base: c.RetryDelayBase, Cap: max(24*time.Hour, c.RetryDelayBase)}.Delay(int(n)-1, 0)
}

// HungPause is how long a wallet rests after the k-th round in a row in which a call timed out,
// k from 1: REFRESH_INTERVAL x 2^(k-1), at most MaxHungPause.
func (c *Policy) HungPause(k int32) time.Duration {
	return statemachine.Backoff{Base: c.RefreshInterval, Cap: c.MaxHungPause}.Delay(int(k)-1, 0)
}
