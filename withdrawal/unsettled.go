package withdrawal

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// A forgotten payment does no harm once a known transaction has spent, at depth, the nonce or coins that it would use.
// So after a restore a chain is settled when, for each of its hot wallets,
//
//  1. somebody has said how far it may have signed ([Bound]);
//  2. all nonces or coins up to there are used at depth ([AtDepth], [Used]);
//  3. each transfer of each transaction that used them is a request's, the house's own, or
//     told as [Unclaimed].
//
// A node's mempool does not count: another node may mine a transaction that this one has not seen.

// OpenPoint says what is missing before a chain may be started after a restore.
// Values: OpenBooks, OpenBound, OpenNonce, OpenHeight, OpenCoin, OpenUntold, OpenTransfer, OpenPayee, OpenOutbound.
type OpenPoint = statemachine.Enum[openPoint]

const (
	OpenBooks    OpenPoint = iota + 1 // nobody has said [BooksRead]
	OpenBound                         // nobody has said the [Bound] of Wallet
	OpenNonce                         // nothing at depth is said to have used the nonce Number
	OpenHeight                        // no [AtDepth] shows the height Number, up to which what was signed may be mined
	OpenCoin                          // nothing at depth is said to have spent Coin
	OpenUntold                        // the nonce Number is used at depth, and nobody has told by what ([Used])
	OpenTransfer                      // output Number of Hash is of no request, not Own and not [Unclaimed]
	OpenPayee                         // Request is queued, and output Number of Hash, which is unclaimed, may have paid it: hold it
	OpenOutbound                      // of refusals alone: Wallet has [WalletUnknown], and nothing of the chain begins
)

type openPoint struct{}

func (openPoint) Kind() string    { return "open point" }
func (openPoint) Names() []string { return openPointNames }

var openPointNames = []string{"books", "bound", "nonce", "height", "coin", "untold", "transfer", "payee", "outbound"}

// Open is one point that stands open before a chain may be started.
type Open struct {
	Chain   uuid.UUID
	Wallet  uuid.UUID // zero of OpenBooks
	Point   OpenPoint `json:",omitzero"`
	Number  uint64    // a nonce, a height or the index of an output, as Point tells
	Coin    string
	Hash    string
	Payee   string
	Amount  Raw
	Request uuid.UUID // of OpenPayee
}

func (o Open) String() string {
	of := fmt.Sprintf("chain %s, wallet %s: ", o.Chain, o.Wallet)
	switch o.Point {
	case OpenBooks:
		return fmt.Sprintf("chain %s: nobody has said that the books were read", o.Chain)
	case OpenBound:
		return of + "nobody has said how far it may have signed"
	case OpenNonce:
		return of + fmt.Sprintf("nothing at depth is said to have used nonce %d", o.Number)
	case OpenHeight:
		return of + fmt.Sprintf("what it signed may be mined until height %d is at depth", o.Number)
	case OpenCoin:
		return of + "nothing at depth is said to have spent " + o.Coin
	case OpenUntold:
		return of + fmt.Sprintf("nonce %d is used, and nobody has told by what: was the database put back?", o.Number)
	case OpenTransfer:
		return of + fmt.Sprintf("output %d of %s pays %s to %s, and of which request is not said", o.Number, o.Hash, o.Amount, o.Payee)
	case OpenPayee:
		return of + fmt.Sprintf("request %s may be paid by output %d of %s: hold it", o.Request, o.Number, o.Hash)
	case OpenOutbound:
		return of + "who was paid from it is not explained, or an operator has not put it on or off since: until then the chain begins nothing"
	}
	return of + o.Point.String()
}

// Copy is what a database that was put back knows of a chain, and what was said about it
// since. Reads that Unsettled needs of single transfers alone are functions; an error of one ends it.
type Copy struct {
	Chain      uuid.UUID
	Wallets    []CopyWallet // each hot wallet of the chain, whatever its role and status
	Statements []Statement  // of the chain, in this generation, in the order in which they were said
	// OnFile returns the request that a transfer of a transaction pays by what it has on file or among its strays, see
	// [Withdrawal.Explains]; the zero id for none. A filler does not count. whole: the request has the transaction on
	// file without an output.
	OnFile func(hash string, t Transfer) (owner uuid.UUID, whole bool, err error)
	// MayBe returns the requests of the payee ([SamePayee]) that are to be paid, see [MayBePaid].
	MayBe func(payee string) ([]uuid.UUID, error)
	// Holds reports whether a filler has a nonce of a wallet, or a job.
	Holds func(wallet uuid.UUID, nonce uint64) (filler, job bool, err error)
}

// CopyWallet is a hot wallet of a copy.
type CopyWallet struct {
	HotWallet
	// KnownDeep is one above the highest nonce that the copy knows as used at depth ([Withdrawal.Deep]), 0 for none.
	// Every lower nonce was mined before, and so before the copy was made, since a chain mines the nonces of a wallet
	// in their order.
	KnownDeep uint64
	First     uint64 // the lowest nonce on file; counts where KnownDeep is 0 and NextNonce is not
	// Inputs are the coins that what is live on file spends: they were signed, whatever the bound names.
	Inputs []string
}

// MadeAt is the moment at which the copy was made, by the last [BooksRead]; zero if nobody has said it.
func (c *Copy) MadeAt() (at time.Time) {
	for i := range c.Statements {
		if s := &c.Statements[i]; s.Says == SaidBooks {
			at, _ = time.Parse(time.RFC3339Nano, s.Text) // as it was written by Statements
		}
	}
	return at
}

// Deep reports whether a request that was completed before a moment shows that the nonce of a wallet is used at depth:
// the transaction that was mined has it. A completion after a restore does not count, since lower nonces may have been
// mined after the copy was made.
func (w *Withdrawal) Deep(wallet uuid.UUID, nonce uint64, before time.Time) bool {
	i := w.find(w.Request.FinalTxHash)
	return w.Request.Status == RequestCompleted && w.Job.ProcessedAt.Before(before) && i >= 0 && w.Txs[i].exclusive(wallet, true, nonce, "")
}

// SamePayee reports whether two texts name the same payee: they are equal, or are the same
// hexadecimal digits ([statemachine.HashForm]), as where only one of them has a checksum.
func SamePayee(a, b string) bool { return statemachine.SameHash(a, b) }

// Inputs returns the coins that what is live on file spends.
func (w *Withdrawal) Inputs() (all []string) {
	for _, tx := range w.Live() {
		if tx.Input != "" && !slices.Contains(all, tx.Input) {
			all = append(all, tx.Input)
		}
	}
	return all
}

// MayBePaid reports whether a request has an order to be paid which nobody holds.
func MayBePaid(r *Request) bool { return r.Status == RequestQueued && !r.Held }

// Unsettled returns what stands open before the chain of a copy may be started, at most limit
// points, at least 1, in the order of wallets by id; none: it may.
func Unsettled(c Copy, limit int) ([]Open, error) {
	u := unsettled{Copy: c, limit: max(limit, 1)}
	if c.MadeAt().IsZero() { // without a wallet, too: a wallet may have been put, and have paid, since the copy was made
		u.add(Open{Point: OpenBooks})
	}
	wallets := slices.Clone(c.Wallets)
	slices.SortFunc(wallets, func(a, b CopyWallet) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	for i := range wallets {
		u.wallet = wallets[i].ID
		known := knownOf(c.Statements, u.wallet)
		u.spent(&wallets[i], known)
		for _, tx := range known.used {
			if err := u.explained(tx, known); err != nil {
				return nil, err
			}
		}
		if u.full() {
			break
		}
	}
	return u.open, nil
}

// Unexplained returns what is missing before a hot wallet may be switched on, restored or not, at most limit points, at
// least 1: each of its unknown outbounds, and each transfer of a transaction told as [Used] that is no request's, not
// the house's own and not [Unclaimed]. The copy has the statements of every generation; its Wallets are not read.
func Unexplained(c Copy, wallet uuid.UUID, limit int) ([]Open, error) {
	u := unsettled{Copy: c, limit: max(limit, 1), wallet: wallet}
	of := slices.DeleteFunc(slices.Clone(c.Statements), func(s Statement) bool { return s.Wallet != wallet })
	unknown, err := UnknownOutbounds(of, c.Holds)
	if err != nil {
		return nil, err
	}
	for _, o := range unknown {
		u.add(Open{Point: OpenUntold, Number: o.Nonce, Hash: o.Hash})
	}
	k := knownOf(c.Statements, wallet)
	for _, tx := range k.used {
		if err := u.explained(tx, k); err != nil {
			return nil, err
		}
	}
	return u.open, nil
}

// known is what the last words say of one wallet.
type known struct {
	bound     *Statement
	coins     []string // of the bound
	next      uint64   // the wallet's next nonce at depth
	height    uint64   // the highest that is at depth
	used      []*usedTx
	unclaimed []*Statement
}

// usedTx is one transaction at depth.
type usedTx struct {
	*Statement
	spends, coins []string
	pays          []*Statement
}

// knownOf reads the statements about a wallet. A bound replaces an earlier bound. A transaction replaces an earlier one
// with the same hash, or with the same nonce, since a nonce is used once.
func knownOf(all []Statement, wallet uuid.UUID) *known {
	k, nonces := new(known), false // a wallet with nonces is known by its bound, or by its unknown outbounds
	for i := range all {
		s := &all[i]
		if s.Wallet != wallet {
			continue
		}
		tx := new(usedTx) // to which a part belongs: it was told last
		if len(k.used) > 0 {
			tx = k.used[len(k.used)-1]
		}
		switch s.Says {
		case SaidThrough, SaidCoins, SaidUntil:
			k.bound, k.coins, nonces = s, nil, s.Says == SaidThrough
		case SaidUnknown:
			nonces = true
		case SaidAtDepth:
			k.next, k.height = s.Number, s.Height // the last word counts, since an earlier word may be a slip
		case SaidUsed:
			k.used = append(slices.DeleteFunc(k.used, func(was *usedTx) bool {
				return statemachine.SameHash(was.Hash, s.Hash)
			}), &usedTx{Statement: s})
		case SaidCoin:
			if s.Hash == "" {
				k.coins = append(k.coins, s.Text)
			} else {
				tx.coins = append(tx.coins, s.Text)
			}
		case SaidSpends:
			tx.spends = append(tx.spends, s.Text)
		case SaidPays:
			tx.pays = append(tx.pays, s)
		case SaidUnclaimed:
			k.unclaimed = append(k.unclaimed, s)
		}
	}
	if nonces {
		last := map[uint64]*usedTx{}
		for _, tx := range k.used {
			last[tx.Number] = tx
		}
		k.used = slices.DeleteFunc(k.used, func(tx *usedTx) bool { return last[tx.Number] != tx })
	}
	return k
}

// unsettled collects open points.
type unsettled struct {
	Copy
	wallet uuid.UUID
	limit  int
	open   []Open
}

func (u *unsettled) full() bool { return len(u.open) >= u.limit }

func (u *unsettled) add(o Open) {
	if !u.full() {
		o.Chain, o.Wallet = u.Chain, u.wallet
		u.open = append(u.open, o)
	}
}

// spent adds what the wallet may have signed and nothing at depth is told to have used.
func (u *unsettled) spent(w *CopyWallet, k *known) {
	if k.bound == nil {
		u.add(Open{Point: OpenBound})
		return
	}
	switch k.bound.Says {
	case SaidThrough:
		u.nonces(w, k)
	case SaidUntil:
		if k.height < k.bound.Number {
			u.add(Open{Point: OpenHeight, Number: k.bound.Number})
		}
	case SaidCoins:
		spent := map[string]bool{}
		coins := slices.Concat(k.coins, w.Inputs)
		for _, tx := range k.used {
			coins = append(coins, tx.coins...)
			for _, coin := range tx.spends {
				spent[statemachine.HashForm(coin)] = true
			}
		}
		for _, coin := range coins {
			if form := statemachine.HashForm(coin); !spent[form] {
				u.add(Open{Point: OpenCoin, Coin: coin})
				spent[form] = true // named once
			}
		}
	}
}

// nonces adds the nonces that are not used at depth, or of which nobody told what used them: from
// the first that the copy does not know as used at depth, up to the bound and to the highest on file.
func (u *unsettled) nonces(w *CopyWallet, k *known) {
	told := map[uint64]bool{}
	for _, tx := range k.used {
		told[tx.Number] = true
	}
	from := w.KnownDeep
	if from == 0 {
		if from = k.bound.Low; w.NextNonce != 0 {
			from = min(from, w.First)
		}
	}
	for n := from; n < k.next && !u.full(); n++ {
		if !told[n] {
			u.add(Open{Point: OpenUntold, Number: n})
		}
	}
	if through := max(k.bound.Number, w.NextNonce); k.next < through {
		u.add(Open{Point: OpenNonce, Number: max(k.next, from)})
	}
}

// explained adds each transfer of a transaction that is no request's, not the house's own and not
// unclaimed, and each request that an unclaimed transfer may have paid and that may be paid again.
func (u *unsettled) explained(tx *usedTx, k *known) error {
	once := map[uuid.UUID]bool{} // requests that have the transaction whole, and explain a transfer of it already
	for _, t := range tx.pays {
		if u.full() {
			return nil
		}
		owner, whole, err := u.OnFile(t.Hash, t.Transfer())
		if err != nil {
			return err
		}
		if owner != uuid.Nil && !once[owner] {
			once[owner] = whole
			continue
		}
		at := Open{Point: OpenTransfer, Number: t.Number, Hash: t.Hash, Payee: t.Text, Amount: t.Amount}
		if !slices.ContainsFunc(k.unclaimed, t.sameTransfer) {
			u.add(at)
			continue
		}
		requests, err := u.MayBe(t.Text)
		if err != nil {
			return err
		}
		for _, id := range requests {
			if slices.ContainsFunc(UnclaimedFor(u.Statements, &Request{ID: id, ToAddress: t.Text}),
				func(s Statement) bool { return s.sameOutput(t) }) {
				at.Point, at.Request = OpenPayee, id
				u.add(at)
			}
		}
	}
	return nil
}

// Transfer is the transfer that a statement is about.
func (s *Statement) Transfer() Transfer {
	return Transfer{Output: uint32(s.Number), Payee: s.Text, AssetOnChain: s.Asset, AmountRaw: s.Amount}
}

// Explains reports whether a transaction that the request has on file, or as a stray, pays it by a transfer: payee,
// asset and amount are the request's, and so is the output, unless the transaction is on file whole. A transaction that
// is proven dead does not explain a transfer, unless the request is known as paid by it: first the request must be told
// PaidBy.
func (w *Withdrawal) Explains(hash string, t Transfer) (ok, whole bool) {
	r := &w.Request
	same := SamePayee(r.ToAddress, t.Payee) && cmp.Or(w.Job.AmountRaw, r.AmountRaw).Cmp(t.AmountRaw) == 0 &&
		(w.Job.AssetOnChain == uuid.Nil || w.Job.AssetOnChain == t.AssetOnChain) // else PaidBy was said of an output that pays another
	open := r.Status != RequestCompleted && !w.Job.Live() && !statemachine.SameHash(r.Mined, hash) && !statemachine.SameHash(r.PaidAfter, hash)
	pays := func(filed string, byOutput bool, output uint32) bool {
		if whole = !byOutput; !statemachine.SameHash(filed, hash) {
			return false
		}
		return same && (whole || output == t.Output)
	}
	for i := range w.Txs {
		if tx := &w.Txs[i]; !open && !tx.Cancel && pays(tx.Hash, tx.ByOutput, tx.Output) {
			return true, whole
		}
	}
	for i := range w.Strays {
		if s := &w.Strays[i]; !(open && !s.SettledAt.IsZero()) && pays(s.Hash, s.ByOutput, s.Output) {
			return true, whole
		}
	}
	return false, false
}

func (s *Statement) sameOutput(o *Statement) bool {
	return s.Chain == o.Chain && s.Number == o.Number && statemachine.SameHash(s.Hash, o.Hash)
}

func (s *Statement) sameTransfer(o *Statement) bool {
	return s.sameOutput(o) && SamePayee(s.Text, o.Text) && s.Asset == o.Asset && s.Amount.Cmp(o.Amount) == 0
}

// OfUnclaimed reports whether [UnclaimedFor] looks at a statement.
func (s *Statement) OfUnclaimed() bool {
	return s.Says == SaidUnclaimed || s.Says == SaidNotThis || s.Says == SaidDropped
}

// Outpoint names the output that a statement is about, as hash:output.
func (s *Statement) Outpoint() string { return outpoint(s.Hash, uint32(s.Number)) }

// OutboundOf returns the hot wallet that stops its chain: the first by id that has [WalletUnknown], zero if there is
// none. wallets are those of the chain, by id. Somebody else has the key of the wallet, or the database was put back:
// any request of the chain may have been paid, so none is begun from another wallet, and none is refunded.
func OutboundOf(wallets []HotWallet) uuid.UUID {
	i := slices.IndexFunc(wallets, func(w HotWallet) bool { return w.Status == WalletUnknown })
	if i < 0 {
		return uuid.Nil
	}
	return wallets[i].ID
}

// outbound is the open point of the wallet that stops the chain of the request.
func (w *Withdrawal) outbound() (o Open, stops bool) {
	o = Open{Chain: w.Request.Chain, Wallet: cmp.Or(w.Outbound, w.Wallet.Outbound), Point: OpenOutbound}
	return o, o.Wallet != uuid.Nil
}

// UnclaimedFor returns the unclaimed transfers that may have paid a request of their chain: those with its payee for
// which no NotThis of this request and no Dropped was said since. all are statements of the chain, of every generation,
// in the order in which they were said. A transfer is claimed if a request has its output on file by now, which the
// caller must look up; a request that has the transaction whole may have been paid by another transfer of it.
func UnclaimedFor(all []Statement, r *Request) (open []Statement) {
	for i := range all {
		s := &all[i]
		ended := func(o Statement) bool { return o.sameOutput(s) }
		switch {
		case s.Says == SaidUnclaimed && SamePayee(s.Text, r.ToAddress):
			open = append(slices.DeleteFunc(open, ended), *s)
		case s.Says == SaidDropped, s.Says == SaidNotThis && s.Request == r.ID:
			open = slices.DeleteFunc(open, ended)
		}
	}
	return open
}
