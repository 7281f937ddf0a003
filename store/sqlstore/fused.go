package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// stage is a write that may wait for others, see later.
type stage struct {
	*statement
	rows    *batch
	scalars []any
	few     func(n int64) error // says why not all rows were changed; after nil the transaction goes on
	what    string              // names an error of its statement, if that has no other stage
	failed  func(error) error   // says what an error of the statement means; nil: what it says itself
}

// later sends a write with those behind it. On PostgreSQL the stages that wait become one statement,
// which is one round trip: each is a part of WITH that writes nothing unless the part before it has
// changed all its rows, so that they write in their order, and a refusal is that of the first. All
// parts read what was there before the statement. So none may look for what another has written,
// and of two that write the same table the second waits for the first to be sent.
func (t *tx) later(s stage) error {
	if s.rows.len() == 0 {
		return nil
	}
	same := func(o stage) bool { return o.target() == s.target() || o.scalars != nil && s.scalars != nil }
	if t.stages = append(t.stages, s); !t.writing || t.store.Dialect == SQLite {
		return t.settle()
	}
	if last := len(t.stages) - 1; last == maxStages || slices.ContainsFunc(t.stages[:last], same) {
		t.stages = t.stages[:last]
		err := t.settle()
		t.stages = append(t.stages, s)
		return err
	}
	return nil
}

// allLater is later for rows that must all be written.
func (t *tx) allLater(what string, st *statement, rows *batch) error {
	return t.later(stage{statement: st, rows: rows, what: what,
		few: func(n int64) error { return want(rows.len(), n, what) }})
}

const maxStages = 8

// target is the table that a write changes.
func (st *statement) target() string {
	_, name, _ := strings.Cut(st.text, "@")
	name, _, _ = strings.Cut(name, " ")
	return name
}

// settle sends the stages that wait.
func (t *tx) settle() error {
	for len(t.stages) > 0 && t.err == nil {
		all := t.stages
		t.stages = nil
		changed, err := t.send(all)
		if err != nil {
			return whatFailed(all, err)
		}
		for i, s := range all {
			if changed[i] == int64(s.rows.len()) {
				continue
			}
			if err := s.few(changed[i]); err != nil {
				return err
			}
			t.stages = all[i+1:] // they have written nothing
			break
		}
	}
	return nil
}

// fewRows is the SQLSTATE of a statement of alone that has not changed all rows: a division by zero.
const fewRows = "22012"

// alone sends the stages that wait without BEGIN and COMMIT, if they are all that the transaction sends but for the
// clock. The server commits such a statement by itself. It fails where a part has not changed all its rows, and then
// has written nothing: the stages are sent again in a transaction, which says what is wrong. One of the stages must be
// lines of the log, since these are written only where the database was not put back or migrated.
func (t *tx) alone() error {
	line := func(s stage) bool { return s.statement == writeTransitions[Postgres] }
	if t.start == nil || !slices.ContainsFunc(t.stages, line) {
		return t.settle()
	}
	all := t.stages
	t.patient()
	_, err := t.sendFused(all, true)
	if state(err) == fewRows {
		t.err = nil
		return t.settle()
	}
	t.stages, t.landed = nil, err == nil
	return whatFailed(all, err)
}

// whatFailed is an error of the statement that the stages were.
func whatFailed(all []stage, err error) error {
	for _, s := range all {
		if s.failed != nil && err != nil {
			err = s.failed(err)
		}
	}
	if err != nil && len(all) == 1 && all[0].what != "" {
		err = fmt.Errorf("%s: %w", all[0].what, err)
	}
	return err
}

// send returns how many rows each stage has changed.
func (t *tx) send(all []stage) ([]int64, error) {
	if len(all) == 1 {
		n, err := t.write(all[0].statement, all[0].rows, all[0].scalars...)
		return []int64{n}, err
	}
	return t.sendFused(all, false)
}

// sendFused sends stages as one statement; alone: as one that fails if it does not change all rows, and is committed
// otherwise.
func (t *tx) sendFused(all []stage, alone bool) ([]int64, error) {
	t.wrote = true
	var of [maxStages]*statement
	var once [maxStages]columns
	for i, s := range all {
		if s.rows.err != nil {
			return nil, s.rows.err
		}
		of[i] = s.statement
		if s.once {
			once[i] = s.rows.once()
		}
	}
	text, once := t.fusedText(of, once, alone)
	var args []any
	for _, s := range all {
		args = append(args, t.scalars(s.scalars)...)
	}
	for i, s := range all {
		if i < len(all)-1 || alone {
			args = append(args, int64(s.rows.len()))
		}
	}
	for i, s := range all {
		columns, err := s.rows.args(once[i])
		if err != nil {
			return nil, err
		}
		args = append(args, columns...)
	}
	if err := t.ctx.Err(); err != nil {
		return nil, t.fail(err)
	}
	outcome := meaning
	if alone {
		outcome = landed
	} else if err := t.begin(); err != nil {
		return nil, err
	}
	changed := make([]int64, len(all))
	places := make([]any, len(all))
	for i := range changed {
		places[i] = &changed[i]
	}
	rows, err := t.run.query(t.late, text, args...)
	if err != nil {
		return nil, t.fail(outcome(err))
	}
	defer rows.Close()
	for rows.Next() {
		if alone {
			continue // it has changed all rows
		}
		if err := rows.Scan(places...); err != nil {
			return nil, t.fail(err)
		}
	}
	return changed, t.fail(outcome(rows.Err()))
}

// fusedTexts are those of some statements together.
type fusedTexts struct {
	mu sync.Mutex
	of map[fusedKey]string
}

type fusedKey struct {
	once  [maxStages]columns
	alone bool
}

// fusedText is text for statements that are sent together.
func (t *tx) fusedText(of [maxStages]*statement, once [maxStages]columns, alone bool) (string, [maxStages]columns) {
	kept, ok := t.store.texts.Load(of)
	if !ok {
		kept, _ = t.store.texts.LoadOrStore(of, &fusedTexts{of: map[fusedKey]string{}})
	}
	all := kept.(*fusedTexts)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of[fusedKey{once, alone}] == "" && len(all.of) >= maxTexts {
		for i := range once {
			if !once[i].has(0) { // those of single rows are always there
				once[i] = 0
			}
		}
	}
	key := fusedKey{once, alone}
	if all.of[key] == "" {
		all.of[key] = t.store.fused(of, once, alone)
	}
	return all.of[key], once
}

// fused is the text of statements that are sent together, for PostgreSQL. Its parameters are the scalars, of which
// one statement may have some, how many rows each part is to change, and the batches. Alone it says of the last part
// too how many rows it is to change, and fails if it does not: it changes none if the part before it has not changed all.
func (s syntax) fused(of [maxStages]*statement, once [maxStages]columns, alone bool) string {
	n, scalars := slices.Index(of[:], nil), 0
	if n < 0 {
		n = maxStages
	}
	for _, st := range of[:n] {
		scalars = max(scalars, st.scalars())
	}
	param := scalars + n - 1
	if alone {
		param++
	}
	parts, counts := make([]string, n), make([]string, n)
	for i, st := range of[:n] {
		guard := ""
		if i > 0 {
			guard = fmt.Sprintf(" WHERE $%d = (SELECT count(*) FROM part%d)", scalars+i, i)
		}
		text := strings.Replace(s.unmarked(st.text), "{rows}", s.set(st.rows, param, st.once, once[i], guard), 1)
		parts[i] = fmt.Sprintf("part%d AS (%s RETURNING 1)", i+1, s.expand(text))
		counts[i] = fmt.Sprintf("(SELECT count(*) FROM part%d)", i+1)
		param += strings.Count(st.rows, ", ") + 1
	}
	result := strings.Join(counts, ", ")
	if alone {
		result = fmt.Sprintf("1 / CASE WHEN %[2]s = $%[1]d THEN 1 ELSE 0 END", scalars+n, counts[n-1])
	}
	return "WITH " + strings.Join(parts, ", ") + " SELECT " + result
}
