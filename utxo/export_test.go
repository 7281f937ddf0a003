package utxo

// Triggers that the tests of this package name.
const (
	OnConfirmed   = onConfirmed
	OnInvalidated = onInvalidated
	OnObserved    = onObserved
	OnParentDied  = onParentDied
	OnSigned      = onSigned
	OnSubmit      = onSubmit
)
