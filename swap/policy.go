package swap

import (
	"fmt"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
)

// Policy is what a host may choose. Start from [DefaultPolicy] and check with
// [Policy.Validate]. Names in parentheses are those of the source's
// configuration.
type Policy struct {
	// Deposits are the fees of USDC to USDD, Credits of USDD to USDC.
	Deposits, Credits Fees
	// USDCQuarantineAccount gets the amounts of USDC that can neither be paid nor refunded (USDC_QUARANTINE_ACCOUNT).
	USDCQuarantineAccount string
	// USDDQuarantineAccount gets the amounts of USDD that can neither be paid nor refunded
	// (NEXUS_USDD_QUARANTINE_ACCOUNT).
	USDDQuarantineAccount string
	// OwnAccounts are the accounts of the house, quarantine accounts included. No swap pays them, and a transfer from
	// one of them is no swap. An account of Nexus is compared in one form ([statemachine.HashForm]), here and in
	// NoRefund.
	OwnAccounts []string
	// NoRefund are senders, on both chains, that nothing is sent back to, such as the hot wallet of an exchange, which
	// cannot tell its customers' transfers apart by it. A refund to one of them goes to quarantine instead, whoever
	// orders the refund.
	NoRefund []string
	// USDC and USDD are the mint and the token that a sighting must name.
	USDC, USDD string

	// RefundTimeout is how long a memo that cannot be fetched, or a mapping that is missing, is waited for before the
	// item is refunded (REFUND_TIMEOUT_SEC).
	RefundTimeout time.Duration
	// ConfirmTimeout is how long after its commit an outbound that was answered as done must be missing before a
	// complete negative moves its item on (USDC_CONFIRM_TIMEOUT_SEC).
	ConfirmTimeout time.Duration
	// StaleAfter is the age at which a deposit that nobody could finish is put aside (STALE_DEPOSIT_QUARANTINE_SEC).
	StaleAfter time.Duration
	// MaxAttempts bounds the attempts of one action on one item (MAX_ACTION_ATTEMPTS).
	MaxAttempts int32
	// Cooldown is the pause between two intents of one action on one item (ACTION_RETRY_COOLDOWN_SEC).
	Cooldown time.Duration
	// DeferFor is the pause after an intent that was not tried. It doubles with each further deferral in a row, up to
	// [MaxDeferral].
	DeferFor time.Duration
	// OverdueAfter is how long an item that is not finished and not held may be in one state before it is overdue,
	// whatever it waits for and however often its work is tried meanwhile. Where a memo or a mapping is waited for, the
	// time counts from RefundTimeout on, since until then the wait ends by itself. Default: 30 minutes.
	OverdueAfter time.Duration
	// LookEvery is the pause between two look-ups.
	LookEvery time.Duration
	// Lease is how long a worker has an item without renewal.
	Lease time.Duration
	// CallTimeout is how long one call to a node may take.
	CallTimeout time.Duration
	// OnTimeout is what follows when a payment cannot land any more.
	OnTimeout OnTimeout
	// CreditConfirmations is the number of confirmations from which on a credit counts; at least 2.
	CreditConfirmations uint64
	// FinalConfirmations is the number of confirmations from which on an outbound on Nexus is final.
	FinalConfirmations uint64

	// WaterlineMargin is by how much the clocks of the store and of a chain may differ: a waterline stays so far
	// behind what was read, and a look-up reaches so far further back.
	WaterlineMargin time.Duration
	// LookBack is how far back a scan for inbound transactions reads at most.
	LookBack time.Duration
	// GoneAfter is how long the waterline waits for a credit that has vanished. It is also by how much later than the
	// first block of a credit a reorganisation can have mined it again.
	GoneAfter time.Duration
}

// Fees of one direction, in units of 10^-6. What is paid is
// amount - Flat - amount x BasisPoints / 10000, floored to a unit, so the fee
// rounds up.
type Fees struct {
	BasisPoints uint64 // at most 10000
	Flat        uint64 // in base units, kept of each swap
	Minimum     uint64 // an amount up to it is kept as fee
	Refund      uint64 // flat fee of a refund
	Quarantine  uint64 // flat fee of the move to the quarantine account
}

// OnTimeout is what follows a complete negative of a payment after
// [Policy.ConfirmTimeout].
// Values: OnTimeoutRefund, OnTimeoutQuarantine, OnTimeoutHold.
type OnTimeout = statemachine.Enum[onTimeout]

const (
	OnTimeoutRefund OnTimeout = iota + 1
	OnTimeoutQuarantine
	OnTimeoutHold
)

type onTimeout struct{}

func (onTimeout) Kind() string    { return "time-out policy" }
func (onTimeout) Names() []string { return onTimeoutNames }

var onTimeoutNames = []string{"refund", "quarantine", "hold"}

// DefaultPolicy returns the values of the source. The quarantine accounts have no default: set them.
func DefaultPolicy() Policy {
	return Policy{
		Deposits:            Fees{BasisPoints: 10, Flat: 100_000, Minimum: 100_101, Refund: 100_000, Quarantine: 100_000},
		Credits:             Fees{BasisPoints: 10, Flat: 500_000, Minimum: 500_501, Refund: 1_000},
		USDC:                "USDC",
		USDD:                "USDD",
		RefundTimeout:       time.Hour,
		ConfirmTimeout:      10 * time.Minute,
		StaleAfter:          24 * time.Hour,
		MaxAttempts:         3,
		Cooldown:            5 * time.Minute,
		DeferFor:            time.Minute,
		OverdueAfter:        30 * time.Minute,
		LookEvery:           30 * time.Second,
		Lease:               5 * time.Minute,
		CallTimeout:         30 * time.Second,
		OnTimeout:           OnTimeoutRefund,
		CreditConfirmations: 2,
		FinalConfirmations:  10,
		WaterlineMargin:     2 * time.Minute,
		LookBack:            7 * 24 * time.Hour,
		GoneAfter:           24 * time.Hour,
	}
}

// Validate returns [statemachine.ErrInvalid] with the first limit that is out
// of bounds.
func (p Policy) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: swap policy: %s", statemachine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{
		{"RefundTimeout", p.RefundTimeout}, {"ConfirmTimeout", p.ConfirmTimeout}, {"StaleAfter", p.StaleAfter}, {"Cooldown", p.Cooldown},
		{"DeferFor", p.DeferFor}, {"OverdueAfter", p.OverdueAfter}, {"LookEvery", p.LookEvery}, {"Lease", p.Lease},
		{"CallTimeout", p.CallTimeout},
		{"WaterlineMargin", p.WaterlineMargin}, {"LookBack", p.LookBack}, {"GoneAfter", p.GoneAfter},
	} {
		if d.d <= 0 || d.d > 366*24*time.Hour {
			return bad("%s is %v, it must be positive and at most a year", d.name, d.d)
		}
	}
	for _, a := range []struct{ name, text string }{
		{"USDCQuarantineAccount", p.USDCQuarantineAccount}, {"USDDQuarantineAccount", p.USDDQuarantineAccount},
		{"USDC", p.USDC}, {"USDD", p.USDD},
	} {
		if !word(a.text, MaxAddress) {
			return bad("%s is missing or malformed", a.name)
		}
	}
	for _, list := range []struct {
		name string
		all  []string
	}{{"OwnAccounts", p.OwnAccounts}, {"NoRefund", p.NoRefund}} {
		for _, account := range list.all {
			if !word(account, MaxAddress) {
				return bad("%s has %.50q, which can be no address", list.name, account)
			}
		}
	}
	for _, f := range []Fees{p.Deposits, p.Credits} {
		if f.BasisPoints > 10_000 || max(f.Flat, f.Minimum, f.Refund, f.Quarantine) > MaxAmount {
			return bad("fees are at most 10000 basis points and %d units", uint64(MaxAmount))
		}
	}
	switch {
	case p.MaxAttempts < 1 || p.MaxAttempts > MaxIntents/10:
		return bad("MaxAttempts is %d, 1 to %d are possible", p.MaxAttempts, MaxIntents/10)
	case !p.OnTimeout.Valid():
		return bad("OnTimeout is %v", p.OnTimeout)
	case p.CreditConfirmations < 2 || p.FinalConfirmations < 1:
		return bad("a credit needs at least 2 confirmations and an outbound 1")
	case alike(Nexus, p.USDCQuarantineAccount, p.USDDQuarantineAccount):
		return bad("the two quarantine accounts are on different chains")
	}
	return nil
}

// own reports whether an account of a chain belongs to the house.
func (p *Policy) own(c Chain, account string) bool {
	return alike(c, account, p.USDCQuarantineAccount) || alike(c, account, p.USDDQuarantineAccount) || lists(p.OwnAccounts, c, account)
}

// payable reports whether an action may pay an account of a chain.
func (p *Policy) payable(a Action, c Chain, to string) bool {
	return word(to, MaxAddress) && (a == Quarantine || !p.own(c, to)) && (a != Refund || !lists(p.NoRefund, c, to))
}

// lists reports whether an account of a chain is in a list of accounts of both.
func lists(accounts []string, c Chain, account string) bool {
	return slices.ContainsFunc(accounts, func(a string) bool { return alike(c, a, account) })
}

// token is what moves on a chain.
func (p *Policy) token(c Chain) string {
	if c == Solana {
		return p.USDC
	}
	return p.USDD
}

// fees of a direction.
func (p *Policy) fees(d Direction) *Fees {
	if d == ToUSDD {
		return &p.Deposits
	}
	return &p.Credits
}
