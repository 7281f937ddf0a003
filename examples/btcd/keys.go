package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/btcsuite/btcd/address/v2"
	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/chaincfg/v2"
	"github.com/btcsuite/btcd/txscript/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/utxo/coinselect"
)

// key derives the key of a name. A real host keeps keys elsewhere.
func key(name string) *btcec.PrivateKey {
	seed := sha256.Sum256([]byte("settle example btcd/" + name))
	private, _ := btcec.PrivKeyFromBytes(seed[:])
	return private
}

func hash160(k *btcec.PrivateKey) []byte {
	return address.Hash160(k.PubKey().SerializeCompressed())
}

// script is P2WPKH.
func script(name string) []byte { return append([]byte{0, 20}, hash160(key(name))...) }

func regtestAddress(name string) (string, error) {
	a, err := address.NewAddressWitnessPubKeyHash(hash160(key(name)), &chaincfg.RegressionNetParams)
	if err != nil {
		return "", err
	}
	return a.EncodeAddress(), nil
}

const (
	walletID  = utxo.WalletID(1)
	customers = 6
)

func customer(i int) string { return fmt.Sprintf("customer %d", i) }

// owners are the scripts of the wallet, by script: the tag is the name of the key.
var owners = func() map[string]string {
	names := map[string]string{string(script("change")): "change"}
	for i := range customers {
		names[string(script(customer(i)))] = customer(i)
	}
	return names
}()

func ownerOf(script []byte) (utxo.Owner, bool) {
	name, ok := owners[string(script)]
	return utxo.Owner{Wallet: walletID, Tag: name}, ok
}

// sign signs every input, which spends outputs of these values and names.
func sign(tx *wire.MsgTx, spends []*wire.TxOut, names []string) error {
	all := map[wire.OutPoint]*wire.TxOut{}
	for i, in := range tx.TxIn {
		all[in.PreviousOutPoint] = spends[i]
	}
	hashes := txscript.NewTxSigHashes(tx, txscript.NewMultiPrevOutFetcher(all))
	for i, in := range tx.TxIn {
		witness, err := txscript.WitnessSignature(tx, hashes, i, spends[i].Value, spends[i].PkScript, txscript.SigHashAll, key(names[i]), true)
		if err != nil {
			return err
		}
		in.Witness = witness
	}
	return nil
}

// signOwn signs a transaction whose inputs are coins of the wallet.
func signOwn(tx *wire.MsgTx, inputs []coinselect.Candidate) error {
	spends, names := make([]*wire.TxOut, len(inputs)), make([]string, len(inputs))
	for i, in := range inputs {
		spends[i], names[i] = wire.NewTxOut(in.Amount, in.Script), owners[string(in.Script)]
	}
	return sign(tx, spends, names)
}
