package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// role is set for a process that this test starts to be killed.
const role = "SETTLE_PGTEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	_, err := inMemory()
	var c *Cluster
	if err == nil {
		c, err = newCluster(throwaway)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.dir)
	select {}
}

// A test that is killed leaves neither a server nor a directory behind.
func TestAKilledProcessLeavesNoServer(t *testing.T) {
	if _, err := binaries(); err != nil {
		missing(t, err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir, err := bufio.NewReader(out).ReadString('\n')
	dir = strings.TrimSpace(dir)
	text, readErr := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := errors.Join(err, readErr); err != nil {
		t.Fatalf("the process says %q: %v", dir, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, err := os.Stat(dir)
		gone := errors.Is(err, os.ErrNotExist)
		if parent := filepath.Dir(dir); gone && strings.HasPrefix(filepath.Base(parent), "settle-test-") { // it is in memory
			_, err := os.Stat(parent)
			gone = errors.Is(err, os.ErrNotExist)
		}
		if gone && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
	}
	t.Errorf("minutes after the process was killed %s or process %d is still there", dir, pid)
}
