package downstream

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// log appends a line, and does nothing if a line of the kind has the key already. An empty key is no key.
func (u *Unit) log(kind, subject, key string, line any) error {
	_, err := u.exec("INSERT INTO payout_log (kind, subject, unique_key, details) VALUES (?, ?, NULLIF(?, ''), ?) ON CONFLICT DO NOTHING",
		kind, subject, key, details{line})
	return err
}

// key is a text of several parts, which no other parts have.
func key(parts ...any) string {
	text, _ := json.Marshal(parts)
	return string(text)
}

// page returns the lines of a kind behind a cursor, and the cursor behind the last of them. The place of a line is its
// number: with one writer, a line that is committed later has a greater one.
func page[L any](u *Unit, kind string, after store.Cursor, limit int, cursor func(string, L) store.Cursor) ([]L, store.Cursor, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, after, err
	}
	n := int64(0)
	if after != "" {
		place, err := after.Place()
		if err != nil {
			return nil, after, err
		}
		n, _ = strconv.ParseInt(place, 10, 64)
		seen, ok, err := first(list[L](u, "SELECT details FROM payout_log WHERE kind = ? AND n = ?", kind, n))
		if err != nil {
			return nil, after, err
		}
		if !ok || cursor(strconv.FormatInt(n, 10), seen) != after {
			return nil, after, after.Gone()
		}
	}
	type numbered struct {
		n    int64
		line L
	}
	lines, err := read(u, func(l *numbered) []any { return []any{&l.n, details{&l.line}} },
		"SELECT n, details FROM payout_log WHERE kind = ? AND n > ? ORDER BY n LIMIT ?", kind, n, limit)
	if err != nil || len(lines) == 0 {
		return nil, after, err
	}
	all := make([]L, len(lines))
	for i := range lines {
		all[i] = lines[i].line
	}
	return all, cursor(strconv.FormatInt(lines[len(lines)-1].n, 10), all[len(all)-1]), nil
}

// history is a [store.Feed] of the lines of a kind.
type history[ID comparable] struct {
	*Unit
	kind string
}

func (h history[ID]) Follow(after store.Cursor, limit int) ([]statemachine.Transition[ID], store.Cursor, error) {
	return page(h.Unit, h.kind, after, limit, store.CursorOf[ID])
}

func (h history[ID]) Head() (store.Cursor, error) {
	n, ok, err := first(column[int64](h.Unit, "SELECT n FROM payout_log WHERE kind = ? ORDER BY n DESC LIMIT 1", h.kind))
	if err != nil || !ok {
		return "", err
	}
	line, _, err := first(list[statemachine.Transition[ID]](h.Unit, "SELECT details FROM payout_log WHERE n = ?", n))
	return store.CursorOf(strconv.FormatInt(n, 10), line), err
}

func (h history[ID]) append(lines []statemachine.Transition[ID]) error {
	for _, l := range lines {
		if err := h.log(h.kind, key(l.Machine, l.ID), key(l.Machine, l.ID, l.Version), l); err != nil {
			return err
		}
	}
	return nil
}

// trail returns the lines of the first of some machines that has a record with the id.
func (h history[ID]) trail(id ID, machines ...string) (lines []statemachine.Transition[ID], err error) {
	for _, m := range machines {
		lines, err = list[statemachine.Transition[ID]](h.Unit, "SELECT details FROM payout_log WHERE kind = ? AND subject = ? ORDER BY n",
			h.kind, key(m, id))
		if err != nil || len(lines) > 0 {
			return lines, err
		}
	}
	return nil, nil
}

// journal implements [store.JournalRecords].
type journal struct {
	store.UnimplementedJournal
	*Unit
}

// Append keeps the lines in the unit as well, also if a write was refused before: see [Store.Update].
func (j journal) Append(lines ...statemachine.JournalLine) error {
	lines = slices.Clone(lines)
	for i := range lines {
		if lines[i].At.IsZero() {
			lines[i].At, _ = j.Now()
		}
		if lines[i].Check() == nil && j.writable {
			j.said = append(j.said, lines[i])
		}
	}
	return j.write(func() error {
		for _, l := range lines {
			if err := l.Check(); err != nil {
				return err
			}
			if err := j.log("journal", l.ID, "", l); err != nil {
				return err
			}
		}
		return nil
	})
}

func (j journal) Page(after store.Cursor, limit int) ([]statemachine.JournalLine, store.Cursor, error) {
	return page(j.Unit, "journal", after, limit, store.JournalCursor)
}

// Incidents and their acknowledgements have one key.
func incidentKey(request uuid.UUID, hash string, claim withdrawal.IncidentClaim, block string) string {
	return key(request, hash, claim.String(), block)
}

func (r records) Incidents(open bool, after int64, limit int) (all []withdrawal.Incident, cursor int64, err error) {
	if err := store.CheckPage(after, limit); err != nil {
		return nil, after, err
	}
	type numbered struct {
		n        int64
		incident withdrawal.Incident
	}
	found, err := read(r.Unit, func(i *numbered) []any { return []any{&i.n, details{&i.incident}} },
		`SELECT n, details FROM payout_log i WHERE kind = 'incident' AND n > ? AND (NOT ? OR NOT EXISTS (SELECT 1 FROM payout_log a
			WHERE a.kind = 'acknowledgement' AND a.unique_key = i.unique_key)) ORDER BY n LIMIT ?`, after, open, limit)
	for _, i := range found {
		all, after = append(all, i.incident), i.n
	}
	return all, after, err
}

func (r records) Acknowledge(a withdrawal.Acknowledgement) error {
	return r.write(func() error {
		of := incidentKey(a.Request, a.Hash, a.Claim, a.BlockHash)
		_, known, err := first(column[int64](r.Unit, "SELECT n FROM payout_log WHERE kind = 'incident' AND unique_key = ?", of))
		if err == nil && !known {
			err = refusal(statemachine.ErrNotFound, "withdrawal incident", a.Request, "acknowledge", "")
		}
		if err != nil {
			return err
		}
		return r.log("acknowledgement", a.Request.String(), of, a)
	})
}

func (r records) Acknowledgements(request uuid.UUID) ([]withdrawal.Acknowledgement, error) {
	all, err := list[withdrawal.Acknowledgement](r.Unit,
		"SELECT details FROM payout_log WHERE kind = 'acknowledgement' AND subject = ?", request)
	slices.SortFunc(all, func(a, b withdrawal.Acknowledgement) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Claim.String(), b.Claim.String()),
			cmp.Compare(a.BlockHash, b.BlockHash))
	})
	return all, err
}

// setUp writes a row of payout_setup in the place of the one with its key.
func (u *Unit) setUp(kind, key string, network, value any) error {
	_, err := u.exec("INSERT OR REPLACE INTO payout_setup (kind, key, network, details) VALUES (?, ?, ?, ?)", kind, key, network,
		details{value})
	return err
}

// setting reads one; a row that is not there is zero.
func setting[T any](u *Unit, kind, key string) (T, bool, error) {
	return first(list[T](u, "SELECT details FROM payout_setup WHERE kind = ? AND key = ?", kind, key))
}

// switchRecords implements [store.SwitchRecords].
type switchRecords struct {
	store.UnimplementedSwitches
	*Unit
}

func (s switchRecords) lines() history[switches.Scope] {
	return history[switches.Scope]{s.Unit, "switch"}
}

func (s switchRecords) Get(scopes ...switches.Scope) ([]switches.Switch, error) {
	all := make([]switches.Switch, len(scopes))
	for i, scope := range scopes {
		var err error
		if all[i], _, err = setting[switches.Switch](s.Unit, "switch", string(scope)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s switchRecords) List(after switches.Scope, limit int) ([]switches.Switch, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return list[switches.Switch](s.Unit, "SELECT details FROM payout_setup WHERE kind = 'switch' AND key > ? ORDER BY key LIMIT ?",
		string(after), limit)
}

// Ask needs no lock, since nobody else writes in an Update.
func (s switchRecords) Ask(scope switches.Scope) (switches.State, error) {
	if err := scope.Validate(); err != nil {
		return switches.State{}, err
	}
	of, err := s.Get(switches.Everything, scope)
	if err != nil {
		return switches.State{}, err
	}
	return switches.Of(of[0], of[1]), nil
}

// Open has nothing to tell, for the same reason.
func (s switchRecords) Open(switches.Scope) ([]store.OpenTransaction, error) {
	return nil, s.write(func() error { return nil })
}

func (s switchRecords) Save(changes ...switches.Change) error {
	return s.write(func() error {
		for i := range changes {
			c := &changes[i]
			if err := c.Complete(); err != nil {
				return err
			}
			if c.Empty() {
				continue
			}
			stored, err := s.Get(c.New.Scope)
			if err == nil && stored[0].Version != c.Old.Version {
				err = conflict(switches.Machine.Name(), c.New.Scope, "it is at another version")
			}
			if err == nil {
				err = s.setUp("switch", string(c.New.Scope), nil, c.New)
			}
			if err == nil {
				err = s.lines().append(c.Log)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s switchRecords) Transitions(scope switches.Scope) ([]statemachine.Transition[switches.Scope], error) {
	return s.lines().trail(scope, switches.Machine.Name())
}

func (s switchRecords) Follow(after store.Cursor, limit int) ([]statemachine.Transition[switches.Scope], store.Cursor, error) {
	return s.lines().Follow(after, limit)
}

func (s switchRecords) Head() (store.Cursor, error) { return s.lines().Head() }

// processRecords implements [store.ProcessRecords]. There are few of them.
type processRecords struct {
	store.UnimplementedProcesses
	*Unit
}

func processKey(k processes.Key) string { return key(k.Domain, k.Name, k.Version, k.Policy) }

func (p processRecords) Put(now processes.Process) error {
	return p.write(func() error {
		if err := now.Check(); err != nil {
			return err
		}
		is, known, err := setting[processes.Process](p.Unit, "process", processKey(now.Key))
		if err != nil {
			return err
		}
		if known {
			now = now.Seen(is)
		}
		return p.setUp("process", processKey(now.Key), nil, now)
	})
}

func (p processRecords) Delete(all ...processes.Process) error {
	return p.write(func() error {
		for _, gone := range all {
			is, known, err := setting[processes.Process](p.Unit, "process", processKey(gone.Key))
			if err == nil && known && is.Last.Equal(gone.Last) {
				_, err = p.exec("DELETE FROM payout_setup WHERE kind = 'process' AND key = ?", processKey(gone.Key))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (p processRecords) List(after processes.Key, limit int) ([]processes.Process, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	all, err := list[processes.Process](p.Unit, "SELECT details FROM payout_setup WHERE kind = 'process'")
	all = slices.DeleteFunc(all, func(one processes.Process) bool { return processes.Compare(one.Key, after) <= 0 })
	slices.SortFunc(all, func(a, b processes.Process) int { return processes.Compare(a.Key, b.Key) })
	return all[:min(len(all), limit)], err
}
