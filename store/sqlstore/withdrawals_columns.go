package sqlstore

import (
	"database/sql/driver"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// The records of package withdrawal, see [table].

var requestTable = newTable(table[withdrawal.Request]{
	name:       "withdrawal_requests",
	fieldsOnly: true,
	machine:    withdrawal.RequestMachine.Name(),
	version:    func(r *withdrawal.Request) int64 { return r.Version },
	fixed: func(r *withdrawal.Request) list {
		return list{{"id uuid", always(&r.ID)}, {"user_id uuid", always(&r.User)}, {"asset_id uuid", always(&r.Asset)},
			{"chain_id text", always(&r.Chain)},
			{"to_address text", always(&r.ToAddress)}, {"memo text", always(&r.Memo)}, {"amount num", always(&r.Amount)},
			{"amount_raw text", always(&r.AmountRaw)},
			{"decimals int", always(&r.Decimals)}, {"requested_by text", always(&r.RequestedBy)},
			{"approvals_needed int", always(&r.ApprovalsNeeded)},
			{"created_at time", always(&r.CreatedAt)}}
	},
	state: func(r *withdrawal.Request) list {
		return list{{"status text", always(&r.Status)}, {"first_approver text", maybe(&r.FirstApprover)},
			{"second_approver text", maybe(&r.SecondApprover)},
			{"closed_by text", maybe(&r.ClosedBy)}, {"close_reason text", always(&r.CloseReason)}, {"queued_at time", maybe(&r.QueuedAt)},
			{"final_tx_hash text", maybe(&r.FinalTxHash)}, {"held bool", always(&r.Held)}, {"mined text", maybe(&r.Mined)},
			{"acknowledged bool", always(&r.Acknowledged)}, {"disproved text", maybe(&r.Disproved)}, {"disproved_by text", maybe(&r.DisprovedBy)},
			{"strays_on_file int", always(&r.StraysOnFile)},
			{"strays_sent int", always(&r.StraysSent)}, {"taken text", maybe(&r.Taken)}, {"told text", maybe(&r.Told)},
			{"refunded_at time", maybe(&r.RefundedAt)},
			{"refunded_by text", maybe(&r.RefundedBy)}, {"refund_reference text", maybe(&r.RefundReference)},
			{"paid_after text", maybe(&r.PaidAfter)}, {"version int", always(&r.Version)}, {"updated_at time", always(&r.UpdatedAt)}}
	},
	outside: func(r *withdrawal.Request) list { return list{{"offer_at time", maybe(&r.OfferAt)}} },
	derived: []derived{{name: "approved_at", spec: "approved_at time", insert: "r.approved_at",
		update: "coalesce(r.approved_at, x.approved_at)"}},
})

var jobTable = newTable(table[withdrawal.Job]{
	name:       "withdrawal_queue",
	fieldsOnly: true,
	machine:    withdrawal.JobMachine.Name(),
	version:    func(j *withdrawal.Job) int64 { return j.Version },
	fixed: func(j *withdrawal.Job) list {
		return list{{"id uuid", always(&j.ID)}, {"withdrawal_request_id uuid", always(&j.Request)}, {"chain_id text", always(&j.Chain)},
			{"asset_on_chain_id uuid", always(&j.AssetOnChain)}, {"operation_wallet_address_id uuid", always(&j.Wallet)},
			{"to_address text", always(&j.ToAddress)},
			{"amount_raw text", always(&j.AmountRaw)}, {"amount_human num", always(&j.AmountHuman)}, {"priority text", always(&j.Priority)},
			{"max_retries int", always(&j.MaxRetries)}, {"created_at time", always(&j.CreatedAt)}}
	},
	state: func(j *withdrawal.Job) list {
		return list{{"status text", always(&j.Status)}, {"retry_count int", always(&j.RetryCount)}, {"scheduled_at time", always(&j.ScheduledAt)},
			{"scheduled_from time", always(&j.ScheduledFrom)},
			{"slot uuid", always(&j.Slot)}, {"claimed_at time", maybe(&j.ClaimedAt)}, {"dispatched_at time", maybe(&j.DispatchedAt)},
			{"dispatch_ref text", maybe(&j.DispatchRef)}, {"txs_on_file int", always(&j.TxsOnFile)}, {"txs_dead int", always(&j.TxsDead)},
			{"nonce int", nonceField{&j.Nonce, &j.HasNonce}}, {"tx_hash text", maybe(&j.TxHash)}, {"review bool", always(&j.Review)},
			{"resolved_version int", always(&j.ResolvedVersion)}, {"broadcast_at time", maybe(&j.BroadcastAt)},
			{"evidence_height int", always(&j.EvidenceHeight)}, {"evidence_hash text", maybe(&j.EvidenceHash)}, {"gas_used text", maybe(&j.GasUsed)},
			{"gas_price text", maybe(&j.GasPrice)}, {"error_message text", maybe(&j.ErrorMessage)}, {"processed_at time", maybe(&j.ProcessedAt)},
			{"deferrals int", always(&j.Deferrals)}, {"stopped_fence int", always(&j.StoppedFence)}, {"dispatches int", always(&j.Dispatches)},
			{"batch_id uuid", maybe(&j.Batch)}, {"version int", always(&j.Version)}}
	},
	outside: func(j *withdrawal.Job) list {
		return list{{"lease_holder text", maybe(&j.Lease.Holder)}, {"lease_fence int", always(&j.Lease.Fence)},
			{leaseUntil, maybe(&j.Lease.Until)},
			{"offer_at time", maybe(&j.OfferAt)}, {"next_check_at time", maybe(&j.NextCheckAt)}, {"rebroadcast bool", always(&j.Rebroadcast)}}
	},
	head: "withdrawal_requests",
	derived: []derived{{name: "number", insert: "(SELECT coalesce(max(l.number), 0) + 1 FROM @withdrawal_queue l " +
		"WHERE l.withdrawal_request_id = r.withdrawal_request_id)"}},
	unique: []unique{
		{[]string{"withdrawal_request_id"}, "x.status <> 'failed'", takenBy(withdrawal.ErrActiveJob)},
		{[]string{"slot"}, "", takenBy(withdrawal.ErrSlotTaken)},
	},
})

// takenBy is the error of a rule that gave what was asked for to another job.
func takenBy(rule error) func(string) error {
	return func(holder string) error {
		id, err := uuid.Parse(holder)
		if err != nil {
			return err
		}
		return &withdrawal.TakenError{Err: rule, ID: id}
	}
}

var txTable = newTable(table[withdrawal.Tx]{
	name: "withdrawal_txs", keys: 2,
	fieldsOnly: true,
	fixed: func(t *withdrawal.Tx) list {
		return list{{"withdrawal_request_id uuid", always(&t.Request)}, {"seq int", always(&t.Seq)}, {"job_id uuid", always(&t.Job)},
			{"tx_hash text", always(&t.Hash)},
			{"raw_tx bytes", bytesField{&t.Raw}}, {"operation_wallet_address_id uuid", always(&t.Wallet)},
			{"nonce int", nonceField{&t.Nonce, &t.HasNonce}},
			{"input text", maybe(&t.Input)}, {"is_cancel bool", always(&t.Cancel)}, {"by_output bool", always(&t.ByOutput)},
			{"output int", always(&t.Output)},
			{"batch_id uuid", maybe(&t.Batch)}, {"created_at time", always(&t.CreatedAt)}}
	},
})

var batchTable = newTable(table[withdrawal.Batch]{
	name:    "withdrawal_batches",
	machine: withdrawal.BatchMachine.Name(),
	version: func(b *withdrawal.Batch) int64 { return b.Version },
	fixed: func(b *withdrawal.Batch) list {
		return list{{"id uuid", always(&b.ID)}, {"chain_id text", always(&b.Chain)}, {"operation_wallet_address_id uuid", always(&b.Wallet)},
			{"owner_job_id uuid", always(&b.Owner)}, {"nonce int", nonceField{&b.Nonce, &b.HasNonce}}, {"input text", maybe(&b.Input)},
			{"members int", always(&b.Members)}, {"created_at time", always(&b.CreatedAt)}}
	},
	state: func(b *withdrawal.Batch) list {
		return list{{"status text", always(&b.Status)}, {"txs_on_file int", always(&b.TxsOnFile)}, {"tx_hash text", always(&b.TxHash)},
			{"evidence_height int", always(&b.EvidenceHeight)}, {"evidence_hash text", maybe(&b.EvidenceHash)}, {"gas_used text", maybe(&b.GasUsed)},
			{"gas_price text", maybe(&b.GasPrice)}, {"ended_at time", maybe(&b.EndedAt)}, {"version int", always(&b.Version)}}
	},
	outside: func(b *withdrawal.Batch) list {
		return list{{"next_check_at time", maybe(&b.NextCheckAt)}, {"rebroadcast bool", always(&b.Rebroadcast)},
			{"lease_holder text", maybe(&b.Lease.Holder)},
			{"lease_fence int", always(&b.Lease.Fence)}, {leaseUntil, maybe(&b.Lease.Until)}}
	},
})

var batchTxTable = newTable(table[withdrawal.BatchTx]{
	name: "withdrawal_batch_txs", keys: 2,
	fixed: func(t *withdrawal.BatchTx) list {
		return list{{"batch_id uuid", always(&t.Batch)}, {"seq int", always(&t.Seq)}, {"tx_hash text", always(&t.Hash)},
			{"raw_tx bytes", bytesField{&t.Raw}},
			{"created_at time", always(&t.CreatedAt)}}
	},
})

var attemptTable = newTable(table[withdrawal.Attempt]{
	name: "withdrawal_attempts", keys: 2,
	fieldsOnly: true,
	fixed: func(a *withdrawal.Attempt) list {
		return list{{"job_id uuid", always(&a.Job)}, {"fence int", always(&a.Fence)}, {"worker text", always(&a.Worker)},
			{"started_at time", always(&a.StartedAt)}}
	},
	state: func(a *withdrawal.Attempt) list {
		return list{{"ended_at time", maybe(&a.EndedAt)}, {"outcome text", maybe(&a.Outcome)}, {"error_message text", maybe(&a.Error)},
			{"tx_hash text", maybe(&a.Hash)},
			{"dispatched_at time", maybe(&a.DispatchedAt)}, {"dispatch_ref text", maybe(&a.DispatchRef)}}
	},
})

var strayTable = newTable(table[withdrawal.Stray]{
	name: "withdrawal_strays", keys: 2,
	fixed: func(s *withdrawal.Stray) list {
		return list{{"withdrawal_request_id uuid", always(&s.Request)}, {"seq int", always(&s.Seq)}, {"job_id uuid", always(&s.Job)},
			{"claim text", always(&s.Claim)},
			{"tx_hash text", always(&s.Hash)}, {"raw_tx bytes", bytesField{&s.Raw}}, {"operation_wallet_address_id uuid", always(&s.Wallet)},
			{"nonce int", nonceField{&s.Nonce, &s.HasNonce}}, {"input text", maybe(&s.Input)}, {"by_output bool", always(&s.ByOutput)},
			{"output int", always(&s.Output)},
			{"fence int", always(&s.Fence)}, {"created_at time", always(&s.CreatedAt)}}
	},
	state: func(s *withdrawal.Stray) list { return list{{"settled_at time", maybe(&s.SettledAt)}} },
})

var fillerTable = newTable(table[withdrawal.Filler]{
	name: "withdrawal_fillers", keys: 2,
	fixed: func(f *withdrawal.Filler) list {
		return list{{"operation_wallet_address_id uuid", always(&f.Wallet)}, {"nonce int", always(&f.Nonce)}, {"chain_id text", always(&f.Chain)},
			{"tx_hash text", always(&f.Hash)}, {"actor text", always(&f.Actor)}, {"reason text", always(&f.Reason)},
			{"created_at time", always(&f.CreatedAt)}}
	},
})

var hotWalletTable = newTable(table[withdrawal.HotWallet]{
	name: "operation_wallet_addresses",
	fixed: func(w *withdrawal.HotWallet) list {
		return list{{"id uuid", always(&w.ID)}, {"chain_id text", always(&w.Chain)}}
	},
	state: func(w *withdrawal.HotWallet) list {
		return list{{"role text", always(&w.Role)}, {"status text", always(&w.Status)}}
	},
	outside: func(w *withdrawal.HotWallet) list {
		return list{{"last_used_at time", maybe(&w.LastUsedAt)}, {"balance_reserved num", always(&w.BalanceReserved)}}
	},
})

// statusOrNone is the status of a job, empty where there was none.
type statusOrNone struct{ at *withdrawal.JobStatus }

func (s statusOrNone) Scan(src any) error {
	if *s.at = 0; src == "" {
		return nil
	}
	return s.at.Scan(src)
}

func (s statusOrNone) Value() (driver.Value, error) {
	if *s.at == 0 {
		return "", nil
	}
	return s.at.Value()
}

var acknowledgementTable = newTable(table[withdrawal.Acknowledgement]{
	name: "withdrawal_acknowledgements", keys: 4,
	fixed: func(a *withdrawal.Acknowledgement) list {
		return list{{"withdrawal_request_id uuid", always(&a.Request)}, {"tx_hash text", always(&a.Hash)}, {"claim text", always(&a.Claim)},
			{"block_hash text", always(&a.BlockHash)}, {"actor text", always(&a.Actor)}, {"role text", always(&a.Role)},
			{"reason text", always(&a.Reason)},
			{"at time", always(&a.At)}}
	},
	unique: []unique{{columns: []string{"withdrawal_request_id", "tx_hash", "claim", "block_hash"}}}, // inserted once
})

var incidentTable = newTable(table[withdrawal.Incident]{
	name: "withdrawal_incidents",
	fixed: func(i *withdrawal.Incident) list {
		return list{{"withdrawal_request_id uuid", always(&i.Request)}, {"job_id uuid", always(&i.Job)}, {"tx_hash text", always(&i.Hash)},
			{"claim text", always(&i.Claim)},
			{"block_hash text", always(&i.BlockHash)}, {"height int", always(&i.Height)}, {"status text", statusOrNone{&i.Status}},
			{"actor text", always(&i.Actor)},
			{"at time", always(&i.At)}}
	},
	unique: []unique{{columns: []string{"withdrawal_request_id", "tx_hash", "claim", "block_hash"}}}, // inserted once
})

var incidentRows = newNumberedRows(incidentTable, "id")

var statementTable = newTable(table[withdrawal.Statement]{
	name: "withdrawal_statements",
	fixed: func(s *withdrawal.Statement) list {
		return list{{"chain_id text", always(&s.Chain)}, {"operation_wallet_address_id uuid", maybe(&s.Wallet)},
			{"generation int", always(&s.Generation)},
			{"says text", always(&s.Says)}, {"number int", always(&s.Number)}, {"low int", always(&s.Low)}, {"tx_hash text", always(&s.Hash)},
			{"named text", always(&s.Text)}, {"asset_on_chain_id uuid", maybe(&s.Asset)}, {"amount_raw text", maybe(&s.Amount)},
			{"withdrawal_request_id uuid", maybe(&s.Request)}, {"height int", always(&s.Height)}, {"block_hash text", always(&s.Block)},
			{"source text", maybe(&s.Source)}, {"reason text", always(&s.Reason)}, {"actor text", always(&s.Actor)}, {"at time", always(&s.At)}}
	},
})

var statementRows = newNumberedRows(statementTable, "id")
