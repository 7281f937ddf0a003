package refresher_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/store/refresher"
)

// walletAPI is the host's side: a real one calls the wallet's node.
type walletAPI struct{ refreshes int }

func (a *walletAPI) Refresh(context.Context, refresh.Credentials) error { a.refreshes++; return nil }

func (a *walletAPI) ListAssets(context.Context, refresh.Credentials) ([]string, error) {
	return []string{"rgb:asset"}, nil
}

func (a *walletAPI) ListTransfers(_ context.Context, _ refresh.Credentials, asset string) ([]refresh.Transfer, error) {
	if asset == "" {
		return nil, nil
	}
	paid := refresh.Transfer{Recipient: "utxob:1", Asset: asset, Kind: refresh.ReceiveBlind, HasIndex: true}
	if a.refreshes > 1 {
		paid.Status = refresh.TransferSettled
	}
	return []refresh.Transfer{paid}, nil
}

func (a *walletAPI) FailTransfers(context.Context, refresh.Credentials, int32) error { return nil }

func ExampleRun() {
	policy := refresh.DefaultPolicy() // or refresh.ParsePolicy(os.LookupEnv)
	policy.RefreshInterval, policy.PollInterval = 20*time.Millisecond, 10*time.Millisecond
	policy.WalletWorkerPollInterval = 10 * time.Millisecond
	refreshes, err := store.NewRefreshes(memory.New(memory.Options{}), policy)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- refresher.Run(ctx, refreshes, &walletAPI{}, refresher.Options{}) }()

	// In the API: the invoice is made, and its job.
	wallet := refresh.Credentials{XpubVan: "xpub1", XpubCol: "xpub2", MasterFingerprint: "f00dbabe"}
	_, err = refreshes.Enqueue(ctx, refresh.Enqueued{By: refresh.By{Actor: "wallet-api", Role: refresh.API}, Credentials: wallet,
		Cause: refresh.InvoiceCreated, Recipient: "utxob:1", Asset: "rgb:asset"})
	if err != nil {
		fmt.Println(err)
	}

	for {
		ended, err := refreshes.Watchers(ctx, refresh.EndTransfer, nil, 10)
		if err != nil || len(ended) > 0 {
			fmt.Println(ended[0].Recipient, ended[0].Status, err)
			break
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	fmt.Println("stopped:", <-done)
	// Output:
	// utxob:1 settled <nil>
	// stopped: <nil>
}

// What README.md shows: a service that keeps the wallets of its users fresh.
func Example() {
	ctx, db, api, wallet := context.Background(), memory.New(memory.Options{}), &walletAPI{}, refresh.Credentials{}

	policy, err := refresh.ParsePolicy(os.LookupEnv) // REFRESH_INTERVAL and so on
	if err != nil {
		log.Fatal(err)
	}
	refreshes, err := store.NewRefreshes(db, policy)
	if err != nil {
		log.Fatal(err)
	}
	go refresher.Run(ctx, refreshes, api, refresher.Options{}) // in any number of processes

	// in the API that makes invoices; a failure is logged and fails no request
	refreshes.EnqueueLogged(ctx, refresh.Enqueued{By: refresh.By{Actor: "wallet-api", Role: refresh.API}, Credentials: wallet,
		Cause: refresh.InvoiceCreated, Recipient: "utxob:1", Asset: "rgb:asset"}, slog.Default())

	ours, err := refreshes.Watchers(ctx, refresh.EndOpen, nil, 100) // expired while the transfer was open: an operator's
	fmt.Println(ours, err)
	stats, err := refreshes.Stats(ctx)
	alerts := refresh.Alerts(stats, refresh.DefaultThresholds()) // what nobody else moves on
	fmt.Println(alerts, err)
}
