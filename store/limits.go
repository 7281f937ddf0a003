package store

import (
	"fmt"

	"github.com/settlehq/settle/statemachine"
)

// MaxPage is how many rows a page has at most.
const MaxPage = statemachine.MaxPage

// CheckLimit is [statemachine.Limit], for adapters.
func CheckLimit(limit int) error { return statemachine.Limit(limit) }

// CheckPage is [statemachine.ErrInvalid] for a page of a numbered list behind a cursor
// below 0, or with a limit that [CheckLimit] refuses, for adapters.
func CheckPage(after int64, limit int) error {
	if after < 0 {
		return fmt.Errorf("%w: the cursor %d is below 0", statemachine.ErrInvalid, after)
	}
	return CheckLimit(limit)
}
