package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Feed is the log of one domain: the service of a domain has it.
type Feed[ID comparable] interface {
	Follow(ctx context.Context, after store.Cursor, limit int) ([]statemachine.Transition[ID], store.Cursor, error)
}

// Cursors keep how far a consumer has come, where a host wants it.
type Cursors interface {
	Load(ctx context.Context) (store.Cursor, error) // empty: the beginning
	Save(ctx context.Context, done store.Cursor) error
}

// Plain gives the lines of one domain to fn, in pages of up to 100, where no transaction of the host holds both the
// effect and the cursor. Each line comes at least once, in their order; lines after the last Save come again. Plain
// ends with ctx (nil), or with the first error of the feed, of fn or of cursors. Aggregate and Generation of a line are
// empty: an effect elsewhere gets a key made of the record and of what is posted, which holds across a restore.
func Plain[ID comparable](ctx context.Context, feed Feed[ID], cursors Cursors, fn func(ctx context.Context, lines []Line) error) error {
	at, err := cursors.Load(ctx)
	for err == nil {
		var page []statemachine.Transition[ID]
		var next store.Cursor
		if page, next, err = feed.Follow(ctx, at, 100); err != nil {
			break
		}
		if len(page) == 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(poll):
			}
			continue
		}
		if err = fn(ctx, texts(page)); err == nil {
			at, err = next, cursors.Save(ctx, next)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// texts are the lines of a page with their ids as text.
func texts[ID comparable](page []statemachine.Transition[ID]) []Line {
	lines := make([]Line, len(page))
	for i, l := range page {
		lines[i].Transition = statemachine.Transition[string]{Machine: l.Machine, ID: fmt.Sprint(l.ID), Version: l.Version,
			From: l.From, Trigger: l.Trigger, To: l.To, At: l.At, Actor: l.Actor, Role: l.Role, Trace: l.Trace, Reason: l.Reason, Data: l.Data}
	}
	return lines
}
