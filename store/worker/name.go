package worker

import "crypto/rand"

// NewName returns a name for the holder of leases: what, a dash and 26 random characters. Two
// processes, or two runs of one program, must never have the same name: each would take the
// leases of the other for its own. So a service calls NewName each time it starts a source, and
// does not store the name.
func NewName(what string) string { return what + "-" + rand.Text() }
