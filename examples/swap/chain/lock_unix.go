//go:build unix

package chain

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lock keeps other chains off the ledger until this process ends. The chain of a
// program that was killed needs a moment to go.
func lock(f *os.File) error {
	var err error
	for range 300 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(errors.New("another chain has it"), err)
}
