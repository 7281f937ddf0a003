//go:build unix

package node

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lock keeps other nodes off the ledger until this process ends. The node of a
// program that was killed needs a moment to go.
func lock(f *os.File) error {
	var err error
	for range 300 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(errors.New("another node has it"), err)
}
