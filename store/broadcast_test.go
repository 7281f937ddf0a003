package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBroadcast(t *testing.T) {
	b := newBroadcast[int](4)
	b.send([]int{-1}) // before anybody listens
	early := b.subscribe()
	receive := func(s *subscription[int], want int) {
		t.Helper()
		if got, err := s.receive(context.Background()); err != nil || got != want {
			t.Fatalf("received %d, %v, expected %d", got, err, want)
		}
	}
	lagged := func(s *subscription[int], want uint64) {
		t.Helper()
		var e *LaggedError
		if _, err := s.receive(context.Background()); !errors.As(err, &e) || e.Missed != want {
			t.Fatalf("got error %v, expected %d missed", err, want)
		}
	}
	b.send([]int{1, 2, 3, 4}) // as many as there is room for
	receive(early, 1)
	late := b.subscribe()
	b.send([]int{5, 6})
	lagged(early, 1)
	for want := 3; want <= 6; want++ {
		receive(early, want)
	}
	receive(late, 5)
	b.send([]int{7, 8, 9, 10, 11, 12})
	lagged(late, 3)
	lagged(early, 2)
	for want := 9; want <= 12; want++ {
		receive(late, want)
	}
	b.send(nil)
	b.close()
	b.close()
	b.send([]int{13})
	for want := 9; want <= 12; want++ { // what is left comes before the end
		receive(early, want)
	}
	for _, s := range []*subscription[int]{early, late, b.subscribe()} {
		for range 2 {
			if _, err := s.receive(context.Background()); !errors.Is(err, ErrClosed) {
				t.Fatalf("got error %v, expected the end", err)
			}
		}
	}
}

func TestReceiveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroadcast[int](1)
		s := b.subscribe()
		go func() {
			time.Sleep(time.Second)
			b.send([]int{1})
			time.Sleep(time.Second)
			b.close()
		}()
		if m, err := s.receive(context.Background()); m != 1 || err != nil {
			t.Fatal(m, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := s.receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if _, err := s.receive(context.Background()); !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	})
}
