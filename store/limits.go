package store

import (
	"fmt"

	"github.com/settlehq/settle/statemachine"
)

// MaxPage is how many rows a page has at most, and how many items a call takes
// at most.
const MaxPage = 10_000

// CheckLimit is the one law for limits from outside: 1 to [MaxPage], anything
// else is [statemachine.ErrInvalid]. A limit of 0 would answer "nothing is
// wrong" to an audit that read nothing.
func CheckLimit(limit int) error {
	if limit < 1 || limit > MaxPage {
		return fmt.Errorf("%w: a limit of %d is not in 1 to %d", statemachine.ErrInvalid, limit, MaxPage)
	}
	return nil
}
