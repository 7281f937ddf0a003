package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Mark keeps one short text outside of the database: a file on another disk, an object in a bucket. The text names the
// newest line of the log of transitions. A database that lacks this line was put back, or is another one.
type Mark interface {
	// Get returns the text that was put last, and an empty text if there is none.
	Get(ctx context.Context) (string, error)
	// Put replaces the text by one of at most 200 bytes. Of two calls at the same time either may count.
	Put(ctx context.Context, text string) error
}

// markEvery is the pause between two marks.
const markEvery = 15 * time.Second

// KeepMark compares the database with [Options].Mark and puts the mark of now, and returns when to do so again: it is
// the Call of a worker.Sweep, which each process that pays runs. What was committed after the latest mark can be
// lost unseen, so a copy that is younger than the mark has to be told by a person, see [Restored].
//
// If the line of the mark is gone, KeepMark does what [Open] does, and returns [store.ErrRestored]: so does each write of
// this Store from then on.
func (s *Store) KeepMark(ctx context.Context) (wait time.Duration, err error) {
	if s.opts.Mark == nil {
		return 0, fmt.Errorf("%w: Options.Mark is not set", statemachine.ErrInvalid)
	}
	lost, err := s.lostMark(ctx)
	if err == nil && lost != nil {
		err = errors.Join(fmt.Errorf("%w: %s", store.ErrRestored, lost.Reason), restore(ctx, s.db, s.Dialect, s.opts, lost))
	}
	if err == nil {
		err = s.putMark(ctx)
	}
	return markEvery, wrapped("mark", err)
}

// openMarked opens a database and compares it with the mark. If the line of the mark is gone, everything is
// recovering from then on, as if a person had called Restored.
func openMarked(ctx context.Context, db *sql.DB, d Dialect, opts Options, s *Store) (*Store, error) {
	lost, err := s.lostMark(ctx)
	if err == nil && lost != nil {
		if err := errors.Join(s.Close(), restore(ctx, db, d, opts, lost)); err != nil {
			return nil, wrapped("open "+d.String(), err)
		}
		if s, err = open(ctx, db, d, opts, syntax.checkRestored); err != nil {
			return nil, err
		}
		s.opts.Log.Error("settle: the database was put back, and nothing is sent before a person has followed docs/restore.md",
			"schema", opts.Schema, "reason", lost.Reason)
	}
	if err == nil {
		err = s.putMark(ctx)
	}
	if err != nil {
		return nil, errors.Join(wrapped("open "+d.String(), err), s.Close())
	}
	return s, nil
}

// lostMark is what has to be said of a database that lacks the line of the mark. It is nil if the line is there, if there
// is no mark yet, or if a restore was said since: then the database has a higher generation than the mark. The moment of the
// mark identifies the restore, so that of several processes one makes it.
func (s *Store) lostMark(ctx context.Context) (lost *Restore, err error) {
	text, err := s.opts.Mark.Get(ctx)
	if err != nil || text == "" {
		return nil, err
	}
	f := append(strings.Split(text, " "), "", "", "")
	at, err := time.Parse(time.RFC3339Nano, f[0])
	of, bad := strconv.ParseInt(f[1], 10, 64)
	cursor := store.Cursor(f[2]) // empty if the log was
	if cursor != "" && bad == nil {
		_, bad = cursor.Place()
	}
	if err != nil || bad != nil || f[3] != "" {
		return nil, fmt.Errorf("%w: %.200q is no mark of settle", statemachine.ErrInvalid, text)
	}
	err = s.View(ctx, func(u store.Unit) error {
		t := u.(*tx)
		lost = nil
		now, generation, err := t.nowAndGeneration()
		if err != nil || generation > of {
			return err
		}
		if _, err := t.placeOf(cursor); !errors.Is(err, store.ErrCursor) {
			return err
		}
		if now.Before(at) { // the clock was ahead
			at = now
		}
		lost = &Restore{Actor: "settle", Reason: "the line of the mark of " + f[0] + " is not in this database",
			Lost: at.Truncate(time.Microsecond)}
		return nil
	})
	return lost, err
}

func (s *Store) putMark(ctx context.Context) error {
	var text string
	err := s.View(ctx, func(u store.Unit) error {
		t := u.(*tx)
		now, generation, err := t.nowAndGeneration()
		if err != nil {
			return err
		}
		// The head of the feed stays behind the oldest transaction that runs in the cluster; this is the newest line.
		log, last, err := readTransitions(t, newestTransition[s.Dialect], nil, asText)
		newest := store.Cursor("")
		if len(log) > 0 {
			newest = cursorOf(last, log[0])
		}
		text = fmt.Sprintf("%s %d %s", now.UTC().Format(time.RFC3339Nano), generation, newest)
		return err
	})
	if err != nil {
		return err
	}
	return s.opts.Mark.Put(ctx, text)
}

func (t *tx) nowAndGeneration() (now time.Time, generation int64, err error) {
	if now, err = t.Now(); err == nil {
		err = t.read(&readGeneration, nil, func(rows *sql.Rows) error { return rows.Scan(&generation) })
	}
	return now, generation, err
}

// MarkFile returns a [Mark] that is a file. It belongs on another disk than the database, and into no backup of the
// database: a mark that is put back together with the database shows nothing.
func MarkFile(path string) Mark { return markFile(path) }

type markFile string

func (m markFile) Get(context.Context) (string, error) {
	text, err := os.ReadFile(string(m))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// Put writes a new file, which is on the disk before it takes the place of the old one.
func (m markFile) Put(_ context.Context, text string) error {
	f, err := os.CreateTemp(filepath.Dir(string(m)), filepath.Base(string(m))+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), string(m))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
