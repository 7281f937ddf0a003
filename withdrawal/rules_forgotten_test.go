package withdrawal_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

// While a chain is recovering an answer with a transaction that the copy does not know is an incident and a
// stray, under the copy's latest fence or a later one; while it is not, and under an earlier fence, it is fenced.
func TestAnAnswerThatWasForgotten(t *testing.T) {
	for _, tt := range []struct {
		state      string
		fence      int64
		recovering bool
		refused    string // empty: a stray
		status     string // of the job then
		review     bool
	}{
		{"job pending", 1, true, "", "pending", false},
		{"job pending", 1, false, "fenced", "", false},
		{"approved", 1, true, "", "", false},
		{"processing", 2, true, "", "processing", false},
		{"processing", 2, false, "fenced", "", false},
		{"dispatched", 2, true, "", "processing", true},
		{"prepared", 2, true, "", "confirming", true},
		{"confirming", 2, true, "", "confirming", true},
		{"confirming", 2, false, "fenced", "", false},
		{"processing", 1, true, "", "processing", false}, // dispatched after the copy was made
		{"processing", 1, false, "illegal", "", false},
		{"prepared", 1, true, "", "confirming", true},
		{"confirming", 1, true, "", "confirming", true}, // replaced after the copy was made
		{"confirming", 1, false, "fenced", "", false},
		{"confirming", 0, true, "fenced", "", false},
		{"confirmed", 2, true, "", "confirmed", false},
	} {
		w := states(t)[tt.state]
		w.Recovering = tt.recovering
		ev := withdrawal.Broadcast{By: worker(t0), Fence: tt.fence, Hash: "forgotten"}
		if tt.refused != "" {
			expect(t, policy, w, ev, tt.refused)
			continue
		}
		c, err := policy.Apply(w, ev)
		if err != nil || len(c.Incidents) != 1 || c.Incidents[0].Claim != withdrawal.ClaimSent || len(c.Strays) != 1 || c.Strays[0].Fence != tt.fence {
			t.Errorf("%s: %v, incidents %+v, strays %+v", tt.state, err, c.Incidents, c.Strays)
			continue
		}
		if got := c.New.Job; got.Review != tt.review || got.Status != 0 && got.Status.String() != tt.status || c.New.Request.StraysSent != 1 {
			t.Errorf("%s: job %v, review %v", tt.state, got.Status, got.Review)
		}
		if err := withdrawal.Check(c.New); err != nil {
			t.Errorf("%s: %v", tt.state, err)
		}
		again := c.New
		again.Recovering = true
		if c, err := policy.Apply(again, ev); err != nil || !c.Empty() {
			t.Errorf("%s, once more: %v", tt.state, err)
		}
		w.Owner = uuid.NullUUID{UUID: id(9), Valid: true}
		if c, err := policy.Apply(w, ev); err != nil || len(c.Strays) > 0 || c.New.Request.Taken != "forgotten" {
			t.Errorf("%s, another request's: %v, %+v", tt.state, err, c.New.Request)
		}
	}
}
