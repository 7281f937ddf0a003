package coinselect

import (
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// Weights are in weight units, four to a virtual byte (BIP 141).
const (
	// MaxStandardWeight is the largest transaction that nodes relay.
	MaxStandardWeight = 400_000
	// maxBlockWeight bounds every weight that comes from outside.
	maxBlockWeight = 4_000_000
	// minInputWeight: outpoint, empty script and sequence.
	minInputWeight = 4 * (36 + 1 + 4)
	// overheadWeight: version and lock time, then witness marker and flag,
	// which a transaction without any witness would not need.
	overheadWeight = 4*(4+4) + 2
)

// Input weights with the largest signature that standard signers make: 72
// bytes for ECDSA with its hash type, 64 for Schnorr with the default one.
const (
	// P2PKHInputWeight: a compressed key, and the empty witness that the input
	// has when another input has one.
	P2PKHInputWeight = minInputWeight + 4*(1+72+1+33) + 1
	// P2WPKHInputWeight: item count, signature, compressed key.
	P2WPKHInputWeight = minInputWeight + 1 + (1 + 72) + (1 + 33)
	// NestedP2WPKHInputWeight is for a P2SH output that wraps P2WPKH, which
	// only the host can know.
	NestedP2WPKHInputWeight = P2WPKHInputWeight + 4*(1+22)
	// P2TRInputWeight is for a key path spend.
	P2TRInputWeight = minInputWeight + 1 + (1 + 64)
)

// InputWeight returns the weight of an input that spends the script, where the
// script alone tells it: P2PKH with a compressed key, P2WPKH, and P2TR by the
// key path. Of P2SH, P2WSH and the rest only the host knows what they hide; a
// guess would underpay. Such coins are not selectable without
// [Request.InputWeight].
func InputWeight(script []byte) (weight int64, ok bool) {
	switch n := len(script); {
	case n == 22 && script[0] == 0 && script[1] == 20:
		return P2WPKHInputWeight, true
	case n == 34 && script[0] == 0x51 && script[1] == 32: // OP_1
		return P2TRInputWeight, true
	case n == 25 && string(script[:3]) == "\x76\xa9\x14" && string(script[23:]) == "\x88\xac":
		return P2PKHInputWeight, true // OP_DUP OP_HASH160 20 ... OP_EQUALVERIFY OP_CHECKSIG
	}
	return 0, false
}

// dustThreshold is Bitcoin Core's GetDustThreshold at its default dust relay
// rate of 3000 satoshi per 1000 virtual bytes: three times the size of the
// output and of an input that spends it.
func dustThreshold(script []byte) int64 {
	spend := int64(36 + 1 + 107 + 4)
	if n := len(script); n >= 4 && n <= 42 && (script[0] == 0 || script[0] >= 0x51 && script[0] <= 0x60) && int(script[1]) == n-2 {
		spend = 36 + 1 + 107/4 + 4 // a witness program
	}
	return 3 * (outputWeight(script)/4 + spend)
}

// maxShortCount is the largest number that a count of one byte holds.
const maxShortCount = 252

// maxScript bounds the scripts that come from outside, in bytes.
const maxScript = 10_000

func outputWeight(script []byte) int64 { return 4 * int64(wire.NewTxOut(0, script).SerializeSize()) }

// countWeight is the weight of the number of inputs or outputs.
func countWeight(n int) int64 { return 4 * int64(wire.VarIntSerializeSize(uint64(n))) }

// FeeRate is a price in satoshi per 1000 virtual bytes, as Bitcoin Core's
// CFeeRate: 1000 is one satoshi per virtual byte.
type FeeRate int64

// MaxFeeRate bounds every rate, 10,000 satoshi per virtual byte: above any
// market so far, and far below overflow.
const MaxFeeRate FeeRate = 10_000_000

// Fee returns the fee of a transaction: weight / 4 rounded up to virtual
// bytes, times the rate, rounded up to satoshi.
func (r FeeRate) Fee(weight int64) int64 { return (int64(r)*((weight+3)/4) + 999) / 1000 }

// units is the fee of a part of a transaction without rounding, in 1/4000
// satoshi, the unit in which all comparisons are linear. MaxMoney is 8.4e18 of
// them, so that a sum of existing coins fits an int64.
func (r FeeRate) units(weight int64) int64 { return int64(r) * weight }

// perSatoshi is the number of units in a satoshi.
const perSatoshi = 4000

// Payment is what a transaction has to pay, and what that weighs.
type Payment struct {
	Amount int64 // satoshi, the sum of the outputs
	// Weight of the outputs without change, and of their number with change.
	Weight int64
}

// Pay sums up outputs.
func Pay(outputs ...*wire.TxOut) (Payment, error) {
	p := Payment{Weight: countWeight(len(outputs) + 1)}
	for i, o := range outputs {
		if o == nil || o.Value < 0 || o.Value > utxo.MaxMoney-p.Amount {
			return Payment{}, invalid("output %d has no amount, or the outputs exceed all money", i)
		}
		p.Amount += o.Value
		p.Weight += outputWeight(o.PkScript)
		if p.Weight > maxBlockWeight {
			return Payment{}, invalid("the outputs exceed a block")
		}
	}
	return p, nil
}
