package refresher_test

import (
	"testing"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
)

// 55 wallets, each with a watched transfer, share 50 slots for half an hour. Each is refreshed
// every 30 s, and about 360 slots are taken, since the wallet that is due last gives its slot up.
// (When the wallet that held a slot longest gave it up, 1401 were taken.)
func TestFewSlotsAreTaken(t *testing.T) {
	virtual(t, nil, func(t *testing.T, s *system) {
		const wallets = 55
		for n := range wallets {
			s.node.transfer(n, incoming("r", "asset"))
			s.enqueue(n, refresh.Sync, "", "")
		}
		s.start("w1")
		time.Sleep(1800 * time.Second)
		takes, after := 0, store.Cursor("")
		for {
			lines, next, err := s.service.Follow(t.Context(), after, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				if line.Trigger == "claim slot" {
					takes++
				}
			}
			if after = next; len(lines) == 0 {
				break
			}
		}
		if takes > 400 {
			t.Errorf("%d slots were taken", takes)
		}
		for n := range wallets {
			if got := len(s.node.refreshes(n)); got < 50 {
				t.Errorf("wallet %d was refreshed %d times", n, got)
			}
		}
	})
}
