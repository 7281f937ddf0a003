package sqlstore

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

//go:embed migrations/*.sql
var embedded embed.FS

var migrations = func() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err)
	}
	return files
}()

// Migrations returns the migrations of [Options.Domains] as goose reads them, Up and
// Down, for a host that runs them with its own: give that goose
// [Options.VersionTable] as the name of its table (on PostgreSQL behind the schema,
// which must exist), and [Migrate] the same, if the host runs both. The numbers
// begin at 1, so a host's own migrations need another version table. They grow over
// all domains: where one is added later, its numbers are missing among higher ones,
// and goose needs its option to apply what is out of order. Other tools take [Script].
func Migrations(d Dialect, opts Options) (fs.FS, error) {
	s, err := opts.syntax(d)
	if err != nil {
		return nil, err
	}
	return expandedFS{s.files, s}, nil
}

// expandedFS expands the macros of the files that it opens, and has those of the
// chosen domains alone.
type expandedFS struct {
	fs.FS
	syntax syntax
}

// ReadDir implements [fs.ReadDirFS].
func (e expandedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(e.FS, name)
	return slices.DeleteFunc(all, func(f fs.DirEntry) bool { return !f.IsDir() && !e.syntax.has(domainOf(f.Name())) }), err
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
	ownNames = regexp.MustCompile(`(?m)^(CREATE (?:INDEX|UNIQUE INDEX|TRIGGER) )(\w+)`)
	items    = regexp.MustCompile(`(?ms)^-- \{(item)$\n(.*?)^-- \}$\n`)
	only     = regexp.MustCompile(`(?ms)^-- \{(sqlite|postgres)$\n(.*?)^-- \}$\n`)
	keep     = regexp.MustCompile(`(?m)^\{(append only|no delete) (\w+)(?: once (\w+))?(?: but ([\w, ]+) of ([\w, ]+))?\}$`)
	once     = regexp.MustCompile(`(?m)^\{(insert once|insert or ignore|keys|keys or ignore|update keys) (\w+): ([^}]+)\}\n`)
)

// integerKey is what stands behind the name of a column that SQLite makes another name of the rowid.
var integerKey = regexp.MustCompile(`^(\{id\}|\{count\}|\{int\} PRIMARY KEY)`)

// migration expands a migration. Beside the macros of [syntax] it has
//
//	-- {sqlite         lines for one dialect,
//	...
//	-- }
//	-- {name           lines that stand wherever the file says {name},
//	...
//	-- }
//	{append only t}    triggers that refuse UPDATE and DELETE,
//	{no delete t}      or only DELETE, of any row of t,
//	{append only t once c}           UPDATE alone of rows whose column c is not NULL,
//	{append only t but a, b of k}    where the texts a and b, which come from outside,
//	                                 may become [Erased], and k names their record:
//	                                 with two columns its machine and id, else its id.
//
// On SQLite REPLACE deletes rows without asking the triggers of DELETE, so a
// table with one of these needs others that come before, with every unique key
// of the table; rowid is one unless the table is {keyed}:
//
//	{insert once t: a; b, c; d where e <> 'x'}  refuses an INSERT of a row whose
//	                            key is there, for a table that is append only,
//	{keys t: ...}               and an UPDATE that would make a second one,
//	{insert or ignore t: ...}   or leaves that row out: for ON CONFLICT DO
//	{keys or ignore t: ...}     NOTHING.
//	{update keys t: ...}        is the UPDATE alone.
//
// The first key is the primary one. A condition is that of a partial index: the
// parts between AND begin with a column.
func (s syntax) migration(text string) string {
	for _, m := range items.FindAllStringSubmatch(text, -1) {
		text = strings.ReplaceAll(strings.Replace(text, m[0], "", 1), "{"+m[1]+"}", strings.TrimSpace(m[2]))
	}
	text = only.ReplaceAllStringFunc(text, func(block string) string {
		m := only.FindStringSubmatch(block)
		if m[1] == s.String() {
			return m[2]
		}
		return ""
	})
	text = keep.ReplaceAllStringFunc(text, func(line string) string {
		m := keep.FindStringSubmatch(line)
		table, when := m[2], s.unlessErased(text, m[2], m[3], m[4])
		no := func(event, when string) string {
			return trigger(table, event, event, when, fmt.Sprintf("ABORT, '%s keeps its history: no %s'", table, event))
		}
		on := "CREATE TRIGGER keep_" + table + "%s BEFORE %s ON @" + table + "%s EXECUTE FUNCTION @settle_keep();"
		switch {
		case s.Dialect == SQLite && m[1] == "no delete":
			return no("DELETE", "")
		case s.Dialect == SQLite:
			return no("DELETE", "") + "\n" + no("UPDATE", when)
		case m[1] == "no delete":
			return fmt.Sprintf(on, "", "DELETE OR TRUNCATE", "")
		case when == "":
			return fmt.Sprintf(on, "", "DELETE OR UPDATE OR TRUNCATE", "")
		}
		return fmt.Sprintf(on, "", "DELETE OR TRUNCATE", "") + "\n" + fmt.Sprintf(on, "_update", "UPDATE", " FOR EACH ROW WHEN ("+when+")")
	})
	text = once.ReplaceAllStringFunc(text, func(line string) string {
		m := once.FindStringSubmatch(line)
		if s.Dialect == Postgres {
			return ""
		}
		keys := uniqueKeys(m[3])
		_, first, _ := strings.Cut(text, "CREATE TABLE @"+m[2]+" (\n\t"+keys[0].columns[0]+" ")
		isRowid := integerKey.MatchString(first)
		return keepKeys(m[2], keys, isRowid, m[1] != "update keys", strings.Contains(m[1], "keys"), strings.HasSuffix(m[1], "ignore"))
	})
	if s.Dialect == SQLite { // PostgreSQL has its indexes in the schema of their tables, and triggers have no names beside it
		text = ownNames.ReplaceAllString(text, "${1}@$2")
	}
	return s.expand(text)
}

var columnOf = regexp.MustCompile(`(?m)^\t(\w+) \{`)

// unlessErased is the condition under which a trigger refuses an UPDATE of a row, once a column of the row is not NULL:
// the UPDATE changes anything but some texts, or sets one of these to anything but [Erased]. It is empty if no UPDATE
// is allowed.
func (s syntax) unlessErased(text, table, once, texts string) string {
	var all []string
	if texts != "" {
		_, body, _ := strings.Cut(text, "CREATE TABLE @"+table+" (\n")
		body, end, _ := strings.Cut(body, "\n) {")
		erasable := strings.Split(texts, ", ")
		var was, is []string
		if s.Dialect == SQLite && !strings.HasPrefix(end, "keyed") { // with the number of another row, REPLACE would delete that
			was, is = []string{"OLD.rowid"}, []string{"NEW.rowid"}
		}
		for _, c := range columnOf.FindAllStringSubmatch(body, -1) {
			if !slices.Contains(erasable, c[1]) {
				was, is = append(was, "OLD."+c[1]), append(is, "NEW."+c[1])
			}
		}
		all = append(all, "("+strings.Join(is, ", ")+") IS DISTINCT FROM ("+strings.Join(was, ", ")+")")
		for _, c := range erasable {
			all = append(all, fmt.Sprintf("NEW.%s IS DISTINCT FROM OLD.%[1]s AND NEW.%[1]s IS DISTINCT FROM '%s'", c, Erased))
		}
	}
	when := strings.Join(all, " OR ")
	if once != "" {
		closed := "OLD." + once + " IS NOT NULL"
		if when != "" {
			return closed + " AND (" + when + ")"
		}
		return closed
	}
	return when
}

func trigger(table, name, event, when, action string) string {
	if when != "" {
		when = " WHEN " + when
	}
	return fmt.Sprintf("-- +goose StatementBegin\nCREATE TRIGGER keep_%s_%s BEFORE %s ON @%s%s BEGIN\n\tSELECT RAISE(%s);\nEND;\n-- +goose "+
		"StatementEnd",
		table, name, event, table, when, action)
}

// uniqueKey is a unique rule of a table.
type uniqueKey struct{ columns, conditions []string }

func uniqueKeys(list string) (all []uniqueKey) {
	for _, text := range strings.Split(list, "; ") {
		columns, condition, partial := strings.Cut(text, " where ")
		key := uniqueKey{columns: strings.Split(columns, ", ")}
		if partial {
			key.conditions = strings.Split(condition, " AND ")
		}
		all = append(all, key)
	}
	return all
}

// taken is whether a row of the table has the key of NEW.
func (k uniqueKey) taken(table, but string) string {
	var same []string
	for _, c := range k.columns {
		same = append(same, c+" = NEW."+c)
	}
	for _, c := range k.conditions {
		same = append(same, c, "NEW."+c)
	}
	return "EXISTS (SELECT 1 FROM @" + table + " WHERE " + strings.Join(same, " AND ") + but + ")"
}

// keepKeys makes the triggers for the unique keys of a table. isRowid says that the first key is another
// name of the rowid, for which an INSERT need not look twice.
func keepKeys(table string, keys []uniqueKey, isRowid, inserts, updates, ignore bool) string {
	const no = "ABORT, '%s keeps its history: no second %s'"
	var text, inserted, updated, itself, columns []string
	for _, c := range keys[0].columns {
		itself = append(itself, c+" = OLD."+c)
	}
	for _, k := range keys {
		if k.columns[0] != "rowid" || !isRowid {
			inserted = append(inserted, k.taken(table, ""))
		}
		updated = append(updated, k.taken(table, " AND NOT ("+strings.Join(itself, " AND ")+")"))
		columns = append(columns, k.columns...)
		for _, c := range k.conditions {
			name, _, _ := strings.Cut(c, " ")
			columns = append(columns, name)
		}
		if k.columns[0] == "rowid" {
			columns = append(columns, "_rowid_", "oid")
		}
	}
	if inserts {
		action := fmt.Sprintf(no, table, "INSERT")
		if ignore {
			action = "IGNORE"
		}
		text = append(text, trigger(table, "INSERT", "INSERT", strings.Join(inserted, " OR "), action))
	}
	if updates {
		slices.Sort(columns)
		text = append(text, trigger(table, "KEYS", "UPDATE OF "+strings.Join(slices.Compact(columns), ", "), strings.Join(updated, " OR "),
			fmt.Sprintf(no, table, "key")))
	}
	return strings.Join(text, "\n") + "\n"
}
