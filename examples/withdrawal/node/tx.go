package node

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Bounds of what the node takes.
const (
	MaxRaw   = 4096 // bytes of a signed transaction
	MaxNonce = 1 << 40

	MaxTransfers = 16
)

// Reverting is an address whose contract refuses every payment: the transaction
// is mined, costs its gas, and moves nothing.
const Reverting = "0x000000000000000000000000000000000000dead"

// GasAsset pays for gas.
const GasAsset = "GAS"

// Gas that a transfer uses.
const gasTransfer, gasReverted = 21_000, 16_000

var (
	addressText = regexp.MustCompile(`^0x[0-9a-f]{40}$`)
	amountText  = regexp.MustCompile(`^(0|[1-9][0-9]{0,77})$`)
	assetText   = regexp.MustCompile(`^[A-Z0-9]{1,16}$`)
)

// ValidAddress reports whether the chain knows such addresses.
func ValidAddress(s string) bool { return addressText.MatchString(s) }

// Tx is a transfer. Its signed form is this object as compact JSON, in this
// order; its hash is the SHA-256 of that.
type Tx struct {
	Key       []byte `json:"key"` // public, ed25519; the sender's address is derived from it
	Nonce     uint64 `json:"nonce"`
	To        string `json:"to"`
	Asset     string `json:"asset"`
	Amount    string `json:"amount"` // base units
	GasPrice  uint64 `json:"gasPrice"`
	Reference string `json:"reference"` // as the memo of a bank transfer
	// More are further transfers, all of which are made or none: one transaction
	// may pay many.
	More      []Transfer `json:"more,omitempty"`
	Signature []byte     `json:"signature,omitempty"`
	// Salt is not signed: with another one it is the same transfer under another
	// hash, as with signatures that can be malleated.
	Salt uint64 `json:"salt,omitempty"`
}

// Transfer is one of a transaction.
type Transfer struct {
	To        string `json:"to"`
	Asset     string `json:"asset"`
	Amount    string `json:"amount"`
	Reference string `json:"reference"`
}

// Value returns the amount in base units.
func (t *Transfer) Value() *big.Int {
	v, _ := new(big.Int).SetString(t.Amount, 10)
	return v
}

// Transfers returns all of the transaction, in its order.
func (tx *Tx) Transfers() []Transfer {
	return append([]Transfer{{tx.To, tx.Asset, tx.Amount, tx.Reference}}, tx.More...)
}

// Address returns the address of a public key.
func Address(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "0x" + hex.EncodeToString(sum[:20])
}

// Sign returns the signed bytes and their hash. The same transfer gives the
// same bytes.
func Sign(key ed25519.PrivateKey, tx Tx) (raw []byte, hash string, err error) {
	tx.Key, tx.Signature, tx.Salt = key.Public().(ed25519.PublicKey), nil, 0
	unsigned, err := json.Marshal(tx)
	if err != nil {
		return nil, "", err
	}
	tx.Signature = ed25519.Sign(key, unsigned)
	if raw, err = json.Marshal(tx); err != nil {
		return nil, "", err
	}
	return raw, HashOf(raw), nil
}

// HashOf returns the hash of signed bytes.
func HashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "0x" + hex.EncodeToString(sum[:])
}

// Parse reads signed bytes and checks everything that does not depend on the
// chain. Other bytes for the same transfer are refused but for another salt.
func Parse(raw []byte) (Tx, error) {
	var tx Tx
	if len(raw) > MaxRaw {
		return tx, fmt.Errorf("a transaction has at most %d bytes", MaxRaw)
	}
	if err := json.Unmarshal(raw, &tx); err != nil {
		return tx, fmt.Errorf("this is not a transaction: %w", err)
	}
	again, err := json.Marshal(tx)
	switch {
	case err != nil:
		return tx, err
	case !bytes.Equal(again, raw):
		return tx, errors.New("the transaction is not in its canonical form")
	case len(tx.Key) != ed25519.PublicKeySize:
		return tx, errors.New("the key has the wrong size")
	case tx.Nonce > MaxNonce, len(tx.More) >= MaxTransfers:
		return tx, errors.New("the nonce or the number of transfers is too large")
	}
	for _, t := range tx.Transfers() {
		switch {
		case !addressText.MatchString(t.To):
			return tx, errors.New("the address is not valid")
		case !assetText.MatchString(t.Asset), !amountText.MatchString(t.Amount):
			return tx, errors.New("asset or amount is not valid")
		case len(t.Reference) > 100:
			return tx, errors.New("the reference is too large")
		}
	}
	unsigned := tx
	unsigned.Signature, unsigned.Salt = nil, 0
	text, err := json.Marshal(unsigned)
	if err != nil {
		return tx, err
	}
	if !ed25519.Verify(tx.Key, text, tx.Signature) {
		return tx, errors.New("the signature does not fit")
	}
	return tx, nil
}

// salted returns the bytes of the same transfer under another hash.
func (tx Tx) salted(salt uint64) json.RawMessage {
	tx.Salt = salt
	raw, _ := json.Marshal(tx) // it was parsed from JSON
	return raw
}

// From returns the sender's address.
func (tx *Tx) From() string { return Address(tx.Key) }

func (tx *Tx) reverts() bool {
	return slices.ContainsFunc(tx.Transfers(), func(t Transfer) bool { return strings.EqualFold(t.To, Reverting) })
}

func (tx *Tx) gas() uint64 {
	if tx.reverts() {
		return gasReverted
	}
	return gasTransfer * uint64(1+len(tx.More))
}

func (tx *Tx) fee() *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(tx.gas()), new(big.Int).SetUint64(tx.GasPrice))
}
