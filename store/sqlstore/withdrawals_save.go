package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// changeset is the rows of a Save, by what happens to them.
type changeset struct {
	withdrawals
	newRequests, requests batch
	newJobs, jobs, touch  batch
	taking                batch // of jobs: those that take the slot of their wallet
	attempts, txs, nonces batch
	incidents             batch
	log                   []statemachine.Transition[uuid.UUID]
	reservations          []withdrawal.Reservation
	counts                map[countKey]int64
	slots                 map[uuid.UUID]uuid.UUID // that are taken here, by whom
	taken                 error
}

// Save implements [store.WithdrawalRecords].
func (w withdrawals) Save(changes ...withdrawal.Change) error {
	return w.save(withdrawal.RequestMachine.Name(), func() error {
		s := changeset{withdrawals: w, counts: map[countKey]int64{}, slots: map[uuid.UUID]uuid.UUID{}}
		for _, b := range []*batch{&s.newRequests, &s.requests, &s.newJobs, &s.jobs, &s.touch, &s.taking, &s.attempts, &s.txs, &s.nonces} {
			b.room = len(changes)
		}
		for i := range changes {
			if err := complete(&changes[i]); err != nil {
				return err
			}
			s.add(&changes[i])
		}
		return s.write()
	})
}

// complete checks that the log has exactly one line for each new version of each
// record: with the comparison of versions, histories then have no gaps.
func complete(c *withdrawal.Change) error {
	request, job := c.Old.Request.Version, c.Old.Job.Version
	if c.New.Job.ID != c.Old.Job.ID {
		job = 0
	}
	for i := range c.Log {
		l := &c.Log[i]
		switch {
		case l.Machine == withdrawal.RequestMachine.Name() && l.ID == c.New.Request.ID && l.Version == request+1:
			request++
		case l.Machine == withdrawal.JobMachine.Name() && l.ID == c.New.Job.ID && l.Version == job+1:
			job++
		default:
			return fmt.Errorf("%w: the log of a change has %s %s version %d, which is not the next one", statemachine.ErrInvalid, l.Machine, l.ID, l.Version)
		}
	}
	if request != c.New.Request.Version || job != c.New.Job.Version {
		return fmt.Errorf("%w: the change of request %s has versions without a line in its log", statemachine.ErrInvalid, c.New.Request.ID)
	}
	return nil
}

// add sorts one change into its rows.
func (s *changeset) add(c *withdrawal.Change) {
	if o, n := &c.Old.Request, &c.New.Request; n.Version != o.Version {
		if o.Version == 0 {
			s.newRequests.add(append(requestFields(n), approvedAt(c))...)
		} else {
			s.requests.add(append(requestStateFields(n), approvedAt(c), n.ID, o.Version)...)
		}
		s.countRequest(o.Status, -1)
		s.countRequest(n.Status, 1)
	}
	switch o, n := &c.Old.Job, &c.New.Job; {
	case n.ID != o.ID:
		s.newJobs.add(jobFields(n)...)
		s.takes(n)
		s.countJob(n.Status, 1)
	case n.Version != o.Version:
		rows := &s.jobs
		if n.Slot.Valid && n.Slot != o.Slot {
			rows = &s.taking
			s.takes(n)
		}
		rows.add(append(append(jobStateFields(n), outsideFields(o)...), n.ID, o.Version, o.Lease.Fence)...)
		s.countJob(o.Status, -1)
		s.countJob(n.Status, 1)
	case c.Touch():
		s.touch.add(append([]any{maybe(&n.Lease.Holder), n.Lease.Fence, maybe(&n.Lease.Until), maybe(&n.NextCheckAt), n.Rebroadcast},
			append(outsideFields(o), n.ID, o.Version, o.Lease.Fence)...)...)
	}
	if a := c.Attempt(); a != nil {
		s.attempts.add(attemptFields(a)...)
	}
	for i := range c.Txs {
		t := &c.Txs[i]
		s.txs.add(txFields(t)...)
		if t.HasNonce {
			s.nonces.add(t.Wallet, int64(t.Nonce), t.Job)
		}
	}
	for i := range c.Incidents {
		s.incidents.add(incidentFields(&c.Incidents[i])...)
	}
	s.reservations = append(s.reservations, c.Reservations...)
	s.log = append(s.log, c.Log...)
}

// outsideFields are the columns outside the version as they were read. The end of
// a lease is not among them: whoever renews it need not stop anybody.
func outsideFields(old *withdrawal.Job) []any {
	return []any{maybe(&old.Lease.Holder), maybe(&old.NextCheckAt), old.Rebroadcast}
}

// takes notes who takes a slot; the database refuses a second one with less to
// say.
func (s *changeset) takes(j *withdrawal.Job) {
	if !j.Slot.Valid {
		return
	}
	if by, taken := s.slots[j.Slot.UUID]; taken && by != j.ID {
		s.taken = &withdrawal.TakenError{Err: withdrawal.ErrSlotTaken, ID: by}
	}
	s.slots[j.Slot.UUID] = j.ID
}

// approvedAt is when the change approved a pending request, else NULL.
func approvedAt(c *withdrawal.Change) any {
	for i := range c.Log {
		if l := &c.Log[i]; l.Machine == withdrawal.RequestMachine.Name() &&
			l.From == withdrawal.RequestPending.String() && l.To == withdrawal.RequestApproved.String() {
			return l.At
		}
	}
	return nil
}

// write carries the changes out. Who waits for a row waits in this order
// everywhere: jobs, requests, new jobs, wallets. Slots are given back before
// others take them.
func (s *changeset) write() error {
	if s.taken != nil {
		return s.taken
	}
	for _, step := range []func() error{
		func() error { return s.compareAndSwap(&updateJobs, &s.jobs) },
		func() error { return s.compareAndSwap(&touchJobs, &s.touch) },
		func() error { return s.compareAndSwap(&updateJobs, &s.taking) },
		func() error {
			return s.writeAll("withdrawal requests", writing{&insertRequests, &s.newRequests}, writing{&updateRequests, &s.requests})
		},
		s.insertJobs,
		s.insertNonces,
		func() error {
			return s.writeAll("withdrawal transactions and attempts", writing{&insertTxsOfJobs, &s.txs}, writing{&saveAttempts, &s.attempts})
		},
		func() error { return logTransitions(s.tx, s.log) },
		s.insertIncidents,
		func() error { return s.reserve(s.reservations) },
		s.writeCounts,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Only Renew moves the end of a lease that somebody keeps: the writer may know
// an older one.
const leaseUntil = "CASE WHEN j.lease_fence = r.lease_fence AND j.lease_holder = r.lease_holder THEN j.lease_until ELSE r.lease_until END"

func keepLease(sets string) string {
	return strings.Replace(sets, "lease_until = r.lease_until", "lease_until = "+leaseUntil, 1)
}

const (
	asRead = " FROM {rows} WHERE j.id = r.id AND j.version = r.old_version AND j.lease_fence = r.old_fence " +
		"AND j.lease_holder IS NOT DISTINCT FROM r.old_holder AND j.next_check_at IS NOT DISTINCT FROM r.old_check AND j.rebroadcast = r.old_rebroadcast"
	oldColumns = ", old_holder text, old_check time, old_rebroadcast bool, id uuid, old_version int, old_fence int"
	touched    = "lease_holder text, lease_fence int, lease_until time, next_check_at time, rebroadcast bool"
)

var (
	insertRequests = statement{once: true, rows: requestColumns + ", approved_at time", text: "INSERT INTO @withdrawal_requests (" + columnNames(requestColumns, "") +
		", approved_at) SELECT " + columnNames(requestColumns, "r.") + ", r.approved_at FROM {rows}"}
	updateRequests = statement{once: true, rows: requestState + ", approved_at time, id uuid, old_version int", text: "UPDATE @withdrawal_requests AS q SET " +
		assignments(requestState) + ", approved_at = coalesce(r.approved_at, q.approved_at) FROM {rows} WHERE q.id = r.id AND q.version = r.old_version"}

	updateJobs = statement{once: true, rows: jobState + oldColumns, text: "UPDATE @withdrawal_queue AS j SET " + keepLease(assignments(jobState)) + asRead +
		" AND (r.slot IS NULL OR NOT EXISTS (SELECT 1 FROM @withdrawal_queue h WHERE h.slot = r.slot AND h.id <> r.id))"}
	touchJobs  = statement{once: true, rows: touched + oldColumns, text: "UPDATE @withdrawal_queue AS j SET " + keepLease(assignments(touched)) + asRead}
	insertJobs = statement{once: true, rows: jobColumns, text: "INSERT INTO @withdrawal_queue (number, " + columnNames(jobColumns, "") + ") SELECT " +
		"(SELECT coalesce(max(l.number), 0) + 1 FROM @withdrawal_queue l WHERE l.withdrawal_request_id = r.withdrawal_request_id), " +
		columnNames(jobColumns, "r.") + " FROM {rows} WHERE true ON CONFLICT DO NOTHING"}

	insertTxsOfJobs = statement{once: true, rows: txColumnsOfRequest, text: "INSERT INTO @withdrawal_txs (" + columnNames(txColumnsOfRequest, "") + ") SELECT " +
		columnNames(txColumnsOfRequest, "r.") + " FROM {rows}"}
	insertNonces = statement{once: true, rows: "operation_wallet_address_id uuid, nonce int, job_id uuid", text: "INSERT INTO @withdrawal_nonces " +
		"(operation_wallet_address_id, nonce, job_id) SELECT r.operation_wallet_address_id, r.nonce, r.job_id FROM {rows} WHERE NOT EXISTS " +
		"(SELECT 1 FROM @withdrawal_nonces o WHERE o.operation_wallet_address_id = r.operation_wallet_address_id AND o.nonce = r.nonce) ON CONFLICT DO NOTHING"}
	saveAttempts = statement{once: true, rows: attemptColumns, text: "INSERT INTO @withdrawal_attempts (" + columnNames(attemptColumns, "") + ") SELECT " +
		columnNames(attemptColumns, "r.") + " FROM {rows} WHERE true ON CONFLICT (job_id, fence) DO UPDATE SET ended_at = excluded.ended_at, " +
		"outcome = excluded.outcome, error_message = excluded.error_message, tx_hash = excluded.tx_hash WHERE withdrawal_attempts.ended_at IS NULL"}
	insertIncidents = statement{once: true, rows: incidentColumns, text: "INSERT INTO @withdrawal_incidents (" + columnNames(incidentColumns, "") + ") SELECT " +
		columnNames(incidentColumns, "r.") + " FROM {rows} WHERE true ON CONFLICT DO NOTHING"}
)

// insertJobs writes new jobs. What a unique rule gave to another job is that
// job's.
func (s *changeset) insertJobs() error {
	if s.newJobs.len() == 0 {
		return nil
	}
	n, err := s.tx.write(&insertJobs, &s.newJobs)
	switch {
	case dangling(err):
		return fmt.Errorf("withdrawal jobs: %w: the request or the hot wallet: %w", statemachine.ErrNotFound, err)
	case err != nil || n == int64(s.newJobs.len()):
		return err
	}
	err = s.taker(withdrawal.ErrActiveJob, &activeJobOf, &s.newJobs, 0, indexOf(jobColumns, "withdrawal_request_id"))
	if err == nil {
		err = s.taker(withdrawal.ErrSlotTaken, &holderOf, &s.newJobs, 0, indexOf(jobColumns, "slot"))
	}
	if err == nil {
		err = want(s.newJobs.len(), n, "withdrawal jobs")
	}
	return err
}

// insertNonces gives nonces to jobs. A job may have its own again.
func (s *changeset) insertNonces() error {
	if s.nonces.len() == 0 {
		return nil
	}
	n, err := s.tx.write(&insertNonces, &s.nonces)
	if err != nil || n == int64(s.nonces.len()) {
		return err
	}
	return s.taker(withdrawal.ErrNonceTaken, &ownerOf, &s.nonces, 2, 0, 1) // job, wallet, nonce
}

var (
	activeJobOf = statement{once: true, each: "id uuid, request uuid", text: "SELECT j.id FROM @withdrawal_queue j " +
		"WHERE j.withdrawal_request_id = r.request AND j.status <> 'failed' AND j.id <> r.id"}
	holderOf = statement{once: true, each: "id uuid, wallet uuid", text: "SELECT j.id FROM @withdrawal_queue j WHERE j.slot = r.wallet AND j.id <> r.id"}
	ownerOf  = statement{once: true, each: "id uuid, wallet uuid, nonce int", text: "SELECT n.job_id FROM @withdrawal_nonces n " +
		"WHERE n.operation_wallet_address_id = r.wallet AND n.nonce = r.nonce AND n.job_id <> r.id"}
)

// taker returns a TakenError if st finds another job that has what one of the
// rows asked for. columns are those of rows that st takes.
func (s *changeset) taker(rule error, st *statement, rows *batch, columns ...int) error {
	set := new(batch)
	for i := 0; i < len(rows.values); i += rows.width {
		var row []any
		for _, c := range columns {
			row = append(row, rows.values[i+c])
		}
		set.add(row...)
	}
	var other uuid.UUID
	err := s.read(st, set, func(rows *sql.Rows) error { return rows.Scan(&other) })
	if err == nil && other != uuid.Nil {
		err = &withdrawal.TakenError{Err: rule, ID: other}
	}
	return err
}

// compareAndSwap writes jobs that are at the version and fence in old_version
// and old_fence, the last columns of rows.
func (s *changeset) compareAndSwap(st *statement, rows *batch) error {
	if rows.len() == 0 {
		return nil
	}
	n, err := s.tx.write(st, rows)
	if err != nil || n == int64(rows.len()) {
		return err
	}
	return s.refused(rows)
}

// asStored tells why a job was not as it was read. A row that this transaction
// has written has the new version already, but no line of the log for it yet.
var asStored = statement{once: true, each: "id uuid, key text, old_version int", text: "SELECT j.id, j.version, j.lease_fence, l.version FROM @withdrawal_queue j " +
	"LEFT JOIN @transitions l ON l.machine = $1 AND l.id = r.key AND l.version = r.old_version + 1 WHERE j.id = r.id"}

// refused says why rows were not written: of versions, slots, fences and what
// else is outside the version the first that is not as it was read.
func (s *changeset) refused(rows *batch) error {
	set := new(batch)
	old, fences, fenced := map[string]int64{}, map[string]int64{}, ""
	id, version, fence := rows.width-3, rows.width-2, rows.width-1
	for i := 0; i < len(rows.values); i += rows.width {
		key, at := rows.values[i+id].(string), rows.values[i+version].(int64)
		set.add(key, key, at)
		old[key], fences[key] = at, rows.values[i+fence].(int64)
	}
	var stale []string
	err := s.read(&asStored, set, func(rows *sql.Rows) error {
		var key string
		var now, holds int64
		var logged sql.NullInt64
		err := rows.Scan(&key, &now, &holds, &logged)
		if holds != fences[key] && now == old[key] {
			fenced = key
		}
		if err == nil && !logged.Valid && now >= old[key] {
			delete(old, key)
		}
		return err
	}, withdrawal.JobMachine.Name())
	for key := range old {
		stale = append(stale, key)
	}
	switch slices.Sort(stale); {
	case err != nil:
		return err
	case len(stale) > 0:
		return refusal(statemachine.ErrConflict, stale[0], "it is not at the version that was read")
	case rows != &s.touch:
		if err := s.taker(withdrawal.ErrSlotTaken, &holderOf, rows, id, indexOf(jobState, "slot")); err != nil {
			return err
		}
	}
	if fenced != "" {
		return refusal(statemachine.ErrFenced, fenced, "another lease was given since it was read")
	}
	return refusal(statemachine.ErrConflict, "", "its lease was given back, or its next check was moved, since it was read")
}

func refusal(err error, job, reason string) error {
	return &statemachine.Refusal{Err: err, Machine: withdrawal.JobMachine.Name(), ID: job, Event: "save", Reason: reason}
}

var lockIncidents = statement{text: "SELECT pg_advisory_xact_lock(hashtextextended('settle withdrawal incidents', 0))"}

// insertIncidents adds what is not there yet. A lock makes the order of ids that
// of the commits, so that a reader of pages misses none; they are rare.
func (s *changeset) insertIncidents() error {
	if s.incidents.len() == 0 {
		return nil
	}
	if s.store.Dialect == Postgres {
		if err := s.read(&lockIncidents, nil, func(*sql.Rows) error { return nil }); err != nil {
			return err
		}
	}
	_, err := s.tx.write(&insertIncidents, &s.incidents)
	return err
}
