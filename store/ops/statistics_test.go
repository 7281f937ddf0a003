package ops

import (
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
)

// fires returns the names of the alerts of some kinds.
func (h *house) fires(s Statistics, of []statemachine.AlertKind) (names []string) {
	for _, a := range s.Alerts(DefaultLimits()) {
		if slices.ContainsFunc(of, func(k statemachine.AlertKind) bool { return k.Name == a.Name }) {
			names = append(names, a.Name)
		}
	}
	return names
}

// What follows the log is watched: each consumer on file, and the deposits, of which those below the host's minimum
// do not count as waiting.
func TestConsumersAndDepositsAreWatched(t *testing.T) {
	both(t, func(t *testing.T, h *house) {
		quiet := h.Read(t.Context(), time.Hour, Statistics{})
		if err := quiet.Err(); err != nil || len(h.fires(quiet, follow.AlertKinds())) > 0 || len(quiet.Consumers) > 0 || quiet.Deposits == nil {
			t.Errorf("of nothing: %+v, %v", quiet, err)
		}
		h.wallet()
		h.request()
		machines := sqlstore.Machines(store.DomainWithdrawals)
		h.consumer(sqlstore.Consumer{Name: "book", Machines: machines, Fence: 1, Until: h.now, Stopped: true, Error: "no account", FailedAt: h.now})
		h.consumer(sqlstore.Consumer{Name: "mail", Machines: machines, Fence: 1, Until: h.now, Late: 1, FailedAt: h.now},
			sqlstore.Parked{Consumer: "mail", N: 1, Machine: machines[0], ID: "x", Version: 1, Aggregate: "x x", At: h.now, NextTry: h.now})
		_, err := h.Wallets.Do(t.Context(), utxo.WalletOpened{Wallet: 1, Birth: 1})
		h.check(err)
		h.check(h.DB.Update(t.Context(), func(u store.Unit) error {
			of, err := sqlstore.DepositsOf(u)
			if err != nil {
				return err
			}
			deposit := func(n byte, amount int64) utxo.Deposit {
				return utxo.Deposit{OutPoint: wire.OutPoint{Hash: chainhash.Hash{n}}, Owner: utxo.Owner{Wallet: 1, Tag: "ann"}, Amount: amount,
					Height: 1, Block: chainhash.Hash{9}, InChain: true, State: utxo.DepositWaiting, At: h.now}
			}
			shaken := deposit(3, 7)
			shaken.State, shaken.Round, shaken.Depth = utxo.DepositCredited, 1, 3
			return of.Insert(deposit(1, 4), deposit(2, 5), shaken)
		}))
		h.now = h.now.Add(3*time.Hour + 1000)
		h.depositMinimum = 5
		got := h.Read(t.Context(), time.Hour, Statistics{})
		h.check(got.Err())
		if len(got.Consumers) != 2 || got.Consumers[1].Parked != 1 || got.Consumers[0].Lag == 0 || got.Deposits.Waiting != 1 ||
			got.Deposits.WaitingAmount != 5 || got.Deposits.ShakenAmount != 7 {
			t.Errorf("%+v, %+v", got.Consumers, got.Deposits)
		}
		fires := h.fires(got, follow.AlertKinds())
		slices.Sort(fires)
		want := []string{"consumer lag", "consumer lag", "consumer late", "consumer parked", "consumer stopped", "deposits shaken", "deposits waiting"}
		if !slices.Equal(fires, want) {
			t.Errorf("%q, not %q", fires, want)
		}
	})
}
