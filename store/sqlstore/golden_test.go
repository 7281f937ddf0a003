package sqlstore

import (
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files, and listed_test.go")

// variables are the names of the package's variables: those that may hold statements.
func variables(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if of, is := d.(*ast.GenDecl); is && of.Tok == token.VAR {
				for _, spec := range of.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						if name.Name != "_" {
							names = append(names, name.Name)
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// statementsIn calls found for each statement that a value of this package holds, with
// where it is, and the dialect that alone sends it; 0 is both.
func statementsIn(v reflect.Value, where string, d Dialect, found func(where string, d Dialect, st *statement)) {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if !v.IsNil() {
			statementsIn(v.Elem(), where, d, found)
		}
		return
	}
	of := reflect.TypeFor[statement]().PkgPath()
	if path := v.Type().PkgPath(); path != "" && path != of {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[statement]() {
			text := func(field string) string { return v.FieldByName(field).String() }
			if text("text") != "" {
				found(where, d, &statement{rows: text("rows"), each: text("each"), set: text("set"), text: text("text"), once: v.FieldByName("once").Bool()})
			}
			return
		}
		for i := range v.NumField() {
			statementsIn(v.Field(i), where+"."+v.Type().Field(i).Name, d, found)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			statementsIn(v.Index(i), fmt.Sprintf("%s[%d]", where, i), d, found)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			of, name := d, fmt.Sprint(key)
			if key.Type() == reflect.TypeFor[Dialect]() {
				of, name = Dialect(key.Uint()), ""
			}
			at := where
			if name != "" {
				at += "[" + name + "]"
			}
			statementsIn(v.MapIndex(key), at, of, found)
		}
	}
}

// goldenStatements are all statements of a dialect, by name, as they are sent for many
// rows, with @ before the names that Options.Schema may give another beginning.
var goldenStatements = sync.OnceValue(func() map[Dialect]map[string]string {
	return map[Dialect]map[string]string{SQLite: statementsOf(SQLite, "@"), Postgres: statementsOf(Postgres, "@")}
})

func statementsOf(d Dialect, prefix string) map[string]string {
	texts, syn := map[string]string{}, syntax{Dialect: d, prefix: prefix, files: migrations}
	add := func(where string, of Dialect, st *statement) {
		if of == 0 || of == d {
			texts[where] = syn.statement(st, 0)
			if prefix == "" && d == SQLite && st.rows != "" { // the file has the text of one row alone
				texts[where+" several"] = syn.statement(st, severalRows)
			}
		}
	}
	for name, v := range listed {
		statementsIn(reflect.ValueOf(v), name, 0, add)
	}
	for _, e := range syn.erasable() {
		add("erase."+e.table, d, e.statement())
	}
	if d == Postgres {
		claim := [maxStages]*statement{&jobTable.updateOne, &saveAttempts, writeTransitions[d]}
		texts["together[claim]"] = syn.fused(claim, [maxStages]columns{}, false)
		texts["together[claim, alone]"] = syn.fused(claim, [maxStages]columns{}, true)
	}
	for i, text := range own[d] {
		texts[fmt.Sprintf("own[%02d]", i)] = syn.expand(text)
	}
	return texts
}

// own is what else a store sends that is open, and while it is opened.
var own = map[Dialect][]string{
	SQLite: {"SELECT " + generation + ", {moved}", "BEGIN IMMEDIATE", "BEGIN", "COMMIT", "ROLLBACK", lockFile, "SAVEPOINT settle_host", "RELEASE settle_host",
		"SELECT sqlite_version()", "PRAGMA journal_mode", "PRAGMA synchronous", "PRAGMA foreign_keys",
		"SELECT file FROM pragma_database_list WHERE name = 'main'", "SELECT version, domain, oldest FROM @settle_versions",
		"SELECT count(*) > 0 FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?2 COLLATE NOCASE AND ?1 = ''",
		"PRAGMA busy_timeout = 5000", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
		"PRAGMA temp_store = MEMORY", "PRAGMA cache_size = -32768", "PRAGMA wal_autocheckpoint = 8000", "PRAGMA query_only = ON"},
	Postgres: {"SELECT " + generation + ", {moved}", "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool",
		"SELECT current_setting('server_version_num')", "SELECT " + restored, "SELECT version, domain, oldest FROM @settle_versions",
		"SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit')",
		"SELECT current_setting('transaction_isolation')", "SELECT extract(epoch FROM now())::text",
		"SELECT count(*) > 0 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace " +
			"WHERE n.nspname = coalesce(nullif($1::text, ''), current_schema()) AND c.relname = $2::text"},
}

// rowsOfABatch is the row source of a batch on PostgreSQL, with which columns are sent once.
var rowsOfABatch = regexp.MustCompile(`\(SELECT (?:(?:\$\d+::\w+ AS |u\.)\w+(?:, )?)+` +
	`(?: FROM unnest\([^()]*\) AS u\([^()]*\))?(?: WHERE \$\d+ = \(SELECT count\(\*\) FROM part\d\))?(?: LIMIT \(SELECT NULL::bigint\))?\) AS r\b`)

// partsOf are those of the statements that are sent together, see later.
var (
	partsOf = regexp.MustCompile(`(?:^WITH |, )part\d AS \(`)
	counted = regexp.MustCompile(` RETURNING 1\) SELECT (?:(?:\(SELECT count\(\*\) FROM part\d\)(?:, )?)+|` +
		`1 / CASE WHEN \(SELECT count\(\*\) FROM part\d\) = \$\d+ THEN 1 ELSE 0 END)$`)
)

// latestOf is which migrations of which domains a store knows.
var latestOf = regexp.MustCompile(`(?: WHEN '\w+' THEN \d+)+ END`)

// parameter is one of SQLite, whose number depends on which columns of a batch are sent once.
var parameter = regexp.MustCompile(`\?\d+`)

// plain is a text without what differs between stores and batches.
func plain(text string) string {
	text = latestOf.ReplaceAllString(rowsOfABatch.ReplaceAllString(text, "{rows}"), " {latest} END")
	return parameter.ReplaceAllString(text, "?")
}

// Listed returns a function that reports whether a text which reached the driver of a store
// without a schema is in the golden file of its dialect, or all its parts are.
func Listed(d Dialect) func(text string) bool {
	return func(text string) bool {
		text = plain(text)
		parts := []string{text}
		if d == Postgres && strings.HasPrefix(text, "WITH part1 AS (") && counted.MatchString(text) {
			parts = partsOf.Split(counted.ReplaceAllString(text, " RETURNING 1)"), -1)[1:]
		}
		for _, part := range parts {
			if !listedTexts[d]()[strings.TrimSuffix(part, " RETURNING 1)")] {
				return false
			}
		}
		return true
	}
}

// listedTexts are the texts of each golden file as [Listed] compares them, made at their first use.
var listedTexts = map[Dialect]func() map[string]bool{SQLite: textsOf(SQLite), Postgres: textsOf(Postgres)}

func textsOf(d Dialect) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, text := range statementsOf(d, "") {
			all[plain(text)] = true
		}
		return all
	})
}

var clause = regexp.MustCompile(` (FROM|WHERE|(?:LEFT |CROSS )?JOIN|ORDER BY|GROUP BY|ON CONFLICT|UNION ALL|VALUES|SET|RETURNING) `)

// A change of SQL is seen in review: all statements are in golden files. They are made
// without a database.
func TestStatementsAreGolden(t *testing.T) {
	names := variables(t)
	var list strings.Builder
	list.WriteString("package sqlstore\n\n// Code generated by go test -update; DO NOT EDIT.\n\n// listed are the variables of this package.\nvar listed = map[string]any{\n")
	for _, name := range names {
		fmt.Fprintf(&list, "\t%q: &%s,\n", name, name)
	}
	list.WriteString("}\n")
	source, err := format.Source([]byte(list.String()))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("listed_test.go", source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is := slices.Sorted(maps.Keys(listed)); !slices.Equal(is, names) {
		t.Fatal("the package has other variables: run this test with -update, twice")
	}
	for d, texts := range goldenStatements() {
		if len(texts) < 300 {
			t.Errorf("%v has %d statements", d, len(texts))
		}
		var all strings.Builder
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			fmt.Fprintf(&all, "-- %s\n%s;\n", name, clause.ReplaceAllString(strings.ReplaceAll(texts[name], "\n", " "), "\n\t$1 "))
		}
		file := fmt.Sprintf("testdata/statements.%v.sql", d)
		if *update {
			if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(golden) == all.String() {
			continue
		}
		was := strings.SplitAfter(string(golden), ";\n")
		for _, st := range strings.SplitAfter(all.String(), ";\n") {
			if i := slices.Index(was, st); i >= 0 {
				was[i] = ""
			} else {
				t.Errorf("%v sends something new:\n%s", d, st)
			}
		}
		for _, st := range was {
			if st != "" {
				t.Errorf("%v no longer sends\n%s", d, st)
			}
		}
		t.Error("the SQL has changed: look at it, and run this test with -update")
	}
}
