package sqlstore

import (
	"strings"

	"github.com/google/uuid"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

var attemptsOf = statement{text: "SELECT " + attemptTable.columns("") + " FROM @withdrawal_attempts WHERE job_id = $1 ORDER BY fence"}

// Attempts implements [store.WithdrawalRecords].
func (w withdrawals) Attempts(job uuid.UUID) ([]withdrawal.Attempt, error) {
	return attemptTable.find(w.tx, &attemptsOf, nil, job.String())
}

// Incidents implements [store.WithdrawalRecords].
func (w withdrawals) Incidents(open bool, after int64, limit int) ([]withdrawal.Incident, int64, error) {
	if open {
		return numbered(w.tx, incidentTable, &openIncidents, after, limit)
	}
	return incidentRows.pageOf(w.tx, after, limit)
}

// A page of one status is a range of an index; one of all is a range for each
// status, put in order.
var (
	requestsOf    = requestTable.page("x.status = $4", "created_at", "id")
	requestsOfAll = func() *statement {
		var parts []string
		for _, s := range withdrawal.RequestStatus(0).Values() {
			part := requestTable.page("x.status = '"+s.String()+"'", "created_at", "id")
			parts = append(parts, "SELECT * FROM ("+part.text+") s_"+s.String())
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
		st, args = &requestsOf, append(args, status.String())
	}
	return requestTable.find(w.tx, st, nil, args...)
}

var withdrawalMachines = []string{withdrawal.RequestMachine.Name(), withdrawal.JobMachine.Name(), withdrawal.BatchMachine.Name()}
