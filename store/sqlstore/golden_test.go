package sqlstore_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/settlehq/settle/store/sqlstore"
)

var update = flag.Bool("update", false, "write the statements that the tests send to testdata")

var clause = regexp.MustCompile(` (FROM|WHERE|(?:LEFT |CROSS )?JOIN|ORDER BY|GROUP BY|ON CONFLICT|UNION ALL|VALUES|SET|RETURNING) `)

// sameStatements compares all SQL that the tests of this package have sent with the
// golden files of testdata, so that a change of SQL is seen in review. It does so
// after all tests have passed, since each of them may send what no other does.
func sameStatements(rc int) error {
	for _, name := range []string{"test.run", "test.skip", "test.bench"} {
		if flag.Lookup(name).Value.String() != "" {
			return nil
		}
	}
	if rc != 0 || testing.Short() {
		return nil
	}
	for _, d := range []sqlstore.Dialect{sqlstore.SQLite, sqlstore.Postgres} {
		got := make(map[string]bool)
		var text strings.Builder
		for _, statement := range sqlstore.Sent(d) {
			statement = clause.ReplaceAllString(strings.ReplaceAll(statement, "\n", " "), "\n\t$1 ") + ";\n"
			got[statement] = true
			text.WriteString(statement)
		}
		if len(got) == 0 { // there is no server
			continue
		}
		file := fmt.Sprintf("testdata/statements.%v.sql", d)
		if *update {
			if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
				return err
			}
			continue
		}
		golden, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "there is no %s: run the tests of this package with -update\n", file)
			continue
		}
		if err != nil {
			return err
		}
		if string(golden) == text.String() {
			continue
		}
		var changed strings.Builder
		for _, statement := range strings.SplitAfter(string(golden), ";\n") {
			if statement != "" && !got[statement] {
				changed.WriteString("no test sends any more: " + statement)
			}
			delete(got, statement)
		}
		for statement := range got {
			changed.WriteString("new: " + statement)
		}
		return fmt.Errorf("the SQL has changed; look at it, and run the tests of this package with -update:\n%s", changed.String())
	}
	return nil
}
