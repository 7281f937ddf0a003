package utxo_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/utxotest"
)

// Each invariant of Check is broken once in a snapshot that keeps all of them.
func TestCheckFindsEachBrokenInvariant(t *testing.T) {
	b := newDesk(t)
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2})
	coinbase := utxotest.NewCoinbase(99, utxotest.Pay(50, mine('a')))
	first := utxo.Connected{Block: utxotest.NewBlock(1, chainhash.Hash{}, 0), Txs: []*wire.MsgTx{coinbase}}
	do(t, b.Ledger, first)
	b.tip = first.Block
	deposit := b.tx(nil, mine('a'), mine('a'), mine('a'))
	b.connect(deposit)
	b.connect()
	spend := b.submit(b.tx(ins(out(deposit, 0)), mine('a')))
	child := b.submit(b.tx(ins(out(spend, 0)), mine('a')))
	b.submit(b.tx(ins(out(deposit, 0)), mine('a')), spend)
	seen := b.observe(b.tx(ins(out(deposit, 1)), mine('a')))
	lost := b.observe(b.tx(ins(out(deposit, 2)), mine('a')))
	do(t, b.Ledger, b.seen(2, b.tx(ins(out(deposit, 2)), mine('a'))))
	heir := b.tx(ins(out(lost, 0)), mine('a'))
	tx := func(s utxo.Snapshot, of *wire.MsgTx) *utxo.Tx {
		return s.Txs[slices.IndexFunc(s.Txs, func(x *utxo.Tx) bool { return x.ID.Hash == of.TxHash() })]
	}
	move := func(tx *utxo.Tx, to utxo.Status, height int32) { tx.Status, tx.Height = to, height }
	for name, broken := range map[string]func(*utxo.Snapshot){
		"":                                        func(*utxo.Snapshot) {},
		"a block on another one":                  func(s *utxo.Snapshot) { s.Blocks[1].Prev = chainhash.Hash{1} },
		"pending in a block":                      func(s *utxo.Snapshot) { move(tx(*s, deposit), utxo.Pending, 2) },
		"in a block that is not there":            func(s *utxo.Snapshot) { move(tx(*s, deposit), utxo.Published, 7) },
		"a coinbase in no block":                  func(s *utxo.Snapshot) { move(tx(*s, coinbase), utxo.Published, utxo.Unconfirmed) },
		"a failed coinbase":                       func(s *utxo.Snapshot) { move(tx(*s, coinbase), utxo.Failed, utxo.Unconfirmed) },
		"an orphaned coinbase in a block":         func(s *utxo.Snapshot) { move(tx(*s, coinbase), utxo.Orphaned, 1) },
		"an orphan that is no coinbase":           func(s *utxo.Snapshot) { move(tx(*s, lost), utxo.Orphaned, utxo.Unconfirmed) },
		"a live child of a dead one":              func(s *utxo.Snapshot) { move(tx(*s, spend), utxo.Failed, utxo.Unconfirmed) },
		"a coin that does not name its spender":   func(s *utxo.Snapshot) { tx(*s, deposit).Outputs[1].SpentBy = chainhash.Hash{} },
		"a coin that names a dead spender":        func(s *utxo.Snapshot) { tx(*s, deposit).Outputs[2].SpentBy = lost.TxHash() },
		"a coin that names what spends another":   func(s *utxo.Snapshot) { tx(*s, deposit).Outputs[0].SpentBy = child.TxHash() },
		"a spender that is nowhere":               func(s *utxo.Snapshot) { tx(*s, child).Outputs[0].SpentBy = heir.TxHash() },
		"two live spenders, none declared":        func(s *utxo.Snapshot) { s.Replaced = nil },
		"two live spenders, declared in another":  func(s *utxo.Snapshot) { s.Replaced[0].Wallet, s.Replaced[1].Wallet = 2, 2 },
		"a declared replacement that was sent":    func(s *utxo.Snapshot) { move(tx(*s, lost), utxo.Published, utxo.Unconfirmed) },
		"a declared replacement of what is mined": func(s *utxo.Snapshot) { move(tx(*s, spend), utxo.Published, 3) },
		"a coin of two wallets": func(s *utxo.Snapshot) {
			again := *tx(*s, deposit)
			again.ID.Wallet, again.Outputs = 2, again.Outputs[:1]
			again.Outputs[0].SpentBy = chainhash.Hash{}
			s.Txs = append(s.Txs, &again)
		},
		"an edge from nothing": func(s *utxo.Snapshot) { s.Replaced[0].Loser = heir.TxHash() },
		"an edge to nothing":   func(s *utxo.Snapshot) { s.Replaced[0].Winner = heir.TxHash() },
		"an edge to itself":    func(s *utxo.Snapshot) { s.Replaced[0].Winner = s.Replaced[0].Loser },
	} {
		s, err := b.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		broken(&s)
		if err := utxo.Check(s); name == "" && err != nil || name != "" && !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = seen
}

// lying answers another balance.
type lying struct {
	*utxo.Ledger
	tag string // of the owner who is lied about, none for the total
}

func (l lying) Balance(p utxo.Policy, w utxo.WalletID, tag *string, confirmations int32, now time.Time) (utxo.Balance, error) {
	b, err := l.Ledger.Balance(p, w, tag, confirmations, now)
	if tag == nil && l.tag == "" || tag != nil && *tag == l.tag {
		b.Confirmed++
	}
	return b, err
}

// Audit counts the coins itself, for each owner and in total. The test has coins that are
// leased, immature, pending, or of an owner that is behind, and a wallet without coins.
func TestAuditCountsItself(t *testing.T) {
	b := newDesk(t)
	coinbase := utxotest.NewCoinbase(99, utxotest.Pay(50, mine('a')))
	first := utxo.Connected{Block: utxotest.NewBlock(1, chainhash.Hash{}, 0), Txs: []*wire.MsgTx{coinbase}}
	do(t, b.Ledger, first)
	b.tip = first.Block
	deposit := b.tx(nil, mine('a'), mine('b'), mine('c'))
	b.connect(deposit)
	b.submit(b.tx(ins(out(deposit, 0)), mine('a')))
	do(t, b.Ledger, utxo.OutputsLeased{Wallet: 1, OutPoints: ins(out(deposit, 1)), Lock: utxo.LockID{1}, Duration: time.Hour})
	do(t, b.Ledger, utxo.OwnersAnnounced{Wallet: 1, Birth: 1, Tags: []string{"c"}})
	do(t, b.Ledger, utxo.WalletOpened{Wallet: 2})
	for _, w := range []utxo.WalletID{1, 2} {
		if err := utxotest.Policy().Audit(b, w, benchNow); err != nil {
			t.Errorf("wallet %d: %v", w, err)
		}
	}
	for _, tag := range []string{"", "a", "b", "c"} {
		if err := utxotest.Policy().Audit(lying{b.Ledger, tag}, 1, benchNow); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("a lie about %q: %v", tag, err)
		}
	}
	id := utxo.TxID{Wallet: 1, Hash: deposit.TxHash()}
	txs, _ := b.Txs(id)
	trail, err := b.Transitions(id)
	if err != nil || utxo.Replay(*txs[0], trail) != nil {
		t.Errorf("its own trail: %v, %v", err, utxo.Replay(*txs[0], trail))
	}
	failed, newer := *txs[0], *txs[0]
	failed.Status, newer.Version = utxo.Failed, 2
	for name, tx := range map[string]utxo.Tx{"of another status": failed, "of another version": newer} {
		if err := utxo.Replay(tx, trail); !errors.Is(err, statemachine.ErrCorrupt) {
			t.Errorf("the trail of one %s: %v", name, err)
		}
	}
}
