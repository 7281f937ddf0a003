package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/withdrawal"
)

// signer has the keys of the hot wallets. The database has their names alone:
// the ids of the wallets. A host's signer is a service or a device.
type signer struct{ secret []byte }

// demoKeys sign for a chain where nothing is worth anything.
var demoKeys = signer{[]byte("the coins of the demonstration chain are worth nothing")}

func (s signer) key(wallet uuid.UUID) ed25519.PrivateKey {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(wallet[:])
	return ed25519.NewKeyFromSeed(mac.Sum(nil))
}

func (s signer) address(wallet uuid.UUID) string {
	return node.Address(s.key(wallet).Public().(ed25519.PublicKey))
}

// sign makes the payment of a job, and of others by the same transaction. The
// same arguments give the same bytes.
func (s signer) sign(j *withdrawal.Job, nonce, gasPrice uint64, others ...withdrawal.Withdrawal) (raw []byte, hash string, err error) {
	symbol, err := symbolOf(j.AssetOnChain)
	if err != nil {
		return nil, "", err
	}
	tx := node.Tx{Nonce: nonce, To: j.ToAddress, Asset: symbol, Amount: string(j.AmountRaw), GasPrice: gasPrice, Reference: j.Request.String()}
	for i := range others {
		o := &others[i].Job
		if symbol, err = symbolOf(o.AssetOnChain); err != nil {
			return nil, "", err
		}
		tx.More = append(tx.More, node.Transfer{To: o.ToAddress, Asset: symbol, Amount: string(o.AmountRaw), Reference: o.Request.String()})
	}
	return node.Sign(s.key(j.Wallet), tx)
}

// cancel makes a version of a batch that pays nobody.
func (s signer) cancel(b *withdrawal.Batch, gasPrice uint64) (raw []byte, hash string, err error) {
	return node.Sign(s.key(b.Wallet), node.Tx{Nonce: b.Nonce, To: s.address(b.Wallet), Asset: node.GasAsset, Amount: "0",
		GasPrice: gasPrice, Reference: b.ID.String()})
}

func symbolOf(assetID uuid.UUID) (string, error) {
	for symbol, a := range assets {
		if a.id(symbol) == assetID {
			return symbol, nil
		}
	}
	return "", fmt.Errorf("asset %s is not known here", assetID)
}
