// Package swap exchanges USDC for USDD and back, one to one less fees, and pays
// each item out, back or aside exactly once. It knows what may happen to an item
// and in which order; the host does the I/O.
//
// A [Deposit] is USDC that came in on Solana to become USDD on Nexus. A [Credit]
// is the way back. The two have a machine each ([DepositMachine],
// [CreditMachine]) and share everything that touches money: see [Item].
// Amounts are uint64 units of 10^-6 on both sides.
//
// # Contract
//
// Everything here is a plain value or a pure function: no I/O, no clock, no
// randomness, no package state that changes. Time comes in with each event, the
// next due time goes out. [Policy.ApplyDeposit] and [Policy.ApplyCredit] take
// one step and return what to store; [Policy.NextDeposit] and
// [Policy.NextCredit] say what a record owes; [CheckDeposit] and [CheckCredit]
// say whether it is sound. If every step is stored by compare-and-swap on the
// version, and nothing is sent before its [Begun] is stored, then
//
//   - of all outbounds of an item at most one pays, or a [Discrepancy] says
//     which two did;
//   - paid out + refunded + quarantined + fees + held is what was deposited, in
//     every state, or a discrepancy records the excess;
//   - in every state a worker, a person or a due time is named that moves the item on.
//
// The host has the nodes, keys and signing. It must not hand a transaction over after
// [Intent].SendBy, and a [View] must say what was really covered. CannotLand is the one fact that
// is believed without evidence.
//
// # Paid or not
//
// An intent is on file before it is sent: action, amount, destination, and its
// reference number (Nexus) or signature, memo and last valid height (Solana).
// It is open until an answer or evidence closes it, and settled when nothing
// can change any more: it is final, or it is proved that it cannot have paid.
// Before anything else is sent for the item, a refund or the same action once
// more, every earlier intent must be proved. An answer is never a proof: not
// found counts only if the look-up was complete, which [Policy.Complete] decides
// and not the host, and only if it was asked after the latest sighting: the order in
// which evidence arrives decides nothing. Evidence against what is final moves nothing
// and is a discrepancy.
//
// Time alone never moves an item that may have paid. A time-out says from when
// on a complete negative counts.
//
// When an outbound is found after all, the item moves to the state that fits the payment if
// nothing else is out; else there is a discrepancy, and a person looks.
// [Policy.RecoverDeposit], [Policy.RecoverCredit] and [Policy.RecoverMissing] do the same from
// a scan of the vault's own history, which is read for ever.
//
// # The life of an intent
//
// Outcome, Proof and Final of an [Intent] say where it is. While one intent of an item has no Proof, no other is begun.
//
//	place      Outcome   Proof  Final  what is known                            what moves the intent on
//	begun      0         0      no     the sender may hand it over              Answered, a look-up, a sighting
//	unknown    Unknown   0      no     it may have gone out, or was filed       a look-up, a sighting
//	deferred   Deferred  0      no     the sender says that it did not try      a complete negative proves it; a sighting: landed
//	failed     Failed    0      no     the sender says no, which proves nothing a complete negative proves it; a sighting: landed
//	landed     Done      0      no     it paid; a reorganisation may undo that  final depth: final; a complete negative: proved
//	final      Done      0      yes    it paid for good                         nothing: what denies it is a FinalDenied; of a filed
//	                                                                            intent a person may say NotSent: proved
//	proved     Failed or set    no     it has not paid, and another intent      a sighting: landed, with a LateOutbound;
//	           Deferred                may be begun                             PaidBy of its transaction: unknown
//
// # Clocks
//
// Without a last valid block height a negative counts once the intent's sender has ended, and no
// single reading of a clock proves that. Look-ups in a row must have seen as much time pass as the
// sender has, plus [Policy].CallTimeout and twice LookEvery, see [Intent].Missed. The time between
// two look-ups counts if the later one is asked at most twice LookEvery after the other. A clock
// that is set forward by more adds nothing, one that is set forward by less adds that much, once;
// one that is set back adds nothing. So a host looks up an open intent every LookEvery, and a
// sender that died after [Begun] is proved to have sent nothing about Lease + CallTimeout + 3
// LookEvery after its lease. With a last valid block height (Solana) this height decides, and no
// clock.
//
// A sender measures the time that it has left, SendBy - At, from the commit of Begun by a clock
// that does not jump. A person who says [NotSent] before look-ups have seen enough time pass gives
// the time when he looked in By.At, by another clock than the store's.
//
// A lease or a pause that is longer than any rule gives was set by a clock that was ahead, and is
// not waited for ([Policy].Longest): the next worker gets the item, and its claim corrects the time
// at which the item entered its state. The time at which an item was stored is not corrected: a
// time-out that counts from it waits for the right clock, and the item becomes overdue before.
//
// Two waits go by the store's clock alone: after [Control.Restored] look-backs, and scans of the
// vault's own history, count from RecoveredAt + Lease + CallTimeout on. Before a store is restored,
// end the processes that worked on it, or make sure that its clock is not set forward until then.
//
// After a restore a deposit that is on no file may have been paid before the restore. It is looked back for if its block
// is older than RecoveredAt + [Policy].WaterlineMargin; for a credit the limit is [Policy].GoneAfter later. Therefore the
// store's clock must be right, to less than that margin, when Restored is said: if it is further behind then and is set
// right afterwards, the items that came in last before the restore are taken for new ones.
//
// # Storing a change
//
// A record whose version changed is written where the version in Old still
// stands, with its lines of the log, the intents and discrepancies that differ,
// in one commit; when its status leaves a table of the source for another, the
// row moves in that commit. Lease, CheckAt and OverdueAt are derived; of these
// Lease and CheckAt are outside the version ([Change].Touched). The store keeps
// unique: ids per direction over all four tables, references and signatures over all
// intents, [Intent].Claim where it is not empty, discrepancies by their key. An
// event with a [Control] gets the row as it is in the same commit; [Begun] locks
// it, since it draws its reference there, and whoever stores a [Sighting] raises
// it to the reference that it shows: see [Control.Saw].
//
// # For stores
//
// A service never needs what is listed here; a store or a suite of tests does. Order of due items: [CompareDue]. Counts:
// [NewTally]. Memos as they are stored: [ReadMemo], [WriteMemo]. Who may say what: [Speakers], [Events].
package swap
