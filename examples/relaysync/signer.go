package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"

	"github.com/settlehq/settle/relaysync"
)

// event is a signed event of nostr.
type event struct {
	ID        string     `json:"id"`
	Pubkey    string     `json:"pubkey"`
	CreatedAt int64      `json:"created_at"`
	Kind      int        `json:"kind"`
	Tags      [][]string `json:"tags"`
	Content   string     `json:"content"`
	Sig       string     `json:"sig"`
}

// hash is the id of an event: the SHA-256 of its canonical array.
func (e *event) hash() ([32]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode([]any{0, e.Pubkey, e.CreatedAt, e.Kind, e.Tags, e.Content})
	return sha256.Sum256([]byte(strings.TrimSuffix(b.String(), "\n"))), err
}

// signer authorises requests with the key of the service.
type signer struct{ key *btcec.PrivateKey }

func newSigner(secret string) (*signer, error) {
	b, err := hex.DecodeString(secret)
	if err != nil || len(b) != 32 {
		return nil, errors.New("a key has 64 hexadecimal digits")
	}
	key, _ := btcec.PrivKeyFromBytes(b)
	return &signer{key}, nil
}

func (s *signer) pubkey() string { return hex.EncodeToString(schnorr.SerializePubKey(s.key.PubKey())) }

// authorize returns the value of the Authorization header (NIP-98).
func (s *signer) authorize(_ context.Context, a relaysync.AuthEvent) (string, error) {
	e := event{Pubkey: s.pubkey(), CreatedAt: a.CreatedAt, Kind: a.Kind, Tags: a.Tags}
	id, err := e.hash()
	if err != nil {
		return "", err
	}
	sig, err := schnorr.Sign(s.key, id[:])
	if err != nil {
		return "", err
	}
	e.ID, e.Sig = hex.EncodeToString(id[:]), hex.EncodeToString(sig.Serialize())
	doc, err := json.Marshal(e)
	return "Nostr " + base64.StdEncoding.EncodeToString(doc), err
}

// authorized checks the header of a request as the server does: the event is of
// this very request, fresh, and signed by the one key that may.
func authorized(q *http.Request, url string, body []byte, pubkey string, now time.Time) error {
	token, ok := strings.CutPrefix(q.Header.Get("Authorization"), "Nostr ")
	if !ok {
		return errors.New("no NIP-98 token")
	}
	doc, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return fmt.Errorf("the token is not base64: %w", err)
	}
	var e event
	if err := json.Unmarshal(doc, &e); err != nil {
		return fmt.Errorf("the token is no event: %w", err)
	}
	id, err := e.hash()
	if err != nil || hex.EncodeToString(id[:]) != e.ID {
		return errors.New("the id is not the event's")
	}
	rawKey, err1 := hex.DecodeString(e.Pubkey)
	rawSig, err2 := hex.DecodeString(e.Sig)
	if err1 != nil || err2 != nil || e.Pubkey != pubkey {
		return errors.New("the key may not do that")
	}
	key, err1 := schnorr.ParsePubKey(rawKey)
	sig, err2 := schnorr.ParseSignature(rawSig)
	if err1 != nil || err2 != nil || !sig.Verify(id[:], key) {
		return errors.New("the signature is not the key's")
	}
	if age := now.Unix() - e.CreatedAt; age < -60 || age > 60 {
		return fmt.Errorf("the event is %d s old", age)
	}
	sum := sha256.Sum256(body)
	want := map[string]string{"u": url, "method": q.Method, "payload": hex.EncodeToString(sum[:])}
	for _, tag := range e.Tags {
		if len(tag) == 2 && want[tag[0]] == tag[1] {
			delete(want, tag[0])
		}
	}
	if e.Kind != relaysync.AuthKind || len(want) > 0 {
		return errors.New("the event is of another request")
	}
	return nil
}
