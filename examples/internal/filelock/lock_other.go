//go:build !unix

// Package filelock keeps a file to one process where the system has flock.
package filelock

import (
	"os"
	"time"
)

// Patience is of [Lock].
const Patience = time.Second

// Lock does nothing: do not run two processes on one file here.
func Lock(*os.File, time.Duration) error { return nil }
