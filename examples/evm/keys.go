package main

import (
	"crypto/ecdsa"
	"crypto/sha256"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"
)

// key pays. A host's signer is a service or a device, and the database has only
// the names of its keys: the ids of the hot wallets.
type key struct {
	private *ecdsa.PrivateKey
	address common.Address
}

// keyring has the keys of the hot wallets.
type keyring map[uuid.UUID]key

// demoKey makes a key for a chain where nothing is worth anything.
func demoKey(name string) key {
	seed := sha256.Sum256([]byte("the ether of the demonstration chain is worth nothing: " + name))
	private, err := crypto.ToECDSA(seed[:])
	if err != nil {
		panic(err) // one seed in 2^128
	}
	return key{private, crypto.PubkeyToAddress(private.PublicKey)}
}
