package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store/worker"
)

// ErrCursor: the line that a cursor names is not stored, or another line is stored in its place. The cursor is of
// another database or invented, or a restore has lost lines that an observer had seen. It is a
// [statemachine.ErrInvalid].
var ErrCursor = statemachine.NewSentinel("cursor", "the line of the cursor is not here", statemachine.ErrInvalid)

// ErrRestored: the database came back with a transaction counter that is lower than before, as a dump of PostgreSQL
// does in another cluster, so that new lines would sort before old ones. Nothing is written until the host has called
// sqlstore.Restored.
var ErrRestored = worker.ErrRestored

// Cursor is a place in the order of committed transitions: how far an observer
// has come. Its text belongs to the store and has at most 100 bytes; empty is
// the beginning. A cursor names the last line that was seen.
type Cursor string

// CursorOf returns the cursor of a line: its place in the words of the store, at
// most 60 bytes without a minus sign, and a check over all columns but those that may
// be erased, Reason and Data.
func CursorOf[ID comparable](place string, line statemachine.Transition[ID]) Cursor {
	h := sha256.New()
	for _, text := range []string{place, line.Machine, fmt.Sprint(line.ID), line.From, line.Trigger, line.To,
		line.Actor, line.Role, line.Trace} {
		_ = binary.Write(h, binary.BigEndian, int64(len(text)))
		h.Write([]byte(text))
	}
	_ = binary.Write(h, binary.BigEndian, []int64{line.Version, line.At.UnixMicro()})
	return Cursor(place + "-" + hex.EncodeToString(h.Sum(nil)[:8]))
}

// Place returns the place that was given to [CursorOf]; [ErrCursor] for a text that is no cursor. An adapter must check
// that the stored line at this place is the one that was seen: CursorOf of it gives the same cursor.
func (c Cursor) Place() (string, error) {
	place, check, ok := strings.Cut(string(c), "-")
	if !ok || place == "" || len(check) != 16 || len(c) > 100 {
		return "", c.refused("it is no cursor")
	}
	return place, nil
}

func (c Cursor) refused(reason string) error {
	return fmt.Errorf("%w: %.100q: %s", ErrCursor, string(c), reason)
}

// Gone is the error for a cursor whose line is absent or another one.
func (c Cursor) Gone() error {
	return c.refused("another database has made it, or the lines up to it were lost in a restore")
}

// Feed lets observers follow committed transitions. It is a part of the
// records of each domain.
type Feed[ID comparable] interface {
	// Follow returns up to limit (1 to [MaxPage]) transitions of the domain's machines that were committed after a
	// cursor, and the cursor after the last of them; an empty page returns the cursor that was given. A cursor that
	// names another line than the stored one is [ErrCursor]: an observer then starts again at the beginning, or at
	// [Feed.Head] if it needs nothing of the past.
	//
	// Versions of one record come in their order. No line is ever missed: a line that commits later sorts behind every
	// page that was returned. The same cursor gives the same transitions again, and perhaps more after them. Call
	// Follow in a View.
	//
	// For adapters: numbers that are drawn when a row is written are not the order of commits. Where several
	// transactions write at once, store with each row its horizon: the number of its transaction, or the horizon of the
	// record's previous version if that is greater. Return only rows whose horizon is below the oldest running
	// transaction (on PostgreSQL pg_snapshot_xmin(pg_current_snapshot())), by horizon and number. Make cursors with
	// [CursorOf].
	Follow(after Cursor, limit int) (page []statemachine.Transition[ID], next Cursor, err error)
	// Head returns the cursor after the last line that Follow could return, of any machine; an observer that needs
	// nothing of the past begins there. It is empty if there is no line.
	Head() (Cursor, error)
}
