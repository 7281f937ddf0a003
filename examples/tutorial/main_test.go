package main

import (
	"context"
	"os"
	"path/filepath"
)

func Example_day() {
	dir, err := os.MkdirTemp("", "settle-tutorial-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for range 2 { // the second day finds everything done
		if err := day(context.Background(), filepath.Join(dir, "shop.db"), &chain{file: filepath.Join(dir, "chain.txt")}); err != nil {
			panic(err)
		}
	}
	// Output:
	// ann has 750 cents
	// bob has 1300 cents
	// the chain has 3 payments
	// ann has 750 cents
	// bob has 1300 cents
	// the chain has 3 payments
}
