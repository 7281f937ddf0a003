package pgtest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Slow is a way to a server on which connections are made one after another and each
// takes a time, also those whose client has left: a server with too much to do.
type Slow struct {
	URL  string
	Made atomic.Int64 // connections that clients asked for, so far
	Cost atomic.Int64 // of the next one, in nanoseconds

	network, address string
	mu               sync.Mutex
	open             []net.Conn
	closed           bool
}

// NewSlow returns a way to the server at a URL, to the end of the test.
func NewSlow(t testing.TB, server string, cost time.Duration) *Slow {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Slow{network: "tcp", address: u.Host}
	s.Cost.Store(int64(cost))
	q := u.Query()
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	if host := q.Get("host"); host != "" {
		s.network, s.address = "unix", host+"/.s.PGSQL."+port
	} else if u.Port() == "" {
		s.address = net.JoinHostPort(u.Hostname(), port)
	}
	q.Del("host")
	u.Host, u.RawQuery = listener.Addr().String(), q.Encode()
	s.URL = u.String()
	var serving sync.WaitGroup
	serving.Go(func() { s.serve(listener) })
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.Cut()
		serving.Wait()
	})
	return s
}

// serve makes one connection after another.
func (s *Slow) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		s.Made.Add(1)
		time.Sleep(time.Duration(s.Cost.Load()))
		server, err := net.Dial(s.network, s.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		s.mu.Lock()
		s.open = append(s.open, client, server)
		closed := s.closed
		s.mu.Unlock()
		if closed {
			s.Cut()
		}
		pipe := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			_, _ = to.Close(), from.Close()
		}
		go pipe(server, client)
		go pipe(client, server)
	}
}

// Cut ends all connections that there are.
func (s *Slow) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		_ = c.Close()
	}
	s.open = nil
}
