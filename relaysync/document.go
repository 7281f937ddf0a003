package relaysync

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/settlehq/settle/statemachine"
)

// Document is the text of a JSON object without null, or empty for none. A stored Document has
// its keys in order and no white space.
type Document string

// Paths are the paths that a server may know of one relay after all requests so far. They are a JSON
// object with the keys that were sent, nested as they were sent, down to the first value that is no
// object.
type Paths string

type object = map[string]any

// maxDepth bounds how deep objects and arrays of a document nest.
const maxDepth = 32

var errNull = errors.New("a document has no null: to leave a key out removes it at the server")

// documents names the documents in the order of the columns.
func (c *Config) documents() []struct {
	name  string
	text  *Document
	gated bool
	flag  int64
} {
	return []struct {
		name  string
		text  *Document
		gated bool
		flag  int64
	}{
		{"info", &c.Info, false, 0}, {"policy", &c.Policy, false, 0}, {"groups", &c.Groups, false, 0},
		{"management", &c.Management, false, 0}, {"push", &c.Push, false, 0}, {"roles", &c.Roles, false, 0},
		{"blossom", &c.Blossom, true, c.BlossomEnabled}, {"livekit", &c.Livekit, true, c.LivekitEnabled},
	}
}

// canonical checks the documents and brings them to their stored form.
func (c Config) canonical() (Config, error) {
	for _, d := range c.documents() {
		doc, err := d.text.parse()
		if err != nil {
			return c, fmt.Errorf("%s: %w", d.name, err)
		}
		if d.text == &c.Info {
			if key, ok := doc["pubkey"].(string); !ok || !isHex(key, 64) {
				return c, errors.New("info: a pubkey of 64 hexadecimal digits is needed")
			}
		}
		if doc != nil {
			*d.text = Document(encode(doc))
		}
	}
	return c, nil
}

// parse returns nil for no document.
func (d Document) parse() (object, error) {
	if d == "" {
		return nil, nil
	}
	if len(d) > MaxBody || !statemachine.Storable(string(d)) {
		return nil, fmt.Errorf("a document is text of at most %d bytes", MaxBody)
	}
	doc, err := decode(string(d))
	if err != nil {
		return nil, err
	}
	return doc, check(doc, maxDepth)
}

// check refuses null, and what is too deep.
func check(v any, depth int) error {
	if depth == 0 {
		return fmt.Errorf("a document nests at most %d deep", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		return errNull
	case object:
		for _, inner := range v {
			if err := check(inner, depth-1); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := check(inner, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode keeps numbers as they are written.
func decode(text string) (object, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errors.New("a document is JSON") // the decoder's text may quote a credential
	}
	doc, ok := v.(object)
	if _, err := d.Token(); !ok || !errors.Is(err, io.EOF) {
		return nil, errors.New("a document is one JSON object")
	}
	return doc, nil
}

// encode writes keys in order, without white space.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // maps, slices, texts, numbers and truths can be written
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// tree is a parsed [Paths].
type tree map[string]tree

func (p Paths) parse() (tree, error) {
	t := tree{}
	if p == "" {
		return t, nil
	}
	if err := json.Unmarshal([]byte(p), &t); err != nil {
		return nil, fmt.Errorf("%w: the paths that were sent are unreadable", statemachine.ErrCorrupt)
	}
	return t, nil
}

func (t tree) text() Paths { return Paths(encode(t)) } // its names fit: a PATCH has them all

// grow adds the paths of a body. It fails if new paths would make more than room in all; after an
// error t must not be used.
func (t tree) grow(body object, room int) error {
	before := t.count()
	t.add(body)
	if n := t.count(); n > room && n > before {
		return fmt.Errorf("%d different paths were or would be sent, %d are possible: "+
			"after an operator's Recreated and its sync those that are gone are free", n, room)
	}
	return nil
}

func (t tree) add(body object) {
	for k, v := range body {
		below := t[k]
		if below == nil {
			below = tree{}
			t[k] = below
		}
		if v, ok := v.(object); ok {
			below.add(v)
		}
	}
}

func (t tree) count() int {
	n := len(t)
	for _, below := range t {
		n += below.count()
	}
	return n
}

// nulls sets null in body for each path in t that body no longer has, at the highest place possible,
// since a merge at the server then removes everything below. Arrays, and values that were an object
// before and are none now, are replaced as a whole.
func (t tree) nulls(body object) { t.null(body, true) }

func (t tree) null(body object, top bool) {
	for k, below := range t {
		v, ok := body[k]
		switch inner, is := v.(object); {
		case top && k == "secret":
		case !ok:
			body[k] = nil
		case is:
			below.null(inner, false)
		}
	}
}

// Redact is [Redact] with the relay's own credentials and other secrets. A sender calls it on the
// relay that it has sent: a later change may have replaced the credentials.
func (r *Relay) Redact(text string, secrets ...string) string {
	return Redact(text, append(r.credentials(), secrets...)...)
}

// credentials are the texts in the settings of blossom and livekit that must not be readable in
// an error: those under a key whose name mentions a key, a secret, a token or a password.
func (r *Relay) credentials() []string {
	var found []string
	var walk func(v any, under bool)
	walk = func(v any, under bool) {
		switch v := v.(type) {
		case object:
			for k, inner := range v {
				k = strings.ToLower(k)
				walk(inner, under || strings.Contains(k, "key") || strings.Contains(k, "secret") || strings.Contains(k, "token") ||
					strings.Contains(k, "pass"))
			}
		case []any:
			for _, inner := range v {
				walk(inner, under)
			}
		case string:
			if under {
				found = append(found, v)
			}
		case json.Number:
			if under {
				found = append(found, v.String())
			}
		}
	}
	for _, d := range []Document{r.Blossom, r.Livekit} {
		if doc, err := d.parse(); err == nil && doc != nil {
			walk(doc, false)
		}
	}
	return found
}
