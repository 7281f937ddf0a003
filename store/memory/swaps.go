package memory

import (
	"bytes"
	"slices"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/swap"
)

// swapTables are the records of package swap.
type swapTables struct {
	deposits      *swapRows[swap.Deposit]
	credits       *swapRows[swap.Credit]
	references    map[uint64]swapIntent // who has drawn a number
	signatures    map[string]swapIntent
	claims        map[string]swapIntent
	control       swap.Control
	waterlines    map[waterlineKey]swap.Waterline
	discrepancies []swap.Discrepancy
	known         map[discrepancyKey]int // where it is in discrepancies
}

// swapRows are the items of one direction. A map has all four tables, so an id
// is in one.
type swapRows[A any] struct {
	*rows[string, A]
	*trails[string]
	name string
}

type swapIntent struct {
	direction swap.Direction
	item      string
	number    int64
}

type waterlineKey struct {
	chain swap.Chain
	own   bool
}

type discrepancyKey struct {
	direction swap.Direction
	item      string
	kind      swap.DiscrepancyKind
	key       string
}

func newSwapTables() *swapTables {
	return &swapTables{deposits: newSwapRows[swap.Deposit](), credits: newSwapRows[swap.Credit](), references: map[uint64]swapIntent{},
		signatures: map[string]swapIntent{}, claims: map[string]swapIntent{},
		waterlines: map[waterlineKey]swap.Waterline{}, known: map[discrepancyKey]int{}}
}

func newSwapRows[A any]() *swapRows[A] {
	name := any(new(A)).(swap.Record).Machine()
	return &swapRows[A]{name: name, trails: newTrails[string](), rows: newRows(rows[string, A]{
		machine: name,
		key:     func(a *A) string { return head(a).ID },
		version: func(a *A) int64 { return head(a).Version },
		sorted: func(a *A) []string {
			keys := []string{"place " + string(rune(any(a).(swap.Record).Place())) + textKey(head(a).ID)}
			if l := &head(a).Lease; l.Holder != "" {
				keys = append(keys, "held "+textKey(l.Holder)+head(a).ID)
			}
			if i := head(a); !i.CheckAt.IsZero() {
				keys = append(keys, "due "+timeKey(i.At)+textKey(i.ID), "when "+timeKey(i.DueAt())+textKey(i.ID))
			}
			return keys
		},
	})}
}

func head[A any](a *A) *swap.Item { return any(a).(swap.Record).Head() }

// Deposits implements [store.SwapUnit].
func (t *tx) Deposits() store.DepositRecords {
	return swaps[swap.Deposit]{t.store.swaps.deposits, t.store.swaps, t, swap.ToUSDD}
}

// Credits implements [store.SwapUnit].
func (t *tx) Credits() store.CreditRecords {
	return swaps[swap.Credit]{t.store.swaps.credits, t.store.swaps, t, swap.ToUSDC}
}

// SwapHouse implements [store.SwapUnit].
func (t *tx) SwapHouse() store.SwapHouse { return swapHouse{t.store.swaps, t} }

// swaps are the items of one direction within a transaction.
type swaps[A any] struct {
	*swapRows[A]
	house     *swapTables
	tx        *tx
	direction swap.Direction
}

func (w swaps[A]) Get(ids ...string) ([]A, error) {
	return inOrderOf(ids, func(id string) (a A) {
		if stored := w.at[id]; stored != nil {
			a = w.copy(stored)
		}
		return a
	})
}

// copy of a record that the caller may write to.
func (w swaps[A]) copy(a *A) A {
	c := *a
	i := head(&c)
	i.Intents, i.Discrepancies = slices.Clone(i.Intents), slices.Clone(i.Discrepancies)
	for k := range i.Intents {
		i.Intents[k].Raw = bytes.Clone(i.Intents[k].Raw)
	}
	return c
}

func (w swaps[A]) Due(now time.Time, limit int) ([]A, error) {
	return w.due(limit, func(i *swap.Item) bool { return i.Due(now) })
}

func (w swaps[A]) Overslept(latest time.Time, limit int) ([]A, error) {
	return w.due(limit, func(i *swap.Item) bool { return i.DueAt().After(latest) })
}

// due are the first of those that a worker claims some day and that is says it of.
func (w swaps[A]) due(limit int, is func(*swap.Item) bool) (due []A, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	if !w.tx.writable {
		return nil, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: w.name, Event: "due", Reason: "a View locks nothing"}
	}
	w.scan("due ", "due ", func(_ string, a *A) bool {
		if is(head(a)) {
			due = append(due, w.copy(a))
		}
		return len(due) < limit
	})
	return due, nil
}

func (w swaps[A]) NextDue(now time.Time) (at time.Time, err error) {
	w.scan("when ", "when "+timeKey(now.Add(time.Microsecond)), func(_ string, a *A) bool {
		at = head(a).DueAt()
		return false
	})
	return at, nil
}

func (w swaps[A]) List(place swap.Place, after string, limit int) (page []A, err error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	prefix := "place " + string(rune(place))
	start := prefix
	if after != "" {
		start += textKey(after) + "\x00"
	}
	w.scan(prefix, start, func(_ string, a *A) bool {
		page = append(page, w.copy(a))
		return len(page) < limit
	})
	return page, nil
}

func (w swaps[A]) HeldBy(holder, after string, limit int) ([]string, error) {
	return idsOf(w.rows, "held "+textKey(holder), after, limit)
}

func (w swaps[A]) Oldest(vanished time.Time) (oldest time.Time, err error) {
	for _, a := range w.at {
		if at, waits := any(a).(swap.Record).Waits(vanished); waits && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	return oldest, nil
}

func (w swaps[A]) Save(changes ...swap.Change[A]) error {
	return saveAll(w.tx, changes, w.save)
}

func (w swaps[A]) save(c *swap.Change[A]) error {
	if err := c.Complete(); err != nil {
		return err
	}
	old, now := head(&c.Old), w.copy(&c.New)
	i := head(&now)
	stored := w.at[i.ID]
	switch {
	case i.Version == 0: // of no item
	case old.Version == 0:
		if err := w.insert(w.tx, &now); err != nil {
			return err
		}
	case stored == nil || head(stored).Version != old.Version:
		return conflict(w.name, i.ID, "expected version %d", old.Version)
	default:
		if err := sameLease(w.name, i.ID, head(stored).Lease, old.Lease, &i.Lease); err != nil {
			return err
		}
		if !head(stored).CheckAt.Equal(old.CheckAt) {
			return conflict(w.name, i.ID, "when it is due was moved")
		}
		if i.Version == old.Version { // a touch
			lease, check := i.Lease, i.CheckAt
			now = w.copy(stored)
			i = head(&now)
			i.Lease, i.CheckAt = lease, check
		}
		if err := w.put(w.tx, &now); err != nil {
			return err
		}
	}
	added, altered := c.Intents()
	for _, in := range altered {
		if was := old.Intent(in.Number).Claim; was != "" && in.Claim == "" {
			unset(w.tx, w.house.claims, was)
		}
	}
	for _, in := range append(added, altered...) {
		by := swapIntent{w.direction, i.ID, in.Number}
		err := takes(w.tx, w.house.references, in.Reference, by)
		if err == nil {
			err = takes(w.tx, w.house.signatures, in.Signature, by)
		}
		if err == nil {
			err = takes(w.tx, w.house.claims, in.Claim, by)
		}
		if err != nil {
			return err
		}
	}
	noted, dealt := c.Discrepancies()
	w.house.note(w.tx, noted)
	for _, d := range dealt {
		k := w.house.known[keyOf(&d)]
		changed := slices.Clone(w.house.discrepancies)
		changed[k] = d
		assign(w.tx, &w.house.discrepancies, changed)
	}
	return w.add(w.tx, c.Log)
}

// takes keeps what is one intent's; zero is nobody's.
func takes[K comparable](t *tx, of map[K]swapIntent, key K, by swapIntent) error {
	if is, taken := of[key]; taken && is != by {
		return conflict(by.direction.String(), by.item, "%v is that of intent %d of %s", key, is.number, is.item)
	}
	if key != *new(K) {
		set(t, of, key, by)
	}
	return nil
}

// note records what is not there yet.
func (s *swapTables) note(t *tx, all []swap.Discrepancy) {
	for _, d := range all {
		if _, known := s.known[keyOf(&d)]; !known {
			set(t, s.known, keyOf(&d), len(s.discrepancies))
			assign(t, &s.discrepancies, append(s.discrepancies, d))
		}
	}
}

func keyOf(d *swap.Discrepancy) discrepancyKey {
	return discrepancyKey{d.Direction, d.Item, d.Kind, d.Key}
}

func (w swaps[A]) Renew(now time.Time, leases ...store.Lease[string]) ([]string, error) {
	return renewAll(w.tx, w.rows, now, leases, func(a *A) *statemachine.Lease { return &head(a).Lease })
}

func (w swaps[A]) Transitions(id string) ([]statemachine.Transition[string], error) {
	return w.trail(id, w.name), nil
}

// swapHouse is what concerns all swaps, within a transaction.
type swapHouse struct {
	*swapTables
	tx *tx
}

func (h swapHouse) Control(lock bool) (swap.Control, error) {
	if lock && !h.tx.writable {
		return swap.Control{}, &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: "swap control", Event: "lock",
			Reason: "a View locks nothing"}
	}
	return h.control, nil
}

func (h swapHouse) SaveControl(old, now swap.Control) error {
	if err := h.tx.writes(); err != nil {
		return err
	}
	if h.control.Version != old.Version || now.Version <= old.Version {
		return h.tx.fail(conflict("swap control", "", "stored is version %d", h.control.Version))
	}
	assign(h.tx, &h.control, now)
	return nil
}

func (h swapHouse) OfReference(reference uint64) (swap.Direction, string, error) {
	of := h.references[reference]
	return of.direction, of.item, nil
}

func (h swapHouse) OfClaim(claim string) (swap.Direction, string, error) {
	of := h.claims[claim]
	return of.direction, of.item, nil
}

func (h swapHouse) Waterline(chain swap.Chain, own bool) (swap.Waterline, error) {
	w := h.waterlines[waterlineKey{chain, own}]
	w.Chain, w.Own = chain, own
	return w, nil
}

func (h swapHouse) SaveWaterline(old, now swap.Waterline) error {
	if err := h.tx.writes(); err != nil {
		return err
	}
	key := waterlineKey{now.Chain, now.Own}
	if h.waterlines[key].Version != old.Version || now.Version <= old.Version {
		return h.tx.fail(conflict("swap waterline", now.Chain, "stored is version %d", h.waterlines[key].Version))
	}
	set(h.tx, h.waterlines, key, now)
	return nil
}

func (h swapHouse) Note(all ...swap.Discrepancy) error {
	if err := h.tx.writes(); err != nil {
		return err
	}
	h.note(h.tx, all)
	return nil
}

func (h swapHouse) Close(d swap.Discrepancy) error {
	if err := h.tx.writes(); err != nil {
		return err
	}
	k, known := h.known[keyOf(&d)]
	if !known {
		return h.tx.fail(&statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: "swap discrepancy", ID: d.Key, Event: "close"})
	}
	if h.discrepancies[k].ClosedBy == "" {
		changed := slices.Clone(h.discrepancies)
		changed[k].ClosedBy, changed[k].ClosedAt = d.ClosedBy, d.ClosedAt
		assign(h.tx, &h.discrepancies, changed)
	}
	return nil
}

func (h swapHouse) Discrepancies(after int64, limit int) ([]swap.Discrepancy, int64, error) {
	if err := store.CheckPage(after, limit); err != nil {
		return nil, after, err
	}
	page, next := pageOf(h.discrepancies, after, limit)
	return page, next, nil
}

func (h swapHouse) Stats(now time.Time, window time.Duration) (swap.Stats, error) {
	c := swap.NewTally(now, window)
	for _, d := range h.deposits.at {
		c.Deposit(d)
	}
	for _, cr := range h.credits.at {
		c.Credit(cr)
	}
	for _, d := range h.discrepancies {
		c.Discrepancy(&d)
	}
	for _, w := range h.waterlines {
		c.Waterline(&w)
	}
	c.Control(h.control)
	return c.Stats(), nil
}
