package sqlstore

import (
	"github.com/settlehq/settle/withdrawal"
)

// The columns of each record, and its fields in the same order. What never
// changes after the insert comes first.

const (
	requestFixed = "id uuid, user_id uuid, asset_id uuid, chain_id text, to_address text, memo text, amount num, amount_raw text, decimals int, " +
		"requested_by text, approvals_needed int, created_at time"
	requestState = "status text, first_approver text, second_approver text, closed_by text, close_reason text, queued_at time, " +
		"final_tx_hash text, version int, updated_at time"
	requestColumns = requestFixed + ", " + requestState

	jobFixed = "id uuid, withdrawal_request_id uuid, chain_id text, asset_on_chain_id uuid, operation_wallet_address_id uuid, " +
		"to_address text, amount_raw text, amount_human num, priority text, max_retries int, created_at time"
	jobState = "status text, retry_count int, scheduled_at time, lease_holder text, lease_fence int, lease_until time, slot uuid, " +
		"claimed_at time, dispatched_at time, dispatch_ref text, txs_on_file int, txs_dead int, nonce int, tx_hash text, review bool, " +
		"resolved_version int, broadcast_at time, next_check_at time, rebroadcast bool, evidence_height int, evidence_hash text, " +
		"gas_used text, gas_price text, error_message text, processed_at time, version int"
	jobColumns = jobFixed + ", " + jobState

	txColumnsOfRequest = "withdrawal_request_id uuid, seq int, job_id uuid, tx_hash text, raw_tx bytes, operation_wallet_address_id uuid, " +
		"nonce int, input text, is_cancel bool, created_at time"
	attemptColumns = "job_id uuid, fence int, worker text, started_at time, ended_at time, outcome text, error_message text, tx_hash text"
	walletColumns  = "id uuid, chain_id text, role text, status text, last_used_at time, balance_reserved num"

	incidentColumns = "withdrawal_request_id uuid, job_id uuid, tx_hash text, claim text, block_hash text, height int, status text, actor text, at time"
)

func requestFixedFields(r *withdrawal.Request) []any {
	return []any{always(&r.ID), always(&r.User), always(&r.Asset), always(&r.Chain), always(&r.ToAddress), always(&r.Memo),
		always(&r.Amount), always(&r.AmountRaw), always(&r.Decimals), always(&r.RequestedBy), always(&r.ApprovalsNeeded), always(&r.CreatedAt)}
}

func requestStateFields(r *withdrawal.Request) []any {
	return []any{always(&r.Status), maybe(&r.FirstApprover), maybe(&r.SecondApprover), maybe(&r.ClosedBy), always(&r.CloseReason),
		maybe(&r.QueuedAt), maybe(&r.FinalTxHash), always(&r.Version), always(&r.UpdatedAt)}
}

func requestFields(r *withdrawal.Request) []any {
	return append(requestFixedFields(r), requestStateFields(r)...)
}

func jobFixedFields(j *withdrawal.Job) []any {
	return []any{always(&j.ID), always(&j.Request), always(&j.Chain), always(&j.AssetOnChain), always(&j.Wallet), always(&j.ToAddress),
		always(&j.AmountRaw), always(&j.AmountHuman), always(&j.Priority), always(&j.MaxRetries), always(&j.CreatedAt)}
}

func jobStateFields(j *withdrawal.Job) []any {
	return []any{always(&j.Status), always(&j.RetryCount), always(&j.ScheduledAt), maybe(&j.Lease.Holder), always(&j.Lease.Fence),
		maybe(&j.Lease.Until), always(&j.Slot), maybe(&j.ClaimedAt), maybe(&j.DispatchedAt), maybe(&j.DispatchRef), always(&j.TxsOnFile),
		always(&j.TxsDead), nonceField{&j.Nonce, &j.HasNonce}, maybe(&j.TxHash), always(&j.Review), always(&j.ResolvedVersion),
		maybe(&j.BroadcastAt), maybe(&j.NextCheckAt), always(&j.Rebroadcast), always(&j.EvidenceHeight), maybe(&j.EvidenceHash),
		maybe(&j.GasUsed), maybe(&j.GasPrice), maybe(&j.ErrorMessage), maybe(&j.ProcessedAt), always(&j.Version)}
}

func jobFields(j *withdrawal.Job) []any { return append(jobFixedFields(j), jobStateFields(j)...) }

func txFields(t *withdrawal.Tx) []any {
	return []any{always(&t.Request), always(&t.Seq), always(&t.Job), always(&t.Hash), bytesField{&t.Raw}, always(&t.Wallet),
		nonceField{&t.Nonce, &t.HasNonce}, maybe(&t.Input), always(&t.Cancel), always(&t.CreatedAt)}
}

func attemptFields(a *withdrawal.Attempt) []any {
	return []any{always(&a.Job), always(&a.Fence), always(&a.Worker), always(&a.StartedAt), maybe(&a.EndedAt), maybe(&a.Outcome),
		maybe(&a.Error), maybe(&a.Hash)}
}

func walletFields(w *withdrawal.HotWallet) []any {
	return []any{always(&w.ID), always(&w.Chain), always(&w.Role), always(&w.Status), maybe(&w.LastUsedAt), always(&w.BalanceReserved)}
}

func incidentFields(i *withdrawal.Incident) []any {
	return []any{always(&i.Request), always(&i.Job), always(&i.Hash), always(&i.Claim), always(&i.BlockHash), always(&i.Height),
		always(&i.Status), always(&i.Actor), always(&i.At)}
}
