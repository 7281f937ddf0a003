package sqlstore

import (
	"fmt"
	"strings"
	"time"
)

// due says when rows x of a table become due, and in which order they are taken.
// "What is due" and "when next" are made from it. The domain has the same rule
// as a function in its due.go, and storetest compares the two.
type due struct {
	from  string // the tables, such as "@withdrawal_queue x"
	owner string // the column with the id of the aggregate
	where string // which rows can become due
	at    string // the time from which one is due
	order string // ends with a key

	// Of rows with this condition a due time counts from so much later as the
	// caller says; empty: of none.
	later string
	// rank comes before the order: an expression with the values 0 to ranks-1,
	// the first of which an index has.
	rank  string
	ranks int
	// first is asked instead of where and at for what is due: for the first of
	// each free key, it says which rows are that.
	first, firstFrom string
	// putOff, if set, is asked instead of where and first for rows that a clock that was ahead has put off, with {now},
	// and with {ahead} for the latest time that a rule may have set. Empty: rows due later than {ahead}.
	putOff, putOffFrom string
	// filters are columns that a caller may give values of: the first ones.
	filters []string
	// off is a condition under which the switch lets nothing be due, see stoppedAt. {of} stands for the first filter,
	// or for its value if that is given, so that PostgreSQL asks once and not for each row. Empty: the switch stops
	// nothing.
	off string
}

// dueWork is a due with its statements, by how many filters have a value.
type dueWork struct {
	due
	found       map[Dialect][]*statement
	ahead       map[Dialect][]*statement
	soon, after []*statement // see next: after is late
}

func newDue(d due) *dueWork {
	w := &dueWork{due: d, found: map[Dialect][]*statement{}, ahead: map[Dialect][]*statement{}}
	for n := range len(d.filters) + 1 {
		of := d.filters[:n]
		for _, dialect := range []Dialect{SQLite, Postgres} {
			w.found[dialect] = append(w.found[dialect], d.find(dialect, false, of...))
			w.ahead[dialect] = append(w.ahead[dialect], d.find(dialect, true, of...))
		}
		if w.soon = append(w.soon, d.next(false, of...)); d.later != "" {
			w.after = append(w.after, d.next(true, of...))
		}
	}
	return w
}

// nextDue is the earliest due time after now; zero if there is none.
func (w *dueWork) nextDue(t *tx, now time.Time, grace time.Duration, filters ...any) (next time.Time, err error) {
	if w == nil {
		return next, nil
	}
	next, err = t.onlyTime(w.soon[len(filters)], append([]any{now}, filters...)...)
	if err != nil || w.later == "" {
		return next, err
	}
	at, err := t.onlyTime(w.after[len(filters)], append([]any{now.Add(-grace)}, filters...)...)
	if at = at.Add(grace); at.After(now) && (next.IsZero() || at.Before(next)) {
		next = at
	}
	return next, err
}

// find is the statement for the ids of due aggregates: $1 is the limit, then come the time, the time less the delay if
// there is a later condition, and the values of the filters. With ahead it finds aggregates that are due later than a
// time instead: the time less the delay comes first, and now before it if the table has a putOff condition. The rows
// are locked; rows that others hold are skipped.
func (d due) find(dialect Dialect, ahead bool, filters ...string) *statement {
	n := 2
	param := func() string { n++; return fmt.Sprintf("$%d", n) }
	from, where := d.from, d.is("$2")
	if d.first != "" {
		from, where = d.firstFrom, strings.ReplaceAll(d.first, "{now}", "$2")
	}
	later := "NOT (" + d.later + ") OR "
	switch {
	case ahead && d.putOff != "":
		from, where = d.putOffFrom, strings.NewReplacer("{now}", "$2", "{ahead}", param()).Replace(d.putOff)
	case ahead:
		where, later = strings.ReplaceAll(where, "<= $2", "> $2"), "("+d.later+") OR "
	}
	if d.later != "" {
		where += " AND (" + later + d.at + map[bool]string{false: " <= ", true: " > "}[ahead] + param() + ")"
	}
	of := ""
	for i, f := range filters {
		p := param()
		where += " AND " + f + " = " + p
		if i == 0 {
			of = p
		}
	}
	where += d.unlessOff(of)
	order := d.order
	if d.rank != "" {
		order = d.rank + ", " + order
	}
	text := "SELECT " + d.owner + " FROM " + from + " WHERE " + where + " ORDER BY " + order + " LIMIT $1"
	if dialect == Postgres {
		text += " FOR NO KEY UPDATE OF x SKIP LOCKED"
	}
	return &statement{text: text}
}

// unlessOff says that the switch lets something be due; of is the value of the first
// filter, empty where it has none.
func (d due) unlessOff(of string) string {
	if d.off == "" {
		return ""
	}
	if of == "" && len(d.filters) > 0 {
		of = d.filters[0]
	}
	return " AND NOT " + strings.ReplaceAll(d.off, "{of}", of)
}

// is says of rows x that they are due at a time.
func (d due) is(now string) string { return d.where + " AND " + d.at + " <= " + now }

// next is the statement for the earliest due time after $1; the values of the filters follow. With late it finds only
// rows with the later condition, to whose time the caller adds the delay; otherwise it leaves them out.
func (d due) next(late bool, filters ...string) *statement {
	where := d.where
	switch {
	case late:
		where += " AND " + d.later
	case d.later != "":
		where += " AND NOT (" + d.later + ")"
	}
	where += " AND " + d.at + " > $1"
	of := ""
	for i, f := range filters {
		where += fmt.Sprintf(" AND %s = $%d", f, i+2)
		of = "$2"
	}
	where += d.unlessOff(of)
	text := "SELECT min(" + d.at + ") FROM " + d.from + " WHERE " + where
	if d.rank == "" {
		return &statement{text: text}
	}
	ranks := make([]string, d.ranks) // one look into the index for each
	for i := range ranks {
		ranks[i] = fmt.Sprintf("SELECT %d AS n", i)
	}
	return &statement{text: "SELECT min((" + text + " AND " + d.rank + " = p.n)) FROM (" + strings.Join(ranks, " UNION ALL ") + ") p"}
}
