package pgtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Cluster is a server of this process, on a Unix socket in a temporary
// directory.
type Cluster struct {
	bin, dir string
	as       *syscall.Credential
	process  *exec.Cmd
	guard    *exec.Cmd
	alive    io.Closer // the guard acts when it is closed
}

// Private starts a server that is this test's alone, so that the test may crash
// it. SETTLE_TEST_POSTGRES does not matter; without installed binaries the test
// is skipped, or fails as [URL] does.
func Private(t testing.TB) *Cluster {
	t.Helper()
	c, err := newCluster()
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(c.remove)
	return c
}

// URL returns the address of the server. It stays the same over restarts.
func (c *Cluster) URL() string {
	return fmt.Sprintf("postgres://postgres@/postgres?host=%s&sslmode=disable", filepath.Join(c.dir, "socket"))
}

// Crash is pg_ctl stop -m immediate: all connections are cut, nothing is
// written, and the next start recovers from the log.
func (c *Cluster) Crash() error {
	if out, err := c.command("pg_ctl", "stop", "-D", filepath.Join(c.dir, "data"), "-m", "immediate").CombinedOutput(); err != nil {
		return fmt.Errorf("pg_ctl stop: %w: %s", err, bytes.TrimSpace(out))
	}
	_ = c.process.Wait()
	c.process = nil
	return nil
}

// Start starts the server and waits until it answers.
func (c *Cluster) Start() error {
	socket, log := filepath.Join(c.dir, "socket"), new(bytes.Buffer)
	cmd := c.command("postgres", "-D", filepath.Join(c.dir, "data"), "-k", socket, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=100", "-c", "shared_buffers=256MB")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process = cmd
	for range 300 {
		if out, _ := c.command("pg_isready", "-h", socket, "-U", "postgres", "-d", "postgres").CombinedOutput(); bytes.Contains(out, []byte("accepting")) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.halt()
	return fmt.Errorf("the private cluster does not answer: %s", log)
}

func newCluster() (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "settle-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir}
	err = c.watch()
	if err == nil {
		c.as, err = unprivileged(dir)
	}
	if err == nil {
		var out []byte
		out, err = c.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
		}
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

// guarding waits for the end of its input, which comes when the test's process
// ends in whatever way, and removes what that has left behind.
const guarding = `read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null &&
	for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
rm -rf "$1"`

// watch starts the guard, out of reach of the signals of a terminal.
func (c *Cluster) watch() error {
	c.guard = exec.Command("/bin/sh", "-c", guarding, "settle-pg-guard", c.dir)
	c.guard.Dir = os.TempDir()
	c.guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := c.guard.StdinPipe()
	if err != nil {
		return err
	}
	c.alive = in
	return c.guard.Start()
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+c.dir)
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
	_ = os.RemoveAll(c.dir)
	_ = c.alive.Close()
	_ = c.guard.Wait()
}
