package main

import (
	"context"
	"io"
	"os"
	"os/exec"
)

// A child ends with its parent, however that ends: the child's standard input ends then.

// startBound starts a child of this program that watches its standard input, see
// [withParent] and [keepNode]. Closing end tells it to end, as the end of this process does.
func startBound(cmd *exec.Cmd) (end io.Closer, err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel = in.Close // a keeper that is killed could not kill its node
	return in, cmd.Start()
}

// withParent returns a context that is done when the parent of this process closes its
// standard input, or is gone.
func withParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}

// keepNode runs a node, which knows nothing of its parent, and kills it as a crash does
// when the parent of this process is gone or says so.
func keepNode(args []string) error {
	ctx, cancel := withParent(context.Background())
	defer cancel()
	node := exec.CommandContext(ctx, args[0], args[1:]...)
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	return node.Run()
}
