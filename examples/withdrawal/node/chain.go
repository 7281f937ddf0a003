package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// Finality is the depth, head - height + 1, from which on no block leaves the
// chain.
const Finality = 4

// Genesis is the first line of a ledger.
type Genesis struct {
	ID       string                       `json:"id"`
	Accounts map[string]map[string]string `json:"accounts"` // address, asset, base units
}

// Mined is a transaction in a block: signed bytes, or somebody else's use of a
// nonce, which pays nobody.
type Mined struct {
	Raw     json.RawMessage `json:"raw,omitempty"`
	Foreign *Foreign        `json:"foreign,omitempty"`
}

// Foreign is a transaction of a wallet that its owner knows nothing of, such as
// one that was sent by hand with the same key.
type Foreign struct {
	From  string `json:"from"`
	Nonce uint64 `json:"nonce"`
}

// Block is a block of the chain. Number counts all blocks ever mined, so two
// blocks of one height differ.
type Block struct {
	Number uint64  `json:"number"`
	Height uint64  `json:"height"`
	Parent string  `json:"parent"`
	Txs    []Mined `json:"txs,omitempty"`
}

// Hash returns the hash of a block.
func (b *Block) Hash() string {
	text, _ := json.Marshal(b) // cannot fail: plain data that was parsed before
	sum := sha256.Sum256(text)
	return "0x" + hex.EncodeToString(sum[:])
}

// Place is where a transaction was mined.
type Place struct {
	Hash     string
	Height   uint64
	Block    string
	Foreign  bool
	Reverted bool
	Tx       Tx // zero if foreign
}

type slot struct {
	from  string
	nonce uint64
}

// Chain is the state that a ledger leads to.
type Chain struct {
	Genesis  Genesis
	Reorgs   int
	blocks   []Block // by height - 1
	hashes   []string
	number   uint64
	final    uint64 // no block up to this height leaves
	balances map[string]map[string]*big.Int
	nonces   map[string]uint64
	mined    map[string]Place
	spent    map[slot]string
}

func newChain(g Genesis) (*Chain, error) {
	c := &Chain{Genesis: g, balances: map[string]map[string]*big.Int{}, nonces: map[string]uint64{},
		mined: map[string]Place{}, spent: map[slot]string{}}
	for address, assets := range g.Accounts {
		for asset, amount := range assets {
			if !ValidAddress(address) || !assetText.MatchString(asset) || !amountText.MatchString(amount) {
				return nil, errors.New("the genesis has an account that is not valid")
			}
			v, _ := new(big.Int).SetString(amount, 10)
			c.add(address, asset, v)
		}
	}
	return c, nil
}

// Head returns the height of the chain.
func (c *Chain) Head() uint64 { return uint64(len(c.blocks)) }

// Final returns the height up to which no block leaves the chain. It stays where a
// reorganisation has made the chain shorter.
func (c *Chain) Final() uint64 { return c.final }

// BlockHash returns the hash of the block at a height, the genesis id at 0, ""
// above the head.
func (c *Chain) BlockHash(height uint64) string {
	switch {
	case height == 0:
		return c.Genesis.ID
	case height > c.Head():
		return ""
	}
	return c.hashes[height-1]
}

// Balance returns what an account has of an asset.
func (c *Chain) Balance(address, asset string) *big.Int {
	if v := c.balances[address][asset]; v != nil {
		return v
	}
	return new(big.Int)
}

// Transactions returns all mined transactions, in the order of the chain.
func (c *Chain) Transactions() []Place {
	places := slices.Collect(maps.Values(c.mined))
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Height, b.Height), cmp.Compare(a.Hash, b.Hash))
	})
	return places
}

func (c *Chain) add(address, asset string, v *big.Int) {
	if c.balances[address] == nil {
		c.balances[address] = map[string]*big.Int{}
	}
	c.balances[address][asset] = new(big.Int).Add(c.Balance(address, asset), v)
}

// transfer moves what a transaction moves, backwards for sign -1.
func (c *Chain) transfer(tx *Tx, sign int64) {
	s := big.NewInt(sign)
	fee := new(big.Int).Mul(tx.fee(), s)
	c.add(tx.From(), GasAsset, new(big.Int).Neg(fee))
	if tx.reverts() {
		return
	}
	for _, t := range tx.Transfers() {
		v := new(big.Int).Mul(t.Value(), s)
		c.add(tx.From(), t.Asset, new(big.Int).Neg(v))
		c.add(t.To, t.Asset, v)
	}
}

// payable says whether the sender can pay for tx now.
func (c *Chain) payable(tx *Tx) bool {
	need := map[string]*big.Int{GasAsset: tx.fee()}
	for _, t := range tx.Transfers() {
		if need[t.Asset] == nil {
			need[t.Asset] = new(big.Int)
		}
		need[t.Asset].Add(need[t.Asset], t.Value())
	}
	for asset, amount := range need {
		if c.Balance(tx.From(), asset).Cmp(amount) < 0 {
			return false
		}
	}
	return true
}

// connect applies a block, or refuses it whole.
func (c *Chain) connect(b Block) error {
	if b.Height != c.Head()+1 || b.Parent != c.BlockHash(c.Head()) || b.Number != c.number+1 {
		return fmt.Errorf("block %d does not follow the head %d", b.Height, c.Head())
	}
	hash := b.Hash()
	c.blocks, c.hashes = append(c.blocks, b), append(c.hashes, hash)
	c.number = b.Number
	for i := range b.Txs {
		if err := c.apply(&b, hash, i); err != nil {
			for i--; i >= 0; i-- {
				c.undo(&b, i)
			}
			c.blocks, c.hashes = c.blocks[:b.Height-1], c.hashes[:b.Height-1]
			c.number--
			return fmt.Errorf("block %d, transaction %d: %w", b.Height, i+1, err)
		}
	}
	if b.Height >= Finality {
		c.final = max(c.final, b.Height-Finality+1)
	}
	return nil
}

func (c *Chain) apply(b *Block, block string, i int) error {
	place, at, err := b.Txs[i].read()
	switch {
	case err != nil:
		return err
	case at.nonce != c.nonces[at.from]:
		return fmt.Errorf("nonce %d of %s is not the next one", at.nonce, at.from)
	case !place.Foreign && !c.payable(&place.Tx):
		return errors.New("the account cannot pay for it")
	}
	place.Height, place.Block = b.Height, block
	c.nonces[at.from]++
	c.spent[at] = place.Hash
	c.mined[place.Hash] = place
	if !place.Foreign {
		c.transfer(&place.Tx, 1)
	}
	return nil
}

func (c *Chain) undo(b *Block, i int) {
	place, at, _ := b.Txs[i].read() // it was applied
	c.nonces[at.from]--
	delete(c.spent, at)
	delete(c.mined, place.Hash)
	if !place.Foreign {
		c.transfer(&place.Tx, -1)
	}
}

// disconnect takes the blocks above a height off the chain and returns their
// transactions.
func (c *Chain) disconnect(height uint64) ([]Mined, error) {
	if height < c.final || height >= c.Head() {
		return nil, fmt.Errorf("a reorganisation to height %d: the head is %d, final is %d", height, c.Head(), c.final)
	}
	var txs []Mined
	for c.Head() > height {
		b := &c.blocks[c.Head()-1]
		for i := len(b.Txs) - 1; i >= 0; i-- {
			c.undo(b, i)
		}
		txs = append(txs, b.Txs...)
		c.blocks, c.hashes = c.blocks[:b.Height-1], c.hashes[:b.Height-1]
	}
	c.Reorgs++
	return txs, nil
}

func (m *Mined) read() (Place, slot, error) {
	if m.Foreign != nil {
		text, _ := json.Marshal(m.Foreign)
		return Place{Hash: HashOf(text), Foreign: true}, slot{m.Foreign.From, m.Foreign.Nonce}, nil
	}
	tx, err := Parse(m.Raw)
	return Place{Hash: HashOf(m.Raw), Tx: tx, Reverted: err == nil && tx.reverts()}, slot{tx.From(), tx.Nonce}, err
}
