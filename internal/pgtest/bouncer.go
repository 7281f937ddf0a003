package pgtest

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Bouncer starts a pgbouncer in front of a server, in transaction pooling with few connections of the server, and
// returns its address. Without an installed pgbouncer the test is skipped, or fails as [URL] does.
func (c *Cluster) Bouncer(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		missing(t, err)
	}
	dir, err := os.MkdirTemp(c.dir, "bouncer-")
	if err == nil && c.as != nil {
		err = os.Chown(dir, int(c.as.Uid), int(c.as.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`[databases]
* = host=%s user=postgres
[pgbouncer]
unix_socket_dir = %s
listen_addr =
listen_port = 5432
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 200
`, c.socket(), dir)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	bouncer, log := c.command(path, file), new(bytes.Buffer)
	bouncer.Stdout, bouncer.Stderr = log, log
	if err := bouncer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bouncer.Process.Kill()
		_ = bouncer.Wait()
	})
	for range 600 { // a minute
		if _, err := os.Stat(filepath.Join(dir, ".s.PGSQL.5432")); err == nil {
			q := url.Values{"host": {dir}, "sslmode": {"disable"}, "default_query_exec_mode": {"cache_describe"}}
			return "postgres://postgres@/postgres?" + q.Encode()
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("pgbouncer does not answer: %s", log)
	return ""
}
