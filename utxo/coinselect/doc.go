// Package coinselect chooses the coins of a payment, and builds replacements and children
// that pay more for a transaction that is stuck.
//
// # Contract
//
// [Candidates] reads the coins of a wallet with everything that [Select] needs to know of
// them; Select chooses among them, and is pure: equal arguments give an equal result. A
// coin that costs as much as it brings, or more, is never chosen. Selecting and leasing
// belong into one transaction of the store, all inputs or none: the service of package
// store does both (SelectAndLease, ReplaceAndLease, BumpAndLease).
//
// A stuck transaction is replaced, see [ReadOriginal] and [Replace] (give inputs a sequence
// of at most wire.MaxTxInSequenceNum-2, so that every node accepts a replacement), or gets
// a child that pays for it, see [Bump].
//
// A refusal says why in its type: [*Error] with what there is and what bars the other
// coins, [*PinnedError], [*DescendantsError], or a sentinel of this package.
package coinselect
