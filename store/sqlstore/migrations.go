package sqlstore

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations returns the migrations as goose reads them, Up and Down, for a host
// that runs them with its own: give that goose [Options.VersionTable] as the
// name of its table (on PostgreSQL behind the schema, which must exist), and
// [Open] the same. The numbers begin at 1, so a host's own migrations need
// another version table. Other tools take [Script].
func Migrations(d Dialect, opts Options) (fs.FS, error) {
	s, err := opts.syntax(d)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(migrations, "migrations")
	return expandedFS{files, s}, err
}

// expandedFS expands the macros of the files that it opens.
type expandedFS struct {
	fs.FS
	syntax syntax
}

func (e expandedFS) Open(name string) (fs.File, error) {
	f, err := e.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, err
	}
	text, err := io.ReadAll(f)
	return expandedFile{f, strings.NewReader(e.syntax.migration(string(text)))}, err
}

type expandedFile struct {
	fs.File
	text *strings.Reader
}

func (f expandedFile) Read(p []byte) (int, error) { return f.text.Read(p) }

var (
	only = regexp.MustCompile(`(?ms)^-- \{(sqlite|postgres)$\n(.*?)^-- \}$\n`)
	keep = regexp.MustCompile(`(?m)^\{(append only|no delete) (\w+)\}$`)
	once = regexp.MustCompile(`(?m)^\{(insert once|insert or ignore) (\w+): ([^}]+)\}\n`)
)

// migration expands a migration. Beside the macros of [syntax] it has
//
//	-- {sqlite         lines for one dialect,
//	...
//	-- }
//	{append only t}    triggers that refuse UPDATE and DELETE,
//	{no delete t}      or only DELETE, of any row of t.
//	{insert once t: a; b, c}       On SQLite REPLACE deletes without these
//	{insert or ignore t: a; b, c}  triggers: others refuse, or ignore, a row whose
//	                               key is there, a or (b, c). The second kind is
//	                               for ON CONFLICT DO NOTHING.
func (s syntax) migration(text string) string {
	text = only.ReplaceAllStringFunc(text, func(block string) string {
		m := only.FindStringSubmatch(block)
		if m[1] == s.String() {
			return m[2]
		}
		return ""
	})
	text = keep.ReplaceAllStringFunc(text, func(line string) string {
		m := keep.FindStringSubmatch(line)
		events := []string{"DELETE"}
		if m[1] == "append only" {
			events = append(events, "UPDATE")
		}
		if s.Dialect == Postgres {
			return fmt.Sprintf("CREATE TRIGGER keep_%s BEFORE %s OR TRUNCATE ON @%s EXECUTE FUNCTION @settle_keep();",
				m[2], strings.Join(events, " OR "), m[2])
		}
		var all []string
		for _, e := range events {
			all = append(all, fmt.Sprintf("-- +goose StatementBegin\nCREATE TRIGGER keep_%[1]s_%[2]s BEFORE %[2]s ON %[1]s BEGIN\n"+
				"\tSELECT RAISE(ABORT, '%[1]s keeps its history: no %[2]s');\nEND;\n-- +goose StatementEnd", m[2], e))
		}
		return strings.Join(all, "\n")
	})
	text = once.ReplaceAllStringFunc(text, func(line string) string {
		m := once.FindStringSubmatch(line)
		if s.Dialect == Postgres {
			return ""
		}
		var keys []string
		for _, key := range strings.Split(m[3], "; ") {
			var same []string
			for _, c := range strings.Split(key, ", ") {
				same = append(same, c+" = NEW."+c)
			}
			keys = append(keys, fmt.Sprintf("EXISTS (SELECT 1 FROM %s WHERE %s)", m[2], strings.Join(same, " AND ")))
		}
		action := fmt.Sprintf("ABORT, '%s keeps its history: no second INSERT'", m[2])
		if m[1] == "insert or ignore" {
			action = "IGNORE"
		}
		return fmt.Sprintf("-- +goose StatementBegin\nCREATE TRIGGER keep_%[1]s_INSERT BEFORE INSERT ON %[1]s WHEN %[2]s BEGIN\n"+
			"\tSELECT RAISE(%[3]s);\nEND;\n-- +goose StatementEnd\n", m[2], strings.Join(keys, " OR "), action)
	})
	return s.expand(text)
}
