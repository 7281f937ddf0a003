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
	// overheadWeight is version and lock time, then witness marker and flag, which a
	// transaction without any witness would not have.
	overheadWeight = 4*(4+4) + 2
)

// Input weights with the largest signature that standard signers make: 72
// bytes for ECDSA with its hash type, 64 for Schnorr with the default one.
const (
	// P2PKHInputWeight: a signature, a compressed key, and the empty witness that the input
	// has when another input has a witness.
	P2PKHInputWeight = minInputWeight + 4*(1+72+1+33) + 1
	// P2WPKHInputWeight: item count, signature, compressed key.
	P2WPKHInputWeight = minInputWeight + 1 + (1 + 72) + (1 + 33)
	// NestedP2WPKHInputWeight is for a P2SH output that wraps P2WPKH. The script does not
	// show what it wraps; only the host can know.
	NestedP2WPKHInputWeight = P2WPKHInputWeight + 4*(1+22)
	// P2TRInputWeight is for a key path spend.
	P2TRInputWeight = minInputWeight + 1 + (1 + 64)
)

// InputWeight returns the weight of an input that spends the script, where the script alone
// tells it: P2PKH with a compressed key, P2WPKH, and P2TR by the key path. For P2SH, P2WSH
// and all others it returns false, since only the host knows the script behind the hash,
// and a guess could underpay. Coins of such scripts are not selectable without
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

// DefaultDustRelay is the dust relay fee of Bitcoin Core (-dustrelayfee).
const DefaultDustRelay FeeRate = 3000

// DustThreshold returns the smallest amount, in satoshi, that nodes with this dust relay
// fee accept in an output of the script. It is Bitcoin Core's GetDustThreshold: the fee, at
// that rate, of the output and of an input that spends it (67 virtual bytes for a witness
// program, else 148). At [DefaultDustRelay] it is 294 for P2WPKH, 330 for P2WSH and P2TR,
// 546 for P2PKH. It is 0 for an output that nobody can spend, such as OP_RETURN.
func DustThreshold(script []byte, relay FeeRate) int64 { return relay.Fee(4 * dustSize(script)) }

// dustSize is the size, in virtual bytes, of an output together with an input that spends
// it, as Bitcoin Core's GetDustThreshold counts; 0 if nothing can spend the output.
func dustSize(script []byte) int64 {
	const opReturn = 0x6a
	n := len(script)
	if n > maxScript || n > 0 && script[0] == opReturn {
		return 0
	}
	spend := int64(36 + 1 + 107 + 4)
	if n >= 4 && n <= 42 && (script[0] == 0 || script[0] >= 0x51 && script[0] <= 0x60) && int(script[1]) == n-2 {
		spend = 36 + 1 + 107/4 + 4 // a witness program
	}
	return outputWeight(script)/4 + spend
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

// MaxFeeRate bounds every rate. It is 10,000 satoshi per virtual byte: above any market so
// far, and far below overflow.
const MaxFeeRate FeeRate = 10_000_000

// Fee returns the fee of a transaction: weight / 4 rounded up to virtual
// bytes, times the rate, rounded up to satoshi.
func (r FeeRate) Fee(weight int64) int64 { return (int64(r)*((weight+3)/4) + 999) / 1000 }

// units is the fee of a part of a transaction without rounding, in 1/4000 satoshi: in this
// unit all comparisons are linear. MaxMoney is 8.4e18 units, so the sum of all existing
// coins fits an int64.
func (r FeeRate) units(weight int64) int64 { return int64(r) * weight }

// perSatoshi is the number of units in a satoshi.
const perSatoshi = 4000

// Payment is what a transaction has to pay, and what that weighs.
type Payment struct {
	Amount int64 // satoshi, the sum of the outputs
	// Weight of the outputs without change, and of their number with change.
	Weight int64

	// least is the output that is dust at the lowest dust relay fee; zero for none. An
	// output is dust if it has less satoshi per virtual byte than the fee, so no other
	// output has to be looked at.
	least struct {
		index            int
		amount, size, of int64 // of: the sum of the outputs
	}
}

// Pay sums up outputs, and remembers the output that becomes dust first: [Select] refuses
// it if it is below the threshold, see [*DustError]. A Payment whose Amount the host sets
// itself is not tested for dust.
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
		if o.Value >= DustThreshold(o.PkScript, MaxFeeRate) { // whatever the node
			continue
		}
		if l, size := &p.least, dustSize(o.PkScript); l.size == 0 || o.Value*l.size < l.amount*size {
			l.index, l.amount, l.size = i, o.Value, size
		}
	}
	p.least.of = p.Amount
	return p, nil
}

// dust refuses a payee below the dust threshold.
func (p Payment) dust(relay FeeRate) error {
	if least := relay.Fee(4 * p.least.size); p.least.amount < least && p.least.of == p.Amount {
		return &DustError{Output: p.least.index, Amount: p.least.amount, Least: least}
	}
	return nil
}
