// Package downstream is what a repository of somebody else has: a module of its own, a machine that ran on looplab/fsm
// and was moved over, and the kits of settle as tests of its own service.
package downstream

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/sqlstore"
)

// The states and triggers of a top-up by card. Their names are those that the looplab machine had, so that what is
// stored stays readable.
type (
	State   = statemachine.Enum[stateNames]
	Trigger = statemachine.Enum[triggerNames]

	stateNames   struct{}
	triggerNames struct{}
)

const (
	Created State = iota + 1
	Authorized
	Captured
	Voided
	Refunded
)

const (
	create Trigger = iota + 1
	authorize
	capture
	void
	refund
)

func (stateNames) Kind() string    { return "state of a top-up" }
func (stateNames) Names() []string { return states }

func (triggerNames) Kind() string    { return "trigger of a top-up" }
func (triggerNames) Names() []string { return triggers }

var (
	states   = []string{"created", "authorized", "captured", "voided", "refunded"}
	triggers = []string{"create", "authorize", "capture", "void", "refund"}
)

// Machine is the table. Creation is an edge of it, which a looplab list does not have.
var Machine = statemachine.Must("topup", []statemachine.Edge[State, Trigger]{
	{From: 0, Trigger: create, To: Created},
	{From: Created, Trigger: authorize, To: Authorized},
	{From: Created, Trigger: void, To: Voided},
	{From: Authorized, Trigger: capture, To: Captured},
	{From: Authorized, Trigger: void, To: Voided},
	{From: Captured, Trigger: refund, To: Refunded},
})

// TopUp is a row of the host's table topups.
type TopUp struct {
	ID      uuid.UUID
	State   State
	Version int64
}

// tables are the host's: the record, and its history with one line for each version.
const tables = `CREATE TABLE topups (id TEXT PRIMARY KEY, state TEXT NOT NULL, version INTEGER NOT NULL);
CREATE TABLE topup_history (id TEXT NOT NULL, version INTEGER NOT NULL, from_state TEXT NOT NULL, event TEXT NOT NULL,
	to_state TEXT NOT NULL, actor TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (id, version));`

// step moves a top-up and stores it with its line, in a transaction of settle's or of the host's own. Where looplab kept
// the state in memory, the version in the UPDATE decides: of two who step at once, the second one is refused.
func step(ctx context.Context, tx sqlstore.Tx, t TopUp, on Trigger, actor string, now time.Time) (TopUp, error) {
	seen, line := t.Version, statemachine.Transition[uuid.UUID]{ID: t.ID, Actor: actor, At: now}
	if err := statemachine.Move(Machine, &t.State, &t.Version, on, &line); err != nil {
		return TopUp{}, err
	}
	query, args := "UPDATE topups SET state = ?, version = ? WHERE id = ? AND version = ?", []any{line.To, t.Version, t.ID.String(), seen}
	if seen == 0 {
		query, args = "INSERT INTO topups (state, version, id) VALUES (?, ?, ?)", args[:3]
	}
	done, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return TopUp{}, err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return TopUp{}, fmt.Errorf("%w: top-up %s is not at version %d (%v)", statemachine.ErrConflict, t.ID, seen, err)
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO topup_history VALUES (?, ?, ?, ?, ?, ?, ?)", line.ID.String(), line.Version, line.From,
		line.Trigger, line.To, line.Actor, line.At.UTC().Format(time.RFC3339Nano))
	return t, err
}

// get reads a top-up.
func get(ctx context.Context, tx sqlstore.Tx, id uuid.UUID) (t TopUp, err error) {
	t.ID = id
	err = tx.QueryRowContext(ctx, "SELECT state, version FROM topups WHERE id = ?", id.String()).Scan(&t.State, &t.Version)
	if err == sql.ErrNoRows {
		err = statemachine.ErrNotFound
	}
	return t, err
}
