package pgtest

import (
	"io"
	"net/url"
	"os"
	"os/exec"
	"syscall"
)

// room is what a file system in memory must have free to be used: more than all
// databases of a package take together.
const room = 1 << 30

// inMemory makes the temporary directory of this process, and of its children,
// one in memory, where there is one with room and the user has not named another
// by TMPDIR: tests commit tens of thousands of times, and a disk takes
// milliseconds for each. What a process does when it is killed is the same
// there. The directory is gone when the process is, in whatever way it ends.
func inMemory() (leave func(), err error) {
	const memory = "/dev/shm"
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp(memory, "settle-test-")
	if err != nil {
		return func() {}, nil // it is not for us
	}
	if err := os.Chmod(dir, 0o711); err != nil { // the server is another user
		return nil, err
	}
	g, err := watch(dir)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = os.RemoveAll(dir)
		g.end()
	}, os.Setenv("TMPDIR", dir)
}

// guard is a process that waits for the end of this one and then removes a
// directory, and stops the servers in it.
type guard struct {
	process *exec.Cmd
	alive   io.Closer // it acts when this is closed
}

// guarding waits for the end of its input, which comes when the test's process
// ends in whatever way, and removes what that has left behind.
const guarding = `read -r _
for file in "$1"/data/postmaster.pid "$1"/*/data/postmaster.pid; do
	pid=$(head -n 1 "$file" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null &&
		for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
done
rm -rf "$1"`

// watch starts a guard, out of reach of the signals of a terminal.
func watch(dir string) (*guard, error) {
	g := &guard{process: exec.Command("/bin/sh", "-c", guarding, "settle-guard", dir)}
	g.process.Dir = "/"
	g.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := g.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	g.alive = in
	return g, g.process.Start()
}

func (g *guard) end() {
	_ = g.alive.Close()
	_ = g.process.Wait()
}

// FileURL names a file for SQLite: the names of tests, and so of their temporary
// directories, have characters that mean something in a URL.
func FileURL(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }
