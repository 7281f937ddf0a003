package sqlstore

import (
	"database/sql"
	"fmt"

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
			if err := changes[i].Complete(); err != nil {
				return err
			}
			s.add(&changes[i])
		}
		return s.write()
	})
}

// add sorts one change into its rows.
func (s *changeset) add(c *withdrawal.Change) {
	if o, n := &c.Old.Request, &c.New.Request; n.Version != o.Version {
		approved := c.ApprovedAt()
		if o.Version == 0 {
			requestTable.insertRow(&s.newRequests, n, maybe(&approved))
		} else {
			requestTable.updateRow(&s.requests, o, n, maybe(&approved))
		}
		s.countRequest(o.Status, -1)
		s.countRequest(n.Status, 1)
	}
	switch o, n := &c.Old.Job, &c.New.Job; {
	case n.ID != o.ID:
		jobTable.insertRow(&s.newJobs, n)
		s.takes(n)
		s.countJob(n.Status, 1)
	case n.Version != o.Version:
		rows := &s.jobs
		if n.Slot.Valid && n.Slot != o.Slot {
			rows = &s.taking
			s.takes(n)
		}
		jobTable.updateRow(rows, o, n)
		s.countJob(o.Status, -1)
		s.countJob(n.Status, 1)
	case c.Touch():
		jobTable.touchRow(&s.touch, o, n)
	}
	if a := c.Attempt(); a != nil {
		attemptTable.insertRow(&s.attempts, a)
	}
	for i := range c.Txs {
		t := &c.Txs[i]
		txTable.insertRow(&s.txs, t)
		if t.HasNonce {
			s.nonces.add(t.Wallet, int64(t.Nonce), t.Job)
		}
	}
	for i := range c.Incidents {
		incidentTable.insertRow(&s.incidents, &c.Incidents[i])
	}
	s.reservations = append(s.reservations, c.Reservations...)
	s.log = append(s.log, c.Log...)
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

// write carries the changes out. Who waits for a row waits in this order
// everywhere: jobs by id, requests by id, new jobs, wallets by id. Slots are
// given back before others take them.
func (s *changeset) write() error {
	if s.taken != nil {
		return s.taken
	}
	for _, step := range []func() error{
		func() error {
			return jobTable.lockInOrder(s.tx, writing{&jobTable.updateOne, &s.jobs}, writing{&jobTable.touchOne, &s.touch}, writing{&jobTable.updateOne, &s.taking})
		},
		func() error { return jobTable.writeChanged(s.tx, &s.jobs) },
		func() error { return jobTable.writeTouched(s.tx, &s.touch) },
		func() error { return jobTable.writeChanged(s.tx, &s.taking) },
		func() error { return requestTable.lockInOrder(s.tx, writing{&requestTable.updateOne, &s.requests}) },
		func() error {
			return s.writeAll("withdrawal requests", writing{&requestTable.insertOne, &s.newRequests}, writing{&requestTable.updateOne, &s.requests})
		},
		s.insertJobs,
		s.insertNonces,
		func() error {
			return s.writeAll("withdrawal transactions and attempts", writing{&txTable.insertOne, &s.txs}, writing{&saveAttempts, &s.attempts})
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

var (
	insertNonces = statement{once: true, rows: "operation_wallet_address_id uuid, nonce int, job_id uuid", text: "INSERT INTO @withdrawal_nonces " +
		"(operation_wallet_address_id, nonce, job_id) SELECT r.operation_wallet_address_id, r.nonce, r.job_id FROM {rows} WHERE NOT EXISTS " +
		"(SELECT 1 FROM @withdrawal_nonces o WHERE o.operation_wallet_address_id = r.operation_wallet_address_id AND o.nonce = r.nonce) ON CONFLICT DO NOTHING"}
	ownerOf = statement{once: true, each: "id uuid, wallet uuid, nonce int", text: "SELECT n.job_id FROM @withdrawal_nonces n " +
		"WHERE n.operation_wallet_address_id = r.wallet AND n.nonce = r.nonce AND n.job_id <> r.id"}
	saveAttempts = attemptTable.upsert("withdrawal_attempts.ended_at IS NULL")
)

func (s *changeset) insertJobs() error {
	err := jobTable.writeNew(s.tx, &s.newJobs)
	if dangling(err) {
		err = fmt.Errorf("withdrawal jobs: %w: the request or the hot wallet: %w", statemachine.ErrNotFound, err)
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
	owner, err := s.holder(&ownerOf, &s.nonces, 2, 0, 1) // job, wallet, nonce
	if err != nil || owner == "" {
		return err
	}
	return takenBy(withdrawal.ErrNonceTaken)(owner)
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
	_, err := s.tx.write(&incidentTable.insertOne, &s.incidents)
	return err
}
