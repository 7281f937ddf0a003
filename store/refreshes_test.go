package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// A failure to enqueue goes to the caller's log and does not fail the request.
func TestEnqueueLogged(t *testing.T) {
	s, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	ev := refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Credentials: refresh.Credentials{XpubVan: "a", XpubCol: "b", MasterFingerprint: "c"}, Cause: refresh.Sync}
	if id := s.EnqueueLogged(context.Background(), ev, log); id == uuid.Nil || out.Len() > 0 {
		t.Errorf("%v %s", id, out.Bytes())
	}
	ev.XpubVan = ""
	if id := s.EnqueueLogged(context.Background(), ev, log); id != uuid.Nil || !strings.Contains(out.String(), "invalid input") {
		t.Errorf("%v %s", id, out.Bytes())
	}
	if _, err := s.Enqueue(context.Background(), ev); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.Config{}); !errors.Is(err, statemachine.ErrInvalid) {
		t.Error(err)
	}
}
