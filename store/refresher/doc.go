// Package refresher runs the refresh system: an orchestrator that gives slots to
// wallets with work, and a worker for each, in one process or in many on one
// store.
//
// # Contract
//
//   - Over all processes at most MAX_WALLET_PROCESSES wallets are served at once,
//     and no wallet twice: a slot is a number and a lease in the store.
//   - A round of a wallet is at most 10 jobs, one at a time, then one tick of its
//     due watchers. Between two rounds it rests WALLET_WORKER_POLL_INTERVAL,
//     unless a job is due; it leaves its slot when others wait for one, or after
//     WALLET_WORKER_IDLE_TIMEOUT without a job or a watcher.
//   - Slot, job and lock are renewed on one beat, every LockTTL/3. No call that
//     needs the lock starts at or after its end by this process's own monotonic
//     clock, counted from before the last renewal was sent, and a call that runs
//     then is cancelled. The node may still work on it, see package refresh.
//   - Each call is bounded by HTTP_TIMEOUT, a pass or a tick by (2 + assets) of
//     them, and by 2 until its assets are listed. The first call of a round that
//     times out ends the round and gives the slot back for a while.
//   - Between two calls of a tick a due job goes first, up to the 10 of the round.
//   - A call that has not returned LockTTL/3 after its context is done is left
//     behind: slot, job and lock are renewed no longer and given back, what it says
//     later is not stored, and this process calls nothing for the wallet until it
//     has returned. Jobs that meet that keep their attempts. So nothing is renewed
//     for longer than HTTP_TIMEOUT and LockTTL/3 behind the begin of a call.
//   - A call that panics is one of which nobody knows what happened: the job's
//     attempt counts, a look-up is one without an answer, and the watchers ask
//     again after REFRESH_INTERVAL. The log has what it said, the record has not.
//   - A process that dies loses nothing: its leases end, and any other one goes on.
//
// The host's calls are [Host]; its contract is in package refresh.
//
// # What the host answers
//
// nil is done. Any other error than these two says that nobody knows what happened,
// a time-out and a panic included.
//
//	ErrPermanent   what was asked for did not happen and never will: the wallet is
//	               unknown, the request is malformed. In a refresh or a listing of a
//	               job it ends the job as failed, without another attempt. In a
//	               listing of a tick it ends nothing: the watchers ask again each
//	               REFRESH_INTERVAL, and past their expiry an alert names the
//	               wallet. Of FailTransfers it says that the transfer has moved, and
//	               the batch is not asked again before the expiry (Watcher.Refused).
//	ErrDeferred    it was not tried: the node is busy, paused, starting. The job
//	               keeps its attempt and is due after REFRESH_INTERVAL; a
//	               cancellation counts as none.
//
// # What an operator does
//
// The names are those of refresh.Alerts; the wallet's trail says what was tried.
//
//	expired open           Refreshes.Watchers(EndOpen) lists them: the time is over and
//	                       the node says that the transfer is open. See there what
//	                       became of it, then enqueue a manual job for the wallet: it
//	                       watches again what is open still, and ends the alert.
//	cancellation refused   a watcher, watching still, whose Refused names batches that the
//	                       node will not fail. Mostly the transfer has moved, the next
//	                       look-up shows it, and the alert ends by itself. Where it
//	                       stays, fail the transfer at the node by hand, or wait: at
//	                       the expiry it is tried twice more, then it expires open.
//	job age                a job has not ended, however often it was tried: Job.Error says
//	                       why it is put off, or a lock is held each time.
//	job wait, tick wait,   nobody serves a wallet: no refresher runs, or calls take too long
//	lease expired          for as many wallets on MAX_WALLET_PROCESSES slots.
//	refresh ahead          a job or a watcher was made in the future: the store's clock was
//	                       ahead, or is behind. See below.
//	not enqueued           a process could not store jobs of API requests: it tries again,
//	                       and its log names each. Of those that it dropped, enqueue a
//	                       manual job for the wallet; the count ends with the process.
//	past expiry            no look-up of the wallet was answered since: Watcher.LastError
//	                       says why. They end with the first answer, or after a
//	                       cancellation that is tried once more. For a wallet
//	                       that is gone from the node, let ListAssets and
//	                       ListTransfers answer with nothing: they expire gone.
//	failed jobs            Job.Error says why. Enqueue a manual job once that is mended.
//	hung                   its calls time out; it rests up to MaxHungPause between two.
//
// # Clocks
//
// Leases are given and ended by the store's clock. A holder knows that of its lock
// to the end by its own monotonic clock, so that a host's clock that is set, or
// wrong, changes nothing. The store's own clock must not jump: one that is set
// forward by more than what is left of a lease, 20 to 30 s as long as renewals work,
// ends it at once for everybody but its holder, which hears of it at its next
// renewal, LockTTL/3 later at most, and then ends its call. Until then two processes
// may call the node for one wallet at a time. Nothing is stored twice all the same:
// the fence of the old holder is refused. So slew that clock (as NTP does beyond
// its first correction), and stop the refreshers before it is set by hand, or before
// a standby whose clock differs by more takes over. Set back, what it
// gave lasts until a refresher brings it back, once in LockTTL (refresh.Reconciled).
//
// However far that clock steps, forth or back and at whatever moment, no fact is lost for
// good: what ended before a listing, and which job was made after a failure, is told by
// the wallet's sequence (refresh.Wallet.WorkSeq), and by fences; no time is compared for
// it. What remains of a wrong clock:
//
//	ahead    a watcher may end before its time. The next job of the wallet watches again
//	         what the node shows as open; what it does not show yet is watched by the
//	         first job after it shows. So enqueue a sync job for the wallets whose
//	         watchers have ended_at ahead of the right clock.
//	ahead    a watcher, and a provisional one, that was made then lives longer by as much.
//	ahead    the age of a job that was made then counts from that time on; the alert
//	         "refresh ahead" says so.
//	back     a wallet that was just given back waits for its next slot up to LockTTL.
package refresher
