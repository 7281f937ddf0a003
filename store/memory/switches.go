package memory

import (
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
)

// switchTables are the records of package switches.
type switchTables struct {
	switches *rows[switches.Scope, switches.Switch]
	*trails[switches.Scope]
}

func newSwitchTables() *switchTables {
	return &switchTables{
		switches: newRows(rows[switches.Scope, switches.Switch]{
			machine: switches.Machine.Name(),
			key:     func(s *switches.Switch) switches.Scope { return s.Scope },
			version: func(s *switches.Switch) int64 { return s.Version },
			sorted:  func(s *switches.Switch) []string { return []string{string(s.Scope)} },
		}),
		trails: newTrails[switches.Scope](),
	}
}

// Switches implements [store.SwitchUnit].
func (t *tx) Switches() store.SwitchRecords { return switchRecords{t.store.switches, t} }

// switchRecords are the tables within a transaction.
type switchRecords struct {
	*switchTables
	tx *tx
}

func (r switchRecords) Get(scopes ...switches.Scope) ([]switches.Switch, error) {
	return inOrderOf(scopes, r.row)
}

func (t *switchTables) row(scope switches.Scope) (s switches.Switch) {
	if stored := t.switches.at[scope]; stored != nil {
		s = *stored
	}
	return s
}

func (r switchRecords) List(after switches.Scope, limit int) (page []switches.Switch, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	r.switches.scan("", string(after), func(_ string, s *switches.Switch) bool {
		if s.Scope != after {
			page = append(page, *s)
		}
		return len(page) < limit
	})
	return page, nil
}

// state is what counts for a scope.
func (t *switchTables) state(scope switches.Scope) switches.State {
	return switches.Of(t.row(switches.Everything), t.row(scope))
}

// Ask implements [store.SwitchRecords]. There is one transaction at a time.
func (r switchRecords) Ask(scope switches.Scope) (switches.State, error) {
	return r.state(scope), scope.Validate()
}

// Open implements [store.SwitchRecords].
func (r switchRecords) Open(switches.Scope) ([]store.OpenTransaction, error) {
	return nil, r.tx.writes()
}

func (r switchRecords) Save(changes ...switches.Change) error {
	return saveAll(r.tx, changes, func(c *switches.Change) error {
		if err := c.Complete(); err != nil || c.Empty() {
			return err
		}
		now := c.New
		if err := r.switches.save(r.tx, c.Old.Version, &now); err != nil {
			return err
		}
		return r.add(r.tx, c.Log)
	})
}

func (r switchRecords) Transitions(scope switches.Scope) ([]statemachine.Transition[switches.Scope], error) {
	return r.trail(scope, switches.Machine.Name()), nil
}
