package sqlstore

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// WithMigrations are options whose migrations are others than ours.
func WithMigrations(o Options, files fs.FS) Options {
	o.files = files
	return o
}

// Ours are our migrations, with their macros.
var Ours = migrations

// AppendOnlyTexts are the texts of append-only tables, as the migrations declare them: those
// that may be erased, and the others.
func AppendOnlyTexts() (mayGo, stay map[string][]string) {
	s := syntax{Dialect: SQLite, files: migrations}
	mayGo, stay = map[string][]string{}, map[string][]string{}
	for _, e := range s.erasable() {
		mayGo[e.table] = e.columns
	}
	declared := regexp.MustCompile(`(?m)^\{append only (\w+)`)
	text := regexp.MustCompile(`(?m)^\t(\w+) \{text\}`)
	for _, m := range s.steps() {
		for _, table := range declared.FindAllStringSubmatch(m.up, -1) {
			_, body, _ := strings.Cut(m.up, "CREATE TABLE @"+table[1]+" (\n")
			body, _, _ = strings.Cut(body, "\n) {")
			for _, c := range text.FindAllStringSubmatch(body, -1) {
				if name := c[1]; !slices.Contains(mayGo[table[1]], name) && !slices.Contains(stay[table[1]], name) {
					stay[table[1]] = append(stay[table[1]], name)
				}
			}
		}
	}
	return mayGo, stay
}
