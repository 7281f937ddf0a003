package relaysync

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/settlehq/settle/statemachine"
)

// Request is one HTTP request as data. It carries no secret: where NeedsSecret is set, the sender
// adds a fresh one at the moment of sending.
type Request struct {
	Method      string // POST or PATCH
	Path        string // from the server's base on: /relay/{id}
	Body        []byte // JSON
	NeedsSecret bool
}

// Attempt is a sync as data: its first request, and the one that may follow it.
type Attempt struct {
	Relay    string
	Key      string // the same for every try under one fence
	Requests []Request
}

// Answer is what came of one request: a status from 100 on with the beginning of the body, or
// Status 0 and why there was no answer.
type Answer struct {
	Status int
	Text   string
}

// Attempt builds the requests of a relay: for a new relay a POST, and the PATCH that follows it
// if the relay turns out to exist; otherwise a PATCH. A body that cannot be built, or is larger
// than MaxBody, is ErrInvalid.
func (p Policy) Attempt(s Sync) (Attempt, error) {
	r := &s.Relay
	body, err := p.body(r)
	if err != nil {
		return Attempt{}, fmt.Errorf("%w: relay %s: %w", statemachine.ErrInvalid, r.ID, err)
	}
	a := Attempt{Relay: r.ID, Key: fmt.Sprintf("sync/%s/%d", r.ID, s.Timer.Lease.Fence)}
	path := "/relay/" + escape(r.ID)
	if r.Recreate || IsNew(r.Synced, s.History.Completed) {
		a.Requests = append(a.Requests, Request{Method: "POST", Path: path, Body: encode(body), NeedsSecret: true})
	}
	known, err := r.Sent.parse()
	if err != nil {
		return Attempt{}, err
	}
	if err := known.grow(body, r.room()); err != nil { // the claim could not put them on file
		return Attempt{}, fmt.Errorf("%w: relay %s: %w", statemachine.ErrInvalid, r.ID, err)
	}
	known.nulls(body)
	a.Requests = append(a.Requests, Request{Method: "PATCH", Path: path, Body: encode(body)})
	for _, q := range a.Requests {
		if q.size() > MaxBody {
			return Attempt{}, fmt.Errorf("%w: relay %s: a body of %d bytes, %d are possible", statemachine.ErrInvalid, r.ID, q.size(), MaxBody)
		}
	}
	return a, nil
}

// room is how many paths may be stored before a sync. A sync that begins with a POST by an
// operator's order has room for a whole body beside the paths that the server may know, since its
// success forgets these.
func (r *Relay) room() int {
	if r.Recreate {
		return 2 * MaxPaths
	}
	return MaxPaths
}

func (q *Request) size() int {
	if q.NeedsSecret {
		return len(q.Body) + secretRoom
	}
	return len(q.Body)
}

// Bytes returns the body as it is sent; the same bytes are hashed and signed. The secret must be
// 64 hexadecimal digits in lower case where the request needs one, and empty elsewhere; otherwise
// Bytes returns ErrInvalid. No error shows the secret.
func (q Request) Bytes(secret string) ([]byte, error) {
	if !q.NeedsSecret {
		if secret != "" {
			return nil, fmt.Errorf("%w: a %s carries no secret", statemachine.ErrInvalid, q.Method)
		}
		return q.Body, nil
	}
	if !isHex(secret, 64) || strings.ToLower(secret) != secret {
		return nil, fmt.Errorf("%w: a secret is 64 hexadecimal digits", statemachine.ErrInvalid)
	}
	end := bytes.LastIndexByte(q.Body, '}')
	if end < 2 {
		return nil, fmt.Errorf("%w: the body is no object", statemachine.ErrInvalid)
	}
	return append(bytes.Clone(q.Body[:end]), `,"secret":"`+secret+`"}`...), nil
}

// URL is where a request is sent, and the u of its signature: no query.
func (q Request) URL(base string) string { return strings.TrimRight(base, "/") + q.Path }

// Judge says what follows from the answers so far: the next request, or the outcome of the
// attempt with the text of its error.
//
// Any 409 to a POST is followed by the PATCH: its 200 says that the relay was ours, its 404 that
// the conflict was about another relay. No text is parsed. A redirect counts as any answer that
// is not 2xx. The answer of a gateway that got none from the server is Unknown, since the request
// may still arrive. An attempt without requests has failed: nothing is sent.
func (a Attempt) Judge(answers ...Answer) (next *Request, outcome statemachine.Outcome, text string) {
	if len(a.Requests) == 0 {
		return nil, statemachine.Failed, fmt.Sprintf("%v: an attempt without requests", statemachine.ErrInvalid)
	}
	if len(answers) == 0 {
		return &a.Requests[0], 0, ""
	}
	first, last := answers[0], answers[len(answers)-1]
	conflict := a.Requests[0].NeedsSecret && first.Status == 409
	switch {
	case last.Status == 0:
		return nil, statemachine.Unknown, last.Text
	case last.Status/100 == 2:
		return nil, statemachine.Done, ""
	case conflict && len(answers) == 1 && len(a.Requests) > 1:
		return &a.Requests[1], 0, ""
	case conflict && last.Status == 404:
		last = first
	}
	outcome = statemachine.Failed
	switch last.Status {
	case 502, 504, 520, 522, 524: // bad gateway and its time-out, and what a CDN says in their place
		outcome = statemachine.Unknown
	}
	return nil, outcome, strings.TrimSpace(fmt.Sprintf("status %d: %s", last.Status, last.Text))
}

// body is what is sent of a relay, without the secret.
func (p *Policy) body(r *Relay) (object, error) {
	b := object{
		"host":     r.Subdomain + "." + p.RelayDomain,
		"schema":   r.ID,
		"inactive": r.Status != Active,
	}
	for _, d := range r.documents() {
		doc, err := d.text.parse()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		switch {
		case !d.gated && doc != nil:
			b[d.name] = doc
		case d.gated && d.flag == 1:
			if doc == nil {
				doc = object{}
			}
			doc["enabled"] = true
			b[d.name] = doc
		case d.gated:
			b[d.name] = object{"enabled": false}
		}
	}
	return b, nil
}

// fits checks that the relay can be sent after everything that may have been sent of the old one:
// paths and body must stay within their limits.
func (p *Policy) fits(old, r *Relay) error {
	known, err := old.Sent.parse()
	if err != nil {
		return err
	}
	if old.Version > 0 {
		if body, err := p.body(old); err == nil && known.grow(body, old.room()) != nil {
			known, _ = old.Sent.parse() // nor can it have been sent
		}
	}
	body, err := p.body(r)
	if err != nil {
		return err
	}
	if err := known.grow(body, MaxPaths); err != nil {
		return err
	}
	n := len(encode(body)) + secretRoom
	known.nulls(body)
	if n = max(n, len(encode(body))); n > MaxBody {
		return fmt.Errorf("the body of a request has %d bytes, %d are possible", n, MaxBody)
	}
	return nil
}

// validID is the server's rule for a schema.
func validID(id string) bool {
	if id == "" || len(id) > MaxID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// dnsLabel: letters, digits and inner hyphens, 1 to 63.
func dnsLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func hostName(s string) bool {
	name, port, found := strings.Cut(s, ":")
	if found && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !dnsLabel(label) {
			return false
		}
	}
	return len(s) <= 180
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// escape is for ids of other writers; a valid id has nothing to escape.
func escape(id string) string {
	var b strings.Builder
	for i := range len(id) {
		if c := id[i]; c == '_' || c == '-' || c == '.' || c == '~' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
