package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// Erased stands where a text was that came from outside and had to go.
const Erased = "[erased]"

// erasable is what the migrations say of the texts of an append-only table that may
// become [Erased], see [syntax.migration].
type erasable struct {
	domain            store.Domain
	table             string
	columns, recordBy []string
}

var mayErase = regexp.MustCompile(`(?m)^\{append only (\w+)(?: once \w+)? but ([\w, ]+) of ([\w, ]+)\}$`)

func (s syntax) erasable() (all []erasable) {
	for _, m := range s.steps() {
		for _, e := range mayErase.FindAllStringSubmatch(m.up, -1) {
			all = append(all, erasable{m.domain, e[1], strings.Split(e[2], ", "), strings.Split(e[3], ", ")})
		}
	}
	return all
}

// Erase replaces with [Erased] the texts that came from outside (reasons, data, error
// messages) in the append-only rows of one record, such as a person's data that must
// be deleted by law. machine and id are those of the record's trail; of a withdrawal
// the request, each job and the wallet are records of their own. Everything else of
// the rows stays, and no trigger lets it change. It returns how many rows it changed:
// none the second time.
//
// The record itself is not append-only, and its texts are not touched: its memo and
// address are what was paid.
func (s *Store) Erase(ctx context.Context, machine, id string) (rows int64, err error) {
	if machine == "" || id == "" {
		return 0, fmt.Errorf("%w: a record has a machine and an id", statemachine.ErrInvalid)
	}
	err = s.Update(ctx, func(u store.Unit) error {
		rows = 0
		for _, e := range s.erasable() {
			n, err := u.(*tx).write(e.statement(), nil, machine, id, Erased, utxo.ContextLine)
			if err != nil {
				return fmt.Errorf("erase %s: %w", e.table, err)
			}
			rows += n
		}
		return nil
	})
	return rows, err
}

// statement erases what is there and is not a mark of a store's own.
func (e erasable) statement() *statement {
	var set, some []string
	for _, c := range e.columns {
		text := c + " NOT IN ('', $3, $4)"
		set, some = append(set, c+" = CASE WHEN "+text+" THEN $3 ELSE "+c+" END"), append(some, text)
	}
	of := "$1 <> '' AND CAST(" + e.recordBy[0] + " AS text) = $2"
	if len(e.recordBy) > 1 {
		of = e.recordBy[0] + " = $1 AND " + e.recordBy[1] + " = $2"
	}
	return &statement{text: "UPDATE @" + e.table + " SET " + strings.Join(set, ", ") + " WHERE " + of + " AND (" + strings.Join(some, " OR ") + ")"}
}
