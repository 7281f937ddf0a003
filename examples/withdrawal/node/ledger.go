package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/settlehq/settle/examples/internal/filelock"
)

// maxLine bounds a line of a ledger, in bytes.
const maxLine = 8 << 20

// record is a line of a ledger: exactly one of the three.
type record struct {
	Genesis *Genesis `json:"genesis,omitempty"`
	Block   *Block   `json:"block,omitempty"`
	Reorg   *reorg   `json:"reorg,omitempty"`
}

// reorg takes the blocks above a height off the chain.
type reorg struct {
	To uint64 `json:"to"`
}

// LineError is a line of a ledger that cannot be true.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d of the ledger: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Create makes a ledger with a genesis, unless there is one.
func Create(path string, g Genesis) error {
	if _, err := newChain(g); err != nil {
		return err
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	line, err := json.Marshal(record{Genesis: &g})
	if err != nil {
		return err
	}
	// A crash leaves either no ledger or a whole first line.
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// Read returns the chain that a ledger leads to, after checking every
// signature, nonce, balance and parent in it.
func Read(path string) (*Chain, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, _, err := replay(f)
	return c, err
}

// replay reads whole lines; end is where the last of them ends. A line without
// an end was cut by a crash before anybody was told of it, and does not count.
func replay(r io.Reader) (c *Chain, end int64, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF {
			return len(data), nil, nil
		}
		return 0, nil, nil
	})
	n := 0
	for lines.Scan() {
		n++
		if c, err = c.line(lines.Bytes()); err != nil {
			return nil, 0, &LineError{n, err}
		}
		end += int64(len(lines.Bytes())) + 1
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, 0, &LineError{n + 1, err}
	case c == nil:
		return nil, 0, &LineError{1, errors.New("there is no genesis")}
	}
	return c, end, nil
}

func (c *Chain) line(text []byte) (*Chain, error) {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return nil, err
	}
	switch {
	case r.Genesis != nil && c == nil:
		return newChain(*r.Genesis)
	case c == nil:
		return nil, errors.New("there is no genesis before it")
	case r.Block != nil:
		return c, c.connect(*r.Block)
	case r.Reorg != nil:
		_, err := c.disconnect(r.Reorg.To)
		return c, err
	}
	return nil, errors.New("it is neither a block nor a reorganisation")
}

// ledger is the open file.
type ledger struct{ file *os.File }

// openLedger takes the ledger for this process alone, waits for another one to go as
// long as patience, and cuts off what a crash left of its last line.
func openLedger(path string, patience time.Duration) (*ledger, *Chain, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, err
	}
	var c *Chain
	var end int64
	if err = filelock.Lock(f, patience); err == nil {
		if c, end, err = replay(f); err == nil {
			err = f.Truncate(end)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return &ledger{f}, c, nil
}

// append writes a line durably. After an error the ledger is not to be trusted
// and the node ends.
func (l *ledger) append(r record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return l.file.Sync()
}
