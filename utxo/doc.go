// Package utxo keeps Bitcoin wallets as sets of coins: which transactions are
// known, which of them hold, which outputs are money, and which of those may be
// spent.
//
// # Contract
//
// The package is pure: no I/O, no clock, no randomness, no goroutines. The host
// says what it saw as an [Event]; [Policy.Plan] answers with the complete
// [ChangeSet], which an in-memory [Ledger] or a store applies, all or nothing.
// There is no way to set a status. The same event again changes nothing, and a
// refusal is a typed error and changes nothing.
//
// # The one conflict rule
//
// A transaction that a block, a mempool or a broadcast proves is placed: the transaction
// and its unpublished ancestors become published and take their inputs; live rivals on
// these inputs lose, with all their descendants. The confirmed chain always wins, and of
// two unconfirmed rivals the one observed last wins.
//
// # What can be spent
//
// The state of an output is derived by [Policy.State] and never stored. Package coinselect
// chooses coins, and builds replacements and children that pay more for a transaction that
// is stuck. Select coins and lease them in one transaction of the store. Inputs that a
// failed transaction freed may be spent again at any time, but only [ProvablyDead] says
// that spending them cannot pay twice.
//
// # For stores
//
// A service never needs what is listed here; a store or a suite of tests does. [NewLedger] is the wallet in memory. Orders:
// [CompareOutPoints]. What a step locks and changes: [Scope], [Merge]. Checks: [Check], [CheckDeposit], [Replay]. Counts: [StatsOf],
// [ReadStats]. What an event is about, and all of them: [Names], [Events].
package utxo
