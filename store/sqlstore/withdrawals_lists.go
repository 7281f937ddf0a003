package sqlstore

import (
	"strings"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

var (
	attemptsOf = statement{text: "SELECT " + attemptTable.columns("") + " FROM @withdrawal_attempts WHERE job_id = $1 ORDER BY fence"}
)

// Attempts implements [store.WithdrawalRecords].
func (w withdrawals) Attempts(job uuid.UUID) ([]withdrawal.Attempt, error) {
	return attemptTable.find(w.tx, &attemptsOf, nil, job.String())
}

// Incidents implements [store.WithdrawalRecords].
func (w withdrawals) Incidents(after int64, limit int) ([]withdrawal.Incident, int64, error) {
	return incidentJournal.pageOf(w.tx, after, limit)
}

// A page of one status is a range of an index; one of all is a range for each
// status, put in order.
const pageOfStatus = "SELECT {columns} FROM @withdrawal_requests WHERE status = {status} AND (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT $3"

var (
	requestsOf = func() *statement {
		text := strings.NewReplacer("{columns}", requestTable.columns(""), "{status}", "$4").Replace(pageOfStatus)
		return &statement{text: text}
	}()
	requestsOfAll = func() *statement {
		var parts []string
		for _, s := range withdrawal.RequestStatus(0).Values() {
			part := strings.NewReplacer("{columns}", requestTable.columns(""), "{status}", "'"+s.String()+"'").Replace(pageOfStatus)
			parts = append(parts, "SELECT * FROM ("+part+") s_"+s.String())
		}
		return &statement{text: strings.Join(parts, " UNION ALL ") + " ORDER BY created_at, id LIMIT $3"}
	}()
)

// Requests implements [store.WithdrawalRecords].
func (w withdrawals) Requests(status withdrawal.RequestStatus, after *withdrawal.Request, limit int) ([]withdrawal.Request, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if after == nil {
		after = new(withdrawal.Request) // before all: nothing is as old as the zero time
	}
	st, args := requestsOfAll, []any{after.CreatedAt, after.ID.String(), int64(limit)}
	if status != 0 {
		st, args = requestsOf, append(args, status.String())
	}
	return requestTable.find(w.tx, st, nil, args...)
}

// Transitions implements [store.WithdrawalRecords].
func (w withdrawals) Transitions(id uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	log, err := transitions(w.tx, withdrawal.RequestMachine.Name(), id)
	if err != nil || len(log) > 0 {
		return log, err
	}
	if log, err = transitions(w.tx, withdrawal.JobMachine.Name(), id); err != nil || len(log) > 0 {
		return log, err
	}
	return transitions(w.tx, withdrawal.BatchMachine.Name(), id)
}

// Head implements [store.Feed].
func (w withdrawals) Head() (store.Cursor, error) { return w.head() }

// Follow implements [store.Feed].
func (w withdrawals) Follow(after store.Cursor, limit int) ([]statemachine.Transition[uuid.UUID], store.Cursor, error) {
	return follow(w.tx, after, limit, uuid.Parse, withdrawal.RequestMachine.Name(), withdrawal.JobMachine.Name(), withdrawal.BatchMachine.Name())
}
