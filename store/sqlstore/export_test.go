package sqlstore

import "io/fs"

// WithMigrations are options whose migrations are others than ours.
func WithMigrations(o Options, files fs.FS) Options {
	o.files = files
	return o
}

// Ours are our migrations, with their macros.
var Ours = migrations
