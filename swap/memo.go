package swap

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/settlehq/settle/statemachine"
)

// Prefixes of memos. The house writes the others on Solana, and finds its own outbounds again by them. It does not
// write memoProcessed, but reads it.
const (
	memoNexus     = "nexus:"
	memoSend      = "nexus_txid:"
	memoRefund    = "refundSig:"
	memoAside     = "quarantinedSig:"
	memoProcessed = "processedTxid:"
)

// MaxMemoAddress bounds the address in an inbound memo, in bytes.
const MaxMemoAddress = 128

// ParseMemo returns the Nexus address of an inbound memo "nexus:<address>": the
// prefix in any case, the address trimmed, not empty, at most [MaxMemoAddress]
// bytes, without a colon, white space or control characters inside. Anything
// else is [statemachine.ErrInvalid].
func ParseMemo(memo string) (address string, err error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: memo %.50q: %s", statemachine.ErrInvalid, memo, why)
	}
	if len(memo) < len(memoNexus) || !strings.EqualFold(memo[:len(memoNexus)], memoNexus) {
		return bad("it does not begin with nexus:")
	}
	address = strings.TrimSpace(memo[len(memoNexus):])
	switch {
	case address == "":
		return bad("no address")
	case len(address) > MaxMemoAddress:
		return bad("the address is too long")
	case strings.Contains(address, ":") || !word(address, MaxMemoAddress):
		return bad("the address has a colon, white space or control characters")
	}
	return address, nil
}

// WriteMemo returns the memo of an outbound on Solana: "nexus_txid:<txid>" for the send of a credit,
// "refundSig:<sig>" and a reason for the refund of a deposit, and "quarantinedSig:<sig>" for its move to the
// quarantine account.
func WriteMemo(a Action, id string, reason RefundReason) string {
	switch a {
	case Send:
		return memoSend + id
	case Refund:
		if reason != 0 {
			return memoRefund + id + " " + reason.String()
		}
		return memoRefund + id
	}
	return memoAside + id
}

// ReadMemo says which item the memo of an outbound names, and for which action. The id is the text between the exact
// prefix and the first white space; a txid is returned in its one form, see [Credit]. ok is false for any other text.
func ReadMemo(memo string) (d Direction, a Action, id string, ok bool) {
	for _, m := range []struct {
		prefix string
		d      Direction
		a      Action
	}{{memoSend, ToUSDC, Send}, {memoRefund, ToUSDD, Refund}, {memoAside, ToUSDD, Quarantine}, {memoProcessed, ToUSDC, Send}} {
		if token, found := strings.CutPrefix(memo, m.prefix); found {
			if i := strings.IndexFunc(token, unicode.IsSpace); i >= 0 {
				token = token[:i]
			}
			if m.d == ToUSDC {
				token = creditID(token)
			}
			return m.d, m.a, token, word(token, MaxID)
		}
	}
	return 0, 0, "", false
}

// ownMemo reports whether an inbound memo begins with one of the prefixes that only the house writes.
func ownMemo(memo string) bool {
	for _, prefix := range []string{memoSend, memoRefund, memoAside, memoProcessed} {
		if len(memo) >= len(prefix) && strings.EqualFold(memo[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}

// word reports whether s can be an id or an address: 1 to limit bytes of UTF-8
// without white space and control characters.
func word(s string, limit int) bool {
	return s != "" && len(s) <= limit && statemachine.Storable(s) &&
		strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) < 0
}
