// Package sizes measures how many bytes of a database an item takes that went its usual way. The
// table of docs/database.md is what its test prints:
//
//	SETTLE_SOAK=1 go test -v -run TestBytesPerItem ./internal/sizes
package sizes
