package sqlstore

import (
	"io/fs"
	"slices"
	"sync"
)

// Sent are the statements of each dialect that the stores of this process have sent.
func Sent(d Dialect) (all []string) {
	sentTexts.Range(func(key, _ any) bool {
		if s := key.(statementOf); s.Dialect == d {
			all = append(all, s.text)
		}
		return true
	})
	slices.Sort(all)
	return all
}

type statementOf struct {
	Dialect
	text string
}

var sentTexts sync.Map

func init() {
	sent = func(d Dialect, text string) { sentTexts.Store(statementOf{d, text}, true) }
}

// WithMigrations are options whose migrations are others than ours.
func WithMigrations(o Options, files fs.FS) Options {
	o.files = files
	return o
}

// Ours are our migrations, with their macros.
var Ours = migrations
