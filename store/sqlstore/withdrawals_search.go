package sqlstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// The lists that people look for. A list is driven by one index: of the jobs that are under way, which are few, or of
// requests in the order of the page. The other conditions are checked for each row.

// listKey names the statement of a list: by what it is driven.
type listKey struct {
	by        string
	backwards bool
}

// listOf are the conditions of a list by what drives it. x is the job under way.
// $4 to $7 are user, chain, wallet and holder, NULL for any; $8 is now.
var listOf = map[string]string{
	"user":                                  "q.user_id = $4 AND " + ofChain,
	"chain":                                 "q.chain_id = $5 AND " + ofUser,
	withdrawal.ListHeld.String():            "q.held AND q.status IN ('pending', 'approved', 'queued') AND " + ofUser + " AND " + ofChain,
	withdrawal.ListToRefund.String():        strings.ReplaceAll(toRefund, "x.", "q.") + " AND " + ofUser + " AND " + ofChain,
	withdrawal.ListPaidAndRefunded.String(): strings.ReplaceAll(paidAndRefunded, "x.", "q.") + " AND " + ofUser + " AND " + ofChain,
	withdrawal.ListOpen.String():            "q.status IN ('pending', 'approved', 'queued') AND " + ofUser + " AND " + ofChain,

	"job":                                underWay,
	"held job":                           underWay + " AND q.held",
	withdrawal.ListReview.String():       underWay + " AND x.review",
	withdrawal.ListLeaseEnded.String():   underWay + " AND " + dueWithdrawals[withdrawal.DueRescue].is("$8"),
	withdrawal.ListCheckOverdue.String(): underWay + " AND " + dueWithdrawals[withdrawal.DueCheck].is("$8") + " AND x.next_check_at < $8",
}

const (
	ofUser  = "(q.user_id = $4 OR $4 IS NULL)"
	ofChain = "(q.chain_id = $5 OR $5 IS NULL)"
	// The status of the request follows from that of the job: it keeps a database
	// from reading all requests that have ended.
	underWay = "x.status IN ('pending', 'processing', 'confirming') AND q.status = 'queued' AND " + ofUser + " AND " + ofChain +
		" AND (x.operation_wallet_address_id = $6 OR $6 IS NULL) AND (x.lease_holder = $7 OR $7 IS NULL)"
)

var listStatements = func() map[listKey]*statement {
	all := map[listKey]*statement{}
	for by, where := range listOf {
		for _, backwards := range []bool{false, true} {
			from := "@withdrawal_requests q"
			if strings.HasPrefix(where, underWay) {
				from = "@withdrawal_queue x JOIN @withdrawal_requests q ON q.id = x.withdrawal_request_id"
			}
			all[listKey{by, backwards}] = &statement{text: listText("SELECT q.id FROM "+from+" WHERE "+where, "q.", backwards)}
		}
	}
	for _, backwards := range []bool{false, true} { // of all, a range of an index for each status
		var parts []string
		for _, s := range withdrawal.RequestStatus(0).Values() {
			part := listText("SELECT q.id, q.created_at FROM @withdrawal_requests q WHERE q.status = '"+s.String()+"'", "q.", backwards)
			parts = append(parts, "SELECT * FROM ("+part+") s_"+s.String())
		}
		text := listText("SELECT u.id FROM ("+strings.Join(parts, " UNION ALL ")+") u WHERE true", "u.", backwards)
		all[listKey{"", backwards}] = &statement{text: text}
	}
	return all
}()

// listText adds place, order and limit of a page.
func listText(sel, row string, backwards bool) string {
	side, order := ">", row+"created_at, "+row+"id"
	if backwards {
		side, order = "<", row+"created_at DESC, "+row+"id DESC"
	}
	return fmt.Sprintf("%s AND (%screated_at, %[2]sid) %s ($1, $2) ORDER BY %s LIMIT $3", sel, row, side, order)
}

// drives returns what a filter is driven by, and whether its statement takes a job.
func drives(f withdrawal.Filter) (by string, jobs bool) {
	job := f.Wallet != uuid.Nil || f.Holder != ""
	switch {
	case f.Kind == withdrawal.ListHeld && job:
		return "held job", true
	case f.Kind == withdrawal.ListOpen && job, f.Kind == 0 && job:
		return "job", true
	case f.Kind != 0:
		return f.Kind.String(), f.Kind != withdrawal.ListHeld && f.Kind != withdrawal.ListOpen && !hasEnded(f.Kind)
	case f.User != uuid.Nil:
		return "user", false
	case f.Chain != uuid.Nil:
		return "chain", false
	}
	return "", false
}

// hasEnded reports whether a kind is of requests that have ended.
func hasEnded(kind withdrawal.ListKind) bool {
	return kind == withdrawal.ListToRefund || kind == withdrawal.ListPaidAndRefunded
}

// placeOf is where a page begins: behind a row, or at an end for nil.
func placeOf(after *withdrawal.Request, backwards bool) []any {
	if after == nil && backwards {
		after = &withdrawal.Request{ID: uuid.Max, CreatedAt: time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)}
	} else if after == nil {
		after = new(withdrawal.Request)
	}
	return []any{after.CreatedAt, after.ID.String()}
}

// List implements [store.WithdrawalRecords].
func (w withdrawals) List(q store.ListWithdrawals) ([]withdrawal.Withdrawal, error) {
	if err := store.CheckLimit(q.Limit); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	if hasEnded(q.Kind) && (q.Wallet != uuid.Nil || q.Holder != "") {
		return nil, nil // no job of it is under way
	}
	by, jobs := drives(q.Filter)
	args := append(placeOf(q.After, q.Backwards), int64(q.Limit))
	if by != "" {
		args = append(args, maybe(&q.User), maybe(&q.Chain))
	}
	if jobs {
		args = append(args, maybe(&q.Wallet), maybe(&q.Holder))
		if q.Kind == withdrawal.ListLeaseEnded || q.Kind == withdrawal.ListCheckOverdue {
			args = append(args, q.Now)
		}
	}
	ids, err := firstColumn[uuid.UUID](w.tx, listStatements[listKey{by, q.Backwards}], args...)
	if err != nil {
		return nil, err
	}
	all, _, err := readable(w.tx, ids, w.Get)
	return all, err
}

var (
	jobsOfRequest = statement{text: "SELECT " + jobTable.columns("") +
		" FROM @withdrawal_queue WHERE withdrawal_request_id = $1 ORDER BY number"}
	// Whatever the chain, and whether the whole transaction is a request's or one output.
	requestsByHash = statement{text: fmt.Sprintf("SELECT DISTINCT p.withdrawal_request_id FROM @withdrawal_payments p "+
		"WHERE p.tx_form = $1 AND p.withdrawal_request_id IS NOT NULL AND p.withdrawal_request_id <> '%s' ORDER BY 1 LIMIT %d", uuid.Nil,
		store.MaxPage)}
)

// Jobs implements [store.WithdrawalRecords].
func (w withdrawals) Jobs(request uuid.UUID) ([]withdrawal.Job, error) {
	return jobTable.find(w.tx, &jobsOfRequest, nil, request.String())
}

// ByHash implements [store.WithdrawalRecords].
func (w withdrawals) ByHash(hash string) ([]uuid.UUID, error) {
	return firstColumn[uuid.UUID](w.tx, &requestsByHash, statemachine.HashForm(hash))
}
