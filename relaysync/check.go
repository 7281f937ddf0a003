package relaysync

import (
	"fmt"

	"github.com/settlehq/settle/statemachine"
)

// Check returns [statemachine.ErrCorrupt] with the first invariant that the
// record breaks.
func Check(s Sync) error {
	r, t, h := &s.Relay, &s.Timer, &s.History
	at := s.Phase()
	if at == 0 {
		return nil // does not exist yet
	}
	cfg, err := r.canonical()
	_, unreadable := r.Sent.parse()
	syncing, due := at == PhaseSyncing, !t.Due.IsZero()
	for _, rule := range []struct {
		holds bool
		text  string
	}{
		{r.Status.Valid() && r.Revision >= 1 && r.Revision <= r.Version, "a relay has a status, and a revision of its versions"},
		{validID(r.ID) && r.Tenant != "" && len(r.Tenant) <= MaxTenant && dnsLabel(r.Subdomain), "id, tenant and subdomain are within bounds"},
		{err == nil && cfg == r.Config, "documents are in their stored form"},
		{unreadable == nil, "the paths that were sent are readable"},
		{r.SyncError == r.Error() && len(r.SyncError) <= MaxError, "an error is trimmed and bounded"},
		{at != PhaseClean || !r.Pending(), "a relay without a timer is synced and has no error"},
		{at != PhaseDue && at != PhaseExhausted || r.Pending(), "a relay with a timer is not synced"},
		{at != PhaseExhausted || r.SyncError != "" && !due, "an exhausted relay has an error and no timer"},
		{at != PhaseWaiting || r.SyncError != "", "a relay that waits has an error"},
		{!t.Backoff || due && !syncing, "a back-off has its end"},
		{!t.Exhausted || !syncing, "what is given up is not sent"},
		{syncing == (t.Lease.Holder != ""), "exactly a sync that is under way is leased"},
		{!syncing || t.Lease.Fence >= 1 && !t.Lease.Until.IsZero() && t.Revision >= 1 && t.Revision <= r.Revision,
			"a sync has a fence, an end and a revision"},
		{syncing || t.Lapses == 0, "lapses end with a result"},
		{t.Generation >= 0 && t.Lapses >= 0 && t.LapsedFence >= 0 && t.LapsedFence <= t.Lease.Fence, "counters do not go below zero"},
		{scheduled(at) || t.Since.IsZero(), "what is clean, or a person's, waits for no sync"},
		{at != PhaseDeleted || *t == Timer{}, "a deleted relay has no timer"},
		{h.Streak >= 0 && !h.Newest.IsZero(), "a relay has activities"},
		{!r.Synced || h.Completed || r.SyncError != "" || at == PhaseDeleted, "a relay that is synced was synced"},
	} {
		if !rule.holds {
			return fmt.Errorf("%w: relay %s (%v): %s", statemachine.ErrCorrupt, statemachine.Bounded(r.ID, 100), at, rule.text)
		}
	}
	return nil
}
