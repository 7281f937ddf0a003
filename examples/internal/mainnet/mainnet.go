// Package mainnet has the first blocks of Bitcoin, which several examples replay.
package mainnet

import _ "embed"

// Blocks are blocks 0 to 300 as bitcoind frames them; package blockfile of examples/wallet reads
// them. README.md says where they come from. They must not be changed.
//
//go:embed blocks-0-300.dat
var Blocks []byte
