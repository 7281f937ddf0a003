package withdrawal

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// ApprovalPolicy decides how many people must agree to a request. It is pure:
// the host brings the sums. Disabled, or without limits for the asset, every
// request needs one approval.
//
// Limits are in the asset's human unit, since one asset has different decimals
// on different chains.
type ApprovalPolicy struct {
	Enabled bool                         // limits count; otherwise every request needs one approval
	Assets  map[uuid.UUID]ApprovalLimits // by Request.Asset; only read
}

// ApprovalLimits of one asset.
type ApprovalLimits struct {
	// Automatic: an amount up to and including it needs nobody.
	Automatic decimal.Decimal
	// Dual: an amount above it needs two people; exactly Dual needs one. Zero:
	// one is always enough.
	Dual decimal.Decimal
	// Windows bound what one user gets without a person.
	Windows []Window
	// ListedOnly: only an address on the user's allow-list needs nobody.
	ListedOnly bool
}

// Window bounds the sum of a user's requests for one asset over a time.
type Window struct {
	Length time.Duration
	Max    decimal.Decimal // the sum with the new request may reach it
}

// Usage is what the host reads for a submission, under a lock of the user.
type Usage struct {
	// Sums are the amounts of the user's earlier requests for the asset, one
	// per window in their order: see [UsageOf] for which requests count.
	Sums []decimal.Decimal `json:",omitempty"`
	// Listed: the address is on the user's allow-list.
	Listed bool `json:",omitempty"`
}

// Approvals returns how many people must approve, 0 to 2, and why it is not 0.
func (a ApprovalPolicy) Approvals(asset uuid.UUID, amount decimal.Decimal, u Usage) (needed int32, reason string) {
	limits, ok := a.Assets[asset]
	switch {
	case !a.Enabled:
		return 1, "no automatic approval"
	case !ok:
		return 1, "no limits for this asset"
	case limits.Dual.IsPositive() && amount.GreaterThan(limits.Dual):
		return 2, "above the limit for one approver"
	case amount.GreaterThan(limits.Automatic):
		return 1, "above the automatic limit"
	case limits.ListedOnly && !u.Listed:
		return 1, "address is not on the allow-list"
	case len(u.Sums) != len(limits.Windows):
		return 1, "sums of the windows are not known"
	}
	for i, w := range limits.Windows {
		if u.Sums[i].Add(amount).GreaterThan(w.Max) {
			return 1, "sum over " + w.Length.String() + " exceeded"
		}
	}
	return 0, ""
}

// Windows are those of an asset; none while approval is off.
func (a *ApprovalPolicy) Windows(asset uuid.UUID) []Window {
	if !a.Enabled {
		return nil
	}
	return a.Assets[asset].Windows
}

// UsageOf sums what earlier requests count against the windows of one
// submission at now: those of the same user and asset with
// now - Length <= CreatedAt < now, whatever their status but rejected,
// cancelled or failed. It defines what an adapter's query must return.
func UsageOf(earlier []Request, user, asset uuid.UUID, windows []Window, now time.Time, listed bool) Usage {
	u := Usage{Listed: listed}
	for _, w := range windows {
		sum := decimal.Zero
		for i := range earlier {
			if r := &earlier[i]; r.User == user && r.Asset == asset && r.CountsForWindows() &&
				!r.CreatedAt.Before(now.Add(-w.Length)) && r.CreatedAt.Before(now) {
				sum = sum.Add(r.Amount)
			}
		}
		u.Sums = append(u.Sums, sum)
	}
	return u
}

// CountsForWindows reports whether the request's status counts in [UsageOf].
func (r *Request) CountsForWindows() bool {
	switch r.Status {
	case RequestRejected, RequestCancelled, RequestFailed:
		return false
	}
	return true
}

func (a *ApprovalPolicy) validate() error {
	for asset, l := range a.Assets {
		if l.Automatic.IsNegative() || l.Dual.IsNegative() || l.Dual.IsPositive() && l.Dual.LessThan(l.Automatic) {
			return fmt.Errorf("approval limits of asset %s must satisfy 0 <= Automatic <= Dual", asset)
		}
		for _, w := range l.Windows {
			if w.Length <= 0 || w.Max.IsNegative() {
				return fmt.Errorf("approval windows of asset %s need a positive length and no negative sum", asset)
			}
		}
	}
	return nil
}
