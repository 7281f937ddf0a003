package store

// The names that units had. They go with the next commit that needs none of them.
type (
	Tx           = Unit
	WalletTx     = WalletUnit
	WithdrawalTx = WithdrawalUnit
	RefreshTx    = RefreshUnit
	RelayTx      = RelayUnit
	TenantTx     = TenantUnit
	SwapTx       = SwapUnit
)
