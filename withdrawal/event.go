package withdrawal

import (
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Event is something that the host saw or decided. The set is closed.
type Event interface{ statemachine.Event[Role] }

// By says who speaks, in which capacity, when, and about which version. Only [Missing] uses At; everything else goes by
// the store's clock. Version is the request's for events of the request, and the job's for events of the job.
type By = statemachine.By[Role]

// Events of the intent layer.
type (
	// Submitted creates a request, and approves it where the approval policy
	// needs nobody. Key: Request.
	Submitted struct {
		By
		Request   uuid.UUID
		User      uuid.UUID
		Asset     uuid.UUID
		Chain     uuid.UUID
		ToAddress string
		Memo      string
		Amount    string // for people: "100.5"; see ParseAmount
		Decimals  int32
		Usage     Usage // read under a lock of the user, in the same commit
	}
	// Approved is one approval. Key: Actor.
	Approved struct{ By }
	// Rejected: an approver says no. Key: Actor.
	Rejected struct {
		By
		Reason string
	}
	// Cancelled: an operator cancels the request while nothing of it is out: nothing was prepared or dispatched, or
	// everything that was is proven dead or declared not sent. A queued request ends together with its job. Key: Actor.
	Cancelled struct {
		By
		Reason string
	}
	// Held: an operator stops the request for a while. A held pending request can still be approved; a held request
	// gets no job and no execution. An execution of which nothing is out ends at once and gives the attempt back; if
	// something is out, the hold waits until the execution has ended. Key: that it is held.
	Held struct {
		By
		Reason string
	}
	// Released ends a hold. Key: that it is not held.
	Released struct {
		By
		Reason string
	}
	// Acknowledged: an operator has settled everything that evidence has told of a request that has ended
	// (Request.Told), see [ErrPaidTwice] and [ErrPaidAndRefunded]. For a request that has not ended it is taken only if
	// signers named transactions of others (Request.Taken): then it lets the request be paid. Send it with the version
	// that was looked at: if more was told since, it is ErrConflict. Key: that it is acknowledged.
	Acknowledged struct {
		By
		Reason string // required
	}
	// Enqueued makes the execution job and chooses its wallet. Key: Job.
	Enqueued struct {
		By
		Job          uuid.UUID
		AssetOnChain uuid.UUID
		Priority     Priority    `json:",omitzero"` // zero: Normal
		MaxRetries   int32       // 0: the policy's
		Wallets      []HotWallet // candidates, in any order; read without a lock
	}
	// Requeued orders another job for a failed request, once no transaction of the failed one can be mined. For a
	// [Refunded] request it is [ErrRefunded]. Key: Job.
	Requeued struct {
		By
		Job    uuid.UUID // the failed job
		Reason string
		// NotRefunded is required: whoever speaks has looked at the host's books, and
		// the money was not given back.
		NotRefunded bool
	}
	// Refunded closes a request that has ended unpaid in the host's books. It is the intent of the refund, or of the
	// release of a hold: said in the commit of the posting, or before the posting where the books are elsewhere, and
	// never after. [Policy.Refundable] says when it may be said. No event takes it back. Key: Reference; a second one
	// with another Reference is ErrConflict.
	Refunded struct {
		By               // System or Operator
		Reference string // 1 to 100 bytes: the idempotency key of the posting
		Reason    string // required of an operator
		// Already, of an operator and only while the chain is recovering: the refund was made before the restore of the
		// database. [Policy.Refundable] is not asked. If evidence was told that nobody has acknowledged, or a stray is
		// sent and not settled, the request counts at once as paid and refunded: Request.PaidAfter.
		Already bool
	}
	// Imported brings in a row of a service that kept tx_hash on the request: queued, with one confirming job. Key:
	// Hash. On a request that exists only Job, AssetOnChain, Hash, nonce and Wallets count; every other field that is
	// set, except CreatedAt, must equal the stored one. With a nonce, Wallets must be the one wallet that sent it. An
	// import is no use of a wallet: last_used_at stays. While the chain is recovering it also makes another job of a
	// request that is failed, or approved after a requeue, if no transaction of it can be mined: such a request was
	// requeued and paid after the copy was made.
	Imported struct {
		By
		Request      uuid.UUID
		User         uuid.UUID
		Asset        uuid.UUID
		Chain        uuid.UUID
		ToAddress    string
		Memo         string
		Amount       string
		Decimals     int32
		CreatedAt    time.Time
		Job          uuid.UUID
		AssetOnChain uuid.UUID
		Hash         string
		Nonce        uint64
		HasNonce     bool
		ByOutput     bool   // the transaction pays several requests, this one by Output
		Output       uint32 // index of the output or transfer; else 0
		Wallets      []HotWallet
	}
)

// Events of the execution layer, by a withdrawal worker under its fence. The
// holder of a lease is By.Actor.
type (
	// Claimed takes a due pending job for an execution. It also takes a confirming job: for a re-broadcast if bytes are
	// on file, or for a rebump if there is a nonce or an input to replace. Fence is the next one, Job.Lease.Fence + 1;
	// 0 takes whichever is next. Key: Fence.
	Claimed struct {
		By
		Fence int64
		// Behind: for a batch, on a chain with nonces. The job takes no slot of
		// the wallet, which another member has, and cannot be paid alone.
		Behind bool
	}
	// Prepared puts a signed transaction on file, before it is sent. Key:
	// Fence and Hash.
	Prepared struct {
		By
		Fence    int64
		Hash     string
		Raw      []byte
		Nonce    uint64 // see FreeNonce; required where the chain has nonces
		HasNonce bool
		Input    string
		// ChainNonce is the wallet's next nonce as the chain knows it, with HasChainNonce: required if the chain has
		// nonces. If it is above the next nonce on file, transactions on no file have used the nonces between, and the
		// event is refused with ErrUnsettled, see the package's section on unknown outbounds. If it is not above the
		// nonce of a transaction of this request that was declared dead, this transaction may still be mined, and only
		// its own nonce is accepted; any other is ErrNonceGap. If another job owns that nonce, a transfer of the wallet
		// to itself has to use it first.
		ChainNonce    uint64
		HasChainNonce bool
	}
	// Dispatched: a signer that also sends is about to be called. Key: Fence
	// and Reference.
	Dispatched struct {
		By
		Fence     int64
		Reference string // the idempotency key that the signer is called with
	}
	// Broadcast: the node took the prepared transaction (MarkBroadcast), or the dispatched signer answered with its
	// hash. Key: Fence and Hash. A signer that chose a nonce which another job owns has made a transaction all the
	// same: on ErrNonceTaken, or on ErrNonceUsed for a nonce of a filler, report it again without the nonce.
	//
	// An answer to any dispatch of the request is news whenever it comes, by any worker: see the package's section on
	// late answers.
	Broadcast struct {
		By
		Fence    int64
		Hash     string
		Raw      []byte // of a dispatched signer, if it tells; also the nonce
		Nonce    uint64 // of the job's hot wallet; leave it out if another one sent
		HasNonce bool
		Input    string
	}
	// Rebumped puts a replacing transaction on file, before it is sent: same
	// wallet, same nonce or input. Key: Hash.
	Rebumped struct {
		By
		Fence    int64
		Hash     string
		Raw      []byte
		Nonce    uint64
		HasNonce bool
		Input    string
		Cancel   bool // a self-transfer: mined, it ends the payment
	}
	// AttemptFailed closes an execution. Key: Fence.
	AttemptFailed struct {
		By
		Fence   int64
		Failure Failure `json:",omitzero"`
		Error   string  // bounded and stored; the host redacts secrets
	}
	// GivenBack gives an execution back: it was not tried (For > 0) or the worker stops gracefully (For = 0). For is
	// cut to microseconds. Key: Fence.
	GivenBack struct {
		By
		Fence  int64
		For    time.Duration
		Reason string
		// refused: the rules say it of a payment that they have refused, see [UnsettledError].
		refused bool
	}
	// Rebroadcast reports another broadcast of the bytes on file. Done says that the node took the transaction or has
	// it. Rebroadcast ends the lease. Done or not, the next broadcast is owed only after a look-up misses the
	// transaction, since a transaction that a node refuses may be mined already. After the end of its transaction
	// Rebroadcast changes nothing. Key: Fence.
	Rebroadcast struct {
		By
		Fence int64
		Hash  string
		Done  bool
	}
)

// Events of the confirmation worker: what the chain says.
type (
	// Block is where the chain showed something. Canonical is the hash of the
	// chain's block at Height, read together with Head; evidence from
	// another block is ignored.
	Block struct {
		Height    uint64
		Hash      string
		Canonical string
		Head      uint64
	}
	// Looking: a look-up of the job's live transactions begins. It puts the next look-up off by [Policy.CheckEvery], so
	// that no other worker makes the same one meanwhile; sent again, it renews this time.
	Looking struct{ By }
	// Receipt: the transaction is in a block. Below the depth nothing but the
	// next check changes. Key: Hash and Block.
	Receipt struct {
		By
		Block
		Tx       string // hash of the transaction
		Reverted bool
		GasUsed  Raw
		GasPrice Raw
	}
	// Missing: the node does not know the transaction, or could not be asked (Error). It is never a proof. For a
	// confirmed job it is an incident, unless At, the time when the node was asked, is before the end of the job: a
	// slow look-up sets At, and store.Withdrawals.Lookups sets it for its worker ([LookedUp]).
	Missing struct {
		By
		Tx    string
		Error string
	}
	// ProvenDead: no live transaction can be mined any more, proven at depth. Only an operator may say so in review,
	// and of a transaction that has neither nonce nor input. WindowEnded proves it only for a single live transaction
	// without a nonce: a replacement may have a longer window, and a nonce that is not used stays open. Key: Tx.
	//
	// ProvenDead says that a transaction is dead, not that the payment is: the same payment may have been mined under
	// another hash, bumped in another wallet or malleated. So the speaker first compares payee, asset, amount and
	// reference of Other: if Other pays this request, say [PaidBy]; if nobody can tell, say [CannotTell].
	//
	// For an operator Tx may be a [Stray] too. The line of the log names the cause and Other.
	ProvenDead struct {
		By
		Block            // of the other transaction, or where the window ended
		Tx    string     // a live transaction on file; its replacements die with it
		Cause DeathCause `json:",omitzero"`
		// hash of what was mined instead; of this request only one that was declared dead, after its receipt, or with a Reason; empty for
		// WindowEnded
		Other string
		Nonce uint64 // with NonceUsed: which nonce
		Input string `json:",omitempty"` // with InputSpent: which input
		// NotThisPayment: Other was looked at, and does not pay this request. It is required, except with WindowEnded
		// and LeftOut, or if Other is on record as a payment of the request already: that payment joins the file
		// whatever is said here. No event takes a PaidBy back: if one was wrong, people settle what is still owed.
		NotThisPayment bool
		// Reason is an operator's. It is required, with NotThisPayment, if Other is a transaction of this request that
		// pays nothing, since it reverted or paid another amount: one that was declared dead, or a Stray, which may be
		// Tx itself.
		Reason string
	}
	// PaidBy: a transaction that is not on file pays this request: the same payment, bumped in another wallet,
	// malleated, or sent by hand. Payee, asset, amount and, if the job is dispatched, reference are what the chain
	// shows, and must be those of the request. The memo, or tag, of a request must match too; the event does not carry
	// it, so the host compares it.
	//
	// A confirmation worker may say PaidBy of a transaction in a canonical block that has the nonce or input which
	// every live transaction has; anything else an operator says, with a reason. The package's section on payments
	// under another hash says what follows. Key: Tx and Output.
	PaidBy struct {
		By
		Block               // where it was mined; an operator may leave it empty
		Tx           string // hash of the transaction
		Output       uint32 // index of the output or transfer that pays; else 0
		Payee        string
		AssetOnChain uuid.UUID
		AmountRaw    Raw
		Reference    string
		Nonce        uint64 // of the job's hot wallet; leave it out if another one sent, or it counts as the rival of what is live
		HasNonce     bool
		Input        string
		Raw          []byte // if known
		Reverted     bool   // a reverted one pays nothing: ErrInvalid
		GasUsed      Raw
		GasPrice     Raw
		Reason       string // an operator's
	}
	// CannotTell: Other was mined instead of Tx, and the confirmation worker
	// cannot tell whether it pays this request: an operator has it. Key: that
	// it is in review.
	CannotTell struct {
		By
		Tx     string // a live transaction on file
		Other  string
		Reason string
	}
)

// Events of operators and of time.
type (
	// Resolved ends a review. Key: Job and By.Version, both required; another
	// answer to the same version is ErrConflict. With Sent the hash need not be
	// on file; beside live transactions it must have their nonce or input.
	Resolved struct {
		By
		Job      uuid.UUID // the job that was looked at
		Sent     bool
		Hash     string // with Sent: the transaction that was found
		Raw      []byte // if known
		Nonce    uint64 // of the job's hot wallet; leave it out if another one sent
		HasNonce bool
		Input    string
		ByOutput bool   // the transaction pays several requests, this one by Output; else no other request can have it
		Output   uint32 // index of the output or transfer; else 0
		Reason   string // required; without Sent: the proof
	}
	// Elapsed: time has passed. It rescues a job whose lease has ended.
	Elapsed struct{ By }
	// Revoked takes the leases that Holder has at once, as Elapsed does at their end: a worker for its own name, an
	// operator for any. Key: that Holder has no lease.
	Revoked struct {
		By
		statemachine.Revocation
	}
	// PutOff: an item that was due has been refused. It is not offered again for [Policy.EnqueueEvery], a pending job
	// for [Policy.CheckEvery], so that one bad item stops no others. PutOff proves nothing and moves nothing.
	PutOff struct{ By }
)
