package sqlstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// sentTexts are the statements that were sent to a server, BEGIN and COMMIT included.
type sentTexts struct {
	mu  sync.Mutex
	all []string
}

func (s *sentTexts) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, q.SQL)
	return ctx
}

func (*sentTexts) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// take returns what was sent since the last call.
func (s *sentTexts) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// Each statement is a round trip to the server. A withdrawal that is paid alone has five
// transactions, and what each writes is one statement; what each sends is counted, so that
// it does not grow unseen.
func TestTheRoundTripsOfAWithdrawal(t *testing.T) {
	pgtest.Beside(t)
	ctx := context.Background()
	b := newBank(t, sqlstore.Postgres, withdrawal.HotWallet{ID: named("payer"), Chain: named("no nonces")})
	config, err := pgx.ParseConfig(b.database.url)
	if err != nil {
		t.Fatal(err)
	}
	sent := new(sentTexts)
	config.Tracer = sent
	b.database.DB = stdlib.OpenDB(*config)
	t.Cleanup(func() { b.database.Close() })
	b.Store = b.database.open(t)
	b.serve(t)
	chain := named("no nonces")
	source := b.Payments(chain, "worker")
	var item withdrawal.Withdrawal
	held := func(ev withdrawal.Event) error {
		ws, err := b.DoHeld(ctx, store.HeldWithdrawal{Withdrawal: item, Events: []withdrawal.Event{ev}})
		if err == nil {
			item = ws[0]
		}
		return err
	}
	steps := []struct {
		name string
		most int
		run  func() error
	}{
		{"submission", 8, func() error { _, err := b.DoAll(ctx, b.enqueued(chain, 1)...); return err }},
		{"claim", 9, func() error {
			items, _, err := source.Turn(ctx, nil, 1)
			if err == nil {
				item = items[0].Work
			}
			return err
		}},
		{"intent", 6, func() error { return held(prepared(&item)) }},
		{"broadcast", 2, func() error { return held(broadcast(&item)) }},
		{"confirmation", 2, func() error { return held(mined(&item)) }},
	}
	for first := range 2 {
		sent.take()
		for _, step := range steps {
			if err := step.run(); err != nil {
				t.Fatal(step.name, err)
			}
			if texts := sent.take(); first > 0 && len(texts) > step.most { // a process asks more at its first one
				t.Errorf("%s: %d statements, more than %d:\n%s", step.name, len(texts), step.most, strings.Join(texts, "\n"))
			}
		}
	}
}
