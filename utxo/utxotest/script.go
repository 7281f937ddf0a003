package utxotest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// Scenario is a small history with the expected results, one step a line, "#" for comments.
// Inputs without a colon are foreign coins. The policy is [Policy]; owners without a wallet
// belong to wallet 1; "out" belongs to nobody.
//
//	tx a: x b:0 -> main=5 2/main=3 out    a transaction, not delivered to anybody
//	coinbase m -> main=50
//	witness b: a 7 -                      b is a with other witnesses, "-" for none
//	open 1 0                              wallet, birth
//	submit 1 b replaces a lock k          wallet, transaction
//	broadcast 1 a
//	observe a 7                           sequence, at the current tip
//	observe a 7 at 5b                     at another tip, "-" for none
//	mempool 7: a b                        a list, 0 draws the sequence
//	connect 5b on 4: m a                  block 5b has height 5
//	connect 5b                            the same again
//	again 5b at 6                         the same hash at another height
//	disconnect 5b
//	invalidate 1 a
//	reveal 1 a:0 late 5                   owner, birth
//	announce 1 5 late                     birth, owners; from then on "late" is known
//	label 1 a words
//	lease 1 k 60 a:0 b:1                  lock, seconds
//	renew 1 k 60 a:0
//	release 1 k a:0
//	wait 60                               seconds
//
// Every event may end with "=> refusal", one of the names in [Refusals]; a mempool list may
// end with "=> b stale c invalid", which names what is refused of it. Questions, with what
// must be true at that point:
//
//	tx? 1 a published 5                   or: pending, published, failed, ..., absent
//	coin? 1 a:0 spent b                   or: confirmed, unconfirmed, ..., unknown
//	bytes? 1 a b                          a is stored with the witnesses of b
//	edge? 1 a b                           a was replaced by b
//	noedge? 1 a b
//	balance? 1 confirmed=5 pending=3      all others are zero
//	scanned? 1 5 late=3                   wallet, owners behind it
//
// Steps of one word may share a line, and questions their wallet too: "observe a 1, b 2",
// "tx? 1 a replaced, b published".
type Scenario struct {
	Name   string
	Script string
}

// Scenarios are all of this package.
func Scenarios() []Scenario {
	return slices.Concat(Conflicts, Blocks, Leases, Words, Several, Joins, Lists, Owners, Versions, Signatures)
}

// Refusals names the errors that an event may meet.
var Refusals = map[string]error{
	"invalid": statemachine.ErrInvalid, "illegal": statemachine.ErrIllegal,
	"not-found": statemachine.ErrNotFound, "held": statemachine.ErrHeld,
	"input-spent": utxo.ErrInputSpent, "dead-parent": utxo.ErrDeadParent,
	"immature": utxo.ErrImmature, "self-conflict": utxo.ErrSelfConflict,
	"spent-by-confirmed": utxo.ErrSpentByConfirmed, "confirmed-elsewhere": utxo.ErrConfirmedElsewhere,
	"chain-mismatch": utxo.ErrChainMismatch, "stale": utxo.ErrStale,
}

// RefusalName returns the name of the refusal that err is: "" for nil, for a mempool list
// all names in alphabetical order, and the text of err if it is no refusal.
func RefusalName(err error) string {
	if err == nil {
		return ""
	}
	var names []string
	for name, sentinel := range Refusals {
		if errors.Is(err, sentinel) {
			names = append(names, name)
		}
	}
	if names == nil {
		return err.Error()
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Run plays the scenario and returns the first line that does not hold.
func (s Scenario) Run(apply func(utxo.Event) error, snapshot func() (utxo.Snapshot, error)) error {
	p := &player{
		now: Start, txs: map[string]*wire.MsgTx{}, coins: map[string]wire.OutPoint{},
		blocks: map[string]utxo.Connected{}, byHash: map[chainhash.Hash]string{},
	}
	for i, line := range strings.Split(s.Script, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		for _, step := range steps(line) {
			if err := p.line(step, apply, snapshot); err != nil {
				return fmt.Errorf("line %d, %q: %w", i+1, step, err)
			}
		}
	}
	return nil
}

// steps takes a line apart, with the first word at each, and a question's wallet.
func steps(line string) []string {
	parts := strings.Split(strings.TrimSpace(line), ", ")
	words := strings.Fields(parts[0])
	shared := words[0]
	if strings.HasSuffix(shared, "?") {
		shared += " " + words[1]
	}
	for i := range parts[1:] {
		parts[i+1] = shared + " " + parts[i+1]
	}
	return parts
}

// player holds the names of a running scenario.
type player struct {
	now    time.Time
	salt   uint32
	txs    map[string]*wire.MsgTx
	coins  map[string]wire.OutPoint // foreign ones
	blocks map[string]utxo.Connected
	byHash map[chainhash.Hash]string
	best   []string // names of the best chain, the tip last
}

func (p *player) line(line string, apply func(utxo.Event) error, snapshot func() (utxo.Snapshot, error)) error {
	line, refusal, _ := strings.Cut(line, "=>")
	words := strings.Fields(line)
	switch words[0] {
	case "tx", "coinbase":
		return p.define(line)
	case "witness":
		return p.witness(words)
	case "wait":
		seconds, err := strconv.Atoi(words[1])
		p.now = p.now.Add(time.Duration(seconds) * time.Second)
		return err
	}
	if strings.HasSuffix(words[0], "?") {
		s, err := snapshot()
		if err != nil {
			return err
		}
		return p.expect(words, s)
	}
	ev, err := p.event(line, words)
	if err != nil {
		return err
	}
	err = apply(ev)
	got, want := RefusalName(err), strings.Join(strings.Fields(refusal), " ")
	if words[0] == "mempool" {
		got = p.refusals(err)
	}
	if got != want {
		return fmt.Errorf("the refusal is %q, want %q (%v)", got, want, err)
	}
	if err == nil {
		p.follow(ev)
	}
	return nil
}

// Refused is what was refused of a mempool list, as an error.
type Refused []utxo.Refused

func (r Refused) Error() string {
	var texts []string
	for _, x := range r {
		texts = append(texts, fmt.Sprintf("%d of the list, %s: %v", x.Index, x.Hash, x.Err))
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the reasons.
func (r Refused) Unwrap() []error {
	var all []error
	for _, x := range r {
		all = append(all, x.Err)
	}
	return all
}

// Outcome is err, or what was refused of the event's list.
func Outcome(set utxo.ChangeSet, err error) error {
	if err == nil && len(set.Refused) > 0 {
		return Refused(set.Refused)
	}
	return err
}

// Outcome is [Model.Apply] for callers that want what was refused of a mempool list as an
// error.
func (m *Model) Outcome(ev utxo.Event) error {
	if err := m.Apply(ev); err != nil || len(m.refused) == 0 {
		return err
	}
	var all Refused
	for i, tx := range ev.(utxo.Observed).Txs {
		if err := m.refused[i]; err != nil {
			r := utxo.Refused{Index: i, Err: err}
			if tx != nil {
				r.Hash = tx.TxHash()
			}
			all = append(all, r)
		}
	}
	return all
}

// refusals names what was refused of a list, in its order.
func (p *player) refusals(err error) string {
	var list Refused
	if !errors.As(err, &list) {
		return RefusalName(err)
	}
	var names []string
	for _, r := range list {
		names = append(names, p.nameOf(r.Hash), RefusalName(r.Err))
	}
	return strings.Join(names, " ")
}

// follow keeps the best chain.
func (p *player) follow(ev utxo.Event) {
	switch ev := ev.(type) {
	case utxo.Connected:
		name := p.byHash[ev.Block.Hash]
		if len(p.best) == 0 || ev.Block.Height > p.blocks[p.best[len(p.best)-1]].Block.Height {
			p.best = append(p.best, name)
		}
	case utxo.Disconnected:
		if n := len(p.best) - 1; n >= 0 && p.blocks[p.best[n]].Block.Hash == ev.Hash {
			p.best = p.best[:n]
		}
	}
}

// define reads "tx a: x b:0 -> main=5 out" and "coinbase m -> main=50".
func (p *player) define(line string) error {
	left, right, _ := strings.Cut(line, "->")
	words := strings.Fields(left)
	name := strings.TrimSuffix(words[1], ":")
	var outputs []*wire.TxOut
	for _, word := range strings.Fields(right) {
		owner, amount, ok := strings.Cut(word, "=")
		value, err := strconv.ParseInt(amount, 10, 64)
		if !ok {
			value, err = 1, nil
		}
		if err != nil {
			return err
		}
		outputs = append(outputs, Pay(value, script(owner)))
	}
	p.salt++
	if words[0] == "coinbase" {
		p.txs[name] = NewCoinbase(p.salt, outputs...)
		return nil
	}
	inputs, err := p.outPoints(words[2:])
	p.txs[name] = NewTx(p.salt, inputs, outputs...)
	return err
}

// witness reads "witness b: a 7 -".
func (p *player) witness(words []string) error {
	tx, err := p.tx(words[2])
	if err != nil {
		return err
	}
	other := tx.Copy()
	for i, in := range other.TxIn {
		in.Witness = nil
		if word := words[3+i]; word != "-" {
			in.Witness = wire.TxWitness{[]byte(word)}
		}
	}
	p.txs[strings.TrimSuffix(words[1], ":")] = other
	return nil
}

func script(owner string) []byte {
	if owner == "out" {
		return Foreign
	}
	if strings.Contains(owner, "/") {
		return []byte(owner)
	}
	return Script(1, owner)
}

func (p *player) outPoints(words []string) ([]wire.OutPoint, error) {
	var ops []wire.OutPoint
	for _, word := range words {
		op, err := p.outPoint(word)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func (p *player) outPoint(word string) (wire.OutPoint, error) {
	name, index, ok := strings.Cut(word, ":")
	if !ok {
		if _, known := p.coins[name]; !known {
			p.coins[name] = External(uint32(len(p.coins)))
		}
		return p.coins[name], nil
	}
	tx, err := p.tx(name)
	if err != nil {
		return wire.OutPoint{}, err
	}
	n, err := strconv.ParseUint(index, 10, 32)
	return Out(tx, uint32(n)), err
}

func (p *player) tx(name string) (*wire.MsgTx, error) {
	if tx := p.txs[name]; tx != nil {
		return tx, nil
	}
	return nil, fmt.Errorf("there is no transaction %q", name)
}

func (p *player) hashes(words []string) ([]chainhash.Hash, error) {
	var hashes []chainhash.Hash
	for _, word := range words {
		tx, err := p.tx(word)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, tx.TxHash())
	}
	return hashes, nil
}

// id reads "1 a".
func (p *player) id(words []string) (utxo.TxID, error) {
	w, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return utxo.TxID{}, err
	}
	tx, err := p.tx(words[1])
	if err != nil {
		return utxo.TxID{}, err
	}
	return utxo.TxID{Wallet: utxo.WalletID(w), Hash: tx.TxHash()}, nil
}

func lockID(name string) utxo.LockID {
	var id utxo.LockID
	copy(id[:], name)
	return id
}
