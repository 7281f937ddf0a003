package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Cluster is a server of this process, on a Unix socket in a temporary
// directory.
type Cluster struct {
	bin, dir string
	as       *syscall.Credential
	settings []string
	process  *exec.Cmd
	guard    *guard
}

// throwaway are settings of a server whose data nobody needs after the tests: it behaves like any other, in two thirds
// of the processor time. (synchronous_commit is not among them, since package sqlstore refuses a server that has it
// off.)
var throwaway = []string{"full_page_writes=off", "wal_level=minimal", "max_wal_senders=0", "autovacuum=off",
	"plan_cache_mode=force_generic_plan", "track_activities=off", "track_counts=off", "update_process_title=off"}

// Private starts a server that is this test's alone, so that the test may crash
// it. SETTLE_TEST_POSTGRES does not matter; without installed binaries the test
// is skipped, or fails as [URL] does.
func Private(t testing.TB) *Cluster {
	t.Helper()
	c, err := newCluster(nil)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(c.remove)
	return c
}

// URL returns the address of the server. It stays the same over restarts.
func (c *Cluster) URL() string {
	return fmt.Sprintf("postgres://postgres@/postgres?host=%s&sslmode=disable", c.socket())
}

func (c *Cluster) socket() string { return filepath.Join(c.dir, "socket") }

// Crash is pg_ctl stop -m immediate: all connections are cut, nothing is
// written, and the next start recovers from the log.
func (c *Cluster) Crash() error {
	if err := c.run("pg_ctl", "stop", "-D", filepath.Join(c.dir, "data"), "-m", "immediate"); err != nil {
		return err
	}
	_ = c.process.Wait()
	c.process = nil
	return nil
}

// Start starts the server and waits until it answers.
func (c *Cluster) Start() error {
	log := new(bytes.Buffer)
	args := []string{"-D", filepath.Join(c.dir, "data"), "-k", c.socket()}
	for _, setting := range append([]string{"listen_addresses=", "fsync=off", "max_connections=100", "shared_buffers=64MB",
		"max_wal_size=128MB", "jit=off", "dynamic_shared_memory_type=mmap"}, c.settings...) {
		args = append(args, "-c", setting)
	}
	cmd := c.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process = cmd
	for range 12_000 { // two minutes: after a crash, on a machine with much else to do, it takes a while
		if c.ready() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.halt()
	return fmt.Errorf("the private cluster does not answer: %s", log)
}

// Promote stops the server as a crash does and starts it as a standby that finds no more
// log and takes over: the same data on the next timeline.
func (c *Cluster) Promote() error {
	if err := c.Crash(); err != nil {
		return err
	}
	signal := filepath.Join(c.dir, "data", "recovery.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return err
	}
	if c.as != nil {
		if err := os.Chown(signal, int(c.as.Uid), int(c.as.Gid)); err != nil {
			return err
		}
	}
	c.settings = append(c.settings, "restore_command=/bin/false", "hot_standby=off") // it answers once it has taken over
	return c.Start()
}

// ready reports whether the server takes connections: its first process says so in the
// eighth line of a file, which costs less to read than a program costs to start.
func (c *Cluster) ready() bool {
	text, _ := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	return len(lines) > 7 && lines[0] == strconv.Itoa(c.process.Process.Pid) && strings.TrimSpace(lines[7]) == "ready"
}

func newCluster(settings []string) (*Cluster, error) {
	from, err := initialised()
	if err != nil {
		return nil, err
	}
	c, err := newRoom(settings)
	if err == nil {
		err = c.run("/bin/cp", "-R", filepath.Join(from.dir, "data")+"/.", filepath.Join(c.dir, "data"))
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// initialised is a server that never runs: all others of this process begin as
// copies of its files, which takes a tenth of the time of initdb.
var initialised = sync.OnceValues(func() (*Cluster, error) {
	c, err := newRoom(nil)
	if err == nil {
		err = c.run("initdb", "-D", filepath.Join(c.dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	}
	if err != nil {
		c.remove()
		return nil, err
	}
	keep(c)
	return c, nil
})

// newRoom makes the directories of a server. What it returns is to be removed,
// with an error too.
func newRoom(settings []string) (*Cluster, error) {
	c := &Cluster{settings: settings}
	var err error
	if c.bin, err = binaries(); err == nil {
		c.dir, err = os.MkdirTemp("", "settle-pg-")
	}
	if err == nil {
		c.guard, err = watch(c.dir)
	}
	if err == nil {
		c.as, err = unprivileged(c.dir)
	}
	return c, err
}

// run runs a command to its end.
func (c *Cluster) run(name string, args ...string) error {
	if out, err := c.command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// command is a program of the server, or another one whose path is absolute.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.bin, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+c.dir, "MALLOC_TRIM_THRESHOLD_=67108864", "MALLOC_TOP_PAD_=4194304",
		"MALLOC_MMAP_THRESHOLD_=33554432")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	return cmd
}

// halt ends the server. It is fast: nothing in it is worth keeping.
func (c *Cluster) halt() {
	if c.process != nil {
		_ = c.process.Process.Signal(syscall.SIGQUIT)
		_ = c.process.Wait()
		c.process = nil
	}
}

func (c *Cluster) remove() {
	c.halt()
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
	if c.guard != nil {
		c.guard.end()
	}
}
