// Package store runs the pure rules of the domains on a database.
//
// # Contract
//
// [Store] is the port: transactions that land whole or not at all. Each domain
// has one small interface of records (such as [WalletRecords]) that an adapter
// implements, and one service (such as [Wallets]) that loads, calls the pure
// step, and saves. The services decide nothing; the adapters decide nothing.
//
// The adapters of this module are store/memory and store/sqlstore (SQLite and
// PostgreSQL). A host with its own tables implements the records of the domains
// that it uses and proves itself with package storetest.
//
// How a domain gets its part of a store, file by file, is in docs/domain.md.
//
// # Your own tables
//
// For one domain an adapter is a [Store] of your transaction type T, and T is
// that domain's part of a transaction: [WithdrawalUnit] with [WithdrawalRecords] and
// [HotWalletRecords], or [WalletUnit] with [WalletRecords] and [WalletQueries]. T may offer
// more to your own code, which then commits together with settle's.
//
// Withdrawals keep requests, jobs, transactions, nonces, strays, attempts, incidents with their acknowledgements, hot
// wallets, fillers, statements, and what all domains have: the log of transitions, the journal, switches and processes.
// docs/tables.md has the key and the unique rules of each, and how it changes; examples/downstream has an adapter in four
// tables that may be copied. Hosts that pay many requests by one transaction keep two more: batches (key id; an index of
// chain and next_check_at) and their versions (key batch and seq; an index of the hash). See [BatchRecords].
//
// Refreshes need four tables: wallets (key xpub; unique slot), jobs (key id; unique
// xpub where a recovery job is pending or processing), watchers (key xpub and
// recipient) and locks (key xpub), a sequence for the fences of locks, and the log.
// A wallet's row is the head of all that is stored for it: what waits for its lock
// reads the rest afterwards.
//
// Relays need two: relays with their timers (key id; an index of the due time,
// which is lease_until while claimed_at is set) and activities (a growing number;
// no UPDATE or DELETE; an index of resource, created_at and number). Tenants need
// two more: tenants (key id; an index of due_at) and invoices (key id; one charge
// that is not none for each tenant). See [RelayRecords] and [TenantRecords].
//
// Swaps need four tables for each direction, by [swap.Place] (key id, in exactly one
// of them), intents (key direction, item and number; unique reference, signature and
// claim), discrepancies (a growing number; unique by the key of the record),
// waterlines (key chain and own), the control row, and the log.
//
// Absent is a zero time, an empty text, a nonce without HasNonce, an invalid
// slot, a zero outcome; NULL is good for each. Times are UTC microseconds.
// AmountRaw and gas are text, and amounts text or an exact numeric of 78 digits.
// Heights are 64 bits, unsigned. Store statuses as their names, priorities by
// rank where you sort.
//
// With one writer at a time (SQLite: BEGIN IMMEDIATE, one connection) reading,
// comparing and writing in one transaction is enough. With several, compare in
// the UPDATE itself and count the rows, let unique indexes decide and then ask
// who has it, skip what is locked in Due, take a lock of the user in Usage, and
// give each line of the log its horizon: see [Feed].
//
// Prove it with storetest.Withdrawals (or Batches, Wallets, Swaps, Refreshes, Relays, Tenants)
// in a test, and call [SelfCheckWithdrawals] (or the one of the other's name) at
// start-up.
package store
