package main

import (
	"maps"
	"math/big"
	"slices"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/internal/claims"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/withdrawal"
)

// proof compares the database with the chain's own ledger. A payment is known
// by the reference that it carries on the chain, so one that the database knows
// nothing of is found too.
type proof struct {
	chain     *node.Chain
	paid      map[string][]payment // by reference; what moved something
	shared    int                  // payments that are not alone in their transaction
	known     map[uuid.UUID]bool
	completed map[string]*big.Int // by asset, base units

	unfinished, notOnce, notNone, broken, stray, machinery claim
}

// payment is one transfer that was mined.
type payment struct {
	hash string
	node.Transfer
}

func newProof(chain *node.Chain) *proof {
	p := &proof{chain: chain, paid: map[string][]payment{}, known: map[uuid.UUID]bool{}, completed: map[string]*big.Int{},
		unfinished: claims.That("every request is finished"),
		notOnce:    claims.That("each completed request was paid exactly once: its amount, to its address, by its final transaction"),
		notNone:    claims.That("no other request was paid"),
		machinery:  claims.That("no request failed for a reason that is not its own: what is valid and can be paid is paid"),
		stray:      claims.That("no hot wallet paid anything that is not a request"),
		broken:     claims.That("all records keep their invariants, and their history leads to them"),
	}
	for symbol := range assets {
		p.completed[symbol] = new(big.Int)
	}
	for _, place := range chain.Transactions() {
		if !place.Foreign && !place.Reverted {
			for _, t := range place.Tx.Transfers() {
				if t.Amount != "0" {
					p.paid[t.Reference] = append(p.paid[t.Reference], payment{place.Hash, t})
				}
				p.shared += min(1, len(place.Tx.More))
			}
		}
	}
	return p
}

// ownReason are the triggers that end a job because of its payment: the chain refuses it, or the host called
// the failure permanent. Other ends, such as retries that are used up or leases that expired, say nothing of
// the payment.
var ownReason = map[string]bool{"permanent error": true, "reverted": true, "cancel mined": true}

// request takes one request of the database, and what is wrong with its record.
func (p *proof) request(w *everything, broken error) {
	r := &w.Request
	p.known[r.ID] = true
	if broken != nil {
		p.broken.Fails("%v", broken)
	}
	paid := p.paid[r.ID.String()]
	switch r.Status {
	case withdrawal.RequestCompleted:
		symbol, err := symbolOf(r.Asset)
		if err != nil {
			p.broken.Fails("%v", err)
			return
		}
		p.completed[symbol].Add(p.completed[symbol], r.AmountRaw.Int())
		if len(paid) != 1 {
			p.notOnce.Fails("request %s was paid %d times", r.ID, len(paid))
		} else if tx := paid[0]; tx.hash != r.FinalTxHash || tx.To != r.ToAddress || tx.Amount != string(r.AmountRaw) || tx.Asset != symbol {
			p.notOnce.Fails("request %s was paid by %s, which is another payment", r.ID, tx.hash)
		}
		return
	case withdrawal.RequestFailed:
		if !ownReason[w.ended] {
			p.machinery.Fails("request %s failed by %q: %s", r.ID, w.ended, w.Job.ErrorMessage)
		}
	case withdrawal.RequestRejected, withdrawal.RequestCancelled:
	default:
		p.unfinished.Fails("request %s is %s", r.ID, r.Status)
		if len(paid) <= 1 { // one on its way may be mined
			return
		}
	}
	if len(paid) > 0 {
		p.notNone.Fails("request %s is %s and was paid %d times", r.ID, r.Status, len(paid))
	}
}

// claims draws the conclusion, after all requests.
func (p *proof) claims(rows []row, refused []refusal, incidents []withdrawal.Incident) ([]claim, []assetTotal) {
	onFile := claims.That("every row is a request or is named as refused")
	for _, r := range rows {
		if !p.known[r.Request] && !slices.ContainsFunc(refused, func(f refusal) bool { return f.Line == r.Line }) {
			onFile.Fails("line %d is not in the database", r.Line)
		}
	}
	for reference := range p.paid {
		if id, err := uuid.Parse(reference); err != nil || !p.known[id] {
			p.stray.Fails("%s was paid", reference)
		}
	}
	total := claims.That("of each asset the hot wallets have less on the chain exactly what was completed")
	var totals []assetTotal
	for _, symbol := range slices.Sorted(maps.Keys(assets)) {
		less := new(big.Int)
		for address, funds := range p.chain.Genesis.Accounts {
			first, _ := new(big.Int).SetString(funds[symbol], 10)
			less.Add(less, first.Sub(first, p.chain.Balance(address, symbol)))
		}
		if less.Cmp(p.completed[symbol]) != 0 {
			total.Fails("%s", symbol)
		}
		totals = append(totals, assetTotal{symbol, p.completed[symbol].String(), less.String()})
	}
	none := claims.That("no incident stands: the ledger shows that the chain did not contradict a finished request")
	for _, i := range incidents {
		if p.stands(i) {
			none.Fails("%s is %s, and its request %s", i.Hash, i.Claim, i.Status)
		}
	}
	some := claims.That("of a batch with rows some are requests")
	if len(refused) > 0 && !slices.ContainsFunc(rows, func(r row) bool { return p.known[r.Request] }) {
		some.Fails("all %d rows are refused", len(refused))
	}
	return []claim{onFile, some, p.machinery, p.unfinished, p.notOnce, p.notNone, p.stray, total, p.broken, none}, totals
}

// stands says whether the ledger agrees with an incident. A look-up may come
// late: missing when it was made, final when it was reported.
func (p *proof) stands(i withdrawal.Incident) bool {
	mined := slices.ContainsFunc(p.chain.Transactions(), func(place node.Place) bool { return place.Hash == i.Hash })
	return mined != (i.Claim == withdrawal.ClaimMissing || i.Claim == withdrawal.ClaimDead)
}
