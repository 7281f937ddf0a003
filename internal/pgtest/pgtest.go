// Package pgtest finds a PostgreSQL for tests. It imports no driver: a test
// opens what [URL] returns with its own.
//
// SETTLE_TEST_POSTGRES names a server. Without it, a private cluster is started
// from installed binaries, on a Unix socket in a temporary directory, and
// stopped when [Main] ends, or the process does in any other way: killed, timed
// out, interrupted. Without binaries the test is skipped, or fails if
// SETTLE_REQUIRE_POSTGRES is 1.
//
// Main also sees to it that temporary directories are in memory where there is
// room, that twice as many parallel tests run as there are processors, that garbage is
// collected less often, and that a test does not outlive the go command that runs it.
package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Main runs the tests of a package and stops the cluster that they started:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
func Main(m *testing.M) int {
	endWithGo()
	manyAtOnce()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // the heap of a test is small
	}
	leave, err := inMemory()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer leave()
	defer stop()
	return m.Run()
}

// MainOr is [Main], but in a process with the environment variable set it runs the program
// of the package: so a test binary is the program too, and a test can start and kill it.
func MainOr(m *testing.M, variable string, program func()) int {
	if os.Getenv(variable) != "" {
		program()
		return 0
	}
	return Main(m)
}

// manyAtOnce lets more tests run at once than there are processors, unless the
// user says how many: they wait for servers and for processes most of the time.
func manyAtOnce() {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
}

// endWithGo ends this process when the go command that started it is gone: a
// test whose go command was killed would run on, and its children with it.
func endWithGo() {
	parent := os.Getppid()
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent)); err != nil || string(name) != "go\n" {
		return
	}
	go func() {
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				fmt.Fprintln(os.Stderr, "the go command is gone")
				os.Exit(1)
			}
		}
	}()
}

// URL returns the address of a server whose databases and schemas tests may
// make and drop, or skips the test.
func URL(t testing.TB) string {
	t.Helper()
	address, err := server()
	if err != nil {
		missing(t, err)
	}
	return address
}

// Tool is a program of the installed server, such as pg_dump.
func Tool(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		missing(t, err)
	}
	return exec.Command(filepath.Join(bin, name), args...)
}

func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("SETTLE_REQUIRE_POSTGRES") == "1" {
		t.Fatalf("SETTLE_REQUIRE_POSTGRES=1, but there is no PostgreSQL: %v", err)
	}
	t.Skipf("no PostgreSQL: %v; set SETTLE_TEST_POSTGRES to the URL of one, or install the server's binaries", err)
}

var schemas atomic.Int64

// Schema returns the name of a schema that is this test's alone, and drops it
// at the end. Making it is the test's business.
func Schema(t testing.TB, db *sql.DB) string {
	name := fmt.Sprintf("settle_%d_%d", os.Getpid(), schemas.Add(1))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if _, err := db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+name+" CASCADE"); err != nil {
			t.Errorf("drop schema %s: %v", name, err)
		}
	})
	return name
}

// With returns the address of a server with one more setting in its query, whether
// the address has a query or not.
func With(t testing.TB, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// InSchema makes a schema that is this test's alone on a server, through db, and
// returns the address with that schema as the search path.
func InSchema(t testing.TB, db *sql.DB, address string) string {
	t.Helper()
	name := Schema(t, db)
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	return With(t, address, "search_path", name)
}

// Empty makes a schema that is this test's alone on a server, through a driver of
// database/sql, and returns the address with that schema as the search path.
func Empty(t testing.TB, driver, server string) string {
	t.Helper()
	db, err := sql.Open(driver, server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return InSchema(t, db, server)
}

// Own reports whether the servers are this process's own, so that it may start more.
func Own() bool { return os.Getenv("SETTLE_TEST_POSTGRES") == "" }

// Beside runs a test that follows no feed beside others on the server of [URL], if
// those that follow one have servers of their own, see [Another].
func Beside(t *testing.T) {
	t.Helper()
	if Own() {
		t.Parallel()
	}
}

// Another starts one more server and returns its address, for tests that run beside
// those of [URL]: an open transaction holds up whoever follows a feed of its server.
// Only where servers are our [Own].
func Another(t testing.TB) string {
	t.Helper()
	address, err := start()
	if err != nil {
		missing(t, err)
	}
	return address
}

// server finds or starts the server that the tests of this process share.
var server = sync.OnceValues(func() (string, error) {
	if address := os.Getenv("SETTLE_TEST_POSTGRES"); address != "" {
		return address, nil
	}
	return start()
})

var shared struct {
	sync.Mutex
	clusters []*Cluster
}

func start() (string, error) {
	c, err := newCluster(throwaway)
	if err != nil {
		return "", err
	}
	keep(c)
	return c.URL(), nil
}

// keep leaves a cluster to stop.
func keep(c *Cluster) {
	shared.Lock()
	defer shared.Unlock()
	shared.clusters = append(shared.clusters, c)
}

// stop removes the clusters that were kept.
func stop() {
	for _, c := range shared.clusters {
		c.remove()
	}
}

// binaries returns the directory of the newest installed server.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	version := func(path string) int {
		v, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return v
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	for _, pattern := range []string{"/usr/pgsql-*/bin/postgres", "/opt/homebrew/opt/postgresql*/bin/postgres",
		"/usr/local/opt/postgresql*/bin/postgres"} {
		more, _ := filepath.Glob(pattern)
		found = append(found, more...)
	}
	if len(found) == 0 {
		return "", errors.New("no server binaries are installed")
	}
	return filepath.Dir(found[0]), nil
}

// unprivileged returns who runs the server, since it refuses to be root, and
// gives the directory to that user. nil means this process's user.
func unprivileged(dir string) (*syscall.Credential, error) {
	for _, sub := range []string{"data", "socket"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		for _, path := range []string{dir, filepath.Join(dir, "data"), filepath.Join(dir, "socket")} {
			if err := os.Chown(path, uid, gid); err != nil {
				return nil, err
			}
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("this is root, and there is neither a user postgres nor nobody to run the server")
}
