package memory

import (
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/store"
)

// Processes implements [store.Journaled].
func (t *tx) Processes() store.ProcessRecords { return processRecords{t} }

type processRecords struct{ tx *tx }

func newProcesses() *rows[processes.Key, processes.Process] {
	return newRows(rows[processes.Key, processes.Process]{
		machine: "process",
		key:     func(p *processes.Process) processes.Key { return p.Key },
		sorted:  func(p *processes.Process) []string { return []string{processKey(p.Key)} },
	})
}

func processKey(k processes.Key) string {
	return textKey(k.Domain) + textKey(k.Name) + textKey(k.Version) + textKey(k.Policy)
}

// Put implements [store.ProcessRecords].
func (r processRecords) Put(p processes.Process) error {
	if err := r.tx.writes(); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return r.tx.fail(err)
	}
	if is := r.tx.store.processes.at[p.Key]; is != nil {
		p = p.Seen(*is)
	}
	return r.tx.store.processes.put(r.tx, &p)
}

// Delete implements [store.ProcessRecords].
func (r processRecords) Delete(all ...processes.Process) error {
	if err := r.tx.writes(); err != nil {
		return err
	}
	for _, p := range all {
		if is := r.tx.store.processes.at[p.Key]; is != nil && is.Last.Equal(p.Last) {
			r.tx.store.processes.remove(r.tx, p.Key)
		}
	}
	return nil
}

// List implements [store.ProcessRecords].
func (r processRecords) List(behind processes.Key, limit int) (page []processes.Process, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	r.tx.store.processes.scan("", processKey(behind), func(_ string, p *processes.Process) bool {
		if p.Key != behind {
			page = append(page, *p)
		}
		return len(page) < limit
	})
	return page, nil
}
