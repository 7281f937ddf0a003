package memory

import (
	"time"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
)

// relayTables are the records of package relaysync. A row has no History: that
// is derived from the activities.
type relayTables struct {
	relays     *rows[string, relaysync.Sync]
	activities []relaysync.Activity // by sequence, from 1
	of         map[resource][]int   // their places, by resource
	*trails[string]
}

type resource struct{ kind, id string }

// The keys of relays.
const (
	keyRelay    = "i" // id
	keyTenant   = "t" // tenant id, of those that are not deleted
	keyPending  = "p" // id
	keyOperator = "o" // id
	keyHolder   = "h" // holder of the lease, id
)

func newRelayTables() *relayTables {
	return &relayTables{
		relays: newRows(rows[string, relaysync.Sync]{
			machine: relaysync.Machine.Name(),
			key:     func(s *relaysync.Sync) string { return s.Relay.ID },
			version: func(s *relaysync.Sync) int64 { return s.Relay.Version },
			sorted: func(s *relaysync.Sync) []string {
				keys := []string{keyRelay + s.Relay.ID}
				if s.Relay.DeletedAt.IsZero() {
					keys = append(keys, keyTenant+textKey(s.Relay.Tenant)+s.Relay.ID)
				}
				if s.Relay.Pending() {
					keys = append(keys, keyPending+s.Relay.ID)
				}
				if s.NeedsOperator() {
					keys = append(keys, keyOperator+s.Relay.ID)
				}
				if l := &s.Timer.Lease; l.Holder != "" {
					keys = append(keys, keyHolder+textKey(l.Holder)+s.Relay.ID)
				}
				if at, ok := s.DueAt(); ok {
					keys = append(keys, keyDue+timeKey(at)+s.Relay.ID)
				}
				return keys
			},
		}),
		of:     map[resource][]int{},
		trails: newTrails[string](),
	}
}

// Relays implements [store.RelayUnit].
func (t *tx) Relays() store.RelayRecords { return relays{t.store.relays, t} }

// relays are the tables within a transaction.
type relays struct {
	*relayTables
	tx *tx
}

func (r relays) Get(ids ...string) ([]relaysync.Sync, error) {
	return inOrderOf(ids, func(id string) (s relaysync.Sync) {
		if stored := r.relays.at[id]; stored != nil {
			s = *stored
			s.History = relaysync.HistoryOf(r.activitiesOf(relaysync.ResourceRelay, id))
		}
		return s
	})
}

func (r relays) activitiesOf(kind, id string) (all []relaysync.Activity) {
	for _, n := range r.of[resource{kind, id}] {
		all = append(all, r.relayTables.activities[n])
	}
	return all
}

func (r relays) Due(now time.Time, limit int) (due []relaysync.Sync, _ []error, err error) {
	due, err = dueOf(r.tx, r.relays, keyDue, now, limit, r.Get)
	if !relaysync.DueIn(r.tx.store.switches.state(switches.Relays)) {
		due = nil
	}
	return due, nil, err
}

func (r relays) NextDue(now time.Time) (time.Time, error) {
	if !relaysync.DueIn(r.tx.store.switches.state(switches.Relays)) {
		return time.Time{}, nil
	}
	return nextOf(r.relays, keyDue, now), nil
}

func (r relays) Pending(after string, limit int) ([]string, error) {
	return idsOf(r.relays, keyPending, after, limit)
}

func (r relays) List(tenant, after string, limit int) ([]string, error) {
	if tenant == "" {
		return idsOf(r.relays, keyRelay, after, limit)
	}
	return idsOf(r.relays, keyTenant+textKey(tenant), after, limit)
}

func (r relays) ForOperator(after string, limit int) ([]string, error) {
	return idsOf(r.relays, keyOperator, after, limit)
}

func (r relays) HeldBy(holder, after string, limit int) ([]string, error) {
	return idsOf(r.relays, keyHolder+textKey(holder), after, limit)
}

func (r relays) Activities(resourceType, resourceID string, limit int) ([]relaysync.Activity, error) {
	return firstOf(r.activitiesOf(resourceType, resourceID), limit, relaysync.CompareActivities)
}

func (r relays) Save(changes ...relaysync.Change) error {
	return saveAll(r.tx, changes, r.save)
}

func (r relays) save(c *relaysync.Change) error {
	if err := c.Complete(); err != nil {
		return err
	}
	if c.Empty() {
		return nil
	}
	now, id := c.New, c.New.Relay.ID
	now.History = relaysync.History{}
	if stored := r.relays.at[id]; stored != nil && stored.Relay.Version == c.Old.Relay.Version {
		if err := sameLease(relaysync.Machine.Name(), id, stored.Timer.Lease, c.Old.Timer.Lease, &now.Timer.Lease); err != nil {
			return err
		}
	}
	if err := r.relays.save(r.tx, c.Old.Relay.Version, &now); err != nil {
		return err
	}
	for _, a := range c.Activities {
		a.Sequence = int64(len(r.activities)) + 1
		of := resource{a.ResourceType, a.ResourceID}
		set(r.tx, r.of, of, append(r.of[of], len(r.activities)))
		assign(r.tx, &r.relayTables.activities, append(r.activities, a))
	}
	return r.add(r.tx, c.Log)
}

func (r relays) Renew(now time.Time, leases ...store.Lease[string]) ([]string, error) {
	return renewAll(r.tx, r.relays, now, leases, func(s *relaysync.Sync) *statemachine.Lease { return &s.Timer.Lease })
}

func (r relays) Transitions(relay string) ([]statemachine.Transition[string], error) {
	return r.trail(relay, relaysync.Machine.Name()), nil
}

func (r relays) Stats(now time.Time, window time.Duration) (relaysync.Stats, error) {
	s := relaysync.Stats{At: now, Phases: map[relaysync.Phase]int64{}}
	for _, one := range r.relays.at {
		s.Add(one)
	}
	for _, a := range r.activities {
		s.AddActivity(&a, window)
	}
	return s, nil
}
