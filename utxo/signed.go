package utxo

import "github.com/btcsuite/btcd/wire/v2"

// Unsigned returns the inputs that cannot be valid yet: those without a script and
// without a witness, and those whose script is that of a witness program within P2SH
// (BIP 141) while the witness is missing. A witness of empty items alone is none.
//
// The signature of such an input is no part of the hash of its transaction, and may
// come later, see [Submitted]. That every other input has something in the place of
// a signature does not prove that the signature is right. Nodes accept a few outputs
// without script and witness, such as pay-to-anchor: what spends one never counts as
// signed here, and is the host's to broadcast.
func Unsigned(tx *wire.MsgTx) []int {
	var open []int
	for i, in := range tx.TxIn {
		if !signed(in) {
			open = append(open, i)
		}
	}
	return open
}

func signed(in *wire.TxIn) bool {
	for _, item := range in.Witness {
		if len(item) > 0 {
			return true
		}
	}
	return len(in.SignatureScript) > 0 && !nested(in.SignatureScript)
}

// nested reports whether a script is one push of a witness program.
func nested(script []byte) bool {
	n := len(script)
	if n < 5 || n > 43 || int(script[0]) != n-1 || int(script[2]) != n-3 {
		return false
	}
	version := script[1]
	return version == 0 || version >= 0x51 && version <= 0x60
}
