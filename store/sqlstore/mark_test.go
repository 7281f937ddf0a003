package sqlstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/withdrawal"
)

// brokenMark is a mark that cannot be read, or has a text of somebody else.
type brokenMark struct {
	text string
	err  error
}

func (m brokenMark) Get(context.Context) (string, error) { return m.text, m.err }
func (m brokenMark) Put(context.Context, string) error   { return errors.New("a broken mark is put") }

// recovers asserts that a mark has stopped everything.
func (b *bank) recovers(t *testing.T, why string) {
	t.Helper()
	for _, s := range []switches.Scope{switches.Chain(chain1), switches.Charges} {
		if is, err := switchOf(t, b.database).State(context.Background(), s); err != nil || !is.Recovering || is.Level != switches.Send || is.Generation != 1 {
			t.Errorf("%s: %s is %+v, %v", why, s, is, err)
		}
	}
	if claimed, err := b.offered(context.Background()); err != nil || len(claimed) != 0 {
		t.Errorf("%s: %d are offered, %v", why, len(claimed), err)
	}
	if rows, generation := b.place(t); rows != 2 || generation != 1 {
		t.Errorf("%s: %d places, generation %d", why, rows, generation)
	}
}

// A database that lacks the line of the mark begins nothing, once it was opened; one that has the line goes on.
func TestAMarkOutsideTellsThatTheDatabaseWasPutBack(t *testing.T) {
	ctx := context.Background()
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		mark := sqlstore.MarkFile(filepath.Join(t.TempDir(), "mark"))
		_, db := newStore(t, d)
		_, other := newStore(t, d)
		db.opts.Mark = mark
		wallet := withdrawal.HotWallet{ID: named("wallet 1"), Chain: chain1}
		b := bankOf(t, db, db.open(t), wallet)
		b.goes(t, "first")
		if wait, err := b.KeepMark(ctx); err != nil || wait != 15*time.Second {
			t.Fatal(wait, err)
		}
		b.goes(t, "after the mark")
		b.over(t, db, db.open(t)).goes(t, "opened anew")
		if rows, _ := db.place(t); rows != 1 {
			t.Errorf("%d places", rows)
		}

		before := bankOf(t, other, other.open(t), wallet)
		before.goes(t, "a database that has no mark")
		other.opts.Mark = mark
		is := before.over(t, other, other.open(t))
		is.recovers(t, "the mark is of another database")
		refused := func(b *bank) {
			t.Helper()
			order := b.submission(chain1)
			if _, err := b.Do(ctx, order.Request, order); !errors.Is(err, store.ErrRestored) {
				t.Errorf("a process that was connected before writes: %v", err)
			}
		}
		refused(before)
		before.over(t, other, other.open(t)).recovers(t, "opened once more")
		if _, err := b.KeepMark(ctx); !errors.Is(err, store.ErrRestored) { // the mark is the other's now
			t.Errorf("a living process that finds itself without the mark: %v", err)
		}
		refused(b)
		b.over(t, db, db.open(t)).recovers(t, "the process started anew")
	})
}

// A copy of a file that lacks what the mark names is told, and one that is younger than the mark cannot be.
func TestACopyIsOlderOrYoungerThanTheMark(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	_, db := newStore(t, sqlstore.SQLite)
	db.opts.Mark = sqlstore.MarkFile(filepath.Join(dir, "mark"))
	b := bankOf(t, db, db.open(t), withdrawal.HotWallet{ID: named("wallet 1"), Chain: chain1})
	copied := func(name string) database {
		t.Helper()
		path := filepath.Join(dir, name)
		if _, err := db.Exec("VACUUM INTO ?", path); err != nil {
			t.Fatal(err)
		}
		return database{openFile(t, path), db.dialect, db.opts, pgtest.FileURL(path)}
	}
	b.goes(t, "first")
	older := copied("older")
	b.goes(t, "behind the copy")
	if _, err := b.KeepMark(ctx); err != nil {
		t.Fatal(err)
	}
	younger := copied("younger")
	b.goes(t, "behind the mark")
	b.over(t, younger, younger.open(t)).goes(t, "the copy has the line of the mark")
	if _, err := b.KeepMark(ctx); err != nil { // the younger copy has put the same line
		t.Fatal(err)
	}
	b.over(t, older, older.open(t)).recovers(t, "the copy lacks the line of the mark")

	ahead := copied("ahead")
	ahead.opts.Mark = sqlstore.MarkFile(filepath.Join(dir, "of a clock that was ahead"))
	if err := ahead.opts.Mark.Put(ctx, "2999-01-01T00:00:00Z 0 1.1-0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	b.over(t, ahead, ahead.open(t)).recovers(t, "the clock was ahead when the mark was put")

	// A person has said it first: the mark says it no second time, and what was told meanwhile counts.
	said := copied("said")
	b.goes(t, "behind the copy that is told")
	db.opts.Mark = sqlstore.MarkFile(filepath.Join(dir, "another mark"))
	b.over(t, db, db.open(t))
	said.opts.Mark = db.opts.Mark
	said.restored(t, burned(1))
	b.over(t, said, said.open(t)).recovers(t, "a person has told of the restore")
}

// The mark names the newest line, whatever other transaction has been open for long.
func TestAMarkIsOfTheNewestLine(t *testing.T) {
	ctx := context.Background()
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		_, db := newStore(t, d)
		db.opts.Mark = sqlstore.MarkFile(filepath.Join(t.TempDir(), "mark"))
		b := bankOf(t, db, db.open(t), withdrawal.HotWallet{ID: named("wallet 1"), Chain: chain1})
		if d == sqlstore.Postgres {
			long, err := db.BeginTx(ctx, nil)
			if err == nil {
				_, err = long.Exec("SELECT pg_current_xact_id()")
			}
			if err != nil {
				t.Fatal(err)
			}
			defer long.Rollback()
		}
		var marks []string
		for range 2 {
			b.goes(t, "a line more")
			if _, err := b.KeepMark(ctx); err != nil {
				t.Fatal(err)
			}
			text, err := db.opts.Mark.Get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			marks = append(marks, text[strings.LastIndex(text, " ")+1:])
		}
		if marks[0] == marks[1] || len(marks[0]) < 20 {
			t.Errorf("the marks are %v", marks)
		}
	})
}

// What cannot be compared is not opened.
func TestAMarkThatCannotBeReadOpensNothing(t *testing.T) {
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		s, db := newStore(t, d)
		if _, err := s.KeepMark(context.Background()); !errors.Is(err, statemachine.ErrInvalid) {
			t.Errorf("no mark is kept: %v", err)
		}
		boom := errors.New("boom")
		for name, tt := range map[string]struct {
			mark brokenMark
			want error
		}{
			"no answer":               {brokenMark{err: boom}, boom},
			"a text of somebody else": {brokenMark{text: "hello"}, statemachine.ErrInvalid},
			"another text":            {brokenMark{text: "2026-03-01T00:00:00Z x 1.1-0123456789abcdef"}, statemachine.ErrInvalid},
			"no cursor":               {brokenMark{text: "2026-03-01T00:00:00Z 0 hello"}, statemachine.ErrInvalid},
			"more than a mark":        {brokenMark{text: "2026-03-01T00:00:00Z 0 1.1-0123456789abcdef x"}, statemachine.ErrInvalid},
		} {
			db.opts.Mark = tt.mark
			if _, err := sqlstore.Open(context.Background(), db.DB, d, db.opts); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		db.opts.Mark = brokenMark{}
		if _, err := sqlstore.Open(context.Background(), db.DB, d, db.opts); err == nil {
			t.Error("a mark that cannot be put opens")
		}
		if rows, _ := db.place(t); rows != 1 {
			t.Errorf("%d places", rows)
		}
	})
}
