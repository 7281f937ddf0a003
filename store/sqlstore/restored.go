package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// Restore is what a person says of a database that was put back, from a dump, a file or a
// snapshot, or of a standby that took over.
type Restore struct {
	Actor  string // who says it
	Reason string // such as "fail-over 02:14, asynchronous": 1 to 500 bytes
	// Lost is when the old database was lost, by the person's clock. It identifies the restore: a second call with the
	// same moment in the same place changes nothing. But if the first call was Lossless and the second is not, the
	// second counts: something was lost after all.
	Lost time.Time
	// Lossless: not one commit was lost, as with a synchronous standby, pg_upgrade, or a move with everything stopped.
	// Then nothing is stopped. Do not set it only because everything looks complete.
	Lossless bool
}

// Restored tells a database that it was put back. In one commit
//
//   - the place is noted where the database is now: [Open], statistics and the switch no longer say that it has moved;
//   - a new generation begins: what a [Store] that was opened before writes is [store.ErrRestored], so every process
//     has to be restarted;
//   - everything is recovering at [switches.Send], in the new generation: withdrawals, swaps, charges and relays begin
//     nothing, and send nothing, until a person has started each;
//   - swaps look back in both histories ([swap.Control].RecoveredAt, with the margin of [swap.DefaultPolicy]; if yours
//     is wider, call store.Swaps.Restored too);
//   - fences of refreshes go on above every fence that was drawn;
//   - lines that are written from now on sort behind all stored lines, and observers go on from their cursors. Lines
//     that were written after the copy are lost; an observer that has seen one of them gets [store.ErrCursor].
//
// It concerns every domain that the database has, whatever [Options].Domains says, so the tables of all of them have to
// be as this version of the package needs them: else it is [ErrOldTables] or [ErrNewerTables], and nothing is changed.
//
// Lossless does only the first and the last of these. The tables must be there, see [Migrate]. Restored waits for
// transactions that write, and is called after the old processes have ended: docs/restore.md has the whole procedure.
// settle does not know what was paid since the copy.
//
// # What it sees by itself
//
// On PostgreSQL a database has moved if the server is another one, if the table of transitions was made anew, as by a
// dump, or if a standby was promoted (but see [Options].LosslessPromotion). A snapshot of a disk, an SQLite file that
// is put back, and storage that fails over below the server leave no trace: somebody has to call Restored.
func Restored(ctx context.Context, db *sql.DB, d Dialect, opts Options, r Restore) error {
	err := r.validate()
	if err == nil {
		err = restore(ctx, db, d, opts, &r)
	}
	return wrapped("restored", err)
}

func (r *Restore) validate() error {
	by := statemachine.Bounded(r.Reason, switches.MaxReason)
	switch {
	case r.Actor == "":
		return fmt.Errorf("%w: Restore needs an Actor", statemachine.ErrInvalid)
	case r.Reason == "" || by != r.Reason:
		return fmt.Errorf("%w: Restore needs a Reason of 1 to %d bytes", statemachine.ErrInvalid, switches.MaxReason)
	case r.Lost.IsZero():
		return fmt.Errorf("%w: Restore needs the moment when the database was lost", statemachine.ErrInvalid)
	}
	r.Lost = r.Lost.UTC().Truncate(time.Microsecond)
	return nil
}

func restore(ctx context.Context, db *sql.DB, d Dialect, opts Options, r *Restore) error {
	s, err := openForRestore(ctx, db, d, opts)
	if err != nil {
		return err
	}
	service, err := store.NewSwitches(s)
	if err == nil {
		err = s.Update(ctx, func(u store.Unit) error {
			t := u.(*tx)
			done, err := t.notePlace(r)
			if err != nil || done {
				return err
			}
			if r.Lossless { // what is lost is in the journal by the switch
				return t.Journal().Append(statemachine.JournalLine{Actor: r.Actor, Role: switches.Operator.String(),
					Domain:  string(store.DomainSwitches),
					Machine: switches.Machine.Name(), ID: string(switches.Everything), Event: "Restored",
					Outcome: statemachine.JournalDone, Via: "lossless"})
			}
			said, err := t.highestSaid()
			if err != nil {
				return err
			}
			_, err = service.Within(t).Recover(ctx, switches.Recovering{By: switches.By{Actor: r.Actor, Role: switches.Operator},
				Scope: switches.Everything, Level: switches.Send, Generation: max(s.generation, said+1), Reason: r.Reason})
			return inTurn(func() error { return err }, t.restoreSwaps, t.raiseFences)
		})
	}
	return errors.Join(err, s.Close())
}

// openForRestore opens all domains that the database has, whatever the caller works with: what was put back is all of
// them.
func openForRestore(ctx context.Context, db *sql.DB, d Dialect, opts Options) (*Store, error) {
	anywhere := func(syntax, context.Context, queryer) error { return nil }
	s, err := open(ctx, db, d, opts, anywhere)
	if err != nil {
		return nil, err
	}
	known, err := s.applied(ctx, db)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	every := s.syntax
	every.domains, opts.Domains = nil, nil
	for _, m := range every.steps() {
		if _, is := known[m.version]; is && m.domain != shared && m.domain != store.DomainSwitches && !slices.Contains(opts.Domains, m.domain) {
			opts.Domains = append(opts.Domains, m.domain)
		}
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return open(ctx, db, d, opts, anywhere)
}

// highestSaid is the highest generation that any row of the switch has. It is below that of the database unless somebody
// has said a generation by hand. A restore needs a higher one: a scope whose row has the same or a higher generation than
// the restore counts as started since.
func (t *tx) highestSaid() (highest int64, err error) {
	rows := t.Switches()
	for after := switches.Scope(""); ; {
		page, err := rows.List(after, store.MaxPage)
		if err != nil || len(page) == 0 {
			return highest, err
		}
		for i := range page {
			highest = max(highest, page[i].Generation)
		}
		after = page[len(page)-1].Scope
	}
}

const lastPlace = " FROM (SELECT * FROM @settle_places ORDER BY n DESC LIMIT 1) p"

var (
	// lockLines waits for those who write lines, so that a line is of one generation.
	lockLines = statement{text: "LOCK TABLE @transitions IN SHARE ROW EXCLUSIVE MODE"}
	// nextPlace raises the base so far that the next horizon is above all that are
	// stored, whatever is running, where they are higher than what this server counts.
	nextPlace = map[Dialect]*statement{
		SQLite: {text: toPlaces + "0, '', 0, 0, $2, $3, $4, $5" + lastPlace + " WHERE NOT " + saidBefore},
		Postgres: {text: toPlaces + "CASE WHEN " + restored +
			" THEN (SELECT max(l.horizon) FROM @transitions l) + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint " +
			"ELSE p.base END, s.system, s.timeline, s.relation, $2, $3, $4, $5" + lastPlace + ", @settle_server() s " +
			"WHERE @settle_moved(false) OR " + restored + " OR NOT " + saidBefore},
	}
	readGeneration = statement{text: "SELECT " + generation}
	raiseFences    = map[Dialect]*statement{
		SQLite:   {text: "UPDATE @wallet_lock_fences SET fence = fence + 4294967296"},
		Postgres: {text: "SELECT setval('@wallet_lock_fences', (SELECT f.last_value FROM @wallet_lock_fences f) + 4294967296)"},
	}
)

const toPlaces = "INSERT INTO @settle_places (n, generation, lines, base, system, timeline, relation, lost_at, at, actor, reason) " +
	"SELECT p.n + 1, p.generation + $1, CASE WHEN $1 = 0 THEN p.lines ELSE coalesce((SELECT max(l.n) FROM @transitions l), 0) END, "

// saidBefore: the last row is of the same moment, and a loss was said of it, or none is said now.
const saidBefore = "(coalesce(p.lost_at = $2, false) AND ($1 = 0 OR p.generation > (SELECT max(q.generation) FROM @settle_places q " +
	"WHERE q.n < p.n)))"

// notePlace writes where the database is, and reads the generation since. done: it was
// written before.
func (t *tx) notePlace(r *Restore) (done bool, err error) {
	if t.store.Dialect == Postgres {
		if _, err := t.write(&lockLines, nil); err != nil {
			return false, err
		}
	}
	now, err := t.Now()
	if err != nil {
		return false, err
	}
	if r.Lost.After(now) {
		return false, fmt.Errorf("%w: Restore.Lost is in the future: it is %s", statemachine.ErrInvalid, now.Format(time.RFC3339))
	}
	forgot := int64(1)
	if r.Lossless {
		forgot = 0
	}
	n, err := t.write(nextPlace[t.store.Dialect], nil, forgot, r.Lost, now, r.Actor, r.Reason)
	if err == nil {
		err = t.read(&readGeneration, nil, func(rows *sql.Rows) error { return rows.Scan(&t.store.generation) })
	}
	return n == 0, err
}

// restoreSwaps has swaps look back in the histories of the vault.
func (t *tx) restoreSwaps() error {
	if !t.store.has(store.DomainSwaps) {
		return nil
	}
	old, err := t.SwapHouse().Control(true)
	if err != nil {
		return err
	}
	now, err := t.Now()
	if err != nil {
		return err
	}
	return t.SwapHouse().SaveControl(old, swap.DefaultPolicy().Restored(old, now))
}

// raiseFences raises what the fences of refreshes are drawn from, by more than a copy lacks.
func (t *tx) raiseFences() error {
	if !t.store.has(store.DomainRefreshes) {
		return nil
	}
	_, err := t.write(raiseFences[t.store.Dialect], nil)
	return err
}

// readPlace reads the generation that the Store belongs to, and warns where the database
// is not where it was.
func (s *Store) readPlace(ctx context.Context, q queryer) error {
	var level sql.NullString
	if err := q.QueryRowContext(ctx, s.expand("SELECT "+generation+", {moved}")).Scan(&s.generation, &level); err != nil {
		return err
	}
	if level.Valid {
		s.opts.Log.Warn("settle: the database is not where it was, and nothing is sent before somebody has called sqlstore.Restored",
			slog.String("schema", s.opts.Schema))
	}
	return nil
}

// checkRestored refuses a database whose lines have higher numbers than this server
// counts: what it wrote would sort before what observers have seen.
func (s syntax) checkRestored(ctx context.Context, q queryer) error {
	var is bool
	if err := q.QueryRowContext(ctx, s.expand("SELECT "+restored)).Scan(&is); err != nil {
		return err
	}
	if is {
		return fmt.Errorf("%w: call sqlstore.Restored", store.ErrRestored)
	}
	return nil
}
