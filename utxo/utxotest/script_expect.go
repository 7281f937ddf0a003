package utxotest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// expect reads one question of a [Scenario] and holds it against what is stored.
func (p *player) expect(words []string, s utxo.Snapshot) error {
	wallet, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return err
	}
	w := utxo.WalletID(wallet)
	var got string
	want := strings.Join(words[2:], " ")
	switch words[0] {
	case "tx?":
		want = strings.Join(words[3:], " ")
		got, err = p.describeTx(w, words[2], s)
	case "coin?":
		want = strings.Join(words[3:], " ")
		got, err = p.describeCoin(w, words[2], s)
	case "edge?", "noedge?":
		hashes, err := p.hashes(words[2:])
		if err != nil {
			return err
		}
		is := func(e utxo.Replacement) bool { return e.Wallet == w && e.Loser == hashes[0] && e.Winner == hashes[1] }
		if slices.ContainsFunc(s.Replaced, is) != (words[0] == "edge?") {
			return fmt.Errorf("the edges are %v", s.Replaced)
		}
		return nil
	case "bytes?":
		want = words[3]
		got, err = p.describeBytes(w, words[2], s)
	case "balance?":
		got = p.describeBalance(w, s)
	case "scanned?":
		got = describeScan(w, s)
	default:
		return fmt.Errorf("%q is no question", words[0])
	}
	if err == nil && got != want {
		err = fmt.Errorf("it is %q", got)
	}
	return err
}

func (p *player) describeTx(w utxo.WalletID, name string, s utxo.Snapshot) (string, error) {
	tx, err := p.tx(name)
	if err != nil {
		return "", err
	}
	stored := find(s, w, tx.TxHash())
	if stored == nil {
		return "absent", nil
	}
	if stored.Confirmed() {
		return fmt.Sprintf("%s %d", stored.Status, stored.Height), nil
	}
	return stored.Status.String(), nil
}

// describeBytes returns the names of the transactions with the bytes that are stored.
func (p *player) describeBytes(w utxo.WalletID, name string, s utxo.Snapshot) (string, error) {
	tx, err := p.tx(name)
	if err != nil {
		return "", err
	}
	stored := find(s, w, tx.TxHash())
	if stored == nil {
		return "absent", nil
	}
	raw, err := utxo.ParseTx(stored.Raw)
	if err != nil {
		return "", err
	}
	var names []string
	for name, other := range p.txs {
		if sameBytes(raw, other) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " "), nil
}

func (p *player) describeCoin(w utxo.WalletID, name string, s utxo.Snapshot) (string, error) {
	op, err := p.outPoint(name)
	if err != nil {
		return "", err
	}
	for _, c := range coinsOf(s, w) {
		if c.OutPoint != op {
			continue
		}
		state := Policy().State(c, tipOf(s), p.now)
		if state == utxo.CoinSpent {
			return "spent " + p.nameOf(c.SpentBy), nil
		}
		return state.String(), nil
	}
	return "unknown", nil
}

func (p *player) nameOf(hash chainhash.Hash) string {
	for name, tx := range p.txs {
		if tx.TxHash() == hash {
			return name
		}
	}
	return hash.String()
}

// describeBalance lists the sums that are not zero, "leased" last.
func (p *player) describeBalance(w utxo.WalletID, s utxo.Snapshot) string {
	sums := map[utxo.OutputState]int64{}
	late := map[string]bool{}
	for _, wallet := range s.Wallets {
		for _, o := range oneByOne(wallet.Behind) {
			late[o.Tag] = late[o.Tag] || wallet.ID == w
		}
	}
	unscanned := int64(0)
	for _, c := range coinsOf(s, w) {
		state := Policy().State(c, tipOf(s), p.now)
		if state == utxo.CoinLeased {
			sums[state] += c.Amount
			c.Lease = nil
			state = Policy().State(c, tipOf(s), p.now)
		}
		if late[c.Tag] && state != utxo.CoinSpent && state != utxo.CoinDead && state != utxo.CoinRecoverable {
			unscanned += c.Amount
		} else {
			sums[state] += c.Amount
		}
	}
	var parts []string
	for _, state := range []utxo.OutputState{
		utxo.CoinConfirmed, utxo.CoinUnconfirmed, utxo.CoinImmature, utxo.CoinPending, utxo.CoinLeased,
	} {
		if sums[state] != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", state, sums[state]))
		}
	}
	if unscanned != 0 {
		parts = append(parts, fmt.Sprintf("unscanned=%d", unscanned))
	}
	return strings.Join(parts, " ")
}

func describeScan(w utxo.WalletID, s utxo.Snapshot) string {
	for _, wallet := range s.Wallets {
		if wallet.ID == w {
			text := strconv.Itoa(int(wallet.ScannedTo))
			for _, o := range oneByOne(wallet.Behind) {
				text += fmt.Sprintf(" %s=%d", o.Tag, o.ScannedTo)
			}
			return text
		}
	}
	return "closed"
}

func find(s utxo.Snapshot, w utxo.WalletID, hash chainhash.Hash) *utxo.Tx {
	for _, tx := range s.Txs {
		if tx.ID == (utxo.TxID{Wallet: w, Hash: hash}) {
			return tx
		}
	}
	return nil
}

func tipOf(s utxo.Snapshot) int32 {
	if len(s.Blocks) == 0 {
		return -1
	}
	return s.Blocks[len(s.Blocks)-1].Height
}

func coinsOf(s utxo.Snapshot, w utxo.WalletID) []utxo.Coin {
	var coins []utxo.Coin
	for _, tx := range s.Txs {
		if tx.ID.Wallet != w {
			continue
		}
		for _, out := range tx.Outputs {
			c := utxo.Coin{
				Wallet: w, OutPoint: wire.OutPoint{Hash: tx.ID.Hash, Index: out.Index}, Amount: out.Amount,
				Script: out.Script, Tag: out.Tag, SpentBy: out.SpentBy, Status: tx.Status, Height: tx.Height, Coinbase: tx.Coinbase,
			}
			for _, l := range s.Leases {
				if l.Wallet == w && l.OutPoint == c.OutPoint {
					c.Lease = &l
				}
			}
			coins = append(coins, c)
		}
	}
	return coins
}
