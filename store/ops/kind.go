package ops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// Kind is one sort of record as operators look at it and speak of it: the same for every domain.
type Kind struct {
	Name    string // "withdrawal", "batch", "deposit", "credit", "refresh", "relay", "tenant" or "wallet", a transaction of package utxo
	Domain  store.Domain
	Machine string // in the journal
	Lists   []string
	Review  []string // of Lists: what rests with a person
	Stuck   []string // of Lists: what somebody has forgotten
	// Help is the name of the explanation of a list, see [Explain]; of one that needs none there is none.
	Help map[string]string

	events string // package of the events
	get    func(ctx context.Context, id string) (*Item, error)
	list   func(context.Context, List) (Page, error)
	find   func(ctx context.Context, text string) ([]string, error) // ids, none of what is not there
	try    func(ctx context.Context, id string, ev any) ([]store.TriedMove, error)
	do     func(ctx context.Context, id string, ev any) error
}

// Item is one record with what a person wants to know of it.
type Item struct {
	Kind, ID string
	State    string
	Version  int64  // of the record
	Job      int64  // version of a withdrawal's job; 0 without one
	Seen     string // digest of all versions: it differs as soon as anything of the record has moved
	Sentence string // who moves it on, and when
	Amount   string
	Payee    string // masked, see [Item.Masked]
	Fields   []Field
	Tables   []Table // transactions, attempts and the like
	Trail    []Line
	Unsound  string // why the trail does not replay to the record; empty: it does

	record  map[string]any      // fields of events that the record has
	choices map[string][]string // fields of events that the record has several of, see [Action.inputs]
}

// Field is one fact of a record. Secret is what a thief could use.
type Field struct {
	Name, Text string
	Secret     bool `json:",omitempty"`
}

// Table is what a record has several of.
type Table struct {
	Name    string
	Columns []string
	Rows    [][]string
}

// Line is a step of a record's history.
type Line struct {
	Machine, From, Trigger, To string
	Version                    int64
	At                         time.Time
	Lasted                     time.Duration // how long the state of To lasted
	Stands                     bool          // it lasts still
	Actor, Role, Reason        string
}

// List asks for a page of a list.
type List struct {
	Name                         string // of [Kind.Lists]
	State, Chain, Wallet, Holder string // withdrawals; empty: any
	User                         string
	After                        string // [Page.Next] of the page before
	Newest                       bool   // withdrawals: the newest first
	Limit                        int    // 1 to [store.MaxPage]
}

// Row is one record of a list.
type Row struct {
	ID, State, Amount string
	Payee             string // masked
	Since             time.Time
	Holder            string
	Cause             string // what it waits for, and who moves it on
	Error             string // masked
}

// Page is one page of a list.
type Page struct {
	Rows []Row
	Next string // where the next page begins; empty: this was the last
}

func (p *Page) add(r Row) { p.Rows = append(p.Rows, r) }

func (p *Page) next(more bool, of func() string) {
	if more {
		p.Next = of()
	}
}

// Kinds are those of the domains that the services have.
func (s *Services) Kinds() (all []*Kind) {
	for _, k := range []*Kind{s.withdrawals(), s.batches(), s.deposits(), s.credits(), s.refreshes(), s.relays(), s.tenants(), s.wallets()} {
		if k != nil {
			all = append(all, k)
		}
	}
	return all
}

// kindDomains are the domains of the names of kinds.
var kindDomains = map[string]store.Domain{"withdrawal": store.DomainWithdrawals, batchKind: store.DomainWithdrawals,
	"deposit": store.DomainSwaps, "credit": store.DomainSwaps, "refresh": store.DomainRefreshes, "relay": store.DomainRelays,
	"tenant": store.DomainRelays, "wallet": store.DomainWallets}

// Kind returns a kind by its name, [statemachine.ErrNotFound] where the services have none; of a name in the documentation of
// [Kind.Name] it is [store.ErrNoDomain] too, and says what is missing.
func (s *Services) Kind(name string) (*Kind, error) {
	for _, k := range s.Kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	domain, is := kindDomains[name]
	switch {
	case !is:
		return nil, fmt.Errorf("%w: no records of the kind %q", statemachine.ErrNotFound, name)
	case s.DB != nil && s.DB.HasDomain(domain):
		return nil, fmt.Errorf("%w: %w: of %s there are tables, and the policy does not name the accounts or the relay domain that their "+
			"service needs", statemachine.ErrNotFound, store.ErrNoDomain, domain)
	}
	return nil, fmt.Errorf("%w: %w: %s have no tables in this database; settle migrate up --domains %[3]s makes them",
		statemachine.ErrNotFound, store.ErrNoDomain, domain)
}

// Get reads a record, not masked.
func (k *Kind) Get(ctx context.Context, id string) (*Item, error) { return k.get(ctx, id) }

// List reads a page of a list.
func (k *Kind) List(ctx context.Context, q List) (Page, error) {
	if !slices.Contains(k.Lists, q.Name) {
		return Page{}, fmt.Errorf("%w: %s has no list %q", statemachine.ErrNotFound, k.Name, q.Name)
	}
	if err := store.CheckLimit(q.Limit); err != nil {
		return Page{}, err
	}
	return k.list(ctx, q)
}

// Found is a record that a text names.
type Found struct {
	Kind *Kind
	ID   string
}

// Find returns the records that a text names: an id, the hash of a transaction in any spelling, a user, the address of an open
// withdrawal, the sender or receiver of an unprocessed swap, or a recipient that a wallet watches or refreshes for; at most 50 of a kind
// by user or address. No index has addresses: Find reads all that is open.
func (s *Services) Find(ctx context.Context, text string) (all []Found, err error) {
	text = strings.TrimSpace(text)
	for _, k := range s.Kinds() {
		ids, err := k.find(ctx, text)
		if err != nil && !errors.Is(err, statemachine.ErrNotFound) && !errors.Is(err, statemachine.ErrInvalid) {
			return nil, err
		}
		for _, id := range ids {
			if id != "" { // of what is not there some services return an empty record
				all = append(all, Found{k, id})
			}
		}
	}
	return all, nil
}

// Actions are those that a person is offered for records of the kind.
func (k *Kind) Actions() []Action {
	return slices.DeleteFunc(k.said(), func(a Action) bool { return a.NotOffered != "" })
}

// said are all actions of the kind, those that nobody is offered here too.
func (k *Kind) said() (all []Action) {
	for _, a := range TheActions() {
		of, _, _ := strings.Cut(fmt.Sprintf("%T", a.Event), ".")
		if _, ofBatch := a.Event.(withdrawal.BatchEvent); of == k.events && ofBatch == (k.Name == batchKind) {
			all = append(all, a)
		}
	}
	return all
}

// Offer is what one action would do to a record as it is now.
type Offer struct {
	Action
	// Moves are what it would move. None, with neither Form nor Why: it is so already.
	Moves []store.TriedMove
	// Form: whether it is taken depends on what a person types first.
	Form bool
	// Why is the sentence of the refusal; empty if it is not refused.
	Why string
}

// Offers tells which actions an operator or an approver could take on a record now, by asking the domain's rules: each
// action is tried with what the record has, and with nothing typed but a reason. The actor matters: nobody approves
// what they have asked for themselves. Offers stores nothing.
func (k *Kind) Offers(ctx context.Context, is *Item, actor string) (all []Offer, err error) {
	for _, a := range k.Actions() {
		offer, err := k.Offer(ctx, is, a, actor)
		if err != nil {
			return nil, err
		}
		all = append(all, offer)
	}
	return all, nil
}

// Offer is one of [Kind.Offers]. Of an action that nobody is offered, Why is [Action.NotOffered].
func (k *Kind) Offer(ctx context.Context, is *Item, a Action, actor string) (Offer, error) {
	said := Said{Action: a.As(), Actor: actor, Version: is.version(&a), probe: true}
	if a.Fields["Reason"] == Typed {
		said.Fields = map[string]string{"Reason": "would it be taken?"}
	}
	offer := Offer{Action: a, Why: a.NotOffered}
	if offer.Why != "" {
		return offer, nil
	}
	var err error
	offer.Moves, err = k.Try(ctx, is, said)
	switch {
	case errors.Is(err, statemachine.ErrInvalid):
		offer.Form = true
	case statemachine.CodeOf(err) != "":
		offer.Why = err.Error()
	case err != nil:
		return offer, err
	}
	return offer, nil
}

// version is what By.Version of an action is, see [Item].
func (is *Item) version(a *Action) int64 {
	if a.OfJob {
		return is.Job
	}
	return is.Version
}

// Inputs are the fields of the form of an action.
func (is *Item) Inputs(a Action) []Input { return a.inputs(is.choices) }

// Action returns an action by its name, also one that nobody is offered: [Kind.Say] refuses that.
func (k *Kind) Action(name string) (Action, error) {
	for _, a := range k.said() {
		if strings.EqualFold(a.As(), name) {
			return a, nil
		}
	}
	return Action{}, fmt.Errorf("%w: nobody says %q of a %s", statemachine.ErrNotFound, name, k.Name)
}

func (k *Kind) event(is *Item, said Said) (any, error) {
	a, err := k.Action(said.Action)
	if err == nil && a.NotOffered != "" {
		err = fmt.Errorf("%w: %s of a %s is not said here: %s", statemachine.ErrForbidden, a.As(), k.Name, a.NotOffered)
	}
	if err != nil {
		return nil, err
	}
	return a.event(is.record, is.choices, said)
}

// Try says what [Kind.Say] would do, or its refusal, and stores nothing.
func (k *Kind) Try(ctx context.Context, is *Item, said Said) ([]store.TriedMove, error) {
	ev, err := k.event(is, said)
	if err != nil {
		return nil, err
	}
	return k.try(ctx, is.ID, ev)
}

// Say sends an event. Where the record was seen otherwise, it is [statemachine.ErrConflict], unless what is said is so
// already.
func (k *Kind) Say(ctx context.Context, is *Item, said Said) error {
	ev, err := k.event(is, said)
	if err != nil {
		return err
	}
	if said.Seen != "" && said.Seen != is.Seen {
		if moves, err := k.try(ctx, is.ID, ev); err == nil && len(moves) > 0 {
			return fmt.Errorf("%w: %s has changed since you looked", statemachine.ErrConflict, is.ID)
		}
	}
	return k.do(ctx, is.ID, ev)
}

// Note keeps in the journal what somebody did or tried beside events, and was refused with an error. It returns the refusal.
func (s *Services) Note(ctx context.Context, line statemachine.JournalLine, refused error) error {
	line, kept := line.Tried(refused)
	if !kept {
		return refused
	}
	err := s.DB.Update(ctx, func(u store.Unit) error { return u.Journal().Append(line) })
	return errors.Join(refused, err)
}

// service is what every domain's service has for events.
type service[ID, E, R any] interface {
	Do(context.Context, ID, ...E) (R, error)
	Try(context.Context, ID, ...E) (R, []store.TriedMove, error)
}

// speaks gives a kind the events of a service.
func speaks[ID, E, R any](k *Kind, s service[ID, E, R], parse func(string) (ID, error)) *Kind {
	k.try = func(ctx context.Context, id string, ev any) ([]store.TriedMove, error) {
		key, err := parse(id)
		if err != nil {
			return nil, err
		}
		_, moves, err := s.Try(ctx, key, ev.(E))
		return moves, err
	}
	k.do = func(ctx context.Context, id string, ev any) error {
		key, err := parse(id)
		if err == nil {
			_, err = s.Do(ctx, key, ev.(E))
		}
		return err
	}
	return k
}

// Now is the time of the store.
func (s *Services) Now(ctx context.Context) (now time.Time, err error) {
	err = s.DB.View(ctx, func(u store.Unit) error {
		now, err = u.Now()
		return err
	})
	return now, err
}

func same(id string) (string, error) { return id, nil }

// lines are a trail as people see it.
func lines[ID comparable](trail []statemachine.Transition[ID]) (all []Line) {
	for _, t := range trail {
		all = append(all, Line{Machine: t.Machine, From: t.From, Trigger: t.Trigger, To: t.To, Version: t.Version, At: t.At,
			Actor: t.Actor, Role: t.Role, Reason: t.Reason})
	}
	return all
}

// tell puts the parts of a trail together, and says whether it replays.
func (is *Item) tell(err error, parts ...[]Line) error {
	for _, part := range parts {
		for i := range part {
			if part[i].Stands = i+1 == len(part); !part[i].Stands {
				part[i].Lasted = part[i+1].At.Sub(part[i].At)
			}
		}
		is.Trail = append(is.Trail, part...)
	}
	slices.SortStableFunc(is.Trail, func(a, b Line) int { return a.At.Compare(b.At) })
	if errors.Is(err, statemachine.ErrCorrupt) {
		is.Unsound, err = err.Error(), nil
	}
	return err
}

// since is when the latest step of a machine was; zero without one.
func (is *Item) since(machine string) (at time.Time) {
	for _, l := range is.Trail {
		if l.Machine == machine {
			at = l.At
		}
	}
	return at
}

// put adds facts that are not empty: a name, then its value. A name that begins with "*" is secret.
func (is *Item) put(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		v := pairs[i+1]
		if z, is := v.(interface{ IsZero() bool }); is && z.IsZero() || reflect.ValueOf(v).IsZero() {
			continue
		}
		if at, is := v.(time.Time); is {
			v = at.UTC().Format(time.RFC3339)
		}
		if text := fmt.Sprint(v); text != "" && text != "none" {
			name, secret := strings.CutPrefix(pairs[i].(string), "*")
			is.Fields = append(is.Fields, Field{name, text, secret})
		}
	}
}

// digest sets Seen.
func (is *Item) digest(parts ...any) {
	sum := sha256.Sum256([]byte(fmt.Sprint(append(parts, is.Version, is.Job)...)))
	is.Seen = hex.EncodeToString(sum[:8])
}

// Masked is the item with the ends alone of what a thief could use.
func (is *Item) Masked() *Item {
	m := *is
	m.Payee = Masked(is.Payee)
	m.Fields = slices.Clone(is.Fields)
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Secret {
			f.Text, f.Secret = Masked(f.Text), false
		}
	}
	return &m
}
