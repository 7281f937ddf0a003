// Package direct connects an HTTP client to a handler in the same process. The simulated nodes of
// the examples are called through it, so that they need no network.
package direct

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Transport sends requests to a handler. A handler that panics with [http.ErrAbortHandler] has cut
// the connection: the caller gets an error and no answer.
type Transport struct{ To http.Handler }

// RoundTrip implements [http.RoundTripper].
func (d Transport) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			answer, err = nil, errors.New("the connection was cut")
		} else if p != nil {
			panic(p)
		}
	}()
	w := &written{Response: http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}}
	d.To.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil { // the caller waited no longer
		return nil, err
	}
	w.Body = io.NopCloser(&w.text)
	return &w.Response, nil
}

// written is an answer that a handler writes.
type written struct {
	http.Response
	text bytes.Buffer
}

func (w *written) Header() http.Header                  { return w.Response.Header }
func (w *written) WriteHeader(status int)               { w.StatusCode = status }
func (w *written) Write(text []byte) (n int, err error) { return w.text.Write(text) }
