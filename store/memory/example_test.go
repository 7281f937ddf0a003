package memory_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
	"github.com/settlehq/settle/withdrawal"
)

// A test of a host passes its own clock, and lets it jump.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	withdrawals, err := store.NewWithdrawals(memory.New(memory.Options{Now: func() time.Time { return now }}), withdrawal.DefaultPolicy())
	if err != nil {
		log.Fatal(err)
	}
	_, err = withdrawals.Submit(ctx, withdrawal.Submitted{By: withdrawal.By{Actor: "api", Role: withdrawal.System}, Request: uuid.New(),
		User: statemachine.ID("user", "17"), Asset: statemachine.ID("asset", "USDX"), Chain: statemachine.ID("chain", "demo"),
		ToAddress: "0xABC", Amount: "12.5", Decimals: 6})
	if err != nil {
		log.Fatal(err)
	}
	now = now.Add(25 * time.Hour) // nobody has approved it
	alerts, err := withdrawals.Alerts(ctx, time.Hour, withdrawal.DefaultThresholds(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, alert := range alerts {
		fmt.Println(alert.Name+":", alert.Text)
	}
	// Output: approval wait: a request awaits approval since 2026-01-02T03:04:05Z, longer than 24h0m0s
}
