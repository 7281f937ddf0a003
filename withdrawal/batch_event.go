package withdrawal

import (
	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// BatchEvent is something that the host saw or decided of a batch. The set is
// closed. By.Version is the version of the batch.
type BatchEvent interface {
	statemachine.Event[Role]
	batch()
}

type ofBatch struct{}

func (ofBatch) batch() {}

// Events of a batch.
type (
	// BatchPrepared makes a batch of jobs that its actor has claimed: the signed transaction is on file, before it is
	// sent, with every request that it pays. All jobs are of one wallet. On a chain with nonces one of them holds the
	// slot of the wallet, and the others were claimed behind it. If one of them cannot be paid any more, since it was
	// cancelled, held, or its lease is over, nothing is stored, and nothing may be sent: the host makes another
	// transaction without it. Key: Batch and Hash.
	//
	// Pays has every output of the transaction but change; each pays one request, and the amount is the request's. A
	// signer that also sends cannot pay a batch.
	BatchPrepared struct {
		By
		ofBatch
		Batch    uuid.UUID
		Pays     []Pay
		Hash     string
		Raw      []byte
		Nonce    uint64 // as for [Prepared]
		HasNonce bool
		Input    string
		// ChainNonce is as for [Prepared].
		ChainNonce    uint64
		HasChainNonce bool
	}
	// BatchReplaced puts a replacing version on file, before it is sent: same wallet, same nonce or input. It pays some
	// or all of the members that the batch has, or none. A member that it does not pay is dropped: it stays as it is
	// until a version without it is mined at depth. By.Version is required. Fence is of the lease of its actor. Key:
	// Hash.
	BatchReplaced struct {
		By
		ofBatch
		Fence int64
		Pays  []Pay
		Hash  string
		Raw   []byte
	}
	// BatchClaimed gives its actor the lease under which the newest version is sent,
	// or replaced. Who made the batch has the first one. Key: Fence, as for [Claimed].
	BatchClaimed struct {
		By
		ofBatch
		Fence int64 // 0 takes the next one
	}
	// BatchRevoked gives the lease back at once, if Holder has it, as [Revoked].
	BatchRevoked struct {
		By
		ofBatch
		statemachine.Revocation
	}
	// BatchSent reports a broadcast of the newest version. Done says that the node took the version or has it. Done or
	// not, another broadcast is owed only after a look-up misses the version. BatchSent ends the lease. After the end
	// of the batch it changes nothing. Key: Fence.
	BatchSent struct {
		By
		ofBatch
		Fence int64
		Hash  string
		Done  bool
	}
	// BatchLooking: somebody looks it up. It puts the next time off by
	// [Policy.CheckEvery].
	BatchLooking struct {
		By
		ofBatch
	}
	// BatchMissing: the node knows no version, or could not be asked (Error). Never
	// a proof: the newest version is owed another broadcast.
	BatchMissing struct {
		By
		ofBatch
		Error string
	}
	// BatchMined: a transaction with the nonce or input of the batch is in a block. Below the depth nothing but the
	// next check changes. At depth every member is decided, in one commit:
	//
	//   - A version is mined, and pays the member: the member is confirmed if its output or transfer is shown, with the
	//     payee, asset and amount of the request; if it is not shown, the member is parked for an operator; if the
	//     version was reverted, the member has failed.
	//   - A version is mined, and does not pay the member: no other version can pay it any more, so it is pending
	//     again, or failed after its last execution.
	//   - A transaction that is no version of the batch is mined: the members that it pays are paid by it, the others
	//     cannot be paid any more, and a member of which nobody can tell is parked.
	//
	// A member in review that the transaction does not pay is left to the operator, unless an operator says BatchMined.
	// Key: Tx and Block.
	BatchMined struct {
		By
		ofBatch
		Block
		Tx       string // a version, or another transaction
		Reverted bool
		GasUsed  Raw
		GasPrice Raw
		// Transfers are all outputs, or transfers, that the receipt shows, each once and at most MaxTransfers; those to
		// other payees may be left out. A reverted transaction has none. They have no memo: leave out a transfer that
		// names another memo, or tag, than the request's, for it is not the request's payment.
		Transfers []Transfer
		// Of a transaction that is none of the batch: its nonce or input, and that
		// somebody looked at it: what it pays to the members is in Transfers.
		Nonce    uint64
		HasNonce bool
		Input    string
		Looked   bool
		Reason   string // an operator's, of such a one
	}
	// BatchCannotTell: Other has the nonce or input of the batch, and the
	// confirmation worker cannot tell whom it pays. All members that the batch has
	// are parked.
	BatchCannotTell struct {
		By
		ofBatch
		Other  string
		Reason string
	}
)

// BatchSpeakers are the roles that may send an event of a batch; none for what is no event of the domain.
func BatchSpeakers(ev BatchEvent) statemachine.Roles[Role] {
	switch ev.(type) {
	case BatchPrepared, BatchReplaced, BatchClaimed, BatchSent:
		return byWorker
	case BatchRevoked:
		return byWorker | byOperator
	case BatchLooking, BatchMissing, BatchCannotTell:
		return byChecker
	case BatchMined:
		return byChecker | byOperator
	}
	return 0
}

// BatchEvents returns an empty one of each event, in no order that means anything.
func BatchEvents() []BatchEvent {
	return []BatchEvent{
		BatchPrepared{}, BatchReplaced{}, BatchClaimed{}, BatchSent{}, BatchRevoked{}, BatchLooking{}, BatchMissing{},
		BatchCannotTell{}, BatchMined{},
	}
}
