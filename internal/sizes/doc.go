// Package sizes measures how many bytes of a database an item takes that went its usual way, and
// fails where that is a quarter more or less than the table of docs/database.md says:
//
//	SETTLE_SOAK=1 go test -v -run TestBytesPerItem ./internal/sizes
package sizes
