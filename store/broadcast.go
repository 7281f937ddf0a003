package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrClosed: the broadcast has ended. Nothing more comes.
var ErrClosed = errors.New("the broadcast is closed")

// LaggedError: a subscriber was too slow, and so many messages are lost to it.
// The next one that it receives comes after them.
type LaggedError struct{ Missed uint64 }

func (e *LaggedError) Error() string { return fmt.Sprintf("%d messages were missed", e.Missed) }

// broadcast sends messages to all subscribers. It never waits for a subscriber: each reads from a ring of the latest
// messages at its own pace, and is told how many messages it has missed. The zero value is not ready: see newBroadcast.
type broadcast[M any] struct {
	mu     sync.Mutex
	ring   []M
	sent   uint64        // messages so far; the ring has the latest of them
	more   chan struct{} // closed when something is sent, or the broadcast ends
	closed bool
}

func newBroadcast[M any](size int) *broadcast[M] {
	return &broadcast[M]{ring: make([]M, size), more: make(chan struct{})}
}

func (b *broadcast[M]) send(messages []M) {
	if len(messages) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for _, m := range messages {
		b.ring[b.sent%uint64(len(b.ring))] = m
		b.sent++
	}
	close(b.more)
	b.more = make(chan struct{})
}

func (b *broadcast[M]) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.more)
	}
}

// subscription receives what is sent after it was made.
type subscription[M any] struct {
	from *broadcast[M]
	at   uint64 // messages that it has had or missed
}

func (b *broadcast[M]) subscribe() *subscription[M] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &subscription[M]{b, b.sent}
}

// receive is [RelaySubscription.Receive].
func (s *subscription[M]) receive(ctx context.Context) (m M, err error) {
	for {
		s.from.mu.Lock()
		size, more := uint64(len(s.from.ring)), s.from.more
		missed := uint64(0)
		if s.from.sent-s.at > size {
			missed = s.from.sent - s.at - size
		}
		s.at += missed
		ready := missed == 0 && s.at < s.from.sent
		if ready {
			m = s.from.ring[s.at%size]
			s.at++
		}
		closed := s.from.closed
		s.from.mu.Unlock()
		switch {
		case missed > 0:
			return m, &LaggedError{missed}
		case ready:
			return m, nil
		case closed:
			return m, ErrClosed
		}
		select {
		case <-more:
		case <-ctx.Done():
			return m, ctx.Err()
		}
	}
}
