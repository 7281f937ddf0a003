package sqlstore

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// changeset is the rows of a Save, by what happens to them.
type changeset struct {
	withdrawals
	newRequests, requests batch
	touchRequests         batch
	newJobs, jobs, touch  batch
	taking                batch // of jobs: those that take the slot of their wallet
	attempts, txs, nonces batch
	strays, settled       batch
	payments              batch
	marked                map[string]bool // chain and hash of a transaction that pays by outputs, and of which payments say so
	incidents             batch
	batches               rowsOf[withdrawal.Batch]
	versions              batch // of batches
	log                   []statemachine.Transition[uuid.UUID]
	reservations          []withdrawal.Reservation
	counts                map[countKey]int64
	slots                 map[uuid.UUID]uuid.UUID // that are taken here, by whom
	taken                 error
}

// Save implements [store.WithdrawalRecords].
func (w withdrawals) Save(changes ...withdrawal.Change) error {
	return w.saveAll(withdrawal.RequestMachine.Name(), nil, changes)
}

func (w withdrawals) saveAll(machine string, batches []withdrawal.BatchChange, changes []withdrawal.Change) error {
	return w.save(machine, func() error {
		s := changeset{withdrawals: w, batches: rowsOf[withdrawal.Batch]{table: batchTable}, counts: map[countKey]int64{},
			slots: map[uuid.UUID]uuid.UUID{}}
		for _, b := range []*batch{&s.newRequests, &s.requests, &s.newJobs, &s.jobs, &s.touch, &s.taking, &s.attempts,
			&s.txs, &s.nonces, &s.payments} {
			b.room = len(changes)
		}
		for i := range changes {
			if err := changes[i].Complete(); err != nil {
				return err
			}
			s.add(&changes[i])
		}
		for i := range batches {
			if err := batches[i].Complete(); err != nil {
				return err
			}
			s.addBatch(&batches[i])
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
		s.countRequest(n.Chain, o.Status, -1)
		s.countRequest(n.Chain, n.Status, 1)
	} else if c.TouchRequest() || len(c.Incidents) > 0 { // of another version it may have been more than an incident
		requestTable.touchRow(&s.touchRequests, o, n)
	}
	switch o, n := &c.Old.Job, &c.New.Job; {
	case n.ID != o.ID:
		jobTable.insertRow(&s.newJobs, n)
		s.takes(n)
		s.countJob(n.Chain, n.Status, 1)
	case n.Version != o.Version:
		rows := &s.jobs
		if n.Slot.Valid && n.Slot != o.Slot {
			rows = &s.taking
			s.takes(n)
		}
		jobTable.updateUnder(rows, o, n, n.Request, c.Old.Request.Version)
		s.countJob(n.Chain, o.Status, -1)
		s.countJob(n.Chain, n.Status, 1)
	case c.Touch():
		jobTable.touchUnder(&s.touch, o, n, n.Request, c.Old.Request.Version)
	}
	if a := c.Attempt(); a != nil {
		attemptTable.insertRow(&s.attempts, a)
	}
	for i := range c.Txs {
		t := &c.Txs[i]
		txTable.insertRow(&s.txs, t)
		if c.OwnsNonce(t) {
			s.nonces.add(t.Wallet, int64(t.Nonce), t.Job)
		}
		s.pays(c.New.Request.Chain, t.Hash, t.ByOutput, t.Output, t.Request)
	}
	for i := range c.Strays {
		if t := &c.Strays[i]; t.Seq > c.Old.Request.StraysOnFile {
			strayTable.insertRow(&s.strays, t)
			if c.OwnsStrayNonce(t) {
				s.nonces.add(t.Wallet, int64(t.Nonce), t.Job)
			}
			s.pays(c.New.Request.Chain, t.Hash, t.ByOutput, t.Output, t.Request)
		} else {
			s.settled.add(t.Request, t.Seq, t.SettledAt)
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

// write carries the changes out. All transactions lock rows in this order: batches by id, jobs by id, requests by id,
// new jobs, wallets by id. Slots are given back before others take them.
func (s *changeset) write() error {
	if s.taken != nil {
		return s.taken
	}
	return inTurn(
		s.tx.settle,
		func() error { return s.batches.lockAndWrite(s.tx) },
		func() error {
			return s.writeAll("withdrawal batch transactions", writing{&batchTxTable.insertOne, &s.versions})
		},
		func() error {
			return jobTable.lockInOrder(s.tx, writing{&jobTable.updateOne, &s.jobs}, writing{&jobTable.touchOne, &s.touch},
				writing{&jobTable.updateOne, &s.taking})
		},
		func() error { return jobTable.swapLater(s.tx, &jobTable.updateOne, &s.jobs) },
		func() error { return jobTable.swapLater(s.tx, &jobTable.touchOne, &s.touch) },
		func() error { return jobTable.swapLater(s.tx, &jobTable.updateOne, &s.taking) },
		func() error {
			return requestTable.lockInOrder(s.tx, writing{&requestTable.updateOne, &s.requests}, writing{&requestTable.touchOne, &s.touchRequests})
		},
		func() error { return s.allLater("withdrawal requests", &requestTable.insertOne, &s.newRequests) },
		func() error { return s.allLater("withdrawal requests", &requestTable.updateOne, &s.requests) },
		func() error { return requestTable.swapLater(s.tx, &requestTable.touchOne, &s.touchRequests) },
		s.insertJobs,
		s.insertNonces,
		s.insertPayments,
		func() error { return s.allLater("withdrawal transactions and attempts", &txTable.insertOne, &s.txs) },
		func() error { return s.allLater("withdrawal transactions and attempts", &saveAttempts, &s.attempts) },
		func() error { return s.allLater("withdrawal strays", &strayTable.insertOne, &s.strays) },
		func() error { return s.allLater("withdrawal strays", &settleStrays, &s.settled) },
		func() error { return logTransitions(s.tx, s.log) },
		func() error { return incidentRows.add(s.tx, &s.incidents) },
		func() error { return s.reserve(s.reservations) },
		s.writeCounts)
}

var (
	saveAttempts = attemptTable.upsert("@withdrawal_attempts.ended_at IS NULL")
	settleStrays = statement{once: true, rows: "withdrawal_request_id uuid, seq int, settled_at time",
		text: "UPDATE @withdrawal_strays AS x SET settled_at = r.settled_at " +
			"FROM {rows} WHERE x.withdrawal_request_id = r.withdrawal_request_id AND x.seq = r.seq AND x.settled_at IS NULL"}
)

func (s *changeset) insertJobs() error {
	few, failed := jobTable.fewNew(s.tx, &s.newJobs), func(err error) error {
		if dangling(err) {
			err = fmt.Errorf("withdrawal jobs: %w: the request or the hot wallet: %w", statemachine.ErrNotFound, err)
		}
		return err
	}
	return s.later(stage{statement: &jobTable.insertOne, rows: &s.newJobs, few: few, failed: failed})
}
