// Package withdrawal pays money out exactly once. It knows what may happen to a
// withdrawal and in which order; the host does the I/O.
//
// A withdrawal has two layers. A [Request] is what the user wants and whether
// somebody agreed to it. A [Job] is one order to pay it: wallet, worker,
// retries, transactions. They commit together as a [Withdrawal], so that they
// cannot disagree.
//
// # Contract
//
// Everything here is a plain value or a pure function: no I/O, no clock, no
// randomness, no package state that changes. Time comes in with each event, the
// next due time goes out. [Policy.Apply] takes one step and returns what to
// store; [Policy.Next] says what the record owes; [Check] says whether the
// record is sound. If every step is stored by compare-and-swap on the version
// and no effect is made before its intent is stored, then
//
//   - no two transactions of one request can both be mined,
//   - no request is completed without a mined one,
//   - no withdrawal rests in a state that nobody is named to move.
//
// What is left to the host: signing, the node, the chain's finality (the depth
// in [Chain]), and the truth of a [ProvenDead], a [PaidBy] and an operator's
// proof. A wrong one is an [Incident], and nothing is paid after it.
//
// A lease is compared with the clock that gave it: a handler asks [Policy.Next]
// with the store's time of its claim, which comes with its work, and never with
// the host's own clock.
//
// # Sent or not
//
// An effect can be done, failed, unknown or deferred, and unknown is never
// taken for failed. Before anything leaves the house its intent is on file:
// [Prepared] with hash and signed bytes, or [Dispatched] before a signer that
// also sends. After Prepared every failure is a look-up of the same
// transaction, and the same bytes are sent again. After Dispatched without a
// hash every failure is parked for an operator. Only [ProvenDead], or an
// operator's proof for a dispatch, leads back to another execution.
//
// # Requests
//
// pending: submitted; an [Approver] moves it on. A crash leaves nothing behind:
// a submission is stored or not.
//
// approved: the [System] enqueues it. Without a hot wallet it stays and is
// asked again after [Policy.EnqueueEvery].
//
// queued: its job moves it on, in the job's own commit.
//
// completed: the payment is mined at depth; FinalTxHash is the transaction that
// was mined. Terminal. Evidence to the contrary is an [Incident].
//
// failed: the job failed. An [Operator] may requeue the request, unless a transaction on file is
// not proven dead, or a proof of death was wrong, or the request is refunded. A transaction that
// reverted or replaced the payment was mined, so such a request is paid only by a new one.
//
// rejected, cancelled: stopped while nothing of it was out: nothing was signed, or everything
// that was signed is proven dead or declared not sent. Terminal.
//
// A request in cancelled, rejected or failed stays there once it is [Refunded].
//
// # Refunds
//
// A refund in the host's books is a fact of the record too: a request that was given back and is
// ordered again would be paid and refunded. So [Refunded] closes a request that has ended unpaid.
// It is the intent of the refund, or of the release of a hold, said in the commit of the host's
// posting or before it, never after; a host gives nothing back of a request that is not Refunded.
// [Policy.Refundable] says when it may be said: nothing of the request is live, nobody says that
// it was paid or sent, and each signer that was called has had its time ([Chain].AnswerWithin). A
// request that the system may refund is due ([DueRefund]); any other needs a person.
//
// Nothing takes a refund back. Requeued is [ErrRefunded] afterwards, and requires
// Requeued.NotRefunded before. Evidence is taken as ever: a claim of "mined", "sent" or "taken" is
// an incident, Request.PaidAfter holds the first such hash, and [Check] returns
// [ErrPaidAndRefunded] until an operator has [Acknowledged] it.
//
// An acknowledgement covers all claims that were told until then (Request.Told), also of a
// completed request and before a refund. The same hash may be told many times, in any spelling,
// and is no news; a new hash takes the acknowledgement back, in a version whose line names it.
// After a refund every claim is news once more. The list has [MaxTold] words and then the word
// "more", which an acknowledgement covers and takes away; see [Told].
//
// A transaction that pays a request by two of its outputs has paid it twice. The second
// output is an [Incident] "mined" of the hash, a colon and the index of the output.
//
// # Jobs
//
// pending: a [WithdrawalWorker] claims it from ScheduledAt on. Nothing of it
// can be mined. A clock that was ahead keeps no job waiting: one that nothing delays
// is due at once, and so is one whose back-off or snooze was said (ScheduledFrom) more than
// [Policy.Longest] ahead of now.
//
// processing: the worker that holds the lease signs and sends. A crash leaves
// an expired lease, and [Elapsed] decides by what is on file: nothing, then
// pending with back-off; a prepared transaction, then confirming; a dispatch,
// then review.
//
// processing in review: nobody knows whether it was sent, and no hash is on file. Only an
// [Operator] moves it on, with [Resolved]. It holds no slot of the wallet.
//
// confirming: a transaction may be mined. A [ConfirmationWorker] looks it up at
// NextCheckAt; while Rebroadcast is set a WithdrawalWorker sends the bytes
// again. A crash leaves at most a lease that expires. Time alone never fails
// it.
//
// confirming in review: missing for longer than [Policy.AlertAfter], and the
// bytes are not on file; or a transaction that was declared dead is mined. An
// Operator moves it on. A receipt still counts: it is a fact about a
// transaction on file.
//
// confirmed, failed: terminal.
//
// # A wrong proof
//
// A transaction may be mined at depth, and not reverted, although it was declared dead: that is an
// [Incident], and the payment stops. The job has no execution left, so that nothing leads back to
// pending. If nothing else is out, the transaction is live again and the job in review; an
// operator resolves it as sent. If a later transaction was declared dead too, or the mined one is
// of an earlier job, the job fails with the hash and is never requeued; people settle what was
// mined. If other transactions are out, the job fails in the same way once they are proven dead;
// the mined transaction may be that proof. After the end of the job there is only the incident:
// the request is not requeued any more, and gets no job if it was requeued already; an operator
// cancels it.
//
// # Payments under another hash
//
// The death of a transaction is not the death of its payment: the same payment
// may be mined under a hash that is not on file, bumped in another wallet or
// malleated. So a speaker who proves a death says that the other transaction pays something else
// (ProvenDead.NotThisPayment); one who sees that it pays this request says [PaidBy]; one who
// cannot tell says [CannotTell], and an operator has the job. A payment that cannot be mined
// beside what is live, or beside which nothing is live, joins the file and is confirmed like any
// other. Beside a transaction that can still be mined it is an incident and a [Stray], an operator
// has the job, and the payment joins the file once that transaction is proven dead. After the end
// of the job it is an incident.
//
// # Late answers
//
// A dispatch that has ended stays on record (Withdrawal.Dispatches), and its
// [Broadcast] with a hash that is not on file is news whenever it comes, by any
// worker, a second answer too. While nothing else is out the hash is put on file: a job that is
// pending or in processing goes to confirming. Else it is an incident "sent" and
// a [Stray]: the request gets no other job and no other execution until the hash is on file as
// live or an operator has proven it dead. If the hash itself was mined and pays nothing, that is
// such a proof (ProvenDead.Reason). If the answer has the hash of another request or of a filler,
// a job of which something may be out is parked, and any other request is held ([Released]).
//
// # Unknown outbounds
//
// A nonce is on file before its transaction is sent, and a wallet has one slot. So a nonce of a
// hot wallet that was used by a transaction on no file was used by somebody else who has the key,
// or before the database was put back. [Prepared] and [BatchPrepared] that tell of it are refused
// with [ErrUnsettled]; [ProvenDead] and [BatchMined] of it are taken. Each is an unknown outbound,
// a [Statement] that says SaidUnknown, and marks the wallet (WalletUnknown). It is open
// ([Stats].UnknownOutbound) until an operator has said [Used] of the nonce, or it is a [Filler]'s.
// The payment that is refused is given back, and has cost no attempt.
//
// The transaction may have paid any request of the chain, and may be followed by others. So while a wallet has the
// mark ([OutboundOf]) no request of its chain is ordered, claimed, signed or dispatched, from whatever wallet, and none
// is refunded: [ErrUnsettled]. What is out is looked up, sent again and replaced, and all evidence is taken. Nobody
// takes the mark from the wallet ([Puts]) before each transfer that was told by Used is explained: it is on file of the
// request that it pays, the house's own, or [Unclaimed], and then no request with its payee is ordered. [Unexplained]
// names what is missing.
//
// # Stop
//
// Until something is prepared or dispatched an operator can cancel a request
// ([Cancelled]), whether it is queued or not, or hold it ([Held], [Released]).
// Transactions that are out are looked up, sent again and replaced as before, and the hold waits
// until the execution ends. A hot wallet that is not active and a chain that is paused begin
// nothing; an execution that ends because of that costs no attempt. A job for which [Claimed] is
// refused is not due.
//
// # Batches
//
// One transaction may pay many requests: by one output each, or by one transfer
// of a contract each. A [Batch] is the transaction with its versions; each request
// that it pays is a member and keeps its own record, and the three together are a
// [Payout] ([Policy.ApplyBatch], [Policy.NextBatch], [CheckBatch]).
//
// Until it is signed there is no batch: members are claimed, cancelled, held and
// rescued one by one. On a chain with nonces one of them holds the slot of the
// wallet and its job will own the nonce; the others are claimed behind it
// (Claimed.Behind) and cannot be paid alone. [BatchPrepared] is the first
// irreversible step of all of them, in one commit: the version is on the file of
// each request that it pays, with its output, before it is sent.
//
// The invariant is the one of every payment: each transaction that may pay a request is on that
// request's file, and no two live ones there can both be mined. It holds for three reasons. A
// version is filed with each request that it pays before it is sent. All versions of a batch have
// one nonce or input. And a job leaves its batch only to an end, to an operator, or to pending;
// to pending only when every transaction of the batch on its file is proven dead by a transaction
// with that nonce or input, at depth, that does not pay it. A replacement that drops a member
// proves nothing: the member stays, and may be paid by an older version.
//
// While a job is in a batch, evidence of the transaction is sent to the batch ([ErrInBatch]).
// [BatchMined] decides all members in one commit, each by its own output or transfer. A member
// that a version was to pay, and whose output is not shown, goes to review and leaves the batch:
// an operator says PaidBy of that transaction and output, or ProvenDead with LeftOut. A receipt
// does not say whom a batch pays, so it confirms none of its members. While an operator has a
// member that the newest version pays, this version is not sent again ([Payout.Unwanted]): replace
// it by one without the member. After the end evidence moves no status: it is an incident, or
// refused where only an operator may say it.
//
// All members share the end of the version that is mined. Where one payee makes it
// revert at depth, all of them have failed, and with a transaction on file none is
// requeued: an operator looks for the payee that reverted, and the other members are paid by new
// requests. So simulate a batch before it is signed, put a payee that is a contract into a
// transaction of its own, or pay by a contract that skips a payee which refuses. A member that was
// dropped, and is pending again once a version without it is mined, has used up an execution: one
// that is dropped each time fails after the last.
//
// # Storing a change
//
// A record whose version changed is written where the version in Old still
// stands, with its line of the log, in one commit with all facts of the
// [Change]. Lease, OfferAt, NextCheckAt and Rebroadcast are outside the version
// ([Change.Touch], [Change.TouchRequest]); a heartbeat is [statemachine.Lease.Renew] and no event.
// The store keeps unique: ids, those of earlier jobs included; one job per
// request that is not failed ([ErrActiveJob]); one job per slot ([ErrSlotTaken]); one job per (wallet,
// nonce) ([ErrNonceTaken]), fillers and strays included; one transaction per (request, seq)
// and per (request, hash); one request per transaction of a chain, or per output
// of it, strays included ([ErrPaymentTaken]); one attempt per (job, fence); one
// incident per key. What writes a job compares the version of its request too.
//
// A [BatchChange] is stored in one commit with the changes of its members, each by
// compare-and-swap on its own version. The nonce of a batch belongs to the job that
// it names as its owner: the transactions of its members take none.
//
// # For stores
//
// A service never needs what is listed here; a store or a suite of tests does. Orders of lists: [CompareClaims], [CompareDue],
// [CompareDueBatches], [CompareListed], [CompareListedBatches], [CompareMembers], [CompareRebroadcasts], [CompareWallets],
// [PriorityRank]. What is due, and when: [IsDue], [DueAt], [DueIn], [BatchDueAt], [BatchDueIn], [LowerNonce], [LowerBatch], [IsAhead].
// Sums and counts: [StatsOf], [UsageOf], [UnknownOutbounds], [IsApproval]. Who may say what: [Speakers], [BatchSpeakers], [Events],
// [BatchEvents], [StatementEvents].
package withdrawal
