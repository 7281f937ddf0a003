// Package coinselect chooses the coins of a payment and builds what pays more
// for a transaction that is stuck.
//
// # Contract
//
// [Candidates] reads the coins of a wallet with all that is asked about them;
// [Select] chooses among them, and is pure: equal arguments give an equal result.
// A coin that costs as much as it brings, or more, is never chosen. To select and
// to lease is one transaction, all inputs or none: the service of package store
// does both (SelectAndLease, ReplaceAndLease, BumpAndLease).
//
// What is stuck pays more by a replacement, see [ReadOriginal] and [Replace] (give
// inputs a sequence of at most wire.MaxTxInSequenceNum-2, so that every node takes
// one), or by a child, see [Bump].
//
// A refusal says why in its type: [*Error] with what there is and what bars the
// other coins, [*PinnedError], [*DescendantsError], or a sentinel of this package.
package coinselect
