package store

import "github.com/settlehq/settle/statemachine"

// MaxPage is how many rows a page has at most.
const MaxPage = statemachine.MaxPage

// CheckLimit is [statemachine.Limit], for adapters.
func CheckLimit(limit int) error { return statemachine.Limit(limit) }
