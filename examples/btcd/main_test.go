package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the processes that are killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && (os.Args[1] == "serve" || os.Args[1] == "node") {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheChainProvesTheStory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute) // only what hangs reaches it
	defer cancel()
	var out strings.Builder
	p, err := run(ctx, 20*time.Second, uint64(time.Now().UnixNano()), &out)
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	if p.Deposits < 3 || p.Payouts < 10 || p.Reorgs < 1 || p.Kills < 1 || p.NodeKills < 1 || p.Replaced < 1 || p.Children < 1 || p.Again < 1 {
		t.Errorf("too little happened: %+v", p)
	}
	if p.Left != 0 {
		t.Errorf("the last payout sent all, %d are left", p.Left)
	}
}
