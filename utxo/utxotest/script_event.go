package utxotest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// event reads one line of a [Scenario].
func (p *player) event(line string, words []string) (utxo.Event, error) {
	switch words[0] {
	case "connect":
		return p.connect(line)
	case "disconnect":
		return utxo.Disconnected{Hash: p.blocks[words[1]].Block.Hash, By: utxo.By{At: p.now}}, nil
	case "again":
		ev, height := p.blocks[words[1]], 0
		_, err := fmt.Sscan(words[3], &height)
		ev.Block.Height, ev.At = int32(height), p.now
		return ev, err
	case "observe":
		return p.observe(words)
	case "mempool":
		return p.mempool(line)
	}
	wallet, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return nil, err
	}
	w := utxo.WalletID(wallet)
	switch words[0] {
	case "open":
		birth, err := strconv.Atoi(words[2])
		return utxo.WalletOpened{Wallet: w, Birth: int32(birth), By: utxo.By{At: p.now}}, err
	case "submit":
		return p.submit(w, words[2:])
	case "lease", "renew":
		seconds, err := strconv.Atoi(words[3])
		if err != nil {
			return nil, err
		}
		ops, err := p.outPoints(words[4:])
		ev := utxo.OutputsLeased{Wallet: w, OutPoints: ops, Lock: lockID(words[2]), Duration: time.Duration(seconds) * time.Second,
			By: utxo.By{At: p.now}}
		if words[0] == "renew" {
			return utxo.LeasesRenewed(ev), err
		}
		return ev, err
	case "release":
		ops, err := p.outPoints(words[3:])
		return utxo.LeasesReleased{Wallet: w, OutPoints: ops, Lock: lockID(words[2]), By: utxo.By{At: p.now}}, err
	case "announce":
		birth, err := strconv.Atoi(words[2])
		return utxo.OwnersAnnounced{Wallet: w, Birth: int32(birth), Tags: words[3:], By: utxo.By{At: p.now}}, err
	case "reveal":
		op, err := p.outPoint(words[2])
		if err != nil {
			return nil, err
		}
		birth, err := strconv.Atoi(words[4])
		return utxo.OutputRevealed{
			ID: utxo.TxID{Wallet: w, Hash: op.Hash}, Index: op.Index, Tag: words[3], Birth: int32(birth), By: utxo.By{At: p.now},
		}, err
	}
	id, err := p.id(words[1:])
	switch words[0] {
	case "broadcast":
		return utxo.Broadcasted{ID: id, By: utxo.By{At: p.now}}, err
	case "invalidate":
		return utxo.Invalidated{ID: id, Reason: "given up", By: utxo.By{At: p.now}}, err
	case "label":
		return utxo.Labelled{ID: id, Label: strings.Join(words[3:], " "), By: utxo.By{At: p.now}}, err
	}
	return nil, fmt.Errorf("%q is no step", words[0])
}

// connect reads "connect 5b on 4: m a".
func (p *player) connect(line string) (utxo.Event, error) {
	head, list, full := strings.Cut(line, ":")
	words := strings.Fields(head)
	name := words[1]
	ev, known := p.blocks[name]
	if known && !full {
		ev.At = p.now
		return ev, nil
	}
	if !known {
		height, err := strconv.Atoi(strings.TrimRight(name, "abcdefghijklmnopqrstuvwxyz"))
		if err != nil {
			return nil, err
		}
		var prev chainhash.Hash
		if len(words) == 4 {
			prev = p.blocks[words[3]].Block.Hash
		} else if len(p.best) > 0 {
			prev = p.blocks[p.best[len(p.best)-1]].Block.Hash
		}
		p.salt++
		ev.Block = NewBlock(int32(height), prev, p.salt)
	}
	ev.Txs, ev.At = nil, p.now
	for _, word := range strings.Fields(list) {
		tx, err := p.tx(word)
		if err != nil {
			return nil, err
		}
		ev.Txs = append(ev.Txs, tx)
	}
	p.blocks[name] = ev
	p.byHash[ev.Block.Hash] = name
	return ev, nil
}

// observe reads "observe a 7 at 5b".
func (p *player) observe(words []string) (utxo.Event, error) {
	tx, err := p.tx(words[1])
	if err != nil {
		return nil, err
	}
	seq, err := strconv.ParseInt(words[2], 10, 64)
	ev := utxo.Observed{Txs: []*wire.MsgTx{tx}, Seq: seq, By: utxo.By{At: p.now}}
	if len(words) > 3 {
		ev.Tip = p.blocks[words[4]].Block.Hash
	} else if len(p.best) > 0 {
		ev.Tip = p.blocks[p.best[len(p.best)-1]].Block.Hash
	}
	return ev, err
}

// mempool reads "mempool 7: a b", at the current tip.
func (p *player) mempool(line string) (utxo.Event, error) {
	head, list, _ := strings.Cut(line, ":")
	seq, err := strconv.ParseInt(strings.Fields(head)[1], 10, 64)
	ev := utxo.Observed{Seq: seq, By: utxo.By{At: p.now}}
	if len(p.best) > 0 {
		ev.Tip = p.blocks[p.best[len(p.best)-1]].Block.Hash
	}
	for _, word := range strings.Fields(list) {
		tx, unknown := p.tx(word)
		if unknown != nil {
			return nil, unknown
		}
		ev.Txs = append(ev.Txs, tx)
	}
	return ev, err
}

// submit reads "b replaces a c lock k", without the wallet.
func (p *player) submit(w utxo.WalletID, words []string) (utxo.Event, error) {
	tx, err := p.tx(words[0])
	if err != nil {
		return nil, err
	}
	ev := utxo.Submitted{Wallet: w, Tx: tx, By: utxo.By{At: p.now}}
	if at := slices.Index(words, "lock"); at >= 0 {
		ev.Lock = lockID(words[at+1])
		words = words[:at]
	}
	if at := slices.Index(words, "replaces"); at >= 0 {
		ev.Replaces, err = p.hashes(words[at+1:])
	}
	return ev, err
}
