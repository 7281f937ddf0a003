package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

func TestTheWholeStoryIsPaidExactlyOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute) // only what hangs reaches it
	defer cancel()
	var out strings.Builder
	p, err := run(ctx, 24, &out)
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	if p.Requests[withdrawal.RequestCompleted] != 30 || p.Requests[withdrawal.RequestFailed] != 1 || len(p.Requests) != 2 {
		t.Errorf("requests are %v", p.Requests)
	}
	if p.Attempts != 32 { // the payment whose nonce was taken is the only one that was executed twice
		t.Errorf("%d attempts", p.Attempts)
	}
	if p.Paid.Sign() <= 0 || p.Paid.Cmp(p.Arrived) != 0 || p.Foreign != 1 {
		t.Errorf("completed is %s, arrived %s, %d foreign", p.Paid, p.Arrived, p.Foreign)
	}
	if len(p.Nonces) != 2 {
		t.Errorf("nonces are %v", p.Nonces)
	}
}
