package withdrawal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

// A page is grouped by the reason of Next, and the wallet or chain.
func TestByCause(t *testing.T) {
	s := states(t)
	off := s["job pending"]
	off.Wallet = withdrawal.HotWallet{ID: off.Job.Wallet, Chain: off.Job.Chain, Role: withdrawal.WalletRoleHot, Status: "retired"}
	above, elsewhere := s["confirming"], s["confirming"]
	above.Job.Nonce++
	elsewhere.Job.Wallet = id(77)
	elsewhere.Job.Nonce++
	page := []withdrawal.Withdrawal{s["confirmed"], s["pending"], s["confirming"], above, above, elsewhere, off, s["review"], s["pending"], s["pending"],
		s["approved"], s["dispatched"], run(t, s["approved"], withdrawal.Held{By: by(withdrawal.Operator, t0), Reason: "x"})}
	got := ""
	for _, c := range policy.ByCause(page, t0) {
		got += fmt.Sprintf("%v %v %s\n", c.Items, c.Cause.Party, c.Cause.Reason)
	}
	if want := `[1 8 9] approver approval
[3 4] withdrawal-confirmation-worker nonce 7
[2] withdrawal-confirmation-worker confirmation
[5] withdrawal-confirmation-worker confirmation
[6] operator its wallet is hot_wallet, retired
[7] operator review
[10] system enqueue
[11] withdrawal-worker the answer of its signer
[12] operator the request is held
`; got != want {
		t.Errorf("got\n%s", got)
	}
	if all := policy.ByCause(page[:1], t0.Add(time.Hour)); len(all) > 0 {
		t.Errorf("what is completed waits for %v", all)
	}
}
