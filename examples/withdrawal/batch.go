package main

import (
	"bufio"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

//go:embed testdata/batch.csv
var sampleBatch string

// Bounds of a batch.
const (
	maxRows  = 100_000
	maxLine  = 1024 // bytes
	maxField = 200  // bytes
)

var columns = []string{"user", "asset", "chain", "address", "amount", "priority"}

// row is one payment that somebody asks for.
type row struct {
	Line     int
	Request  uuid.UUID
	User     string
	Asset    string
	Address  string
	Amount   string
	Priority withdrawal.Priority
}

// RowError says why a line of a batch is refused. The other lines count.
type RowError struct {
	Line  int
	Field string // empty: the line as a whole
	Err   error
}

func (e *RowError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d: %s: %v", e.Line, e.Field, e.Err)
}

// Unwrap returns the reason.
func (e *RowError) Unwrap() error { return e.Err }

var (
	errColumns = errors.New("there must be 6 fields: " + strings.Join(columns, ","))
	errTooLong = errors.New("it is too long")
	errUnknown = errors.New("it is not known here")
	errAddress = errors.New("it is not an address of this chain")
	errTooMany = fmt.Errorf("a batch has at most %d lines", maxRows)
)

// openBatch reads a file, or the sample for an empty path.
func openBatch(path string) (rows []row, refused []*RowError, err error) {
	if path == "" {
		return readBatch("sample", strings.NewReader(sampleBatch))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	rows, refused, err = readBatch(filepath.Base(path), f)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return rows, refused, err
}

// readBatch reads a batch line by line, so that a quote that is not closed
// cannot swallow its neighbours. An error means that nothing of it is usable.
//
// The id of a request is made of the name of the batch, the text of the row,
// and how often that text came before. So the same file gives the same ids,
// also after rows were added anywhere, and two equal rows are two payments.
func readBatch(name string, r io.Reader) (rows []row, refused []*RowError, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	seen := map[string]int{}
	n := 0
	for lines.Scan() {
		n++
		text := lines.Text()
		switch {
		case n > maxRows:
			return nil, nil, &RowError{n, "", errTooMany}
		case n == 1:
			if strings.TrimPrefix(text, "\ufeff") != strings.Join(columns, ",") {
				return nil, nil, &RowError{1, "", errColumns}
			}
			continue
		case text == "":
			continue
		}
		one, bad := parseRow(n, text)
		if bad != nil {
			refused = append(refused, bad)
			continue
		}
		content := strings.Join([]string{one.User, one.Asset, one.Address, one.Amount, one.Priority.String()}, "\x00")
		one.Request = statemachine.ID("request", strings.Join([]string{name, content, strconv.Itoa(seen[content])}, "\x00"))
		seen[content]++
		rows = append(rows, one)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, nil, &RowError{n + 1, "", fmt.Errorf("%w: at most %d bytes", errTooLong, maxLine)}
	case err != nil:
		return nil, nil, err
	case n == 0:
		return nil, nil, &RowError{1, "", errColumns}
	}
	return rows, refused, nil
}

func parseRow(line int, text string) (row, *RowError) {
	bad := func(field int, err error) (row, *RowError) { return row{}, &RowError{line, columns[field], err} }
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			err = syntax.Err // its line is that of this text
		}
		return row{}, &RowError{line, "", err}
	}
	if len(fields) != len(columns) {
		return row{}, &RowError{line, "", errColumns}
	}
	for i, f := range fields {
		if len(f) > maxField {
			return bad(i, fmt.Errorf("%w: at most %d bytes", errTooLong, maxField))
		}
	}
	one := row{Line: line, User: fields[0], Asset: fields[1], Address: strings.ToLower(fields[3]), Amount: fields[4]}
	what, known := assets[one.Asset]
	switch {
	case one.User == "" || strings.ContainsFunc(one.User, func(r rune) bool { return r <= ' ' || r == '\ufffd' }):
		return bad(0, errors.New("it must be a name without spaces"))
	case !known:
		return bad(1, fmt.Errorf("%q: %w", one.Asset, errUnknown))
	case fields[2] != chainName:
		return bad(2, fmt.Errorf("%q: %w", fields[2], errUnknown))
	case !node.ValidAddress(one.Address):
		return bad(3, errAddress)
	}
	if _, _, err := withdrawal.ParseAmount(one.Amount, what.decimals); err != nil {
		return bad(4, err)
	}
	if err := one.Priority.UnmarshalText([]byte(fields[5])); err != nil {
		return bad(5, err)
	}
	return one, nil
}
