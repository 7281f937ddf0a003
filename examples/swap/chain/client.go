package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/settlehq/settle/examples/internal/direct"
)

// Client talks to a chain.
type Client struct {
	URL  string
	http http.Client
}

// NewClient waits for an answer as long as patience.
func NewClient(url string, patience time.Duration) *Client {
	return &Client{URL: url, http: http.Client{Timeout: patience}}
}

// Client returns a client of a chain in the same process: its calls go through no network, and
// their answers are lost all the same.
func (c *Chain) Client(patience time.Duration) *Client {
	return &Client{URL: "http://" + c.Name, http: http.Client{Timeout: patience, Transport: direct.Transport{To: c}}}
}

// ErrRefused: the chain did not take it, for certain.
var ErrRefused = errors.New("refused")

func (c *Client) call(ctx context.Context, path string, body, into any) error {
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		line, err := json.Marshal(body)
		if err != nil {
			return err
		}
		method, content = http.MethodPost, bytes.NewReader(line)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, content)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusConflict {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		return fmt.Errorf("%w: %s", ErrRefused, bytes.TrimSpace(text))
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the chain answers %s", answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// Send hands a transfer over and returns its id. Any error but [ErrRefused] means
// that nobody knows.
func (c *Client) Send(ctx context.Context, s Sent) (id string, err error) {
	err = c.call(ctx, "/send", s, &id)
	return id, err
}

// Receive is what comes in from outside.
func (c *Client) Receive(ctx context.Context, t Transfer) error {
	var height uint64
	return c.call(ctx, "/receive", t, &height)
}

// Status looks an outbound up, by signature or "reference N".
func (c *Client) Status(ctx context.Context, key string) (s Status, err error) {
	err = c.call(ctx, "/status?id="+url.QueryEscape(key), nil, &s)
	return s, err
}

// Height of the chain.
func (c *Client) Height(ctx context.Context) (height uint64, err error) {
	err = c.call(ctx, "/height", nil, &height)
	return height, err
}

// History is all that the vault sent (own) or got, and how much it sent that is in
// no block yet.
func (c *Client) History(ctx context.Context, own bool) (all []Status, waiting int, height uint64, err error) {
	var answer struct {
		Height  uint64
		Waiting int
		All     []Status
	}
	err = c.call(ctx, fmt.Sprint("/history?own=", own), nil, &answer)
	return answer.All, answer.Waiting, answer.Height, err
}
