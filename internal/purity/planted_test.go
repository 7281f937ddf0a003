package purity

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCheckFindsPlantedImports(t *testing.T) {
	const (
		pure   = "a pure package has no I/O"
		above  = "a domain imports no other domain"
		tools  = "only test packages and _test.go files may"
		driver = "the host chooses its driver"
	)
	for _, c := range []struct {
		file, imported string
		says           string // empty: allowed
	}{
		{"utxo/a.go", "context", pure},
		{"withdrawal/a.go", "database/sql", pure},
		{"withdrawal/a.go", "database/sql/driver", pure},
		{"swap/a.go", "net", pure},
		{"swap/a.go", "net/http", pure},
		{"swap/a.go", "net/netip", pure},
		{"refresh/a.go", "os", pure},
		{"refresh/a.go", "os/exec", pure},
		{"relaysync/a.go", "math/rand", pure},
		{"relaysync/a.go", "math/rand/v2", pure},
		{"relaysync/a.go", "crypto/rand", pure},
		{"utxo/a.go", "log", pure},
		{"utxo/a.go", "log/slog", pure},
		{"utxo/a.go", "sync", pure},
		{"utxo/a.go", "sync/atomic", pure},
		{"utxo/inner/a.go", "sync", pure},
		{"statemachine/a.go", "context", pure},
		{"statemachine/a.go", "database/sql", pure},
		{"statemachine/explore/a.go", "sync", pure},
		{"statemachine/explore/a.go", "database/sql/driver", pure},
		{"statemachine/explore/a.go", "context", pure},
		{"statemachine/looplab/a.go", "sync", pure},
		{"utxo/a.go", "time", ""},
		{"utxo/a.go", "math/bits", ""},
		{"utxo/a.go", "logic", ""},
		{"statemachine/a.go", "database/sql/driver", ""},
		{"statemachine/looplab/a.go", "context", ""},
		{"utxo/utxotest/a.go", "context", ""},
		{"store/a.go", "context", ""},
		{"examples/wallet/a.go", "net/http", ""},

		{"utxo/a.go", module + "/withdrawal", above},
		{"utxo/a.go", module + "/withdrawal/withdrawaltest", above},
		{"utxo/a.go", module + "/store", above},
		{"utxo/a.go", module + "/store/memory", above},
		{"utxo/a.go", module + "/examples/wallet", above},
		{"utxo/a.go", module + "/statemachine", ""},
		{"utxo/a.go", module + "/utxo/inner", ""},
		{"utxo/utxotest/a.go", module + "/store", ""},
		{"store/a.go", module + "/utxo", ""},
		{"statemachine/a.go", module + "/utxo", "nothing of ours"},
		{"statemachine/a.go", module + "/statemachine/explore", "nothing of ours"},
		{"statemachine/looplab/a.go", module + "/statemachine", ""},
		{"statemachine/looplab/a.go", module + "/store", "nothing of the layers above"},
		{"statemachine/looplab/looplabtest/a.go", module + "/store", "nothing of the layers above"},
		{"statemachine/explore/a.go", module + "/statemachine", "the standard library alone"},
		{"statemachine/explore/a.go", "github.com/google/uuid", "the standard library alone"},

		{"utxo/a.go", "testing", tools},
		{"store/a.go", "pgregory.net/rapid", tools},
		{"store/worker/a.go", "testing/fstest", tools},
		{"examples/wallet/a.go", "testing", tools},
		{"test/a.go", "testing", tools},
		{"utxo/utxotest/a.go", "testing", ""},
		{"store/storetest/a.go", "pgregory.net/rapid", ""},
		{"utxo/a_test.go", "testing", ""},

		{"store/sqlstore/a.go", "modernc.org/sqlite", driver},
		{"store/sqlstore/a.go", "modernc.org/sqlite/lib", driver},
		{"store/a.go", "github.com/jackc/pgx/v5", driver},
		{"store/storetest/a.go", "github.com/jackc/pgx/v5/stdlib", driver},
		{"store/sqlstore/a_test.go", "modernc.org/sqlite", ""},
		{"examples/wallet/a.go", "github.com/jackc/pgx/v5", ""},
	} {
		t.Run(strings.ReplaceAll(c.file+" imports "+c.imported, "/", "."), func(t *testing.T) {
			want(t, c.file, fmt.Sprintf("package a\nimport _ %q\n", c.imported), c.says)
		})
	}
}

func TestCheckFindsThePlantedClock(t *testing.T) {
	const said = "time is an argument here"
	call := "package a\nimport \"time\"\nvar at = time.Now()\n"
	for _, c := range []struct {
		rule, file, source string
		says               string
	}{
		{"a call in a domain", "utxo/a.go", call, "a.go:3: time.Now: " + said},
		{"a call in a test package", "utxo/utxotest/a.go", call, said},
		{"a call in statemachine", "statemachine/a.go", call, said},
		{"a call in another package of the store", "store/storetest/a.go", call, said},
		{"a call in a package whose name begins alike", "store/memoryless/a.go", call, said},
		{"a call in a package below internal", "internal/x/a.go", call, said},
		{"the function as a value", "utxo/a.go", "package a\nimport \"time\"\nvar clock = time.Now\n", said},
		{"the time since", "utxo/a.go", "package a\nimport \"time\"\nvar d = time.Since(time.Time{})\n", said},
		{"the time until", "utxo/a.go", "package a\nimport \"time\"\nvar d = time.Until(time.Time{})\n", said},
		{"under another name", "utxo/a.go", "package a\nimport clock \"time\"\nvar at = clock.Now()\n", said},
		{"without a name", "utxo/a.go", "package a\nimport . \"time\"\nvar at = Now()\n", "hides the clock"},
		{"somebody else's Now", "utxo/a.go", "package a\nimport \"time\"\nvar h struct{ Now func() time.Time }\nvar at = h.Now\n", ""},
		{"a call in a test", "utxo/a_test.go", call, ""},
		{"the services' clock", "store/a.go", call, ""},
		{"the memory store", "store/memory/a.go", call, ""},
		{"below the SQL store", "store/sqlstore/inner/a.go", call, ""},
		{"the worker", "store/worker/a.go", call, ""},
		{"an example", "examples/wallet/a.go", call, ""},
		{"a goroutine in a domain", "utxo/a.go", "package a\nfunc f() { go f() }\n", "starts a goroutine"},
		{"a goroutine in the worker", "store/worker/a.go", "package a\nfunc f() { go f() }\n", ""},
	} {
		t.Run(c.rule, func(t *testing.T) { want(t, c.file, c.source, c.says) })
	}
}

func TestCheckSkipsWhatIsNotTheModule(t *testing.T) {
	bad := &fstest.MapFile{Data: []byte("package a\nimport _ \"testing\"\n")}
	seen, violations, err := check(fstest.MapFS{
		"bench/go.mod":         {Data: []byte("module bench\n")},
		"bench/a.go":           bad,
		"utxo/testdata/a.go":   bad,
		".hidden/a.go":         bad,
		"_old/a.go":            bad,
		"utxo/notes.txt":       bad,
		"go.mod":               {Data: []byte("module " + module + "\n")},
		"utxo/a.go":            bad,
		"statemachine/fine.go": {Data: []byte("package a\n")},
	})
	if err != nil || len(seen) != 2 || len(violations) != 1 {
		t.Errorf("saw %v, found %v, %v", seen, violations, err)
	}
	if _, _, err := check(fstest.MapFS{"utxo/a.go": {Data: []byte("package")}}); err == nil {
		t.Error("a file that cannot be parsed is passed over")
	}
}

// want checks one planted file: says is part of its only violation, or empty.
func want(t *testing.T, file, source, says string) {
	t.Helper()
	_, violations, err := check(fstest.MapFS{file: {Data: []byte(source)}})
	switch {
	case err != nil:
		t.Error(err)
	case says == "" && len(violations) > 0:
		t.Errorf("refused: %v", violations)
	case says != "" && (len(violations) != 1 || !strings.Contains(violations[0], says)):
		t.Errorf("found %q\nwant one that says %q", violations, says)
	}
}
