// Package refresher runs the refresh system: an orchestrator that gives slots to wallets with
// work, and a worker for each of these wallets, in one process or in many on one store.
//
// # Contract
//
//   - Over all processes at most MAX_WALLET_PROCESSES wallets are served at once, and no
//     wallet twice: a slot is a number and a lease in the store.
//   - A round of a wallet is at most 10 jobs, one at a time, then one tick of its due
//     watchers. Between two rounds the wallet rests WALLET_WORKER_POLL_INTERVAL, unless a
//     job is due. It leaves its slot when other wallets wait for one, or after
//     WALLET_WORKER_IDLE_TIMEOUT without a job or a watcher.
//   - Slot, job and lock are renewed together, every LockTTL/3. No call that needs the lock
//     starts at or after the lock's end, and a call that still runs at the end is cancelled.
//     The end is counted by this process's own monotonic clock from before the last renewal
//     was sent. The node may go on working on a cancelled call, see package refresh.
//   - A call lasts at most HTTP_TIMEOUT. A pass or a tick lasts at most (2 + assets) x
//     HTTP_TIMEOUT, and 2 x HTTP_TIMEOUT until its assets are listed. The first call of a
//     round that times out ends the round and gives the slot back for a while.
//   - Between two calls of a tick a due job goes first, up to the 10 of the round.
//   - A call that has not returned LockTTL/3 after its context is done is left behind: slot,
//     job and lock are no longer renewed and are given back, its answer is not stored, and
//     this process calls nothing for the wallet until the call has returned. Jobs that are
//     claimed meanwhile keep their attempts. So nothing is renewed for longer than
//     HTTP_TIMEOUT plus LockTTL/3 after the begin of a call.
//   - When a call panics, nobody knows what happened: the attempt of the job counts, a
//     look-up has no answer, and the watchers are due again after REFRESH_INTERVAL. The
//     panic's text is in the log, not in the record.
//   - A process that dies loses nothing: its leases end, and any other process goes on.
//
// The host's calls are [Host]; its contract is in package refresh.
//
// # What the host answers
//
// nil means that the call was done. Any error other than the two below, a time-out and a panic
// included, means that nobody knows what happened.
//
//	ErrPermanent   the call did not happen and never will: the wallet is unknown, the
//	               request is malformed. In a refresh or a listing of a job it ends the
//	               job as failed, without another attempt. In a listing of a tick it
//	               ends nothing: the watchers are due again after REFRESH_INTERVAL, and
//	               past their expiry an alert names the wallet. From FailTransfers it
//	               means that the transfer has moved, and the batch is not asked for
//	               again before the expiry (Watcher.Refused).
//	ErrDeferred    the call was not tried: the node is busy, paused, starting. The job
//	               keeps its attempt and is due after REFRESH_INTERVAL; a cancellation
//	               does not count as tried.
//
// # What an operator does
//
// The names are those of refresh.Alerts; the wallet's trail shows what was tried.
//
//	expired open           Refreshes.Watchers(EndOpen) lists the watchers whose time is
//	                       over while the node says that the transfer is open. Look at the
//	                       node what became of the transfer, then enqueue a manual job for
//	                       the wallet: it watches what is still open, and ends the alert.
//	cancellation refused   Watcher.Refused of a watching watcher names batches that the
//	                       node will not fail. Mostly the transfer has moved, the next
//	                       look-up shows it, and the alert ends by itself. Where the alert
//	                       stays, fail the transfer at the node by hand, or wait: at
//	                       the expiry it is tried twice more, then it expires open.
//	job age                a job has not ended, however often it was tried: Job.Error says
//	                       why it is put off, or a lock is held each time.
//	job wait, tick wait,   nobody serves a wallet: no refresher runs, or calls take too long
//	lease expired          for as many wallets on MAX_WALLET_PROCESSES slots.
//	refresh ahead          a job or a watcher was made in the future: the store's clock was
//	                       ahead, or is behind. See below.
//	not enqueued           a process could not store jobs of API requests: it tries again,
//	                       and its log names each job. For a job that it dropped, enqueue a
//	                       manual job for the wallet; the count ends with the process.
//	past expiry            no look-up of the wallet was answered since the watcher's expiry:
//	                       Watcher.LastError says why. The watcher ends with the first
//	                       answer, or after a cancellation that is tried once more. For a
//	                       wallet that is gone from the node, let ListAssets and
//	                       ListTransfers answer with nothing: its watchers expire gone.
//	failed jobs            Job.Error says why. Enqueue a manual job once the cause is mended.
//	hung                   the wallet's calls time out; it rests up to MaxHungPause between two.
//
// # Clocks
//
// Leases are given and ended by the store's clock. The holder of a lock counts to the lock's end
// by its own monotonic clock, so a host's clock that is set, or wrong, changes nothing.
//
// The store's own clock must not jump. If it is set forward by more than what is left of a lease
// (20 to 30 s as long as renewals work), the lease ends at once for everybody but its holder. The
// holder learns it at its next renewal, at most LockTTL/3 later, and then ends its call; until
// then two processes may call the node for one wallet at a time. Nothing is stored twice all the
// same: the fence of the old holder is refused. So slew this clock (as NTP does after its first
// correction), and stop the refreshers before it is set by hand, or before a standby takes over
// whose clock differs by more. If the clock is set back, leases that it gave last too long, until
// a refresher shortens them, once in LockTTL (refresh.Reconciled).
//
// However far the store's clock is moved, forth or back and at whatever moment, no fact is lost
// for good. Whether a watcher ended before a listing, and whether a job was made after a failure,
// is told by the wallet's sequence (refresh.Wallet.WorkSeq) and by fences; no times are compared.
// A wrong clock leaves this behind:
//
//	ahead    a watcher may end before its time. The next job of the wallet watches again
//	         what the node shows as open; a transfer that the node does not show yet is
//	         watched by the first job after it shows. So enqueue a sync job for the
//	         wallets whose watchers have ended_at ahead of the right clock.
//	ahead    a watcher that was made then, also a provisional one, lives longer by as much.
//	ahead    the age of a job that was made then counts from its time in the future; the
//	         alert "refresh ahead" says so.
//	back     a wallet that was just given back waits for its next slot up to LockTTL.
package refresher
