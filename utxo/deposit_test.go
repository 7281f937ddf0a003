package utxo_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/explore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// depositPolicy credits customers at a depth of 3, from 5 satoshi and height 10 on.
func depositPolicy() utxo.DepositPolicy {
	return utxo.DepositPolicy{
		Customer: func(o utxo.Owner) bool { return strings.HasPrefix(o.Tag, "customer") },
		Depth:    depthOf(3),
		Minimum:  5,
		From:     map[utxo.WalletID]int32{1: 10},
	}
}

func depthOf(n int32) func(utxo.Owner, int64) int32 {
	return func(utxo.Owner, int64) int32 { return n }
}

// sight is a customer's output in block 10, under a tip at 12: just deep enough.
func sight(change func(*utxo.DepositSight)) utxo.DepositSight {
	s := utxo.DepositSight{Owner: utxo.Owner{Wallet: 1, Tag: "customer 7"}, OutPoint: wire.OutPoint{Index: 1}, Amount: 5,
		Status: utxo.Published, Height: 10, Block: chainhash.Hash{10}, Tip: 12, Scanned: 12}
	if change != nil {
		change(&s)
	}
	return s
}

// gone is the same output after its block has left the chain.
func gone(s *utxo.DepositSight) { s.Height, s.Block = utxo.Unconfirmed, chainhash.Hash{} }

// deposit is the output on file, credited at a depth of 3 unless it waits.
func deposit(state utxo.DepositState) utxo.Deposit {
	d, ok := depositPolicy().Find(sight(nil), utxotest.Start)
	if !ok {
		panic("it is no deposit")
	}
	if d.State = state; state != utxo.DepositWaiting {
		d.Round, d.Depth = 1, 3
	}
	if state == utxo.DepositReversed {
		d.Reason = "provably_dead"
	}
	return d
}

func TestWhatIsADeposit(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*utxo.DepositSight)
		want   bool
	}{
		"a customer's": {nil, true},
		"change":       {func(s *utxo.DepositSight) { s.Tag = "change" }, false},
		"of an address that is forgotten, whatever the policy says": {func(s *utxo.DepositSight) { s.Tag = utxo.Forgotten }, false},
		"below the first height":                                    {func(s *utxo.DepositSight) { s.Height = 9 }, false},
		"of a wallet without one":                                   {func(s *utxo.DepositSight) { s.Wallet, s.Height = 2, 0 }, true},
		"in no block":                                               {gone, false},
		"of a failed transaction":                                   {func(s *utxo.DepositSight) { gone(s); s.Status = utxo.Failed }, false},
		"of a transaction that is not published":                    {func(s *utxo.DepositSight) { s.Status = utxo.Failed }, false},
		"of nothing":                                                {func(s *utxo.DepositSight) { s.Amount = 0 }, false},
		"below the minimum: it waits":                               {func(s *utxo.DepositSight) { s.Amount = 4 }, true},
		"of an owner who is behind":                                 {func(s *utxo.DepositSight) { s.Scanned = 0 }, true},
	} {
		p := depositPolicy()
		p.Customer = func(o utxo.Owner) bool { return o.Tag != "change" }
		d, ok := p.Find(sight(tt.change), utxotest.Start)
		if ok != tt.want {
			t.Errorf("%s: %v", name, ok)
		}
		if ok && (d.State != utxo.DepositWaiting || utxo.CheckDeposit(d) != nil) {
			t.Errorf("%s: %+v: %v", name, d, utxo.CheckDeposit(d))
		}
	}
}

// Each condition of a credit at its boundary, for what waits and for what was reversed.
func TestWhenADepositIsCredited(t *testing.T) {
	coinbase := func(tip int32) func(*utxo.DepositSight) {
		return func(s *utxo.DepositSight) { s.Coinbase, s.Tip, s.Scanned = true, tip, tip }
	}
	for name, tt := range map[string]struct {
		change func(*utxo.DepositSight)
		policy func(*utxo.DepositPolicy)
		want   bool // of one that waits; one that was credited before does not depend on minimum, customer and From
	}{
		"just deep enough":     {nil, nil, true},
		"one block less":       {func(s *utxo.DepositSight) { s.Tip, s.Scanned = 11, 11 }, nil, false},
		"one block more":       {func(s *utxo.DepositSight) { s.Tip, s.Scanned = 13, 13 }, nil, true},
		"in no block":          {gone, nil, false},
		"dead":                 {func(s *utxo.DepositSight) { gone(s); s.Status = utxo.Failed }, nil, false},
		"the depth was raised": {nil, func(p *utxo.DepositPolicy) { p.Depth = depthOf(4) }, false},
		"the depth was lowered": {func(s *utxo.DepositSight) { s.Tip, s.Scanned = 10, 10 },
			func(p *utxo.DepositPolicy) { p.Depth = depthOf(1) }, true},
		"the minimum was raised":      {nil, func(p *utxo.DepositPolicy) { p.Minimum = 6 }, false},
		"no customer any more":        {nil, func(p *utxo.DepositPolicy) { p.Customer = func(utxo.Owner) bool { return false } }, false},
		"From was raised":             {nil, func(p *utxo.DepositPolicy) { p.From = map[utxo.WalletID]int32{1: 11} }, false},
		"the owner is one block late": {func(s *utxo.DepositSight) { s.Scanned = 11 }, nil, false},
		"coinbase, 100 blocks later":  {coinbase(110), nil, true},
		"coinbase, 99 blocks later":   {coinbase(109), nil, false},
		"coinbase, another maturity":  {coinbase(13), func(p *utxo.DepositPolicy) { p.Maturity = 3 }, true},
		"before it":                   {coinbase(12), func(p *utxo.DepositPolicy) { p.Maturity = 3 }, false},
	} {
		for _, from := range []utxo.DepositState{utxo.DepositWaiting, utxo.DepositReversed} {
			p := depositPolicy()
			if tt.policy != nil {
				tt.policy(&p)
			}
			old, s := deposit(from), sight(tt.change)
			want := tt.want || from == utxo.DepositReversed &&
				(name == "the minimum was raised" || name == "no customer any more" || name == "From was raised")
			d, fact, err := p.Judge(old, s, utxotest.Start.Add(time.Hour))
			if err != nil || (fact != nil) != want || utxo.CheckDeposit(d) != nil {
				t.Errorf("%s, %s: %+v, %v, %v", name, from, fact, err, utxo.CheckDeposit(d))
			}
			if fact == nil {
				if d != old.Seen(s) {
					t.Errorf("%s, %s: without a fact it becomes %+v", name, from, d)
				}
				continue
			}
			made := utxo.DepositFact{DepositKey: utxo.DepositKey{OutPoint: s.OutPoint, Round: old.Round + 1, Kind: utxo.FactCredited},
				Owner: s.Owner, Amount: s.Amount, Height: s.Height, Block: s.Block}
			if *fact != made || d.State != utxo.DepositCredited || d.Round != old.Round+1 || d.Depth != p.Depth(s.Owner, s.Amount) ||
				!d.At.Equal(utxotest.Start.Add(time.Hour)) {
				t.Errorf("%s, %s: %+v, %+v", name, from, d, fact)
			}
		}
	}
	p := depositPolicy()
	p.Depth = depthOf(0)
	d, fact, err := p.Judge(deposit(utxo.DepositWaiting), sight(nil), utxotest.Start)
	if !errors.Is(err, statemachine.ErrInvalid) || fact != nil || d.State != utxo.DepositWaiting {
		t.Errorf("a depth of 0: %+v, %v", d, err)
	}
}

// What takes a credit back, at its boundary: a proof alone, or an operator's word.
func TestWhenADepositIsReversed(t *testing.T) {
	orphan := func(tip int32) func(*utxo.DepositSight) {
		return func(s *utxo.DepositSight) { gone(s); s.Coinbase, s.Status, s.Tip = true, utxo.Orphaned, tip }
	}
	for name, tt := range map[string]struct {
		change func(*utxo.DepositSight)
		want   string
		shaken bool
	}{
		"as it was":                      {nil, "", false},
		"a coinbase in the chain":        {func(s *utxo.DepositSight) { s.Coinbase = true }, "", false},
		"the chain is one block shorter": {func(s *utxo.DepositSight) { s.Tip = 11 }, "", true},
		"it left the chain":              {gone, "", true},
		"it failed":                      {func(s *utxo.DepositSight) { gone(s); s.Status = utxo.Failed }, "", true},
		"it is higher up":                {func(s *utxo.DepositSight) { s.Height = 11 }, "", true},
		"it is proven dead":              {func(s *utxo.DepositSight) { gone(s); s.Status, s.Dead = utxo.Failed, true }, "provably_dead", false},
		"said dead, and in the chain":    {func(s *utxo.DepositSight) { s.Dead = true }, "", false},
		"orphaned, the chain 2 above":    {orphan(11), "", true},
		"orphaned, the chain 3 above":    {orphan(12), "forked_off", false},
	} {
		p := depositPolicy()
		p.Depth = depthOf(1) // what is credited keeps the depth of its credit
		d, fact, err := p.Judge(deposit(utxo.DepositCredited), sight(tt.change), utxotest.Start)
		if err != nil || (fact != nil) != (tt.want != "") || d.Shaken(sight(tt.change).Tip) != tt.shaken || utxo.CheckDeposit(d) != nil {
			t.Errorf("%s: %+v, %+v, %v", name, d, fact, err)
		}
		if fact != nil && (fact.Reason != tt.want || fact.Kind != utxo.FactReversed || fact.Round != 1 || fact.Amount != 5 || fact.Height != 10) {
			t.Errorf("%s: %+v", name, fact)
		}
		ordered, fact, err := deposit(utxo.DepositCredited).Reverse(sight(tt.change), "olga", "the sender is gone", utxotest.Start)
		if want := tt.shaken || tt.want != ""; want != (err == nil) || !want && !errors.Is(err, statemachine.ErrIllegal) {
			t.Errorf("%s: an operator: %+v, %v", name, ordered, err)
		} else if want {
			again, same, err := ordered.Reverse(sight(tt.change), "olga", "the sender is gone", utxotest.Start.Add(1))
			if err != nil || *same != *fact || again != ordered || fact.Actor != "olga" || utxo.CheckDeposit(ordered) != nil {
				t.Errorf("%s: the same word again: %+v, %v", name, same, err)
			}
			if _, _, err := ordered.Reverse(sight(tt.change), "otto", "me too", utxotest.Start); !errors.Is(err, statemachine.ErrIllegal) {
				t.Errorf("%s: another word: %v", name, err)
			}
		}
	}
	for _, words := range [][2]string{{"", "why"}, {"olga", ""}, {"olga", strings.Repeat("x", 501)},
		{strings.Repeat("x", utxo.MaxActor+1), "why"}, {"o\x00", "why"}, {"olga", "\xff"}} {
		d, fact, err := deposit(utxo.DepositCredited).Reverse(sight(gone), words[0], words[1], utxotest.Start)
		if !errors.Is(err, statemachine.ErrInvalid) || fact != nil || d.State != utxo.DepositCredited {
			t.Errorf("%.9q, %.9q: %v", words[0], words[1], err)
		}
	}
	_, _, err := deposit(utxo.DepositWaiting).Reverse(sight(gone), "olga", "why", utxotest.Start)
	if !errors.Is(err, statemachine.ErrIllegal) {
		t.Errorf("one that waits: %v", err)
	}
}

// A new tip is a reason to look at what is in the chain and not credited, and at what is shaken.
func TestWhichDepositsATipMakesDue(t *testing.T) {
	for _, state := range utxo.DepositMachine.States() {
		for _, in := range []bool{true, false} {
			for tip, deep := range map[int32]bool{11: false, 12: true} { // credited at a depth of 3, in block 10
				d := deposit(state)
				d.InChain = in
				if want := in != (state == utxo.DepositCredited && (deep || !in)); d.Due(tip) != want {
					t.Errorf("%s, in the chain %v, tip %d: due %v", state, in, tip, !want)
				}
			}
		}
	}
}

// Of each state and each trigger: where the table leads, or that it refuses.
func TestDepositMatrix(t *testing.T) {
	want := map[string]string{"(0) deposited": "waiting", "waiting deep": "credited", "reversed deep": "credited",
		"credited provably_dead": "reversed", "credited forked_off": "reversed", "credited operator": "reversed"}
	for _, from := range append(utxo.DepositMachine.States(), 0) {
		for _, on := range utxo.DepositMachine.Triggers() {
			to, ok := utxo.DepositMachine.Next(from, on)
			name := fmt.Sprint(from, " ", on)
			if from == 0 {
				name = "(0) " + on.String()
			}
			if got := map[bool]string{true: to.String()}[ok]; got != want[name] {
				t.Errorf("%s: %q, want %q", name, got, want[name])
			}
		}
	}
}

func TestDepositPolicyValidate(t *testing.T) {
	if err := depositPolicy().Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*utxo.DepositPolicy){
		"no Customer": func(p *utxo.DepositPolicy) { p.Customer = nil }, "no Depth": func(p *utxo.DepositPolicy) { p.Depth = nil },
		"negative Minimum": func(p *utxo.DepositPolicy) { p.Minimum = -1 }, "negative Maturity": func(p *utxo.DepositPolicy) { p.Maturity = -1 },
		"negative From": func(p *utxo.DepositPolicy) { p.From[2] = -1 },
	} {
		p := depositPolicy()
		if change(&p); !errors.Is(p.Validate(), statemachine.ErrInvalid) {
			t.Errorf("%s: %v", name, p.Validate())
		}
	}
}

func TestCheckDeposit(t *testing.T) {
	for name, change := range map[string]func(*utxo.Deposit){
		"no state": func(d *utxo.Deposit) { d.State = 0 }, "an unknown state": func(d *utxo.Deposit) { d.State = 4 },
		"nothing": func(d *utxo.Deposit) { d.Amount = 0 }, "no wallet": func(d *utxo.Deposit) { d.Wallet = 0 },
		"no round": func(d *utxo.Deposit) { d.Round = 0 }, "no depth": func(d *utxo.Deposit) { d.Depth = 0 },
		"a round that waits":              func(d *utxo.Deposit) { d.State, d.Depth = utxo.DepositWaiting, 0 },
		"a depth that waits":              func(d *utxo.Deposit) { d.State, d.Round = utxo.DepositWaiting, 0 },
		"a reason of what stands":         func(d *utxo.Deposit) { d.Reason = "x" },
		"an actor of what stands":         func(d *utxo.Deposit) { d.Actor = "x" },
		"reversed for no reason":          func(d *utxo.Deposit) { d.State = utxo.DepositReversed },
		"in the chain without a height":   func(d *utxo.Deposit) { d.Height, d.Block = utxo.Unconfirmed, chainhash.Hash{} },
		"a height without a block":        func(d *utxo.Deposit) { d.Block = chainhash.Hash{} },
		"a block without a height":        func(d *utxo.Deposit) { d.InChain, d.Height = false, utxo.Unconfirmed },
		"a height that no block can have": func(d *utxo.Deposit) { d.InChain, d.Height = false, -2 },
	} {
		d := deposit(utxo.DepositCredited)
		if change(&d); !errors.Is(utxo.CheckDeposit(d), statemachine.ErrCorrupt) {
			t.Errorf("%s: %v", name, utxo.CheckDeposit(d))
		}
	}
}

func TestDeepAtTheEndOfNumbers(t *testing.T) {
	d := deposit(utxo.DepositCredited)
	d.Height, d.Depth = math.MaxInt32-1, math.MaxInt32
	if d.DeepAt() != math.MaxInt32 || !d.Shaken(math.MaxInt32-1) {
		t.Errorf("%d", d.DeepAt())
	}
	p := depositPolicy()
	p.Depth = depthOf(math.MaxInt32)
	if _, fact, err := p.Judge(deposit(utxo.DepositWaiting), sight(nil), utxotest.Start); err != nil || fact != nil {
		t.Errorf("%+v, %v", fact, err)
	}
}

// depositWorld is a chain of at most five blocks with a payment to a customer, the rival
// that spends the same input, and what a ledger has posted.
type depositWorld struct {
	Tip, Paid, Rival int32 // heights, the two others may be Unconfirmed
	Row              utxo.Deposit
	Balance          int64 // the facts posted
	Said             bool  // an operator has reversed it once
	Fault            string
}

func (w depositWorld) String() string {
	return fmt.Sprintf("tip %d, paid in %d, rival in %d, %s round %d depth %d, posted %d %s",
		w.Tip, w.Paid, w.Rival, w.Row.State, w.Row.Round, w.Row.Depth, w.Balance, w.Fault)
}

func (w depositWorld) sight() utxo.DepositSight {
	s := sight(func(s *utxo.DepositSight) { s.Tip, s.Scanned, s.Height = w.Tip, w.Tip, w.Paid })
	if w.Paid == utxo.Unconfirmed {
		gone(&s)
	} else {
		s.Block = chainhash.Hash{byte(w.Paid), 1}
	}
	if w.Rival != utxo.Unconfirmed {
		s.Status = utxo.Failed
		s.Dead = w.Row.Depth > 0 && w.Tip-w.Rival+1 >= w.Row.Depth
	}
	return s
}

// The model checker tries all sequences of blocks with the payment, with its rival or with
// neither, of reorganisations, of consumers that look at any moment under a policy of any
// depth, and of reversals by an operator.
func TestDepositModel(t *testing.T) {
	const last, rounds = 4, 2
	post := func(w depositWorld, d utxo.Deposit, fact *utxo.DepositFact) depositWorld {
		old := w.Row
		if w.Row = d; fact == nil {
			return w
		}
		if fact.Kind == utxo.FactCredited {
			w.Balance += fact.Amount
			if w.Paid == utxo.Unconfirmed || w.Tip-w.Paid+1 < d.Depth || fact.Round != old.Round+1 {
				w.Fault = "credited and not deep"
			}
		} else {
			w.Balance -= fact.Amount
			proven := w.Rival != utxo.Unconfirmed && w.Tip-w.Rival+1 >= old.Depth
			if fact.Round != old.Round || fact.Actor == "" && !proven || !old.Seen(w.sight()).Shaken(w.Tip) {
				w.Fault = "reversed without a ground"
			}
		}
		return w
	}
	model := explore.Model[depositWorld]{
		Init: []depositWorld{{Tip: 0, Paid: utxo.Unconfirmed, Rival: utxo.Unconfirmed}},
		Next: func(w depositWorld, step func(string, depositWorld)) {
			if w.Tip < last {
				to := w
				to.Tip++
				step("a block", to)
				if w.Paid == utxo.Unconfirmed && w.Rival == utxo.Unconfirmed {
					paid, rival := to, to
					paid.Paid, rival.Rival = to.Tip, to.Tip
					step("a block with the payment", paid)
					step("a block with its rival", rival)
				}
			}
			if w.Tip > 0 {
				to := w
				if to.Tip--; to.Paid == w.Tip {
					to.Paid = utxo.Unconfirmed
				}
				if to.Rival == w.Tip {
					to.Rival = utxo.Unconfirmed
				}
				step("the tip leaves", to)
			}
			p := depositPolicy()
			p.From = nil
			if w.Row.State == 0 {
				if d, ok := p.Find(w.sight(), time.Time{}); ok {
					to := w
					to.Row = d
					step("it is found", to)
				}
				return
			}
			to := w
			to.Row = w.Row.Seen(w.sight())
			step("a line of it is read", to)
			for depth := int32(1); depth <= 3 && w.Row.Round < rounds; depth++ {
				p.Depth = depthOf(depth)
				d, fact, err := p.Judge(w.Row, w.sight(), time.Time{})
				if err != nil {
					w.Fault = err.Error()
				}
				step(fmt.Sprintf("a consumer looks, depth %d", depth), post(w, d, fact))
			}
			if !w.Said {
				if d, fact, err := w.Row.Reverse(w.sight(), "olga", "she knows", time.Time{}); err == nil {
					to := post(w, d, fact)
					to.Said = true
					step("an operator reverses it", to)
				}
			}
		},
	}
	result, err := explore.Check(model,
		explore.Always("no fact without its ground", func(w depositWorld) bool { return w.Fault == "" }),
		explore.Always("the facts are 0 or the amount", func(w depositWorld) bool { return w.Balance == 0 || w.Balance == w.Row.Amount }),
		explore.Always("the ledger has what the row says", func(w depositWorld) bool {
			return (w.Balance != 0) == (w.Row.State == utxo.DepositCredited)
		}),
		explore.Valid("the row keeps its invariants", func(w depositWorld) error {
			if w.Row.State == 0 {
				return nil
			}
			return utxo.CheckDeposit(w.Row)
		}),
		explore.Valid("what a look would change is due, once its lines are read", func(w depositWorld) error {
			row := w.Row.Seen(w.sight())
			if w.Row.State == 0 || row.Due(w.Tip) {
				return nil
			}
			p := depositPolicy()
			p.From, p.Depth = nil, depthOf(1)
			if _, fact, err := p.Judge(row, w.sight(), time.Time{}); err != nil || fact != nil {
				return fmt.Errorf("it is not due, and %+v follows, %v", fact, err)
			}
			return nil
		}),
		explore.Reachable("credited twice", func(w depositWorld) bool { return w.Row.State == utxo.DepositCredited && w.Row.Round == 2 }),
		explore.Reachable("reversed by proof", func(w depositWorld) bool { return w.Row.State == utxo.DepositReversed && w.Row.Actor == "" }),
		explore.Reachable("reversed by word", func(w depositWorld) bool { return w.Row.State == utxo.DepositReversed && w.Row.Actor != "" }),
		explore.Reachable("shaken", func(w depositWorld) bool { return w.Row.Shaken(w.Tip) }),
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.String(); got != "3825 states and 18050 transitions, at most 28 steps deep" {
		t.Errorf("the model has changed: %s", got)
	}
}
