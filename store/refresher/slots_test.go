package refresher

import (
	"context"
	"testing"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// A stop gives slots back. A slot whose round hung is given back as hung, so that the next
// process that serves the wallet lets it rest.
func TestAStopKeepsThePauseOfAHungRound(t *testing.T) {
	ctx := context.Background()
	service, err := store.NewRefreshes(memory.New(memory.Options{}), refresh.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	s := &slots{service: service, policy: service.Policy(), name: "w1", all: map[string]*slot{}}
	for _, xpub := range []string{"hung", "not"} {
		_, err := service.Enqueue(ctx, refresh.Enqueued{By: refresh.By{Actor: "api", Role: refresh.API}, Cause: refresh.Sync,
			Credentials: refresh.Credentials{XpubVan: xpub, XpubCol: "b", MasterFingerprint: "c"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	turned, err := service.Turn(ctx, "w1", nil, 2)
	if err != nil || len(turned.Claimed) != 2 {
		t.Fatalf("%+v, %v", turned, err)
	}
	for _, h := range turned.Claimed {
		if h.XpubVan == "hung" {
			h.End = refresh.EndHung // and the turn that was to store it met another transaction
		}
		s.all[h.XpubVan] = &slot{held: h}
	}
	if err := s.release(ctx); err != nil {
		t.Fatal(err)
	}
	for xpub, rounds := range map[string]int32{"hung": 1, "not": 0} {
		w, err := service.Get(ctx, xpub)
		if err != nil || w.Wallet.HungRounds != rounds || w.Wallet.Status != refresh.Unserved || w.Wallet.NotBefore.IsZero() != (rounds == 0) {
			t.Errorf("%+v, %v", w.Wallet, err)
		}
	}
}
