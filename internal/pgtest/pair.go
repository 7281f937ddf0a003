package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Pair is a primary and its synchronous standby, on this machine and this test's alone. Either may be
// the primary: [Pair.Promote] changes the two over.
type Pair struct {
	t       testing.TB
	servers [2]*Cluster
	primary int
}

// NewPair starts both. Without installed binaries the test is skipped, or fails as [URL] does.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	p := &Pair{t: t}
	for i := range p.servers {
		c, err := newRoom([]string{"wal_level=replica", "max_wal_senders=4", "hot_standby=on", "wal_keep_size=64MB", "wal_receiver_timeout=2s"})
		if c != nil {
			t.Cleanup(c.remove)
		}
		if err != nil {
			missing(t, err)
		}
		p.servers[i] = c
	}
	first := p.servers[0]
	from, err := initialised()
	if err == nil {
		err = first.run("/bin/cp", "-R", filepath.Join(from.dir, "data")+"/.", filepath.Join(first.dir, "data"))
	}
	if err == nil {
		err = first.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Rejoin()
	return p
}

// URL is the address of both: the driver connects to the one that can be written.
func (p *Pair) URL() string {
	return fmt.Sprintf("postgres://postgres@/postgres?host=%s,%s&port=5432,5432&target_session_attrs=read-write&sslmode=disable",
		p.servers[0].socket(), p.servers[1].socket())
}

// Primary is the address of the server that takes the writes now, alone.
func (p *Pair) Primary() string { return p.servers[p.primary].URL() }

// Promote has the standby take over. The old primary is stopped as by a crash, or, if stays is set, goes on
// read-only with the connections that it has: what it has not committed by then never is, since its
// standby does not answer any more.
func (p *Pair) Promote(stays bool) {
	p.t.Helper()
	old, next := p.servers[p.primary], p.servers[1-p.primary]
	if stays {
		p.set(old, "default_transaction_read_only = on")
	} else if err := old.Crash(); err != nil {
		p.t.Fatal(err)
	}
	if err := next.run("pg_ctl", "promote", "-w", "-D", filepath.Join(next.dir, "data")); err != nil {
		p.t.Fatal(err)
	}
	p.set(next, "synchronous_standby_names = ''") // it has none yet
	p.primary = 1 - p.primary
}

// Rejoin makes the other server the synchronous standby of the primary, from a copy.
func (p *Pair) Rejoin() {
	p.t.Helper()
	primary, other := p.servers[p.primary], p.servers[1-p.primary]
	if other.process != nil {
		if err := other.Crash(); err != nil {
			p.t.Fatal(err)
		}
	}
	data := filepath.Join(other.dir, "data")
	entries, err := os.ReadDir(data)
	for _, e := range entries {
		if err == nil {
			err = os.RemoveAll(filepath.Join(data, e.Name()))
		}
	}
	if err == nil {
		err = other.run("pg_basebackup", "-D", data, "-h", primary.socket(), "-U", "postgres", "-R", "-X", "stream", "-c", "fast")
	}
	if err == nil {
		err = other.append("default_transaction_read_only = off")
	}
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.set(primary, "synchronous_standby_names = '*'")
	p.until(primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'", "1")
}

// set changes a setting of a running server.
func (p *Pair) set(c *Cluster, setting string) {
	p.t.Helper()
	err := c.append(setting)
	if err == nil {
		err = c.run("pg_ctl", "reload", "-D", filepath.Join(c.dir, "data"))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	name, value, _ := strings.Cut(setting, " = ")
	p.until(c, "SELECT current_setting('"+name+"')", strings.Trim(value, "'"))
}

// append adds a setting to the file in which the last one counts.
func (c *Cluster) append(setting string) error {
	f, err := os.OpenFile(filepath.Join(c.dir, "data", "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(setting + "\n"); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// until waits until a query of a server has an answer.
func (p *Pair) until(c *Cluster, query, want string) {
	p.t.Helper()
	got := ""
	for range 1200 { // two minutes
		out, err := c.command("psql", "-h", c.socket(), "-U", "postgres", "-Atc", query).CombinedOutput()
		if got = strings.TrimSpace(string(out)); err == nil && got == want {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("%s: %q, not %q", query, got, want)
}
