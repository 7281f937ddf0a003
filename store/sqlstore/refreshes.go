package sqlstore

import (
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// refreshes are the records of package refresh within a transaction.
type refreshes struct{ feed[uuid.UUID] }

// Refreshes implements [store.RefreshUnit].
func (t *tx) Refreshes() store.RefreshRecords {
	if none, lacks := t.lacks(store.DomainRefreshes); lacks {
		return store.UnimplementedRefreshes{Unimplemented: none}
	}
	return refreshes{feed[uuid.UUID]{t, uuid.Parse, refreshMachines}}
}

// Get implements [store.RefreshRecords].
func (r refreshes) Get(xpubs ...string) ([]refresh.Work, error) {
	ws, err := r.heads(&refreshHeads, xpubs)
	for i := range ws {
		if err == nil && ws[i].Wallet.Status != 0 {
			err = r.Load(&ws[i], refresh.Reads{Jobs: refresh.AllJobs, Watchers: refresh.AllWatchers}, time.Time{})
		}
	}
	return ws, err
}

// The wallets' rows come first and the locks in a second statement: what waits
// for a row reads the rest as it is afterwards.
var (
	refreshHeads = statement{set: "xpub_van text", text: "SELECT " + refreshWalletTable.columns("x.") + " FROM @refresh_wallets x " +
		"WHERE x.xpub_van IN (SELECT r.xpub_van FROM {set}) ORDER BY x.xpub_van"}
	lockedHeads = map[Dialect]*statement{SQLite: &refreshHeads, Postgres: {set: refreshHeads.set,
		text: refreshHeads.text + " FOR NO KEY UPDATE OF x"}}
	freeHeads = map[Dialect]*statement{SQLite: &refreshHeads, Postgres: {set: refreshHeads.set,
		text: refreshHeads.text + " FOR NO KEY UPDATE OF x SKIP LOCKED"}}
	walletLocksOf = statement{set: "xpub_van text", text: "SELECT " + walletLockTable.columns("x.") + " FROM @wallet_locks x " +
		"WHERE x.xpub_van IN (SELECT r.xpub_van FROM {set})"}
)

// Heads implements [store.RefreshRecords].
func (r refreshes) Heads(xpubs ...string) ([]refresh.Work, error) {
	if r.view {
		return r.heads(&refreshHeads, xpubs)
	}
	return r.heads(lockedHeads[r.store.Dialect], xpubs)
}

// Free implements [store.RefreshRecords].
func (r refreshes) Free(xpubs ...string) ([]refresh.Work, error) {
	if err := r.writes("free"); err != nil {
		return nil, err
	}
	ws, err := r.heads(freeHeads[r.store.Dialect], xpubs)
	if err != nil || r.store.Dialect == SQLite || !slices.ContainsFunc(ws, func(w refresh.Work) bool { return w.Wallet.Status == 0 }) {
		return ws, err
	}
	known, err := r.heads(&refreshHeads, xpubs)
	for i := range known {
		if ws[i].Wallet.Status == 0 { // locked, or not there
			ws[i].Wallet.XpubVan = known[i].Wallet.XpubVan
		}
	}
	return ws, err
}

func (r refreshes) writes(event string) error {
	if r.view {
		return &statemachine.Refusal{Err: statemachine.ErrIllegal, Machine: refresh.WalletMachine.Name(), Event: event,
			Reason: "a View writes and locks nothing"}
	}
	return nil
}

func (r refreshes) heads(st *statement, xpubs []string) ([]refresh.Work, error) {
	return inOrderOf(xpubs, func(set *batch, each func(string, *refresh.Work)) error {
		var wallets []refresh.Wallet
		err := refreshWalletTable.read(r.tx, st, set, func(w *refresh.Wallet) { wallets = append(wallets, *w) })
		locks := map[string]refresh.Lock{}
		if err == nil {
			err = walletLockTable.read(r.tx, &walletLocksOf, set, func(l *refresh.Lock) { locks[l.XpubVan] = *l })
		}
		for _, w := range wallets {
			each(w.XpubVan, &refresh.Work{Wallet: w, Lock: locks[w.XpubVan]})
		}
		return err
	})
}

// selection is which records of a wallet one set has, in which order, and how
// many; the domain has the same rules as functions in its due.go, and storetest
// compares the two.
type selection struct {
	where, order string
	timed        bool // $2 is the time
	limit        int
}

const (
	liveJobs = "x.status IN ('pending', 'processing')"
	watching = "x.status = 'watching'"
)

// The rows that are due by themselves, see due.go of the domain: a pending job, a job that its worker has left, a
// watcher's tick, its expiry. The sets below, the waiting wallets and the statistics are made from these.
var (
	pendingJobs = due{from: "@refresh_jobs x", where: "x.status = 'pending'", at: "x.available_at"}
	leftJobs    = due{from: "@refresh_jobs x", where: "x.status = 'processing'", at: "x.lease_until"}
	dueTicks    = due{from: "@refresh_watchers x", where: watching, at: "x.next_at", order: "x.next_at, x.recipient_id"}
	expiries    = due{from: "@refresh_watchers x", where: watching, at: "x.expires_at", order: "x.expires_at, x.xpub_van"}
)

var jobSets = map[refresh.JobSet]selection{
	refresh.AnyLiveJob: {liveJobs, "x.created_at, x.job_id", false, 1},
	refresh.DueJobs: {liveJobs + " AND (" + leftJobs.where + " OR " + pendingJobs.is("$2") + ")",
		"CASE x.status WHEN 'processing' THEN 0 ELSE 1 END, x.created_at, x.job_id", true, refresh.MaxDueJobs},
	refresh.JoinableJobs: {liveJobs + " AND (x.trigger = 'recovery' OR x.trigger = 'sync' AND x.status = 'pending' AND x.attempts = 0)",
		"CASE x.trigger WHEN 'recovery' THEN 0 ELSE 1 END, x.created_at, x.job_id", false, 2},
	refresh.AllJobs: {"", "x.created_at DESC, x.job_id DESC", false, refresh.MaxHistory},
}

var watcherSets = map[refresh.WatcherSet]selection{
	refresh.AnyWatching: {watching, dueTicks.order, false, 1},
	refresh.DueWatchers: {watching + " AND (" + dueTicks.at + " <= $2 OR x.provisional AND " + expiries.at + " <= $2)",
		dueTicks.order, true, refresh.MaxTick},
	refresh.LapsedWatchers: {expiries.is("$2") + " AND x.provisional", dueTicks.order, true, refresh.MaxTick},
	refresh.NewestActive:   {watching + " AND NOT " + expiries.at + " <= $2", "x.created_at DESC, x.recipient_id DESC", true, 1},
	refresh.AllWatchers:    {"", "x.created_at DESC, x.recipient_id DESC", false, refresh.MaxHistory},
}

// statements makes the statement of each set of a table.
func statements[S comparable, R any](t *table[R], sets map[S]selection) map[S]*statement {
	all := map[S]*statement{}
	for set, s := range sets {
		limit, where := "$2", "x.xpub_van = $1"
		if s.timed {
			limit = "$3"
		}
		if s.where != "" {
			where += " AND " + s.where
		}
		all[set] = &statement{text: "SELECT " + t.columns("x.") + " FROM @" + t.name + " x WHERE " + where +
			" ORDER BY " + s.order + " LIMIT " + limit}
	}
	return all
}

var (
	jobsOfSet     = statements(refreshJobTable, jobSets)
	watchersOfSet = statements(watcherTable, watcherSets)
	refreshJobOf  = statement{text: "SELECT " + refreshJobTable.columns("x.") + " FROM @refresh_jobs x WHERE x.job_id = $1"}
	watchersByID  = statement{set: "id uuid", text: "SELECT " + watcherTable.columns("x.") + " FROM @refresh_watchers x " +
		"WHERE x.id IN (SELECT r.id FROM {set})"}
)

func (s selection) args(xpub string, now time.Time) []any {
	if s.timed {
		return []any{xpub, now, int64(s.limit)}
	}
	return []any{xpub, int64(s.limit)}
}

// Load implements [store.RefreshRecords].
func (r refreshes) Load(w *refresh.Work, reads refresh.Reads, now time.Time) (err error) {
	xpub := w.Wallet.XpubVan
	w.Jobs, w.Watchers = nil, nil
	if st := jobsOfSet[reads.Jobs]; st != nil {
		if w.Jobs, err = refreshJobTable.find(r.tx, st, nil, jobSets[reads.Jobs].args(xpub, now)...); err != nil {
			return err
		}
		if reads.Jobs == refresh.AllJobs {
			slices.Reverse(w.Jobs)
		}
	}
	if reads.Job != uuid.Nil && !slices.ContainsFunc(w.Jobs, func(j refresh.Job) bool { return j.ID == reads.Job }) {
		named, err := refreshJobTable.find(r.tx, &refreshJobOf, nil, reads.Job.String())
		if err != nil {
			return err
		}
		if len(named) > 0 && named[0].XpubVan == xpub {
			w.Jobs = append(w.Jobs, named[0])
		}
	}
	known := map[string]bool{}
	if st := watchersOfSet[reads.Watchers]; st != nil {
		if w.Watchers, err = watcherTable.find(r.tx, st, nil, watcherSets[reads.Watchers].args(xpub, now)...); err != nil {
			return err
		}
		if reads.Watchers == refresh.AllWatchers {
			slices.Reverse(w.Watchers)
		}
		for i := range w.Watchers {
			known[w.Watchers[i].Recipient] = true
		}
	}
	ids, from, place := new(batch), len(w.Watchers), map[string]int{}
	named := func(recipient string) {
		if recipient != "" && !known[recipient] {
			known[recipient], place[recipient] = true, len(place)
			ids.add(refresh.WatcherID(xpub, recipient))
		}
	}
	for _, recipient := range reads.Recipients {
		named(recipient)
	}
	for i := range w.Jobs {
		if reads.Invoices {
			named(w.Jobs[i].Recipient)
		}
	}
	err = watcherTable.read(r.tx, &watchersByID, ids, func(x *refresh.Watcher) { w.Watchers = append(w.Watchers, *x) })
	// In the order in which they were named: what ends in one step is numbered in this order.
	slices.SortFunc(w.Watchers[from:], func(a, b refresh.Watcher) int { return place[a.Recipient] - place[b.Recipient] })
	return err
}

var nextFence = map[Dialect]*statement{
	SQLite:   {text: "UPDATE @wallet_lock_fences SET fence = fence + 1 RETURNING fence"},
	Postgres: {text: "SELECT nextval('@wallet_lock_fences')"},
}

// NextFence implements [store.RefreshRecords].
func (r refreshes) NextFence() (fence int64, err error) {
	if err := r.writes("fence"); err != nil {
		return 0, err
	}
	err = r.read(nextFence[r.store.Dialect], nil, func(rows *sql.Rows) error { return rows.Scan(&fence) })
	return fence, err
}

// Find implements [store.RefreshRecords].
func (r refreshes) Find(id uuid.UUID) (w refresh.Work, err error) {
	set := new(batch)
	set.add(id)
	err = refreshJobTable.read(r.tx, &refreshJobOf, nil, func(j *refresh.Job) { w.Jobs = append(w.Jobs, *j) }, id.String())
	if err == nil {
		err = watcherTable.read(r.tx, &watchersByID, set, func(x *refresh.Watcher) { w.Watchers = append(w.Watchers, *x) })
	}
	if err == nil {
		err = refreshWalletTable.read(r.tx, &walletByID, nil, func(x *refresh.Wallet) { w.Wallet = *x }, id.String())
	}
	if err == nil && w.Wallet.Status == 0 && len(w.Jobs)+len(w.Watchers) == 0 {
		err = &statemachine.Refusal{Err: statemachine.ErrNotFound, Machine: refresh.WalletMachine.Name(), ID: id.String()}
	}
	return w, err
}

var walletByID = statement{text: "SELECT " + refreshWalletTable.columns("x.") + " FROM @refresh_wallets x WHERE x.id = $1"}

var refreshMachines = []string{refresh.JobMachine.Name(), refresh.WatcherMachine.Name(), refresh.WalletMachine.Name()}
