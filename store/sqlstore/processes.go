package sqlstore

import (
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
)

// Processes implements [store.Journaled].
func (t *tx) Processes() store.ProcessRecords { return processRecords{t} }

type processRecords struct{ *tx }

var processTable = newTable(table[processes.Process]{
	name: "settle_processes",
	keys: 4,
	fixed: func(p *processes.Process) list {
		return list{{"domain text", always(&p.Domain)}, {"name text", always(&p.Name)}, {"version text", always(&p.Version)},
			{"policy text", always(&p.Policy)}}
	},
	state: func(p *processes.Process) list {
		return list{{"first_seen time", always(&p.First)}, {"last_seen time", always(&p.Last)}}
	},
})

var (
	// putProcess is Seen of a process.
	putProcess = statement{once: true, rows: processTable.all, text: processTable.insertOne.text +
		" WHERE true ON CONFLICT (domain, name, version, policy) DO UPDATE SET last_seen = excluded.last_seen, " +
		"first_seen = CASE WHEN {kept @settle_processes.first_seen} < excluded.first_seen THEN @settle_processes.first_seen ELSE " +
		"excluded.first_seen END"}
	deleteProcesses = statement{once: true, rows: processTable.key + ", last_seen time",
		text: "DELETE FROM @settle_processes WHERE (" + columnNames(processTable.key, "") + ", {kept last_seen}) IN (SELECT " +
			columnNames(processTable.key, "r.") + ", r.last_seen FROM {rows})"}
	pageOfProcesses = processTable.page("", "domain", "name", "version", "policy")
)

// Put implements [store.ProcessRecords].
func (r processRecords) Put(p processes.Process) error {
	if err := p.Check(); err != nil {
		return err
	}
	rows := new(batch)
	processTable.insertRow(rows, &p)
	return r.save("process", func() error { return r.some(&putProcess, rows) })
}

// Delete implements [store.ProcessRecords].
func (r processRecords) Delete(all ...processes.Process) error {
	rows := new(batch)
	for i := range all {
		rows.add(append(cells(processTable.fixed(&all[i])), all[i].Last)...)
	}
	return r.save("process", func() error { return r.some(&deleteProcesses, rows) })
}

// List implements [store.ProcessRecords].
func (r processRecords) List(after processes.Key, limit int) ([]processes.Process, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	return processTable.find(r.tx, &pageOfProcesses, nil, after.Domain, after.Name, after.Version, after.Policy, int64(limit))
}
