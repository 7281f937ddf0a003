package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// Consumer is the row of a consumer of package follow.
type Consumer struct {
	Name     string
	Machines []string     // whose lines it is given, sorted
	Cursor   store.Cursor // of the last line that it is done with
	Fence    int64        // counts the processes that have held the lease, from 1
	Until    time.Time    // the end of the lease
	Stopped  bool         // at the line behind Cursor, which failed alone
	Error    string       // of the last line that failed alone; empty once a line was done
	FailedAt time.Time
	// Late is how often in a row the lease ended before a commit. Such an end is that of a slow database or of
	// a function that takes long, and no failure of a line.
	Late int64
}

// Parked is a line that a consumer goes on without, or a deposit, which has no line: its
// Machine is that of [utxo.DepositMachine], its ID the outpoint.
type Parked struct {
	Consumer    string
	N           int64 // the order of a consumer's parked lines
	Machine, ID string
	Version     int64
	Aggregate   string    // Line.Key
	At          time.Time // when it was parked
	Tries       int64     // how often the line failed alone
	Error       string    // of the last time; empty for one behind a line that failed
	NextTry     time.Time // no earlier, and only as the first of its aggregate
}

// Line is a line of the log, as text, with the aggregate that its record belongs to
// and the machine of that.
type Line struct {
	statemachine.Transition[string]
	Aggregate, Root string
	// Generation is how often the database had been put back when the line was written,
	// see [Restored].
	Generation int64
}

// Key names the aggregate of a line among those of all domains.
func (l *Line) Key() string { return l.Root + " " + l.Aggregate }

// domainMachines are the machines that have lines in the log, of each domain.
var domainMachines = map[store.Domain][]string{
	store.DomainSwitches:    {switches.Machine.Name()},
	store.DomainWallets:     {utxo.TxMachine.Name()},
	store.DomainWithdrawals: withdrawalMachines,
	store.DomainSwaps:       {depositSwaps.machine, creditSwaps.machine},
	store.DomainRefreshes:   refreshMachines,
	store.DomainRelays:      append([]string{relaysync.Machine.Name()}, tenantMachines...),
}

// Machines returns the names of the machines whose lines a domain has in the log, nil
// for an unknown domain.
func Machines(d store.Domain) []string { return slices.Clone(domainMachines[d]) }

// owner finds the aggregates of records that are no aggregates of their own.
type owner struct {
	root string
	of   *statement
}

var owners = map[string]owner{
	withdrawal.JobMachine.Name():  {withdrawal.RequestMachine.Name(), &jobOwners},
	dunning.InvoiceMachine.Name(): {dunning.TenantMachine.Name(), &invoiceOwners},
}

// Consumers are the rows of consumers and the log that they follow, in one
// transaction.
type Consumers struct{ *tx }

// ConsumersOf returns the consumers in a transaction of this package:
// [statemachine.ErrInvalid] for one of another store.
func ConsumersOf(u store.Unit) (Consumers, error) {
	t, ok := u.(*tx)
	if !ok {
		return Consumers{}, fmt.Errorf("%w: a %T is no transaction of sqlstore", statemachine.ErrInvalid, u)
	}
	return Consumers{t}, nil
}

var (
	consumerTable = newTable(table[Consumer]{
		name:  "settle_consumers",
		fixed: func(c *Consumer) list { return list{{"name text", always(&c.Name)}} },
		state: func(c *Consumer) list {
			return list{{"machines text", words{&c.Machines}}, {"cursor text", always(&c.Cursor)}, {"lease_fence int", always(&c.Fence)},
				{"lease_until time", always(&c.Until)}, {"stopped bool", always(&c.Stopped)}, {"error text", always(&c.Error)},
				{"failed_at time", maybe(&c.FailedAt)}, {"late int", always(&c.Late)}}
		},
		unique: []unique{{columns: []string{"name"}}}, // inserted once
	})
	parkedTable = newTable(table[Parked]{
		name: "settle_parked",
		keys: 2,
		fixed: func(p *Parked) list {
			return list{{"consumer text", always(&p.Consumer)}, {"n int", always(&p.N)}, {"machine text", always(&p.Machine)},
				{"id text", always(&p.ID)}, {"version int", always(&p.Version)}, {"aggregate text", always(&p.Aggregate)},
				{"parked_at time", always(&p.At)}}
		},
		state: func(p *Parked) list {
			return list{{"tries int", always(&p.Tries)}, {"error text", always(&p.Error)}, {"next_try time", always(&p.NextTry)}}
		},
	})

	selectConsumer = statement{text: "SELECT " + consumerTable.columns("x.") + " FROM @settle_consumers x WHERE x.name = $1"}
	moveConsumer   = statement{once: true,
		rows: consumerTable.state(new(Consumer)).spec() + ", name text, old_fence int, old_cursor text, old_until time",
		text: "UPDATE @settle_consumers AS x SET " + assignments(consumerTable.state(new(Consumer)).spec()) +
			" FROM {rows} WHERE x.name = r.name AND x.lease_fence = r.old_fence AND x.cursor = r.old_cursor AND x.lease_until = r.old_until " +
			"AND $1 = " + generation + " AND NOT {newer}"}
	parkedOf = statement{set: "aggregate text", text: "SELECT DISTINCT p.aggregate FROM @settle_parked p " +
		"WHERE p.consumer = $1 AND p.aggregate IN (SELECT r.aggregate FROM {set})"}
	generationsOf = statement{set: "machine text, id text, version int", text: "SELECT x.machine, x.id, x.version, " +
		"(SELECT max(p.generation) FROM @settle_places p WHERE p.lines < x.n) FROM {set} " +
		"JOIN @transitions x ON x.machine = r.machine AND x.id = r.id AND x.version = r.version"}
	dueParked = statement{text: "SELECT " + parkedTable.columns("x.") +
		" FROM @settle_parked x WHERE x.consumer = $1 AND (x.next_try <= $2 OR x.next_try > $3) " +
		"AND NOT EXISTS (SELECT 1 FROM @settle_parked e WHERE e.consumer = x.consumer AND e.aggregate = x.aggregate AND e.n < x.n) " +
		"ORDER BY x.next_try, x.n LIMIT 1"}
	countParked  = statement{text: "SELECT count(*), coalesce(max(n), 0) FROM @settle_parked WHERE consumer = $1"}
	oldestParked = statement{text: "SELECT " + parkedTable.columns("x.") + " FROM @settle_parked x WHERE x.consumer = $1 ORDER BY x.n LIMIT 1"}
	allConsumers = statement{text: "SELECT " + consumerTable.columns("x.") +
		" FROM @settle_consumers x WHERE x.name > $1 ORDER BY x.name LIMIT $2"}
	alterParked  = parkedTable.alter()
	deleteParked = statement{text: "DELETE FROM @settle_parked WHERE consumer = $1 AND n = $2"}

	lineAt    = statement{text: transitionColumns + "WHERE machine = $1 AND id = $2 AND version = $3"}
	jobOwners = statement{set: "id uuid", text: "SELECT q.id, q.withdrawal_request_id FROM @withdrawal_queue q " +
		"WHERE q.id IN (SELECT r.id FROM {set})"}
	invoiceOwners = statement{set: "id text", text: "SELECT i.id, i.tenant FROM @invoices i WHERE i.id IN (SELECT r.id FROM {set})"}
)

// Get returns a consumer, a zero one for a name that is new.
func (c Consumers) Get(name string) (row Consumer, err error) {
	err = c.read(&selectConsumer, nil, func(rows *sql.Rows) error { return rows.Scan(consumerTable.cells(&row)...) }, name)
	return row, err
}

// Move writes a consumer whose stored row still has the fence, the cursor and the lease of old, which is zero for a new
// consumer. Otherwise it writes nothing and returns false. A process that opened the database before it was put back
// gets [store.ErrRestored]; one that a later migration no longer allows gets [ErrNewerTables].
func (c Consumers) Move(old, row Consumer) (moved bool, err error) {
	rows := new(batch)
	var n int64
	if old.Name == "" {
		consumerTable.insertRow(rows, &row)
		n, err = c.write(&consumerTable.insertOne, rows)
	} else {
		rows.add(append(cells(consumerTable.state(&row)), old.Name, old.Fence, string(old.Cursor), old.Until)...)
		n, err = c.write(&moveConsumer, rows, c.store.generation)
	}
	if err == nil && (n == 0 || old.Name == "") {
		if err := c.mayWrite(); err != nil {
			return false, err
		}
		err = c.read(&readGeneration, nil, func(rows *sql.Rows) error {
			var now int64
			if err := rows.Scan(&now); err != nil || now == c.store.generation {
				return err
			}
			return store.ErrRestored
		})
	}
	return n == 1, err
}

// Lines returns up to limit lines of some machines behind a cursor, in the order
// of the log, and the cursor of the last of them.
func (c Consumers) Lines(after store.Cursor, limit int, machines ...string) ([]Line, store.Cursor, error) {
	log, next, err := followBut(c.tx, utxo.ContextLine, after, limit, asText, machines...)
	if err != nil {
		return nil, next, err
	}
	lines, err := c.owned(log)
	return lines, next, err
}

// Line returns one line of the log, [statemachine.ErrNotFound] for one that is not
// there.
func (c Consumers) Line(machine, id string, version int64) (Line, error) {
	log, _, err := readTransitions(c.tx, &lineAt, nil, asText, machine, id, version)
	if err == nil && len(log) == 0 {
		err = &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: machine, ID: id,
			Reason: fmt.Sprintf("version %d is not in the log", version)}
	}
	if err != nil {
		return Line{}, err
	}
	lines, err := c.owned(log)
	if err != nil {
		return Line{}, err
	}
	return lines[0], nil
}

// Head returns the cursor of the last line of any machine that Lines could return.
func (c Consumers) Head() (store.Cursor, error) { return c.head() }

// owned finds the aggregates of lines: the request of a job, the tenant of an
// invoice, the record itself of all others.
func (c Consumers) owned(log []statemachine.Transition[string]) ([]Line, error) {
	lines := make([]Line, len(log))
	for i := range log {
		lines[i] = Line{Transition: log[i], Aggregate: log[i].ID, Root: log[i].Machine}
	}
	if err := c.generations(lines); err != nil {
		return nil, err
	}
	for machine, owner := range owners {
		set, found := new(batch), map[string]string{}
		for i := range lines {
			if lines[i].Machine == machine {
				set.add(lines[i].ID)
			}
		}
		if set.len() == 0 {
			continue
		}
		err := c.read(owner.of, set, func(rows *sql.Rows) error {
			var id, of string
			err := rows.Scan(&id, &of)
			found[id] = of
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := range lines {
			if of := found[lines[i].ID]; of != "" && lines[i].Machine == machine {
				lines[i].Aggregate, lines[i].Root = of, owner.root
			}
		}
	}
	return lines, nil
}

// generations sets the generation of each line; before the first restore all have 0.
func (c Consumers) generations(lines []Line) error {
	if c.store.generation == 0 {
		return nil
	}
	set, of := new(batch), map[string]int64{}
	for i := range lines {
		set.add(lines[i].Machine, lines[i].ID, lines[i].Version)
	}
	key := func(machine, id string, version int64) string { return fmt.Sprint(machine, " ", version, " ", id) }
	err := c.read(&generationsOf, set, func(rows *sql.Rows) error {
		var machine, id string
		var version, generation int64
		err := rows.Scan(&machine, &id, &version, &generation)
		of[key(machine, id, version)] = generation
		return err
	})
	for i := range lines {
		lines[i].Generation = of[key(lines[i].Machine, lines[i].ID, lines[i].Version)]
	}
	return err
}

// ParkedOf returns which of some aggregates have parked lines.
func (c Consumers) ParkedOf(name string, lines []Line) (map[string]bool, error) {
	set, parked := new(batch), map[string]bool{}
	for i := range lines {
		set.add(lines[i].Key())
	}
	err := c.read(&parkedOf, set, func(rows *sql.Rows) error {
		var aggregate string
		err := rows.Scan(&aggregate)
		parked[aggregate] = true
		return err
	}, name)
	return parked, err
}

// DueParked returns a parked line that may be tried now, the first of its aggregate; zero if there is none. A line
// whose next try is after latest may be tried too: a clock that was ahead has set this time.
func (c Consumers) DueParked(name string, now, latest time.Time) (due Parked, err error) {
	err = c.read(&dueParked, nil, func(rows *sql.Rows) error { return rows.Scan(parkedTable.cells(&due)...) }, name, now, latest)
	return due, err
}

// Parked counts the parked lines of a consumer, with the highest number of one.
func (c Consumers) Parked(name string) (count int, last int64, err error) {
	err = c.read(&countParked, nil, func(rows *sql.Rows) error { return rows.Scan(&count, &last) }, name)
	return count, last, err
}

// OldestParked returns the parked line that was parked first, a zero one for none.
func (c Consumers) OldestParked(name string) (oldest Parked, err error) {
	err = c.read(&oldestParked, nil, func(rows *sql.Rows) error { return rows.Scan(parkedTable.cells(&oldest)...) }, name)
	return oldest, err
}

// List returns up to limit consumers by name, after a name, which is empty at first.
func (c Consumers) List(after string, limit int) (all []Consumer, err error) {
	err = consumerTable.read(c.tx, &allConsumers, nil, func(row *Consumer) { all = append(all, *row) }, after, int64(limit))
	return all, err
}

// Park inserts lines.
func (c Consumers) Park(lines ...Parked) error {
	rows := new(batch)
	for i := range lines {
		parkedTable.insertRow(rows, &lines[i])
	}
	return c.some(&parkedTable.insertOne, rows)
}

// Retry writes the tries of a parked line.
func (c Consumers) Retry(p Parked) error {
	rows := new(batch)
	parkedTable.alterRow(rows, &p)
	return c.some(&alterParked, rows)
}

// Unpark deletes a parked line.
func (c Consumers) Unpark(p Parked) error {
	return c.one("parked line", &deleteParked, p.Consumer, p.N)
}

// words is a column of words without blanks.
type words struct{ of *[]string }

func (w words) Scan(src any) error {
	var text string
	err := always(&text).Scan(src)
	*w.of = strings.Fields(text)
	return err
}

// Value implements [driver.Valuer].
func (w words) Value() (driver.Value, error) {
	return strings.Join(slices.Sorted(slices.Values(*w.of)), " "), nil
}
