package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/settlehq/settle/examples/internal/direct"
)

// Client calls a node. An [Error] is the node's answer; after any other error
// nobody knows whether the call was done. It is safe for concurrent use.
type Client struct {
	url  string
	http http.Client
}

// NewClient returns a client that waits for an answer up to patience.
func NewClient(url string, patience time.Duration) *Client {
	return &Client{url, http.Client{Timeout: patience}}
}

// Client returns a client of a node in the same process: its calls go through no
// network, and are lost, slow or garbled all the same.
func (n *Node) Client(patience time.Duration) *Client {
	return &Client{"http://node", http.Client{Timeout: patience, Transport: direct.Transport{To: n}}}
}

// Status asks how the node is.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, "status", struct{}{}, &s)
}

// Misbehave tells the node how to misbehave from now on.
func (c *Client) Misbehave(ctx context.Context, f Faults) error {
	var done bool
	return c.call(ctx, "misbehave", f, &done)
}

// Account asks for the state of an address.
func (c *Client) Account(ctx context.Context, address string) (a Account, err error) {
	return a, c.call(ctx, "account", map[string]any{"address": address}, &a)
}

// Send hands signed bytes to the node. Bytes that it has already are no error.
func (c *Client) Send(ctx context.Context, raw []byte) error {
	var hash string
	err := c.call(ctx, "send", map[string]any{"raw": json.RawMessage(raw)}, &hash)
	if err == nil && hash != HashOf(raw) {
		return fmt.Errorf("the node took %.100q for %s", hash, HashOf(raw))
	}
	return err
}

// Transaction looks one up.
func (c *Client) Transaction(ctx context.Context, hash string) (f Found, err error) {
	err = c.call(ctx, "transaction", map[string]any{"hash": hash}, &f)
	if err == nil && f.Known && f.Hash != hash {
		return f, errors.New("the node answered for another transaction")
	}
	return f, err
}

// Nonce asks which mined transaction used a nonce.
func (c *Client) Nonce(ctx context.Context, address string, nonce uint64) (f Found, err error) {
	return f, c.call(ctx, "nonce", map[string]any{"address": address, "nonce": nonce}, &f)
}

func (c *Client) call(ctx context.Context, method string, params, result any) error {
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	body, err := json.Marshal(request{"2.0", 1, method, p})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.GetBody = nil // the transport must not send a call twice by itself
	r.Header.Set("Content-Type", "application/json")
	reply, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("%s: no answer: %w", method, err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxMessage+1))
	if err != nil {
		return fmt.Errorf("%s: half an answer: %w", method, err)
	}
	answer := struct {
		ID     uint64          `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *Error          `json:"error"`
	}{}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil || reply.StatusCode != http.StatusOK || len(text) > maxMessage || answer.ID != 1:
		return fmt.Errorf("%s: an answer that cannot be read, with status %d", method, reply.StatusCode)
	case answer.Error != nil:
		return answer.Error
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("%s: an answer that cannot be read: %w", method, err)
	}
	return nil
}
