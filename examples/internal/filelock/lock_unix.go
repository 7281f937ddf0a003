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

// Lock keeps other processes off f until this process ends or closes f. A process that
// was killed needs a moment to go: Lock waits up to half a minute for it.
func Lock(f *os.File) error {
	var err error
	for range 300 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(errors.New("another process has it"), err)
}
