package main

import (
	"cmp"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
	"github.com/shopspring/decimal"
)

const chainName = "demo"

var chainID = statemachine.ID("chain", chainName)

// asset is what the example knows of one.
type asset struct {
	decimals int32
	limits   withdrawal.ApprovalLimits
}

func (a asset) id(symbol string) uuid.UUID { return statemachine.ID("asset", symbol) }

var assets = map[string]asset{
	"USDX": {6, withdrawal.ApprovalLimits{
		Automatic: decimal.NewFromInt(1_000), Dual: decimal.NewFromInt(10_000),
		Windows: []withdrawal.Window{{Length: 24 * time.Hour, Max: decimal.NewFromInt(5_000)}},
	}},
	"ETHX": {18, withdrawal.ApprovalLimits{Automatic: decimal.NewFromInt(1), Dual: decimal.NewFromInt(10)}},
}

// Approvers of the example agree to everything that is not automatic.
var approvers = []string{"alice", "bob"}

// pace is how patient a run is.
type pace struct {
	lease    time.Duration // how long a killed worker holds up a wallet
	patience time.Duration // with the node
	block    time.Duration
	check    time.Duration // between two look-ups; 5 blocks if zero
}

// In production a lease lasts minutes.
var (
	steady = pace{lease: 30 * time.Second, patience: 2 * time.Second, block: 50 * time.Millisecond}
	hasty  = pace{lease: 2 * time.Second, patience: 400 * time.Millisecond, block: 50 * time.Millisecond}
)

// together is the check of batches: a source of them wants two calls within it.
const together = 600 * time.Millisecond

func (p pace) policy() withdrawal.Policy {
	approval := withdrawal.ApprovalPolicy{Enabled: true, Assets: map[uuid.UUID]withdrawal.ApprovalLimits{}}
	for symbol, a := range assets {
		approval.Assets[a.id(symbol)] = a.limits
	}
	return withdrawal.Policy{
		// Each kill costs an execution, so there are many of them, and soon.
		MaxRetries:   20,
		Backoff:      statemachine.Backoff{Base: 50 * time.Millisecond, Cap: time.Second},
		Lease:        p.lease,
		EnqueueEvery: 300 * time.Millisecond,
		CheckEvery:   cmp.Or(p.check, 5*p.block),
		AlertAfter:   time.Minute,
		Chain:        withdrawal.Chain{Nonces: true, Confirmations: node.Finality},
		Approval:     approval,
	}
}
