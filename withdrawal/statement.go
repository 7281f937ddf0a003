package withdrawal

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// After a restore the database has forgotten payments. A person finds out about them and sends the events below, which
// are kept as rows of [Statement]. [Unsettled] compares them with what the copy, that is the restored database, knows.

// What an operator says of a hot wallet while its chain is recovering. Of what is said
// twice the last word counts: a mistake is corrected by saying it again.
type (
	// Bound says how far the wallet may have signed before the restore. It is said after
	// every process that could sign has ended. What it names depends on the chain.
	Bound struct {
		By
		Wallet uuid.UUID
		// With nonces: no nonce at or above Through was signed. It may be said of a wallet that has paid nothing yet,
		// restored or not: then the wallet's numbers begin there, and a nonce above it that something else uses is an
		// unknown outbound. From is how many transactions of the wallet were in blocks at some moment before the copy
		// was made; it counts only if the copy knows no nonce of the wallet that is used at depth.
		Through uint64
		From    uint64
		// With inputs: the names, such as hash:output, of all coins that the wallet had when the copy was made, and of
		// all that it got since, also in the mempool. Include coins that are spent by now, since the transactions that
		// spent them are to be told. Or give all coins that the signer's history since the copy spends.
		Coins   []string
		NoCoins bool // required where Coins is empty: the wallet had none, and got none
		// With neither ([Chain.MinedWithin]): the height of the chain's tip now.
		Barrier uint64
		Source  BoundSource `json:",omitzero"`
		// SignerEnded is required with [SignerList], and wherever a signer also sends: where [Chain].AnswerWithin is set, or an
		// open request of the wallet was dispatched. Each entry of the signer's own list since the copy is sent, refused or
		// cancelled at the signer, so that it sends none of them later, and the transaction of each is told by [Used].
		SignerEnded bool
		Reason      string // required: which log, which line
	}
	// AtDepth says what the chain shows at a block that is deep enough: with nonces, Next is how many transactions of
	// the wallet are in this block and those below it. A chain with inputs does not need it.
	AtDepth struct {
		By
		Wallet uuid.UUID
		Block
		Next uint64
		// With neither ([Chain.MinedWithin]), required: each transaction that the wallet has sent since the copy was made
		// and that is in this block or below it was told by [Used]. Nothing on such a chain shows which one is missing.
		AllTold bool
		Reason  string // may be empty
	}
	// Used tells of one transaction of the wallet that is mined at depth. Transfers are all that its receipt shows but
	// the change and transfers of amount 0: each must be on file of a request, be Own, or be told as [Unclaimed]. For an
	// unknown outbound Used, and Unclaimed of its transfers, are taken also while nothing is recovering: until each is
	// explained the wallet stays off, see [Unexplained].
	Used struct {
		By
		Wallet    uuid.UUID
		Tx        string
		Block     // where it was mined
		Nonce     uint64
		Inputs    []string // the coins that it spends, on a chain with inputs
		Reverted  bool     // it paid nothing: no transfers
		Transfers []UsedTransfer
		// Coins are its own outputs to the wallet that may have been spent before the restore
		// as well: all of them, but none of a transaction that was signed since.
		Coins  []string
		Reason string // may be empty
	}
	// UsedTransfer is a transfer to somebody, or with Own to the house itself.
	UsedTransfer struct {
		Transfer
		Own bool
	}
	// Unclaimed tells of a transfer, of a transaction that was told as [Used], whose request nobody knows. Until it is
	// known, or an operator says [NotThis] or [Dropped], no request with this payee gets a job, and none is refunded. A
	// filler never takes its place.
	Unclaimed struct {
		By
		Wallet uuid.UUID
		Tx     string
		Transfer
		Reason string // required
	}
	// BooksRead says, once after each restore, that the host's other books were read for a chain: each refund since the
	// copy was made is entered again as [Cancelled], or [Held] if something is out, and [Refunded] with Already; each
	// cancellation, rejection, hold, and wallet that was switched off is entered again.
	BooksRead struct {
		By
		Chain  uuid.UUID
		Since  time.Time // the moment of the copy, so before the restore was said; an earlier one only makes more to tell
		Reason string    // required
	}
)

// What ends an [Unclaimed] beside [Imported] and [PaidBy] of its output.
type (
	// NotThis says that the transfer did not pay Request, which goes on.
	NotThis struct {
		By
		Wallet  uuid.UUID
		Tx      string
		Output  uint32
		Request uuid.UUID
		Reason  string // required
	}
	// Dropped says that the transfer keeps no request back any more.
	Dropped struct {
		By
		Wallet uuid.UUID
		Tx     string
		Output uint32
		Reason string // required
	}
)

// StatementEvents returns an empty one of each event that becomes a [Statement]. They change no
// record, and an operator says them.
func StatementEvents() []Event {
	return []Event{Bound{}, AtDepth{}, Used{}, Unclaimed{}, BooksRead{}, NotThis{}, Dropped{}}
}

// BoundSource is where a bound is known from.
// Values: SignerLog, SignerList, PayerLog, Margin.
type BoundSource = statemachine.Enum[boundSource]

const (
	SignerLog  BoundSource = iota + 1 // the log of the signer
	SignerList                        // the own list of orders of a signer that also sends
	PayerLog                          // the log lines of the payers, kept off the machine
	Margin                            // a guess above what is known
)

type boundSource struct{}

func (boundSource) Kind() string    { return "source of a bound" }
func (boundSource) Names() []string { return boundSourceNames }

var boundSourceNames = []string{"signer log", "signer list", "payer log", "margin"}

// Saying is what a [Statement] says.
// Values: SaidThrough, SaidCoins, SaidUntil, SaidAtDepth, SaidUsed, SaidSpends, SaidCoin, SaidPays, SaidOwn, SaidUnclaimed,
// SaidBooks, SaidNotThis, SaidDropped, SaidUnknown.
type Saying = statemachine.Enum[saying]

const (
	SaidThrough   Saying = iota + 1 // no nonce at or above Number was signed; at some time before the copy the chain's next was Low
	SaidCoins                       // the coins follow
	SaidUntil                       // at height Number nothing that was signed can be mined any more
	SaidAtDepth                     // the block is at depth, and the wallet's next nonce there is Number
	SaidUsed                        // Hash is mined at depth, with nonce Number
	SaidSpends                      // Hash spends the coin Text
	SaidCoin                        // the coin Text may have been spent: one of the bound where Hash is empty, else made by Hash
	SaidPays                        // output Number of Hash pays Text
	SaidOwn                         // output Number of Hash pays Text, which is the house
	SaidUnclaimed                   // output Number of Hash pays Text, and nobody knows for whom
	SaidBooks                       // the books were read since the time Text
	SaidNotThis                     // output Number of Hash did not pay Request
	SaidDropped                     // output Number of Hash keeps nothing back
	SaidUnknown                     // unknown outbound: Hash, empty if nobody knows it, used the nonce Number and is on no file
)

type saying struct{}

func (saying) Kind() string    { return "statement" }
func (saying) Names() []string { return sayingNames }

var sayingNames = []string{"through", "coins", "until", "at depth", "used", "spends", "coin", "pays", "own", "unclaimed",
	"books", "not this", "dropped",
	"unknown outbound"}

// Statement is a row of withdrawal_statements, in the order in which they were said. Append-only.
type Statement struct {
	Chain      uuid.UUID
	Wallet     uuid.UUID // zero of SaidBooks
	Generation int64     // of the database when it was said; 0: it was never put back
	Says       Saying    `json:",omitzero"`
	Number     uint64    // a nonce, a height or the number of an output, as Says tells
	Low        uint64
	Hash       string // of a transaction
	Text       string // a payee, or the name of a coin
	Asset      uuid.UUID
	Amount     Raw // base units
	Request    uuid.UUID
	Height     uint64 // of the block where it was seen
	Block      string
	Source     BoundSource `json:",omitzero"`
	Reason     string      // bounded
	Actor      string
	At         time.Time
}

// MaxStatement bounds the coins, inputs and transfers of one event.
const MaxStatement = 10_000

// About names the hot wallet of an event that becomes a [Statement], zero of [BooksRead].
func About(ev Event) uuid.UUID {
	switch e := ev.(type) {
	case Bound:
		return e.Wallet
	case AtDepth:
		return e.Wallet
	case Used:
		return e.Wallet
	case Unclaimed:
		return e.Wallet
	case NotThis:
		return e.Wallet
	case Dropped:
		return e.Wallet
	}
	return uuid.Nil
}

// Recovery is what a statement is judged by: the hot wallet that it names, as it is stored (of
// [BooksRead] none, and the chain that it names), and whether that chain is recovering.
type Recovery struct {
	Chain      uuid.UUID
	Wallet     HotWallet
	Recovering bool
	Generation int64
	RestoredAt time.Time   // when it was said that the database was put back: the copy is older; zero if nobody has
	Said       []Statement // of the chain, of every generation
	Stored     bool        // the request that [NotThis] names is stored, and of the chain
	Dispatches bool        // an open request of the wallet was dispatched, which a [Bound] needs to know
}

// takes reports whether a statement about the chain is accepted: any statement while the chain is recovering. Otherwise
// it accepts a statement that ends an unknown outbound, one that explains a transfer of an unknown outbound, and one
// that ends such an explanation; and the bound of a wallet without a nonce on file, which says where the wallet's
// numbers begin (without a restore only on a chain with nonces).
func (r *Recovery) takes(ev Event, nonces bool) bool {
	if r.Recovering {
		return true
	}
	said := func(says Saying, number uint64, hash string) bool {
		return slices.ContainsFunc(r.Said, func(s Statement) bool {
			return s.Says == says && s.Wallet == r.Wallet.ID && s.Number == number && (says == SaidUnknown || statemachine.SameHash(s.Hash, hash))
		})
	}
	switch e := ev.(type) {
	case Bound:
		return (r.Generation != 0 || nonces) && r.Wallet.NextNonce == 0
	case Used:
		return said(SaidUnknown, e.Nonce, "") // by whatever transaction
	case Unclaimed:
		return said(SaidPays, uint64(e.Output), e.Tx)
	case NotThis:
		return said(SaidUnclaimed, uint64(e.Output), e.Tx)
	case Dropped:
		return said(SaidUnclaimed, uint64(e.Output), e.Tx)
	}
	return false
}

// Stops reports whether what was said stops the chain of the wallet, see [HotWallet.Off]: while the chain is not
// recovering [Used] tells of an unknown outbound, whose transfers are to be explained, also if an earlier Used is
// corrected.
func (r *Recovery) Stops(said []Statement) bool {
	return !r.Recovering && slices.ContainsFunc(said, func(s Statement) bool { return s.Says == SaidUsed })
}

// toldNonce reports whether [Used] told of the same transaction with another nonce, and nothing else of that nonce since.
func (r *Recovery) toldNonce(e *Used) bool {
	return slices.ContainsFunc(knownOf(r.Said, r.Wallet.ID).used, func(tx *usedTx) bool {
		return tx.Number != e.Nonce && statemachine.SameHash(tx.Hash, e.Tx)
	})
}

// toldOther reports whether [Used] told of another transfer by the output of e.
func (r *Recovery) toldOther(e *Unclaimed) bool {
	row := Statement{Chain: r.Chain, Number: uint64(e.Output), Hash: e.Tx, Text: e.Payee, Asset: e.AssetOnChain, Amount: e.AmountRaw}
	for _, tx := range knownOf(r.Said, r.Wallet.ID).used {
		if slices.ContainsFunc(tx.pays, func(t *Statement) bool { return row.sameOutput(t) && !row.sameTransfer(t) }) {
			return true
		}
	}
	return false
}

// Statements returns the rows that an event of an operator becomes; now is the store's time. A
// refusal is a [statemachine.Refusal]; of several reasons the first of these is given: role or
// actor, an unknown wallet, a chain that is not recovering, input.
func (p Policy) Statements(ev Event, r Recovery, now time.Time) ([]Statement, error) {
	s := statements{ev: ev, id: About(ev), chain: p.chain(r.Chain), dispatches: r.Dispatches}
	by, _, reason, err := statemachine.Begin(ev, byOperator, now)
	if err != nil {
		return nil, s.refuse(err, reason)
	}
	switch {
	case s.id != r.Wallet.ID || r.Wallet.ID != uuid.Nil && r.Wallet.Chain != r.Chain:
		return nil, s.refuse(statemachine.ErrNotFound, "")
	case !r.takes(ev, s.chain.Nonces):
		return nil, s.refuse(statemachine.ErrIllegal, "its chain is not recovering, and no unknown outbound of the wallet asks for it")
	}
	s.head = Statement{Chain: r.Chain, Wallet: s.id, Generation: r.Generation, Actor: by.Actor, At: by.At}
	switch e := ev.(type) {
	case Bound:
		s.reason(e.Reason, true)
		if s.bound(&e); !r.Recovering && r.Generation != 0 && (e.Through != e.From || len(e.Coins) > 0) {
			s.bad("its chain was started: what it signed since the copy may have paid a request that another wallet pays by now; only a " +
				"wallet that signed nothing since (Through as From, NoCoins) begins, else say that the database was put back once more")
		}
	case AtDepth:
		s.reason(e.Reason, false)
		s.seen(&e.Block)
		s.number(e.Next)
		if e.AllTold != (s.chain.MinedWithin != 0) {
			s.bad("exactly on a chain with neither nonces nor inputs AllTold is needed: a person has told all that was sent")
		}
		s.add(SaidAtDepth, e.Next, "", "")
	case Used:
		s.reason(e.Reason, false)
		s.seen(&e.Block)
		if s.used(&e); r.toldNonce(&e) {
			s.bad("it was told with another nonce: a transaction has one; first tell what used that one")
		}
	case Unclaimed:
		s.reason(e.Reason, true)
		s.transfer(SaidUnclaimed, e.Tx, &e.Transfer)
		if r.toldOther(&e) {
			s.bad("Used told of another transfer by this output: payee, asset and amount are those of Used")
		}
	case BooksRead:
		s.reason(e.Reason, true)
		since, err := statemachine.Time(e.Since)
		if err != nil || since.After(by.At) {
			s.bad("the moment of the copy is needed")
		}
		if !r.RestoredAt.IsZero() && since.After(r.RestoredAt) { // what the books say between the copy and then would not be told
			s.bad("Since is the moment of the copy, or earlier: it was said at " +
				r.RestoredAt.Format(time.RFC3339) + " that the database was put back")
		}
		s.add(SaidBooks, 0, "", since.Format(time.RFC3339Nano))
	case NotThis:
		s.reason(e.Reason, true)
		s.head.Request = e.Request
		if e.Request == uuid.Nil {
			s.bad("the id of the request is needed")
		} else if !r.Stored {
			return nil, s.refuse(statemachine.ErrNotFound, "the chain has no request "+e.Request.String())
		}
		s.hash(e.Tx)
		s.add(SaidNotThis, uint64(e.Output), e.Tx, "")
	case Dropped:
		s.reason(e.Reason, true)
		s.hash(e.Tx)
		s.add(SaidDropped, uint64(e.Output), e.Tx, "")
	default:
		return nil, s.refuse(statemachine.ErrInvalid, "it is no statement")
	}
	if s.why != "" {
		return nil, s.refuse(statemachine.ErrInvalid, s.why)
	}
	return s.rows, nil
}

// statements is the work on one event.
type statements struct {
	ev         Event
	id         uuid.UUID
	chain      Chain
	head       Statement
	rows       []Statement
	why        string // the first thing that is wrong
	dispatches bool   // see [Recovery].Dispatches
}

func (s *statements) refuse(err error, reason string) error {
	return &statemachine.Refusal{Err: err, Machine: "hot wallet", ID: s.id.String(), Event: statemachine.EventName(s.ev), Reason: reason}
}

func (s *statements) bad(why string) {
	if s.why == "" {
		s.why = why
	}
}

func (s *statements) reason(text string, needed bool) {
	if s.head.Reason = statemachine.Bounded(text, MaxText); needed && text == "" {
		s.bad("a reason is needed")
	}
}

func (s *statements) number(n uint64) {
	if n > MaxNonce {
		s.bad("a number is above 2^63 - 2")
	}
}

func (s *statements) hash(hash string) {
	if !word(hash) {
		s.bad("a hash has 1 to 100 bytes")
	}
}

// seen checks that a block is at the depth of the policy.
func (s *statements) seen(b *Block) {
	if !word(b.Hash) || !b.final(s.chain.Confirmations) {
		s.bad("the block is not canonical at the depth of the policy: what is not deep may still be replaced")
	}
	s.number(b.Height)
	s.head.Height, s.head.Block = b.Height, b.Hash
}

func (s *statements) add(says Saying, n uint64, hash, text string) {
	row := s.head
	row.Says, row.Number, row.Hash, row.Text = says, n, hash, text
	s.rows = append(s.rows, row)
}

// coins adds a row for each of some coins.
func (s *statements) coins(says Saying, hash string, names []string) {
	if len(names) > MaxStatement {
		s.bad(fmt.Sprintf("there are more than %d", MaxStatement))
	}
	for _, name := range names {
		if !word(name) {
			s.bad("the name of a coin has 1 to 100 bytes")
			return
		}
		s.add(says, 0, hash, name)
	}
}

func (s *statements) bound(e *Bound) {
	s.number(e.Through)
	s.number(e.From)
	s.number(e.Barrier)
	s.head.Source = e.Source
	c, says, n := &s.chain, SaidCoins, uint64(0)
	switch {
	case !e.Source.Valid():
		s.bad("the source of the bound is needed")
	case (e.Source == SignerList || c.AnswerWithin > 0 || s.dispatches) && !e.SignerEnded:
		s.bad("SignerEnded is needed: an entry of the signer's list that waits may be sent next week")
	case c.Nonces && (e.Through < e.From || len(e.Coins) > 0 || e.Barrier != 0),
		!c.Nonces && (e.Through != 0 || e.From != 0),
		!c.Nonces && c.MinedWithin == 0 && e.Barrier != 0,
		c.MinedWithin != 0 && (len(e.Coins) > 0 || e.Barrier == 0):
		s.bad("a chain with nonces has Through and From, not below it, one with inputs Coins, and one with neither, which has " +
			"MinedWithin, Barrier")
	case (!c.Nonces && c.MinedWithin == 0) != (e.NoCoins || len(e.Coins) > 0), e.NoCoins && len(e.Coins) > 0:
		s.bad("exactly on a chain with inputs there are Coins, or NoCoins")
	case c.Nonces:
		says, n, s.head.Low = SaidThrough, e.Through, e.From
	case c.MinedWithin != 0:
		says, n = SaidUntil, e.Barrier+c.MinedWithin
	}
	s.add(says, n, "", "")
	s.head.Low = 0
	s.coins(SaidCoin, "", e.Coins)
}

func (s *statements) used(e *Used) {
	s.hash(e.Tx)
	s.number(e.Nonce)
	switch inputs := !s.chain.Nonces && s.chain.MinedWithin == 0; {
	case !s.chain.Nonces && e.Nonce != 0:
		s.bad("the chain has no nonces")
	case inputs != (len(e.Inputs) > 0) || !inputs && len(e.Coins) > 0:
		s.bad("exactly on a chain with inputs a transaction spends some, and makes coins")
	case e.Reverted && len(e.Transfers)+len(e.Coins) > 0:
		s.bad("what reverted has paid nothing")
	case len(e.Transfers) > MaxStatement:
		s.bad(fmt.Sprintf("there are more than %d", MaxStatement))
	}
	s.add(SaidUsed, e.Nonce, e.Tx, "")
	s.coins(SaidSpends, e.Tx, e.Inputs)
	s.coins(SaidCoin, e.Tx, e.Coins)
	seen := map[uint32]bool{}
	for i := range e.Transfers {
		t := &e.Transfers[i]
		if seen[t.Output] {
			s.bad(fmt.Sprintf("output %d comes twice", t.Output))
		}
		seen[t.Output] = true
		says := SaidPays
		if t.Own {
			says = SaidOwn
		}
		s.transfer(says, e.Tx, &t.Transfer)
	}
}

func (s *statements) transfer(says Saying, hash string, t *Transfer) {
	s.hash(hash)
	switch {
	case t.Payee == "" || len(t.Payee) > 4*MaxAddress || !statemachine.Storable(t.Payee):
		s.bad(fmt.Sprintf("a payee of 1 to %d characters is needed", MaxAddress))
	case t.AssetOnChain == uuid.Nil:
		s.bad("the asset on chain is needed")
	case !t.AmountRaw.Valid() || t.AmountRaw.Sign() < 1:
		s.bad("the amount is a positive number of base units")
	}
	s.head.Asset, s.head.Amount = t.AssetOnChain, t.AmountRaw
	s.add(says, uint64(t.Output), hash, t.Payee)
	s.head.Asset, s.head.Amount = uuid.Nil, ""
}
