package utxo

import "github.com/settlehq/settle/statemachine"

// Phase is the life of an output as the source draws it: [OutputState] without the
// distinctions that the drawing does not make. A phase is derived, never stored: events of
// the output's transaction, of its spender and of leases move it, and after a crash there
// is nothing to repair.
// Values: Unspent, Immature, Leased, Spent, Dead.
type Phase = statemachine.Enum[phase]

const (
	Unspent  Phase = iota + 1 // in a live transaction, free to be selected
	Immature                  // of a coinbase that too few blocks confirm yet; a block moves it on
	Leased                    // a host has it for a payment; Submitted, a release or the end of the lease moves it on
	Spent                     // by a live transaction; it is unspent again when that dies
	Dead                      // its transaction died; only a block brings it back
)

type phase struct{}

func (phase) Kind() string    { return "output phase" }
func (phase) Names() []string { return phaseNames }

var phaseNames = []string{"Unspent", "Immature", "Leased", "Spent", "Dead"}

// PhaseOf maps a derived state to its phase.
func PhaseOf(s OutputState) Phase {
	switch s {
	case CoinImmature:
		return Immature
	case CoinLeased:
		return Leased
	case CoinSpent:
		return Spent
	case CoinRecoverable, CoinDead:
		return Dead
	case CoinConfirmed, CoinUnconfirmed, CoinPending:
		return Unspent
	}
	return 0
}

// PhaseTrigger is what changes the phase of an output.
// Values: byCreation, byCoinbase, byEarlySpend, byLateReveal, byLock, byUnlock, bySpend, byRollback,
// byRollbackUnderLock, byRollbackImmature, byMaturity, byParentDeath, byRevival, byRevivalSpent,
// byRevivalUnderLock, byReconfirmation.
type PhaseTrigger = statemachine.Enum[phaseTrigger]

const (
	byCreation PhaseTrigger = iota + 1
	byCoinbase
	byEarlySpend
	byLateReveal
	byLock
	byUnlock
	bySpend
	byRollback
	byRollbackUnderLock
	byRollbackImmature
	byMaturity
	byParentDeath
	byRevival
	byRevivalSpent
	byRevivalUnderLock
	byReconfirmation
)

type phaseTrigger struct{}

func (phaseTrigger) Kind() string    { return "output trigger" }
func (phaseTrigger) Names() []string { return phaseTriggerNames }

var phaseTriggerNames = []string{
	"Created by Valid Tx", "Coinbase Confirmed", "Created After Its Spender", "Revealed on a Dead Tx",
	"Application Lock", "Lock Expire/Release", "Used in New Tx", "Spending Tx Invalidated", "Spending Tx Invalidated Under Lock",
	"Below Maturity Again", "Matures", "Parent Invalidated", "Parent Revived", "Parent Revived With Its Spender",
	"Parent Revived Under Lock", "Parent Reconfirmed (Coinbase)",
}

const (
	revived    = "evidence revives a dead transaction and its outputs"
	anyTime    = "a block or mempool proves a spend, whatever the wallet thinks of the output"
	lockStays  = "a lease survives a spend, a rollback and a death until it ends"
	lockYoung  = "an immature output is live and unspent, so it can be leased"
	childFirst = "a spender can be known before what it spends"
)

// CoinMachine holds the allowed changes of an output's phase. The phase is derived, so no
// code walks this table: the tests compare every change in every history with it.
var CoinMachine = statemachine.Must("utxo.output", []statemachine.Edge[Phase, PhaseTrigger]{
	{From: 0, Trigger: byCreation, To: Unspent},
	{From: 0, Trigger: byCoinbase, To: Immature},
	{From: 0, Trigger: byEarlySpend, To: Spent, Extension: childFirst},
	{From: 0, Trigger: byLateReveal, To: Dead, Extension: "ownership can be found out after the death"},

	{From: Unspent, Trigger: byLock, To: Leased},
	{From: Leased, Trigger: byUnlock, To: Unspent},
	{From: Unspent, Trigger: bySpend, To: Spent},
	{From: Leased, Trigger: bySpend, To: Spent},
	{From: Spent, Trigger: byRollback, To: Unspent},
	{From: Immature, Trigger: byMaturity, To: Unspent},
	{From: Unspent, Trigger: byParentDeath, To: Dead},
	{From: Immature, Trigger: byParentDeath, To: Dead},
	{From: Dead, Trigger: byReconfirmation, To: Immature},

	{From: Dead, Trigger: byRevival, To: Unspent, Extension: revived},
	{From: Dead, Trigger: byRevivalSpent, To: Spent, Extension: revived},
	{From: Dead, Trigger: byRevivalUnderLock, To: Leased, Extension: lockStays},
	{From: Spent, Trigger: byParentDeath, To: Dead, Extension: "a parent dies together with the spender"},
	{From: Leased, Trigger: byParentDeath, To: Dead, Extension: "a lock does not keep a parent alive"},
	{From: Immature, Trigger: bySpend, To: Spent, Extension: anyTime},
	{From: Immature, Trigger: byLock, To: Leased, Extension: lockYoung},
	{From: Leased, Trigger: byRollbackImmature, To: Immature, Extension: lockYoung},
	{From: Spent, Trigger: byRollbackImmature, To: Immature, Extension: anyTime},
	{From: Spent, Trigger: byRollbackUnderLock, To: Leased, Extension: lockStays},
	{From: Unspent, Trigger: byRollbackImmature, To: Immature, Extension: "a reorg lowers the tip below maturity"},
}, statemachine.Cyclic)

// PhaseMayFollow reports whether the table leads from one phase to the other in one step,
// or both are the same.
func PhaseMayFollow(from, to Phase) bool {
	if from == to {
		return true
	}
	for _, t := range CoinMachine.Triggers() {
		if next, ok := CoinMachine.Next(from, t); ok && next == to {
			return true
		}
	}
	return false
}
