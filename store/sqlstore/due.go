package sqlstore

import (
	"fmt"
	"strings"
)

// due says when rows x of a table become due, and in which order they are taken.
// "What is due" and "when next" are made from it. The domain has the same rule
// as a function in its due.go, and storetest compares the two.
type due struct {
	from  string // the tables, such as "@withdrawal_queue x"
	owner string // the column with the id of the aggregate
	where string // which rows can become due
	at    string // the time from which one is due; empty: it is due always
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
}

// find is the statement for the ids of aggregates that are due: $1 is the limit,
// then come the time unless at is empty, the time less the delay if there is a
// later, and the values of the filters, which are columns. The rows are locked;
// what others hold is skipped.
func (d due) find(dialect Dialect, filters ...string) *statement {
	n := 1
	param := func() string { n++; return fmt.Sprintf("$%d", n) }
	from, where := d.from, d.where
	if d.at != "" {
		now := param()
		where += " AND " + d.at + " <= " + now
		if d.first != "" {
			from, where = d.firstFrom, strings.ReplaceAll(d.first, "{now}", now)
		}
	}
	if d.later != "" {
		where += " AND (NOT (" + d.later + ") OR " + d.at + " <= " + param() + ")"
	}
	for _, f := range filters {
		where += " AND " + f + " = " + param()
	}
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

// is says of rows x that they are due at a time.
func (d due) is(now string) string { return d.where + " AND " + d.at + " <= " + now }

// next is the statement for the earliest due time after $1; the values of the
// filters follow. late asks for rows with the later condition alone, where the
// caller adds the delay, and otherwise leaves them out.
func (d due) next(late bool, filters ...string) *statement {
	where := d.where
	switch {
	case late:
		where += " AND " + d.later
	case d.later != "":
		where += " AND NOT (" + d.later + ")"
	}
	where += " AND " + d.at + " > $1"
	for i, f := range filters {
		where += fmt.Sprintf(" AND %s = $%d", f, i+2)
	}
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
