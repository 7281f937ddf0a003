// Package follow makes the effects of a transition happen once: a consumer's function posts to the host's tables, or
// gives work to an outbox, in the commit that moves the consumer's cursor in the log.
//
// [Run] gives each line of the log of some domains to a function, in one [sqlstore.Store.UpdateTx] with the cursor
// behind the line, so that both are kept or neither. Any number of processes may run one consumer: a lease lets one of
// them work, and the cursor decides where two believe that they hold it. Each record's lines come in the order of its
// versions, all others in the order of the log, which says nothing of cause and effect between records.
//
// A line says that something happened; whether it still holds, the record says. So a function reads the aggregate in
// its transaction and skips what is no longer true. It does SQL and nothing else, since it holds SQLite's only writer,
// and on PostgreSQL the feed: until it ends, nobody gets a line that is committed meanwhile.
//
// # Keys
//
// Machine, ID and Version of a line are unique within one generation of the database. A ledger in the same database
// keys its postings by them and by Generation; it comes back from a backup together with the consumer's cursor. A
// ledger elsewhere uses keys with a meaning: the request, what is posted, and its number.
//
// # Failures
//
// A function fails by an error or a panic. The lines of a page that failed come again one at a time. If a line fails
// alone, the consumer stops ([Stop]), or parks the line and goes on without its aggregate ([Park]). Errors of the
// database (no connection, a deadlock, a commit with an unknown end) are not the function's: the same lines come again,
// later each time.
//
// A function that works until the lease ends has not failed either, since a slow database cannot be told from a slow
// function: all of its work is undone, and the lines of its page come one at a time. A line that outlasts the lease
// alone comes again within ten seconds, whatever OnFailure says. The alert "consumer late" says so until the line is
// done.
//
// [store.ErrRestored] and [store.ErrCursor] end Run: the database went back. After the host has called
// sqlstore.Restored, consumers go on from the cursors that came back with the database.
//
// # Deposits
//
// [Deposits] credits what customers are paid in the wallets of package utxo, once: in the commit of the host's posting,
// at a depth. A credit that is not deep any more is shaken ([ShakenDeposits]); it is reversed by proof, or by an
// operator's word ([ReverseDeposit]). The key of a posting, in whatever ledger, is the outpoint, the round and the
// kind: [utxo.DepositKey].
//
// Stores without SQL have [Plain].
package follow
