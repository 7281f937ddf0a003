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
// in [Chain]), and the truth of a [ProvenDead] and of an operator's proof.
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
// failed: the job failed. An [Operator] may requeue it, unless a transaction on
// file is not proven dead, or the proof was wrong. A reverted or a cancelling one
// was mined, so such a request is paid only by a new one.
//
// rejected, cancelled: stopped before execution. Terminal.
//
// # Jobs
//
// pending: a [WithdrawalWorker] claims it from ScheduledAt on. Nothing of it
// can be mined.
//
// processing: the worker that holds the lease signs and sends. A crash leaves
// an expired lease, and [Elapsed] decides by what is on file: nothing, then
// pending with back-off; a prepared transaction, then confirming; a dispatch,
// then review.
//
// processing in review: sent or not is unknown and no hash is on file. An
// [Operator] alone moves it on with [Resolved]. It holds no slot of the wallet.
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
// A transaction that was declared dead is mined at depth, and not reverted: an
// [Incident], and the payment stops. No execution is left to the job, so that
// nothing leads back to pending. While nothing else is out, the transaction is
// live again and in review; an operator resolves it as sent. If a later one was
// declared dead too, or it is of an earlier job, the job fails with its hash
// and is never requeued; what is mined is for people to settle. So it ends too
// once what is out beside it is proven dead; the transaction that was mined may
// be that proof. After the end of the job there is the incident alone: the
// request is not requeued any more, and gets no job if it was requeued already;
// an operator cancels it.
//
// # Storing a change
//
// A record whose version changed is written where the version in Old still
// stands, with its line of the log, in one commit with all facts of the
// [Change]. Lease, NextCheckAt and Rebroadcast are outside the version
// ([Change.Touch]); a heartbeat is [statemachine.Lease.Renew] and no event.
// The store keeps unique: ids, those of earlier jobs included; one job per
// request that is not failed ([ErrActiveJob]); one job per slot ([ErrSlotTaken]); one job per (wallet,
// nonce) ([ErrNonceTaken]); one transaction per (request, seq) and per (request,
// hash); one attempt per (job, fence); one incident per key.
package withdrawal
