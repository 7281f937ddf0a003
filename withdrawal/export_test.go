package withdrawal

// Triggers that the tests of this package name.
const (
	OnFlagged = onFlagged
)
