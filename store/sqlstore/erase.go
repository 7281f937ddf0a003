package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
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

// Erasure says whose texts are erased, and who asks for it.
type Erasure struct {
	Machine, ID string // of the record, as in its trail
	Actor       string // the person who asks for it, 1 to [statemachine.MaxActor] bytes
	Trace, Via  string // as in [statemachine.By]; may be empty
}

// Erase replaces with [Erased] the texts that came from outside (reasons, data, error messages) in the append-only rows
// of one record, for example a person's data that a law wants deleted. The request, each job and the wallet of a
// withdrawal are records of their own. Everything else in the rows stays, and no trigger lets it change. Erase returns
// how many rows it changed: none the second time. A record that is not named, and an actor out of its bounds, are
// [statemachine.ErrInvalid].
//
// The journal has a line of each Erase, by an operator, in the same commit: it names the record and holds nothing of
// its texts.
//
// Erase does not touch the texts of the record itself, which is not append-only: its memo and address say what was
// paid.
func (s *Store) Erase(ctx context.Context, e Erasure) (rows int64, err error) {
	if e.Machine == "" || e.ID == "" {
		return 0, fmt.Errorf("%w: a record has a machine and an id", statemachine.ErrInvalid)
	}
	if err := errors.Join(statemachine.Actor(e.Actor), statemachine.Ways(e.Trace, e.Via)); err != nil {
		return 0, err
	}
	line := statemachine.JournalLine{Actor: e.Actor, Role: switches.Operator.String(), Domain: string(recordDomain(e.Machine)),
		Machine: e.Machine, ID: e.ID, Event: "Erase", Trace: e.Trace, Via: e.Via}
	err = s.Update(ctx, func(u store.Unit) error {
		rows = 0
		for _, of := range s.erasable() {
			n, err := u.(*tx).write(of.statement(), nil, e.Machine, e.ID, Erased, utxo.ContextLine)
			if err != nil {
				return fmt.Errorf("erase %s: %w", of.table, err)
			}
			rows += n
		}
		said := line
		if rows == 0 {
			said.Outcome = statemachine.JournalSame
		}
		said, _ = said.Tried(nil)
		return u.Journal().Append(said)
	})
	return rows, err
}

// recordDomain is the domain of the records of a machine; what the log does not know, such as a
// hot wallet, counts to the domain that every store has.
func recordDomain(machine string) store.Domain {
	for d, machines := range domainMachines {
		if slices.Contains(machines, machine) {
			return d
		}
	}
	return store.DomainSwitches
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
	return &statement{text: "UPDATE @" + e.table + " SET " + strings.Join(set,
		", ") + " WHERE " + of + " AND (" + strings.Join(some, " OR ") + ")"}
}
