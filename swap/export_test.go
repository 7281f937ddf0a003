package swap

// Triggers that the tests of this package name.
const (
	OnTimeoutHold       = onTimeoutHold
	OnTimeoutQuarantine = onTimeoutQuarantine
)
