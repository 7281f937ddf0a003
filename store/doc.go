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
package store
