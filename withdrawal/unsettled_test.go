package withdrawal_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// after is a copy of one wallet, and what an operator says of it.
type after struct {
	t      *testing.T
	policy withdrawal.Policy
	withdrawal.Copy
	onFile map[string]bool // hash:output
	queued map[string][]uuid.UUID
}

var (
	desk    = withdrawal.By{Actor: "olga", Role: withdrawal.Operator, At: t0}
	deep    = withdrawal.Block{Height: 1000, Hash: "b", Canonical: "b", Head: 1011} // at a depth of 12
	aWallet = withdrawal.HotWallet{ID: named("restored wallet"), Chain: named("restored chain"), Role: withdrawal.WalletRoleHot, Status: withdrawal.WalletActive}
)

func named(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

// Chains of the three kinds.
var (
	numbered = withdrawal.Chain{Nonces: true, Confirmations: 12}
	spending = withdrawal.Chain{Confirmations: 12}
	windowed = withdrawal.Chain{Confirmations: 12, MinedWithin: 150}
)

func restoredCopy(t *testing.T, c withdrawal.Chain, w withdrawal.CopyWallet, said ...withdrawal.Event) *after {
	t.Helper()
	w.HotWallet.ID, w.HotWallet.Chain = aWallet.ID, aWallet.Chain
	p := withdrawal.DefaultPolicy()
	p.Chain = c
	a := &after{t: t, policy: p, onFile: map[string]bool{}, queued: map[string][]uuid.UUID{},
		Copy: withdrawal.Copy{Chain: aWallet.Chain, Wallets: []withdrawal.CopyWallet{w}}}
	a.OnFile = func(hash string, of withdrawal.Transfer) (owner uuid.UUID, whole bool, err error) {
		if key := fmt.Sprint(hash, ":", of.Output); a.onFile[key] {
			owner = named(key)
		}
		return owner, false, nil
	}
	a.MayBe = func(payee string) ([]uuid.UUID, error) { return a.queued[payee], nil }
	a.say(withdrawal.BooksRead{By: desk, Chain: aWallet.Chain, Since: t0.Add(-time.Hour), Reason: "x"})
	a.say(said...)
	return a
}

func (a *after) say(events ...withdrawal.Event) {
	a.t.Helper()
	for _, ev := range events {
		r := withdrawal.Recovery{Chain: aWallet.Chain, Recovering: true, Generation: 1, Stored: true}
		if withdrawal.About(ev) != uuid.Nil {
			r.Wallet = aWallet
		}
		rows, err := a.policy.Statements(ev, r, t0)
		if err != nil {
			a.t.Fatal(err)
		}
		a.Statements = append(a.Statements, rows...)
	}
}

// open are the open points, in short.
func (a *after) open() string {
	a.t.Helper()
	all, err := withdrawal.Unsettled(a.Copy, 100)
	if err != nil {
		a.t.Fatal(err)
	}
	return short(all)
}

func short(all []withdrawal.Open) string {
	var texts []string
	for _, o := range all {
		text := o.Point.String()
		switch o.Point {
		case withdrawal.OpenNonce, withdrawal.OpenUntold, withdrawal.OpenHeight:
			text += fmt.Sprint(" ", o.Number)
		case withdrawal.OpenTransfer, withdrawal.OpenPayee:
			text += fmt.Sprint(" ", o.Hash, ":", o.Number)
		case withdrawal.OpenCoin:
			text += " " + o.Coin
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func through(n, from uint64) withdrawal.Bound {
	return withdrawal.Bound{By: desk, Wallet: aWallet.ID, Through: n, From: from, Source: withdrawal.SignerLog, Reason: "line 1"}
}

func coins(names ...string) withdrawal.Bound {
	return withdrawal.Bound{By: desk, Wallet: aWallet.ID, Coins: names, NoCoins: len(names) == 0, Source: withdrawal.SignerLog,
		Reason: "line 1"}
}

// allTold is the word about a chain with neither nonces nor inputs.
func allTold() withdrawal.AtDepth {
	of := atDepth(0)
	of.AllTold = true
	return of
}

func atDepth(next uint64) withdrawal.AtDepth {
	return withdrawal.AtDepth{By: desk, Wallet: aWallet.ID, Block: deep, Next: next}
}

func usedNonce(n uint64, hash string, outputs ...uint32) withdrawal.Used {
	u := withdrawal.Used{By: desk, Wallet: aWallet.ID, Block: deep, Nonce: n, Tx: hash}
	for _, o := range outputs {
		u.Transfers = append(u.Transfers, withdrawal.UsedTransfer{Transfer: paysOut(o)})
	}
	return u
}

func paysOut(o uint32) withdrawal.Transfer {
	return withdrawal.Transfer{Output: o, Payee: fmt.Sprint("payee ", o), AssetOnChain: named("restored asset"), AmountRaw: "5"}
}

func spentBy(hash string, inputs, makes []string) withdrawal.Used {
	return withdrawal.Used{By: desk, Wallet: aWallet.ID, Block: deep, Tx: hash, Inputs: inputs, Coins: makes}
}

func claimOf(hash string, o uint32) withdrawal.Unclaimed {
	return withdrawal.Unclaimed{By: desk, Wallet: aWallet.ID, Tx: hash, Transfer: paysOut(o), Reason: "x"}
}

func onFileFrom(first, next uint64) withdrawal.CopyWallet {
	return withdrawal.CopyWallet{HotWallet: withdrawal.HotWallet{NextNonce: next}, First: first}
}

func TestWhatStandsOpenAfterARestore(t *testing.T) {
	request := uuid.New()
	for _, tt := range []struct {
		what  string
		chain withdrawal.Chain
		copy  withdrawal.CopyWallet
		said  []withdrawal.Event
		want  string
	}{
		{"nobody has said anything", numbered, withdrawal.CopyWallet{}, nil, "bound"},
		{"nothing was signed", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(0, 0)}, ""},
		{"one nonce, and the chain was not looked at", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0)}, "nonce 0"},
		{"the count is one below the bound", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(8, 6), atDepth(7), usedNonce(6, "a")}, "nonce 7"},
		{"the count is at the bound", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(8, 6), atDepth(8), usedNonce(6, "a"), usedNonce(7, "b")}, ""},
		{"the count is above the bound: what is there is told too", numbered, withdrawal.CopyWallet{},
			[]withdrawal.Event{through(8, 6), atDepth(9), usedNonce(6, "a"), usedNonce(7, "b")}, "untold 8"},
		{"the bound is below what is on file", numbered, onFileFrom(6, 9), []withdrawal.Event{through(8, 6), atDepth(8), usedNonce(6, "a"), usedNonce(7, "b")}, "nonce 8"},
		{"two nonces are untold", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(9, 6), atDepth(9), usedNonce(7, "b")}, "untold 6, untold 8"},
		{"the copy knows a nonce at depth: what is below was mined before it", numbered, withdrawal.CopyWallet{KnownDeep: 7},
			[]withdrawal.Event{through(8, 0), atDepth(8), usedNonce(7, "b")}, ""},
		{"it knows none, and its lowest is below what is said to be the first", numbered, onFileFrom(5, 8), []withdrawal.Event{through(8, 7), atDepth(8), usedNonce(7, "b")},
			"untold 5, untold 6"},
		{"it knows none: what is said to be the first counts where it is lower", numbered, onFileFrom(7, 8), []withdrawal.Event{through(8, 6), atDepth(8), usedNonce(7, "b")}, "untold 6"},
		{"a later bound", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(8, 7), through(9, 8), atDepth(9), usedNonce(8, "c")}, ""},
		{"the last word counts: the first one was a slip", numbered, withdrawal.CopyWallet{},
			[]withdrawal.Event{through(8, 7), atDepth(8), atDepth(7), usedNonce(7, "b")}, "nonce 7"},
		{"another transaction with the same nonce", numbered, withdrawal.CopyWallet{},
			[]withdrawal.Event{usedNonce(7, "b", 1), usedNonce(7, "c"), through(8, 7), atDepth(8)}, ""},
		{"the same transaction in another spelling, with another nonce", numbered, withdrawal.CopyWallet{},
			[]withdrawal.Event{usedNonce(6, "0xB", 1), usedNonce(7, "b"), through(8, 7), atDepth(8)}, ""},
		{"a transfer of which nobody has told the request", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), usedNonce(0, "a", 1)}, "transfer a:1"},
		{"one of a batch", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), usedNonce(0, "filed", 1, 2, 3)}, "transfer filed:3"},
		{"the house's own", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), withdrawal.Used{By: desk, Wallet: aWallet.ID, Block: deep, Tx: "a",
			Transfers: []withdrawal.UsedTransfer{{Transfer: paysOut(1), Own: true}}}}, ""},
		{"reverted", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), withdrawal.Used{By: desk, Wallet: aWallet.ID, Block: deep, Tx: "a", Reverted: true}}, ""},
		{"unclaimed", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), usedNonce(0, "a", 1), claimOf("0xA", 1)}, ""},
		{"another output is unclaimed", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), usedNonce(0, "a", 1), claimOf("a", 2)}, "transfer a:1"},
		{"unclaimed, and a request of its payee is to be paid", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), usedNonce(0, "a", 9), claimOf("a", 9)}, "payee a:9"},
		{"which is another", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), usedNonce(0, "a", 9), claimOf("a", 9),
			withdrawal.NotThis{By: desk, Wallet: aWallet.ID, Tx: "a", Output: 9, Request: request, Reason: "x"}}, ""},
		{"which keeps nothing back", numbered, withdrawal.CopyWallet{}, []withdrawal.Event{through(1, 0), atDepth(1), usedNonce(0, "a", 9), claimOf("a", 9),
			withdrawal.Dropped{By: desk, Wallet: aWallet.ID, Tx: "a", Output: 9, Reason: "x"}}, ""},

		{"no coin", spending, withdrawal.CopyWallet{}, []withdrawal.Event{coins()}, ""},
		{"no coin, and something live is on file", spending, withdrawal.CopyWallet{Inputs: []string{"a:0", "b:0"}},
			[]withdrawal.Event{coins(), spentBy("t", []string{"a:0"}, nil)}, "coin b:0"},
		{"two coins", spending, withdrawal.CopyWallet{}, []withdrawal.Event{coins("a:0", "b:1"), spentBy("t", []string{"a:0"}, nil)}, "coin b:1"},
		{"an own output of what was forgotten", spending, withdrawal.CopyWallet{}, []withdrawal.Event{coins("a:0"), spentBy("t", []string{"a:0"}, []string{"t:1"})}, "coin t:1"},
		{"which a sweep has spent", spending, withdrawal.CopyWallet{}, []withdrawal.Event{coins("a:0"), spentBy("t", []string{"a:0"}, []string{"t:1"}), spentBy("s", []string{"t:1"}, nil)}, ""},
		{"a coin named twice", spending, withdrawal.CopyWallet{}, []withdrawal.Event{coins("a:0", "a:0")}, "coin a:0"},
		{"a later bound in the place of the coins", spending, withdrawal.CopyWallet{}, []withdrawal.Event{coins("a:0"), coins("b:0")}, "coin b:0"},

		{"the window is open", windowed, withdrawal.CopyWallet{}, []withdrawal.Event{windowFrom(851), allTold()}, "height 1001"},
		{"the window is over", windowed, withdrawal.CopyWallet{}, []withdrawal.Event{windowFrom(850), allTold()}, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			a := restoredCopy(t, tt.chain, tt.copy, tt.said...)
			a.onFile["filed:1"], a.onFile["filed:2"] = true, true
			a.queued["payee 9"] = []uuid.UUID{request}
			if got := a.open(); got != tt.want {
				t.Errorf("open is %q, expected %q", got, tt.want)
			}
		})
	}
}

func windowFrom(barrier uint64) withdrawal.Bound {
	return withdrawal.Bound{By: desk, Wallet: aWallet.ID, Barrier: barrier, Source: withdrawal.SignerLog, Reason: "line 1"}
}

// The first point is that of the books; a chain without a wallet has none.
func TestBooksAndWalletsThatStandOpen(t *testing.T) {
	a := restoredCopy(t, numbered, withdrawal.CopyWallet{}, through(0, 0))
	a.Statements = slices.DeleteFunc(a.Statements, func(s withdrawal.Statement) bool { return s.Says == withdrawal.SaidBooks })
	if got := a.open(); got != "books" {
		t.Errorf("open is %q", got)
	}
	a.Wallets = append(a.Wallets, withdrawal.CopyWallet{HotWallet: withdrawal.HotWallet{ID: named("another"), Chain: aWallet.Chain}})
	if got := a.open(); got != "books, bound" {
		t.Errorf("open is %q", got)
	}
	if all, _ := withdrawal.Unsettled(a.Copy, 1); len(all) != 1 {
		t.Errorf("at most one: %v", all)
	}
	a.Statements, a.Wallets = nil, nil // one may have been put, and have paid, since the copy
	if got := a.open(); got != "books" {
		t.Errorf("open is %q", got)
	}
	whole := restoredCopy(t, numbered, withdrawal.CopyWallet{}, through(1, 0), atDepth(1), usedNonce(0, "a", 1, 2))
	whole.OnFile = func(string, withdrawal.Transfer) (uuid.UUID, bool, error) { return named("one request"), true, nil }
	if got := whole.open(); got != "transfer a:2" {
		t.Errorf("of two equal transfers of what one request has whole %q is open", got)
	}
	failed := errors.New("lost")
	b := restoredCopy(t, numbered, withdrawal.CopyWallet{}, through(1, 0), atDepth(1), usedNonce(0, "a", 1))
	b.OnFile = func(string, withdrawal.Transfer) (uuid.UUID, bool, error) { return named("x"), false, failed }
	if _, err := withdrawal.Unsettled(b.Copy, 9); !errors.Is(err, failed) {
		t.Errorf("what cannot be read is %v", err)
	}
}

func TestWhatIsNoStatement(t *testing.T) {
	shallow := deep
	shallow.Head--
	forked := deep
	forked.Canonical = "c"
	guess := through(8, 7)
	guess.Source = 0
	sending, ended := numbered, through(1, 0)
	sending.AnswerWithin, ended.SignerEnded = time.Hour, true
	list := guess
	list.Source = withdrawal.SignerList
	worker := through(1, 0)
	worker.Role = withdrawal.WithdrawalWorker
	bare := through(1, 0)
	bare.Reason = ""
	both, neither, fewer := coins("a:0"), coins(), through(1, 0)
	both.NoCoins, neither.NoCoins, fewer.NoCoins = true, false, true
	twice := usedNonce(0, "a", 1, 1)
	nobody := usedNonce(0, "a", 1)
	nobody.Transfers[0].Payee = ""
	nothing := usedNonce(0, "a", 1)
	nothing.Transfers[0].AmountRaw = "0"
	paid := usedNonce(0, "a", 1)
	paid.Reverted = true
	other := usedNonce(0, "a")
	other.Wallet = named("another")
	for _, tt := range []struct {
		what  string
		chain withdrawal.Chain
		ev    withdrawal.Event
		want  error
	}{
		{"an event of a request", numbered, withdrawal.Cancelled{By: desk}, statemachine.ErrInvalid},
		{"a worker's word", numbered, worker, statemachine.ErrForbidden},
		{"another wallet", numbered, other, statemachine.ErrNotFound},
		{"no reason", numbered, bare, statemachine.ErrInvalid},
		{"no source", numbered, guess, statemachine.ErrInvalid},
		{"a signer's list whose entries may still be sent", numbered, list, statemachine.ErrInvalid},
		{"a bound below its first", numbered, through(7, 8), statemachine.ErrInvalid},
		{"a bound at its first", numbered, through(7, 7), nil},
		{"the greatest bound", numbered, through(withdrawal.MaxNonce, 7), nil},
		{"a bound above it", numbered, through(withdrawal.MaxNonce+1, 7), statemachine.ErrInvalid},
		{"coins on a chain with nonces", numbered, coins("a:0"), statemachine.ErrInvalid},
		{"a nonce on a chain with inputs", spending, through(1, 0), statemachine.ErrInvalid},
		{"a signer that also sends, and may send what waits", sending, through(1, 0), statemachine.ErrInvalid},
		{"a signer that also sends, and nothing waits", sending, ended, nil},
		{"a barrier on a chain with inputs", spending, windowFrom(1), statemachine.ErrInvalid},
		{"no barrier on a chain with neither", windowed, windowFrom(0), statemachine.ErrInvalid},
		{"coins and none", spending, both, statemachine.ErrInvalid},
		{"neither coins nor none", spending, neither, statemachine.ErrInvalid},
		{"no coins on a chain with nonces", numbered, fewer, statemachine.ErrInvalid},
		{"a block up to which nobody has told all, on a chain with neither", windowed, atDepth(0), statemachine.ErrInvalid},
		{"all told on a chain with nonces, which shows what is missing", numbered, allTold(), statemachine.ErrInvalid},
		{"a count at a block that is not deep", numbered, withdrawal.AtDepth{By: desk, Wallet: aWallet.ID, Block: shallow, Next: 1}, statemachine.ErrInvalid},
		{"a count at a block of another branch", numbered, withdrawal.AtDepth{By: desk, Wallet: aWallet.ID, Block: forked, Next: 1}, statemachine.ErrInvalid},
		{"a transaction that is not deep", numbered, withdrawal.Used{By: desk, Wallet: aWallet.ID, Block: shallow, Tx: "a"}, statemachine.ErrInvalid},
		{"a transaction without a hash", numbered, usedNonce(0, ""), statemachine.ErrInvalid},
		{"an output twice", numbered, twice, statemachine.ErrInvalid},
		{"a transfer to nobody", numbered, nobody, statemachine.ErrInvalid},
		{"a transfer of nothing", numbered, nothing, statemachine.ErrInvalid},
		{"a transfer of what reverted", numbered, paid, statemachine.ErrInvalid},
		{"inputs on a chain with nonces", numbered, spentBy("a", []string{"b:0"}, nil), statemachine.ErrInvalid},
		{"no inputs on a chain with inputs", spending, spentBy("a", nil, nil), statemachine.ErrInvalid},
		{"a nonce on a chain without", spending, usedNonce(1, "a"), statemachine.ErrInvalid},
		{"books of the future", numbered, withdrawal.BooksRead{By: desk, Chain: aWallet.Chain, Since: t0.Add(time.Microsecond), Reason: "x"}, statemachine.ErrInvalid},
		{"not this, of no request", numbered, withdrawal.NotThis{By: desk, Wallet: aWallet.ID, Tx: "a", Reason: "x"}, statemachine.ErrInvalid},
		{"not this, of an unknown request", numbered, withdrawal.NotThis{By: desk, Wallet: aWallet.ID, Tx: "a", Request: uuid.New(), Reason: "x"},
			statemachine.ErrNotFound},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := withdrawal.DefaultPolicy()
			p.Chain = tt.chain
			r := withdrawal.Recovery{Chain: aWallet.Chain, Wallet: aWallet, Recovering: true, Generation: 1}
			if _, is := tt.ev.(withdrawal.BooksRead); is {
				r.Wallet = withdrawal.HotWallet{}
			}
			if _, is := tt.ev.(withdrawal.Cancelled); is {
				r.Wallet = withdrawal.HotWallet{}
			}
			rows, err := p.Statements(tt.ev, r, t0)
			if !errors.Is(err, tt.want) || (err == nil) != (len(rows) > 0) {
				t.Errorf("%v, %v, expected %v", rows, err, tt.want)
			}
			r.Recovering, r.Wallet.NextNonce = false, 1
			if _, err := p.Statements(tt.ev, r, t0); err == nil {
				t.Error("it is taken while nothing is recovering")
			}
		})
	}
	// The copy is older than the word that the database was put back: books that were read since a later
	// moment leave out what was done in between.
	restored := t0.Add(-time.Hour)
	for since, want := range map[time.Time]error{restored.Add(-time.Hour): nil, restored: nil,
		restored.Add(time.Microsecond): statemachine.ErrInvalid} {
		r := withdrawal.Recovery{Chain: aWallet.Chain, Recovering: true, Generation: 1, RestoredAt: restored}
		books := withdrawal.BooksRead{By: desk, Chain: aWallet.Chain, Since: since, Reason: "x"}
		if _, err := withdrawal.DefaultPolicy().Statements(books, r, t0); !errors.Is(err, want) {
			t.Errorf("books since %s: %v, expected %v", since, err, want)
		}
	}
}

// What was learnt after the copy was made shows nothing of what is below it.
func TestANonceIsKnownByWhatTheCopyHas(t *testing.T) {
	w := withdrawal.Withdrawal{Request: withdrawal.Request{Status: withdrawal.RequestCompleted, FinalTxHash: "0xA"}, Job: withdrawal.Job{ProcessedAt: t0},
		Txs: []withdrawal.Tx{{Hash: "b", Wallet: aWallet.ID, Nonce: 6, HasNonce: true}, {Hash: "a", Wallet: aWallet.ID, Nonce: 7, HasNonce: true}}}
	for _, tt := range []struct {
		what   string
		nonce  uint64
		before time.Time
		wallet uuid.UUID
		want   bool
	}{
		{"mined before", 7, t0.Add(time.Microsecond), aWallet.ID, true},
		{"mined at that moment", 7, t0, aWallet.ID, false},
		{"a nonce whose transaction was not mined", 6, t0.Add(time.Hour), aWallet.ID, false},
		{"another wallet", 7, t0.Add(time.Hour), named("another"), false},
	} {
		if got := w.Deep(tt.wallet, tt.nonce, tt.before); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
	w.Request.Status = withdrawal.RequestQueued
	if w.Deep(aWallet.ID, 7, t0.Add(time.Hour)) {
		t.Error("a request that is not completed shows nothing")
	}
}

// What a request has on file explains a transfer of the transaction: by its output, or where it is on file whole
// by what the transfer pays; what is proven dead explains it only where the request is known as paid by it.
func TestWhatExplainsATransfer(t *testing.T) {
	token := named("token")
	is := withdrawal.Transfer{Output: 3, Payee: "0xAb", AssetOnChain: token, AmountRaw: "5"}
	with := func(change func(*withdrawal.Transfer)) withdrawal.Transfer {
		other := is
		change(&other)
		return other
	}
	filed := func(tx withdrawal.Tx, dead int32, change func(*withdrawal.Withdrawal)) withdrawal.Withdrawal {
		w := withdrawal.Withdrawal{Request: withdrawal.Request{Status: withdrawal.RequestQueued, ToAddress: "0xAB"},
			Job: withdrawal.Job{AssetOnChain: token, AmountRaw: "5", TxsOnFile: 1, TxsDead: dead}, Txs: []withdrawal.Tx{tx}}
		if change != nil {
			change(&w)
		}
		return w
	}
	whole, output := withdrawal.Tx{Hash: "0xf"}, withdrawal.Tx{Hash: "0xf", ByOutput: true, Output: 3}
	stray := func(settled time.Time) withdrawal.Withdrawal {
		return filed(withdrawal.Tx{Hash: "other"}, 1, func(w *withdrawal.Withdrawal) {
			w.Strays = []withdrawal.Stray{{Hash: "F", SettledAt: settled}}
		})
	}
	for _, tt := range []struct {
		name string
		w    withdrawal.Withdrawal
		of   withdrawal.Transfer
		want bool
	}{
		{"its output, another payee", filed(output, 0, nil), with(func(t *withdrawal.Transfer) { t.Payee = "0xcd" }), false},
		{"its output", filed(output, 0, nil), is, true},
		{"its output, another amount", filed(output, 0, nil), with(func(t *withdrawal.Transfer) { t.AmountRaw = "6" }), false},
		{"another output", filed(output, 0, nil), with(func(t *withdrawal.Transfer) { t.Output = 4 }), false},
		{"whole", filed(whole, 0, nil), is, true},
		{"whole, another payee", filed(whole, 0, nil), with(func(t *withdrawal.Transfer) { t.Payee = "0xcd" }), false},
		{"whole, another asset", filed(whole, 0, nil), with(func(t *withdrawal.Transfer) { t.AssetOnChain = named("coin") }), false},
		{"whole, another amount", filed(whole, 0, nil), with(func(t *withdrawal.Transfer) { t.AmountRaw = "6" }), false},
		{"another transaction", filed(withdrawal.Tx{Hash: "0xe"}, 0, nil), is, false},
		{"one that ends the payment", filed(withdrawal.Tx{Hash: "0xf", Cancel: true}, 0, nil), is, false},
		{"proven dead", filed(whole, 1, nil), is, false},
		{"its output, proven dead", filed(output, 1, nil), is, false},
		{"proven dead, and known as mined", filed(whole, 1, func(w *withdrawal.Withdrawal) { w.Request.Mined = "0xF" }), is, true},
		{"proven dead, and known as mined after a refund", filed(whole, 1, func(w *withdrawal.Withdrawal) { w.Request.PaidAfter = "0xF" }), is, true},
		{"one of a completed request", filed(whole, 1, func(w *withdrawal.Withdrawal) { w.Request.Status = withdrawal.RequestCompleted }), is, true},
		{"a stray", stray(time.Time{}), is, true},
		{"a stray that is proven dead", stray(t0), is, false},
	} {
		if got, _ := tt.w.Explains("0xf", tt.of); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
