package store

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/statemachine/processes"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// ErrUnimplemented: the port of a host lacks a method that was added to it later.
var ErrUnimplemented = errors.New("the port does not have this method")

// Unimplemented is the common part of the types in this file, one for each port. A host that writes a port of its own
// embeds the port's type, so that its port goes on compiling when a later release adds a method. Every method returns
// an error that names it.
type Unimplemented struct {
	Cause error // which every error wraps; nil means [ErrUnimplemented]
}

func (u Unimplemented) no(method string) error {
	return fmt.Errorf("%w: %s", cmp.Or(u.Cause, ErrUnimplemented), method)
}

func none[T any](u interface{ no(method string) error }, method string) (zero T, err error) {
	return zero, u.no(method)
}

func none2[T, U any](u interface{ no(method string) error }, method string) (t T, v U, err error) {
	return t, v, u.no(method)
}

var (
	_ WalletRecords     = UnimplementedWallets{}
	_ WalletQueries     = UnimplementedWalletQueries{}
	_ SwitchRecords     = UnimplementedSwitches{}
	_ WithdrawalRecords = UnimplementedWithdrawals{}
	_ HotWalletRecords  = UnimplementedHotWallets{}
	_ BatchRecords      = UnimplementedBatches{}
	_ DepositRecords    = UnimplementedSwaps[swap.Deposit]{}
	_ CreditRecords     = UnimplementedSwaps[swap.Credit]{}
	_ SwapHouse         = UnimplementedSwapHouse{}
	_ RefreshRecords    = UnimplementedRefreshes{}
	_ RelayRecords      = UnimplementedRelays{}
	_ TenantRecords     = UnimplementedTenants{}
	_ JournalRecords    = UnimplementedJournal{}
	_ ProcessRecords    = UnimplementedProcesses{}
)

// UnimplementedSwitches is a [SwitchRecords] whose methods all fail.
type UnimplementedSwitches struct{ Unimplemented }

func (u UnimplementedSwitches) Ask(switches.Scope) (switches.State, error) {
	return none[switches.State](u, "Ask")
}
func (u UnimplementedSwitches) Follow(Cursor, int) ([]statemachine.Transition[switches.Scope], Cursor, error) {
	return none2[[]statemachine.Transition[switches.Scope], Cursor](u, "Follow")
}
func (u UnimplementedSwitches) Get(...switches.Scope) ([]switches.Switch, error) {
	return none[[]switches.Switch](u, "Get")
}
func (u UnimplementedSwitches) Head() (Cursor, error) { return none[Cursor](u, "Head") }
func (u UnimplementedSwitches) List(switches.Scope, int) ([]switches.Switch, error) {
	return none[[]switches.Switch](u, "List")
}
func (u UnimplementedSwitches) Open(switches.Scope) ([]OpenTransaction, error) {
	return none[[]OpenTransaction](u, "Open")
}
func (u UnimplementedSwitches) Save(...switches.Change) error { return u.no("Save") }
func (u UnimplementedSwitches) Transitions(switches.Scope) ([]statemachine.Transition[switches.Scope], error) {
	return none[[]statemachine.Transition[switches.Scope]](u, "Transitions")
}

// UnimplementedProcesses is a [ProcessRecords] whose methods all fail.
type UnimplementedProcesses struct{ Unimplemented }

func (u UnimplementedProcesses) Delete(...processes.Process) error { return u.no("Delete") }
func (u UnimplementedProcesses) List(processes.Key, int) ([]processes.Process, error) {
	return none[[]processes.Process](u, "List")
}
func (u UnimplementedProcesses) Put(processes.Process) error { return u.no("Put") }

// UnimplementedJournal is a [JournalRecords] whose methods all fail.
type UnimplementedJournal struct{ Unimplemented }

func (u UnimplementedJournal) Append(...statemachine.JournalLine) error { return u.no("Append") }
func (u UnimplementedJournal) Page(Cursor, int) ([]statemachine.JournalLine, Cursor, error) {
	return none2[[]statemachine.JournalLine, Cursor](u, "Page")
}

// UnimplementedWallets is a [WalletRecords] whose methods all fail.
type UnimplementedWallets struct{ Unimplemented }

func (u UnimplementedWallets) Ancestors(utxo.Reach, ...chainhash.Hash) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "Ancestors")
}
func (u UnimplementedWallets) Blocks(int32, int32) ([]utxo.Block, error) {
	return none[[]utxo.Block](u, "Blocks")
}
func (u UnimplementedWallets) BlocksNamed(...chainhash.Hash) ([]utxo.Block, error) {
	return none[[]utxo.Block](u, "BlocksNamed")
}
func (u UnimplementedWallets) Children(...chainhash.Hash) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "Children")
}
func (u UnimplementedWallets) ConfirmedAt(int32, int32) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "ConfirmedAt")
}
func (u UnimplementedWallets) Descendants(...chainhash.Hash) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "Descendants")
}
func (u UnimplementedWallets) Follow(Cursor, int) ([]statemachine.Transition[utxo.TxID], Cursor, error) {
	return none2[[]statemachine.Transition[utxo.TxID], Cursor](u, "Follow")
}
func (u UnimplementedWallets) Head() (Cursor, error) { return none[Cursor](u, "Head") }
func (u UnimplementedWallets) Leases(utxo.WalletID, ...wire.OutPoint) ([]utxo.Lease, error) {
	return none[[]utxo.Lease](u, "Leases")
}
func (u UnimplementedWallets) Lock(utxo.WalletID) error { return u.no("Lock") }
func (u UnimplementedWallets) Owners(utxo.WalletID, ...string) ([]utxo.Owned, error) {
	return none[[]utxo.Owned](u, "Owners")
}
func (u UnimplementedWallets) Raw(...utxo.TxID) ([][]byte, error) { return none[[][]byte](u, "Raw") }
func (u UnimplementedWallets) Replacements(...utxo.TxID) ([]utxo.Replacement, error) {
	return none[[]utxo.Replacement](u, "Replacements")
}
func (u UnimplementedWallets) Save(...utxo.ChangeSet) error { return u.no("Save") }
func (u UnimplementedWallets) Seq() (int64, error)          { return none[int64](u, "Seq") }
func (u UnimplementedWallets) Spenders(...wire.OutPoint) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "Spenders")
}
func (u UnimplementedWallets) Tip() (utxo.Block, bool, error) {
	return none2[utxo.Block, bool](u, "Tip")
}
func (u UnimplementedWallets) Txs(...utxo.TxID) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "Txs")
}
func (u UnimplementedWallets) Wallets(...utxo.WalletID) ([]utxo.Wallet, error) {
	return none[[]utxo.Wallet](u, "Wallets")
}

// UnimplementedWalletQueries is a [WalletQueries] whose methods all fail.
type UnimplementedWalletQueries struct{ Unimplemented }

func (u UnimplementedWalletQueries) ActiveLeases(utxo.WalletID, time.Time) ([]utxo.Lease, error) {
	return none[[]utxo.Lease](u, "ActiveLeases")
}
func (u UnimplementedWalletQueries) Balance(utxo.Policy, utxo.WalletID, *string, int32, time.Time) (utxo.Balance, error) {
	return none[utxo.Balance](u, "Balance")
}
func (u UnimplementedWalletQueries) Coins(utxo.WalletID, ...wire.OutPoint) ([]utxo.Coin, error) {
	return none[[]utxo.Coin](u, "Coins")
}
func (u UnimplementedWalletQueries) History(utxo.WalletID, *utxo.HistoryKey, int) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "History")
}
func (u UnimplementedWalletQueries) LeasesOf(utxo.WalletID, utxo.LockID) ([]utxo.Lease, error) {
	return none[[]utxo.Lease](u, "LeasesOf")
}
func (u UnimplementedWalletQueries) LiveUnconfirmed(utxo.WalletID) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "LiveUnconfirmed")
}
func (u UnimplementedWalletQueries) Outputs(utxo.WalletID, *wire.OutPoint, int) ([]utxo.Coin, error) {
	return none[[]utxo.Coin](u, "Outputs")
}
func (u UnimplementedWalletQueries) PendingElsewhere(utxo.WalletID) ([]*utxo.Tx, error) {
	return none[[]*utxo.Tx](u, "PendingElsewhere")
}
func (u UnimplementedWalletQueries) Snapshot() (utxo.Snapshot, error) {
	return none[utxo.Snapshot](u, "Snapshot")
}
func (u UnimplementedWalletQueries) Transitions(utxo.TxID) ([]statemachine.Transition[utxo.TxID], error) {
	return none[[]statemachine.Transition[utxo.TxID]](u, "Transitions")
}
func (u UnimplementedWalletQueries) Unspent(utxo.WalletID, *string) ([]utxo.Coin, error) {
	return none[[]utxo.Coin](u, "Unspent")
}
func (u UnimplementedWalletQueries) Watch(utxo.WalletID) ([]utxo.Coin, error) {
	return none[[]utxo.Coin](u, "Watch")
}

// UnimplementedWithdrawals is a [WithdrawalRecords] whose methods all fail.
type UnimplementedWithdrawals struct{ Unimplemented }

func (u UnimplementedWithdrawals) Acknowledge(withdrawal.Acknowledgement) error {
	return u.no("Acknowledge")
}
func (u UnimplementedWithdrawals) Acknowledgements(uuid.UUID) ([]withdrawal.Acknowledgement, error) {
	return none[[]withdrawal.Acknowledgement](u, "Acknowledgements")
}
func (u UnimplementedWithdrawals) Attempts(uuid.UUID) ([]withdrawal.Attempt, error) {
	return none[[]withdrawal.Attempt](u, "Attempts")
}
func (u UnimplementedWithdrawals) ByHash(string) ([]uuid.UUID, error) {
	return none[[]uuid.UUID](u, "ByHash")
}
func (u UnimplementedWithdrawals) Due(DueWithdrawals) ([]withdrawal.Withdrawal, error) {
	return none[[]withdrawal.Withdrawal](u, "Due")
}
func (u UnimplementedWithdrawals) Follow(Cursor, int) ([]statemachine.Transition[uuid.UUID], Cursor, error) {
	return none2[[]statemachine.Transition[uuid.UUID], Cursor](u, "Follow")
}
func (u UnimplementedWithdrawals) Get(...uuid.UUID) ([]withdrawal.Withdrawal, error) {
	return none[[]withdrawal.Withdrawal](u, "Get")
}
func (u UnimplementedWithdrawals) Head() (Cursor, error) { return none[Cursor](u, "Head") }
func (u UnimplementedWithdrawals) Incidents(bool, int64, int) ([]withdrawal.Incident, int64, error) {
	return none2[[]withdrawal.Incident, int64](u, "Incidents")
}
func (u UnimplementedWithdrawals) Jobs(uuid.UUID) ([]withdrawal.Job, error) {
	return none[[]withdrawal.Job](u, "Jobs")
}
func (u UnimplementedWithdrawals) List(ListWithdrawals) ([]withdrawal.Withdrawal, error) {
	return none[[]withdrawal.Withdrawal](u, "List")
}
func (u UnimplementedWithdrawals) NextDue(DueWithdrawals) (time.Time, error) {
	return none[time.Time](u, "NextDue")
}
func (u UnimplementedWithdrawals) PaidRequest(uuid.UUID, uuid.UUID, string, bool, uint32) (uuid.NullUUID, error) {
	return none[uuid.NullUUID](u, "PaidRequest")
}
func (u UnimplementedWithdrawals) Renew(time.Time, ...Lease[uuid.UUID]) ([]uuid.UUID, error) {
	return none[[]uuid.UUID](u, "Renew")
}
func (u UnimplementedWithdrawals) RequestOf(uuid.UUID) (uuid.UUID, error) {
	return none[uuid.UUID](u, "RequestOf")
}
func (u UnimplementedWithdrawals) Requests(withdrawal.RequestStatus, *withdrawal.Request, int) ([]withdrawal.Request, error) {
	return none[[]withdrawal.Request](u, "Requests")
}
func (u UnimplementedWithdrawals) Save(...withdrawal.Change) error { return u.no("Save") }
func (u UnimplementedWithdrawals) Stats(time.Time, time.Duration, uuid.UUID) (withdrawal.Stats, error) {
	return none[withdrawal.Stats](u, "Stats")
}
func (u UnimplementedWithdrawals) Transitions(uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return none[[]statemachine.Transition[uuid.UUID]](u, "Transitions")
}
func (u UnimplementedWithdrawals) Usage(uuid.UUID, uuid.UUID, []withdrawal.Window, time.Time) (withdrawal.Usage, error) {
	return none[withdrawal.Usage](u, "Usage")
}

// UnimplementedHotWallets is a [HotWalletRecords] whose methods all fail.
type UnimplementedHotWallets struct{ Unimplemented }

func (u UnimplementedHotWallets) Get(...uuid.UUID) ([]withdrawal.HotWallet, error) {
	return none[[]withdrawal.HotWallet](u, "Get")
}
func (u UnimplementedHotWallets) NoncesFrom(uuid.UUID, uint64) ([]withdrawal.OwnedNonce, error) {
	return none[[]withdrawal.OwnedNonce](u, "NoncesFrom")
}
func (u UnimplementedHotWallets) OfChain(uuid.UUID) ([]withdrawal.HotWallet, error) {
	return none[[]withdrawal.HotWallet](u, "OfChain")
}
func (u UnimplementedHotWallets) Put(withdrawal.HotWallet) error {
	return u.no("Put")
}
func (u UnimplementedHotWallets) PutFiller(withdrawal.Filler) error { return u.no("PutFiller") }
func (u UnimplementedHotWallets) Say(...withdrawal.Statement) error { return u.no("Say") }
func (u UnimplementedHotWallets) Statements(uuid.UUID, int64) ([]withdrawal.Statement, error) {
	return none[[]withdrawal.Statement](u, "Statements")
}
func (u UnimplementedHotWallets) Unclaimed(uuid.UUID) ([]withdrawal.Statement, error) {
	return none[[]withdrawal.Statement](u, "Unclaimed")
}

// UnimplementedBatches is a [BatchRecords] whose methods all fail.
type UnimplementedBatches struct{ Unimplemented }

func (u UnimplementedBatches) ByHash(string) ([]uuid.UUID, error) {
	return none[[]uuid.UUID](u, "ByHash")
}
func (u UnimplementedBatches) Due(DueBatches) ([]withdrawal.Payout, error) {
	return none[[]withdrawal.Payout](u, "Due")
}
func (u UnimplementedBatches) Get(...uuid.UUID) ([]withdrawal.Payout, error) {
	return none[[]withdrawal.Payout](u, "Get")
}
func (u UnimplementedBatches) IDs(uuid.UUID, int) ([]uuid.UUID, error) {
	return none[[]uuid.UUID](u, "IDs")
}
func (u UnimplementedBatches) List(ListBatches) ([]withdrawal.Payout, error) {
	return none[[]withdrawal.Payout](u, "List")
}
func (u UnimplementedBatches) NextDue(DueBatches) (time.Time, error) {
	return none[time.Time](u, "NextDue")
}
func (u UnimplementedBatches) Renew(time.Time, ...Lease[uuid.UUID]) ([]uuid.UUID, error) {
	return none[[]uuid.UUID](u, "Renew")
}
func (u UnimplementedBatches) Save(...withdrawal.BatchChange) error {
	return u.no("Save")
}
func (u UnimplementedBatches) Transitions(uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return none[[]statemachine.Transition[uuid.UUID]](u, "Transitions")
}

// UnimplementedSwaps is a [SwapRecords] whose methods all fail.
type UnimplementedSwaps[A any] struct{ Unimplemented }

func (u UnimplementedSwaps[A]) Due(time.Time, int) ([]A, error) { return none[[]A](u, "Due") }
func (u UnimplementedSwaps[A]) Overslept(time.Time, int) ([]A, error) {
	return none[[]A](u, "Overslept")
}
func (u UnimplementedSwaps[A]) Follow(Cursor, int) ([]statemachine.Transition[string], Cursor, error) {
	return none2[[]statemachine.Transition[string], Cursor](u, "Follow")
}
func (u UnimplementedSwaps[A]) Get(...string) ([]A, error) { return none[[]A](u, "Get") }
func (u UnimplementedSwaps[A]) Head() (Cursor, error)      { return none[Cursor](u, "Head") }
func (u UnimplementedSwaps[A]) HeldBy(string, string, int) ([]string, error) {
	return none[[]string](u, "HeldBy")
}
func (u UnimplementedSwaps[A]) List(swap.Place, string, int) ([]A, error) {
	return none[[]A](u, "List")
}
func (u UnimplementedSwaps[A]) NextDue(time.Time) (time.Time, error) {
	return none[time.Time](u, "NextDue")
}
func (u UnimplementedSwaps[A]) Oldest(time.Time) (time.Time, error) {
	return none[time.Time](u, "Oldest")
}
func (u UnimplementedSwaps[A]) Renew(time.Time, ...Lease[string]) ([]string, error) {
	return none[[]string](u, "Renew")
}
func (u UnimplementedSwaps[A]) Save(...swap.Change[A]) error { return u.no("Save") }
func (u UnimplementedSwaps[A]) Transitions(string) ([]statemachine.Transition[string], error) {
	return none[[]statemachine.Transition[string]](u, "Transitions")
}

// UnimplementedSwapHouse is a [SwapHouse] whose methods all fail.
type UnimplementedSwapHouse struct{ Unimplemented }

func (u UnimplementedSwapHouse) Close(swap.Discrepancy) error { return u.no("Close") }
func (u UnimplementedSwapHouse) Control(bool) (swap.Control, error) {
	return none[swap.Control](u, "Control")
}
func (u UnimplementedSwapHouse) Discrepancies(int64, int) ([]swap.Discrepancy, int64, error) {
	return none2[[]swap.Discrepancy, int64](u, "Discrepancies")
}
func (u UnimplementedSwapHouse) Note(...swap.Discrepancy) error { return u.no("Note") }
func (u UnimplementedSwapHouse) OfClaim(string) (swap.Direction, string, error) {
	return none2[swap.Direction, string](u, "OfClaim")
}
func (u UnimplementedSwapHouse) OfReference(uint64) (swap.Direction, string, error) {
	return none2[swap.Direction, string](u, "OfReference")
}
func (u UnimplementedSwapHouse) SaveControl(swap.Control, swap.Control) error {
	return u.no("SaveControl")
}
func (u UnimplementedSwapHouse) SaveWaterline(swap.Waterline, swap.Waterline) error {
	return u.no("SaveWaterline")
}
func (u UnimplementedSwapHouse) Stats(time.Time, time.Duration) (swap.Stats, error) {
	return none[swap.Stats](u, "Stats")
}
func (u UnimplementedSwapHouse) Waterline(swap.Chain, bool) (swap.Waterline, error) {
	return none[swap.Waterline](u, "Waterline")
}

// UnimplementedRefreshes is a [RefreshRecords] whose methods all fail.
type UnimplementedRefreshes struct{ Unimplemented }

func (u UnimplementedRefreshes) Ahead(refresh.Latest, string, int) ([]string, error) {
	return none[[]string](u, "Ahead")
}
func (u UnimplementedRefreshes) Find(uuid.UUID) (refresh.Work, error) {
	return none[refresh.Work](u, "Find")
}
func (u UnimplementedRefreshes) Follow(Cursor, int) ([]statemachine.Transition[uuid.UUID], Cursor, error) {
	return none2[[]statemachine.Transition[uuid.UUID], Cursor](u, "Follow")
}
func (u UnimplementedRefreshes) Free(...string) ([]refresh.Work, error) {
	return none[[]refresh.Work](u, "Free")
}
func (u UnimplementedRefreshes) Get(...string) ([]refresh.Work, error) {
	return none[[]refresh.Work](u, "Get")
}
func (u UnimplementedRefreshes) Head() (Cursor, error) { return none[Cursor](u, "Head") }
func (u UnimplementedRefreshes) Heads(...string) ([]refresh.Work, error) {
	return none[[]refresh.Work](u, "Heads")
}
func (u UnimplementedRefreshes) HeldBy(string, string, int) ([]string, error) {
	return none[[]string](u, "HeldBy")
}
func (u UnimplementedRefreshes) Jobs(refresh.JobStatus, *refresh.Job, int) ([]refresh.Job, error) {
	return none[[]refresh.Job](u, "Jobs")
}
func (u UnimplementedRefreshes) Load(*refresh.Work, refresh.Reads, time.Time) error {
	return u.no("Load")
}
func (u UnimplementedRefreshes) NextFence() (int64, error) { return none[int64](u, "NextFence") }
func (u UnimplementedRefreshes) Recoverable(time.Time, string, int) ([]string, error) {
	return none[[]string](u, "Recoverable")
}
func (u UnimplementedRefreshes) Renew(time.Time, time.Time, ...RefreshLease) ([]string, error) {
	return none[[]string](u, "Renew")
}
func (u UnimplementedRefreshes) Save(...refresh.Change) error { return u.no("Save") }
func (u UnimplementedRefreshes) Slots() ([]refresh.Slot, error) {
	return none[[]refresh.Slot](u, "Slots")
}
func (u UnimplementedRefreshes) Stats(time.Time) (refresh.Stats, error) {
	return none[refresh.Stats](u, "Stats")
}
func (u UnimplementedRefreshes) Sweep(time.Time, int) (int, error) { return none[int](u, "Sweep") }
func (u UnimplementedRefreshes) Transitions(uuid.UUID) ([]statemachine.Transition[uuid.UUID], error) {
	return none[[]statemachine.Transition[uuid.UUID]](u, "Transitions")
}
func (u UnimplementedRefreshes) Waiting(time.Time, int) ([]refresh.Candidate, []error, error) {
	return none2[[]refresh.Candidate, []error](u, "Waiting")
}
func (u UnimplementedRefreshes) Wallets(string, int) ([]string, error) {
	return none[[]string](u, "Wallets")
}
func (u UnimplementedRefreshes) Watchers(refresh.EndReason, *refresh.Watcher, int) ([]refresh.Watcher, error) {
	return none[[]refresh.Watcher](u, "Watchers")
}

// UnimplementedRelays is a [RelayRecords] whose methods all fail.
type UnimplementedRelays struct{ Unimplemented }

func (u UnimplementedRelays) Activities(string, string, int) ([]relaysync.Activity, error) {
	return none[[]relaysync.Activity](u, "Activities")
}
func (u UnimplementedRelays) Due(time.Time, int) ([]relaysync.Sync, []error, error) {
	return none2[[]relaysync.Sync, []error](u, "Due")
}
func (u UnimplementedRelays) Follow(Cursor, int) ([]statemachine.Transition[string], Cursor, error) {
	return none2[[]statemachine.Transition[string], Cursor](u, "Follow")
}
func (u UnimplementedRelays) ForOperator(string, int) ([]string, error) {
	return none[[]string](u, "ForOperator")
}
func (u UnimplementedRelays) Get(...string) ([]relaysync.Sync, error) {
	return none[[]relaysync.Sync](u, "Get")
}
func (u UnimplementedRelays) Head() (Cursor, error) { return none[Cursor](u, "Head") }
func (u UnimplementedRelays) HeldBy(string, string, int) ([]string, error) {
	return none[[]string](u, "HeldBy")
}
func (u UnimplementedRelays) List(string, string, int) ([]string, error) {
	return none[[]string](u, "List")
}
func (u UnimplementedRelays) NextDue(time.Time) (time.Time, error) {
	return none[time.Time](u, "NextDue")
}
func (u UnimplementedRelays) Pending(string, int) ([]string, error) {
	return none[[]string](u, "Pending")
}
func (u UnimplementedRelays) Renew(time.Time, ...Lease[string]) ([]string, error) {
	return none[[]string](u, "Renew")
}
func (u UnimplementedRelays) Save(...relaysync.Change) error { return u.no("Save") }
func (u UnimplementedRelays) Stats(time.Time, time.Duration) (relaysync.Stats, error) {
	return none[relaysync.Stats](u, "Stats")
}
func (u UnimplementedRelays) Transitions(string) ([]statemachine.Transition[string], error) {
	return none[[]statemachine.Transition[string]](u, "Transitions")
}

// UnimplementedTenants is a [TenantRecords] whose methods all fail.
type UnimplementedTenants struct{ Unimplemented }

func (u UnimplementedTenants) Due(time.Time, int) ([]dunning.Account, []error, error) {
	return none2[[]dunning.Account, []error](u, "Due")
}
func (u UnimplementedTenants) Follow(Cursor, int) ([]statemachine.Transition[string], Cursor, error) {
	return none2[[]statemachine.Transition[string], Cursor](u, "Follow")
}
func (u UnimplementedTenants) ForOperator(time.Time, string, int) ([]string, error) {
	return none[[]string](u, "ForOperator")
}
func (u UnimplementedTenants) Get(...string) ([]dunning.Account, error) {
	return none[[]dunning.Account](u, "Get")
}
func (u UnimplementedTenants) Head() (Cursor, error) { return none[Cursor](u, "Head") }
func (u UnimplementedTenants) InvoiceTransitions(string) ([]statemachine.Transition[string], error) {
	return none[[]statemachine.Transition[string]](u, "InvoiceTransitions")
}
func (u UnimplementedTenants) List(string, int) ([]string, error) { return none[[]string](u, "List") }
func (u UnimplementedTenants) NextDue(time.Time) (time.Time, error) {
	return none[time.Time](u, "NextDue")
}
func (u UnimplementedTenants) Overslept(time.Time, int) ([]dunning.Account, []error, error) {
	return none2[[]dunning.Account, []error](u, "Overslept")
}
func (u UnimplementedTenants) Save(...dunning.Change) error { return u.no("Save") }
func (u UnimplementedTenants) Stats(time.Time) (dunning.Stats, error) {
	return none[dunning.Stats](u, "Stats")
}
func (u UnimplementedTenants) TenantOf(string) (string, error) { return none[string](u, "TenantOf") }
func (u UnimplementedTenants) Transitions(string) ([]statemachine.Transition[string], error) {
	return none[[]statemachine.Transition[string]](u, "Transitions")
}
