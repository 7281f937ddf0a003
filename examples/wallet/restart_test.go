package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/memory"
)

// cutStore cancels a context around its n-th transaction: before it, or after
// it has committed.
type cutStore struct {
	store.Store[store.Unit]
	n      int
	after  bool
	cancel context.CancelFunc
}

func (c *cutStore) cut(run func() error) error {
	c.n--
	if c.n == 0 && !c.after {
		c.cancel()
	}
	err := run()
	if c.n == 0 && c.after {
		c.cancel()
	}
	return err
}

func (c *cutStore) Update(ctx context.Context, fn func(store.Unit) error) error {
	return c.cut(func() error { return c.Store.Update(ctx, fn) })
}

func (c *cutStore) View(ctx context.Context, fn func(store.Unit) error) error {
	return c.cut(func() error { return c.Store.View(ctx, fn) })
}

// Wherever the program ends, in the reorg too, it goes on from there.
func TestCutAroundEachTransactionContinues(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-watch", "all", "-reorg", "220", "-json"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := show(t.Context(), memory.New(memory.Options{}), o, &want, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, after := range []bool{false, true} {
		for n, whole := 1, false; !whole; n++ {
			db := memory.New(memory.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			cut := &cutStore{Store: db, n: n, after: after, cancel: cancel}
			err := show(ctx, cut, o, io.Discard, io.Discard)
			whole = cut.n > 0
			if cancel(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("cut at %d: %v", n, err)
			}
			service, err := store.NewWallets(db, o.watch.policy())
			if err != nil {
				t.Fatal(err)
			}
			if n > 1 {
				if err := service.Audit(t.Context(), walletID); err != nil {
					t.Fatalf("cut at %d: %v", n, err)
				}
			}
			var got bytes.Buffer
			if err := show(t.Context(), db, o, &got, io.Discard); err != nil {
				t.Fatalf("after a cut at %d: %v", n, err)
			}
			if got.String() != want.String() {
				t.Fatalf("after a cut at %d: %s, want %s", n, &got, &want)
			}
		}
	}
}

func TestCutAtARandomMomentContinues(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, run runner) {
		for range 8 {
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(150*time.Millisecond))
			if err := run(ctx, io.Discard, io.Discard, "-watch", "all"); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			cancel()
		}
		_, blocks := decodeFile(t, firstBlocks)
		want := count(blocks, func([]byte) bool { return true })
		if got := run.end(t, "-watch", "all"); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// A killed process is worse than a cancelled context: it cleans nothing up.
func TestKilledProcessContinues(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "wallet.db")
	for range 8 {
		program := exec.Command(os.Args[0], "-db", db, "-watch", "all", "-reorg", "220")
		program.Env = append(os.Environ(), asProgram+"=1")
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20*time.Millisecond + rand.N(250*time.Millisecond))
		_ = program.Process.Kill()
		_ = program.Wait()
	}
	_, blocks := decodeFile(t, firstBlocks)
	want := count(blocks, func([]byte) bool { return true })
	if got := on(db).end(t, "-watch", "all"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
