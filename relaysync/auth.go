package relaysync

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// AuthKind is the kind of the event that authorises a request (NIP-98).
const AuthKind = 27235

// AuthEvent is what the host's signer signs for one request, with empty content and the tags in
// this order. In the Authorization header "Nostr " precedes the signed event, as JSON in base64.
type AuthEvent struct {
	Kind      int
	CreatedAt int64 // unix seconds of this very request
	Tags      [][]string
}

// Auth is the event for a request that is sent now. It has the URL as it is sent, the method, and
// the SHA-256 of the bytes that are sent.
func Auth(method, url string, body []byte, now time.Time) AuthEvent {
	sum := sha256.Sum256(body)
	return AuthEvent{Kind: AuthKind, CreatedAt: now.Unix(), Tags: [][]string{
		{"u", url}, {"method", method}, {"payload", hex.EncodeToString(sum[:])},
	}}
}
