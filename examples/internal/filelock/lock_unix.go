//go:build unix

// Package filelock keeps a file to one process: the examples share it beside what a
// user copies from them.
package filelock

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Patience is long enough for the locks of a process that was killed to go.
const Patience = 30 * time.Second

// Lock keeps other processes off f until this process ends or closes f. It waits as
// long as patience for another process that has f.
func Lock(f *os.File, patience time.Duration) error {
	var err error
	for range patience/(100*time.Millisecond) + 1 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(errors.New("another process has it"), err)
}
