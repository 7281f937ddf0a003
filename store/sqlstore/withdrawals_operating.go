package sqlstore

import (
	"database/sql"
	"fmt"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// What operators settle.

const acknowledged = "EXISTS (SELECT 1 FROM @withdrawal_acknowledgements a WHERE a.withdrawal_request_id = i.withdrawal_request_id " +
	"AND a.tx_hash = i.tx_hash AND a.claim = i.claim AND a.block_hash = i.block_hash)"

var (
	openIncidents = statement{text: "SELECT i.id, " + incidentTable.columns("i.") + " FROM @withdrawal_incidents i WHERE i.id > $1 AND NOT " +
		acknowledged +
		" ORDER BY i.id LIMIT $2"}
	countOpenIncidents = perChain("SELECT count(*) FROM @withdrawal_incidents i JOIN @withdrawal_requests q ON q.id = " +
		"i.withdrawal_request_id WHERE NOT " + acknowledged + "{chain q.chain_id}")
	knownIncident = statement{text: "SELECT i.id FROM @withdrawal_incidents i WHERE i.withdrawal_request_id = $1 AND i.tx_hash = $2 " +
		"AND i.claim = $3 AND i.block_hash = $4"}
	acknowledgementsOf = statement{text: "SELECT " + acknowledgementTable.columns("") +
		" FROM @withdrawal_acknowledgements WHERE withdrawal_request_id = $1 " +
		"ORDER BY at, tx_hash, claim, block_hash"}
)

// Acknowledge implements [store.WithdrawalRecords].
func (w withdrawals) Acknowledge(a withdrawal.Acknowledgement) error {
	found := false
	err := w.read(&knownIncident, nil, func(*sql.Rows) error { found = true; return nil }, a.Request.String(), a.Hash, a.Claim.String(),
		a.BlockHash)
	if err == nil && !found {
		err = &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "withdrawal incident", ID: a.Request.String(), Event: "acknowledge"}
	}
	if err != nil {
		return err
	}
	return w.save("withdrawal incident", func() error {
		rows := new(batch)
		acknowledgementTable.insertRow(rows, &a)
		return w.some(&acknowledgementTable.insertOne, rows)
	})
}

// Acknowledgements implements [store.WithdrawalRecords].
func (w withdrawals) Acknowledgements(request uuid.UUID) ([]withdrawal.Acknowledgement, error) {
	return acknowledgementTable.find(w.tx, &acknowledgementsOf, nil, request.String())
}

var (
	lockStatements  = statement{text: "SELECT pg_advisory_xact_lock(hashtextextended('settle statements about ' || $1, 0))"}
	statementsAbout = statement{text: "SELECT " + statementTable.columns("x.") + " FROM @withdrawal_statements x " +
		"WHERE x.chain_id = $1 AND x.generation >= $2 ORDER BY x.generation, x.id"}
	unclaimedOf = statement{text: "SELECT " + statementTable.columns("x.") + " FROM @withdrawal_statements x " +
		"WHERE x.chain_id = $1 AND x.says IN ('unclaimed', 'not this', 'dropped') ORDER BY x.id"}
)

// Say implements [store.HotWalletRecords].
func (w hotWallets) Say(statements ...withdrawal.Statement) error {
	return w.save("withdrawal statement", func() error {
		rows := new(batch)
		for i := range statements {
			statementTable.insertRow(rows, &statements[i])
		}
		err := statementRows.add(w.tx, rows)
		if dangling(err) {
			err = fmt.Errorf("withdrawal statements: %w: the hot wallet: %w", statemachine.ErrNotFound, err)
		}
		return err
	})
}

// Statements implements [store.HotWalletRecords].
func (w hotWallets) Statements(chain uuid.UUID, generation int64) ([]withdrawal.Statement, error) {
	if w.store.Dialect == Postgres && !w.view {
		if err := w.read(&lockStatements, nil, func(*sql.Rows) error { return nil }, chain.String()); err != nil {
			return nil, err
		}
	}
	return statementTable.find(w.tx, &statementsAbout, nil, chain.String(), generation)
}

// Unclaimed implements [store.HotWalletRecords].
func (w hotWallets) Unclaimed(chain uuid.UUID) ([]withdrawal.Statement, error) {
	return statementTable.find(w.tx, &unclaimedOf, nil, chain.String())
}
