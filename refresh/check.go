package refresh

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/statemachine"
)

// Check returns [statemachine.ErrCorrupt] with the first invariant that the
// loaded records break.
func Check(w Work) error {
	if w.Wallet.Status != 0 {
		if broken := checkWallet(&w.Wallet); broken != "" {
			return corrupt("wallet "+w.Wallet.XpubVan, broken)
		}
	}
	if broken := checkLock(&w); broken != "" {
		return corrupt("lock of wallet "+w.Lock.XpubVan, broken)
	}
	processing, recovery, latest := 0, 0, w.Lock.Seq
	ids := map[uuid.UUID]bool{}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if broken := checkJob(j, w.Wallet.XpubVan); broken != "" || ids[j.ID] {
			return corrupt("job "+j.ID.String(), broken)
		}
		ids[j.ID] = true
		if j.Status == JobProcessing {
			processing++
		}
		latest = max(latest, j.Seq, j.EndSeq)
		if j.Cause == Recovery && j.Live() {
			recovery++
		}
	}
	recipients := map[string]bool{}
	for i := range w.Watchers {
		watcher := &w.Watchers[i]
		if broken := checkWatcher(watcher, w.Wallet.XpubVan); broken != "" || recipients[watcher.Recipient] {
			return corrupt(fmt.Sprintf("watcher of %q", watcher.Recipient), broken)
		}
		recipients[watcher.Recipient] = true
		latest = max(latest, watcher.EndSeq)
	}
	switch {
	case w.Wallet.Status != 0 && latest > w.Wallet.WorkSeq:
		return corrupt("wallet "+w.Wallet.XpubVan, "nothing is later than its work sequence")
	case processing > 1:
		return corrupt("wallet "+w.Wallet.XpubVan, "one job at a time is processed")
	case recovery > 1:
		return corrupt("wallet "+w.Wallet.XpubVan, "at most one recovery job is pending or processing")
	}
	return nil
}

func corrupt(what, broken string) error {
	if broken == "" {
		broken = "it exists twice"
	}
	return fmt.Errorf("%w: refresh %s: %s", statemachine.ErrCorrupt, what, broken)
}

// first returns the text of the first rule that does not hold.
func first(rules ...rule) string {
	for _, r := range rules {
		if !r.holds {
			return r.text
		}
	}
	return ""
}

type rule struct {
	holds bool
	text  string
}

func checkWallet(w *Wallet) string {
	served := w.Status == Served
	return first(
		rule{w.Status.Valid() && w.Version >= 1, "a wallet has a status and a version"},
		rule{word(w.XpubVan), "a wallet has an xpub"},
		rule{w.WorkSeq >= 1, "a wallet had a job"},
		rule{served == (w.Slot > 0) && w.Slot >= 0, "exactly a served wallet has a slot"},
		rule{served == (w.Lease.Holder != "") && served == !w.Lease.Until.IsZero(),
			"exactly a served wallet is leased, up to a time"},
		rule{served == w.UnservedSince.IsZero(), "exactly an unserved wallet waits since a time"},
		rule{w.HungRounds >= 0 && (w.HungRounds > 0) == !w.NotBefore.IsZero(),
			"exactly a wallet whose rounds hang has a pause"},
		rule{!w.CreatedAt.IsZero(), "a wallet was made at a time"},
	)
}

func checkLock(w *Work) string {
	l := &w.Lock
	if *l == (Lock{}) {
		return ""
	}
	return first(
		rule{w.Wallet.Status == 0 || l.XpubVan == w.Wallet.XpubVan, "a lock is of its wallet"},
		rule{l.Lease.Holder != "" && l.Lease.Fence >= 1, "a lock has a holder and a fence"},
		rule{l.LockedAt.Before(l.Lease.Until) && l.Seq >= 1, "a lock ends after it was taken, at a place in the wallet's sequence"},
	)
}

func checkJob(j *Job, xpub string) string {
	pending, processing := j.Status == JobPending, j.Status == JobProcessing
	return first(
		rule{j.Status.Valid() && j.Version >= 1 && j.Cause.Valid(), "a job has a status, a version and a trigger"},
		rule{uuid4(j.ID) && j.Credentials.valid(), "a job has an id and the three fields of its wallet"},
		rule{xpub == "" || j.XpubVan == xpub, "a job is of its wallet"},
		rule{j.Cause != InvoiceCreated || j.Recipient != "", "an invoice has a recipient"},
		rule{j.Attempts >= 0 && (j.Attempts > 0 || pending), "a job that was begun has an attempt"},
		rule{processing == (j.Lease.Holder != "") && processing == !j.Lease.Until.IsZero(),
			"exactly a job in processing is leased, up to a time"},
		rule{(pending || processing) == j.ProcessedAt.IsZero(), "exactly a job that ended has processed_at"},
		rule{j.Seq >= 1 && j.EndSeq >= 0 && (pending || processing) == (j.EndSeq == 0),
			"a job has its begin in the wallet's sequence, and its end if it ended"},
		rule{!j.CreatedAt.IsZero() && !j.AvailableAt.IsZero(), "a job has its times"},
		rule{len(j.Error) <= MaxText, "an error is bounded"},
	)
}

func checkWatcher(w *Watcher, xpub string) string {
	watching := w.Status == Watching
	return first(
		rule{w.Status.Valid() && w.Version >= 1, "a watcher has a status and a version"},
		rule{word(w.Recipient) && w.Credentials.valid(),
			"a watcher has a recipient and the three fields of its wallet"},
		rule{xpub == "" || w.XpubVan == xpub, "a watcher is of its wallet"},
		rule{!w.Provisional || w.Asset == "", "a provisional watcher has no asset"},
		rule{watching == w.EndedAt.IsZero() && watching == (w.EndReason == 0),
			"exactly a watcher that ended has a reason and its time"},
		rule{(w.EndReason == EndTransfer) == (w.Status == Settled || w.Status == Failed),
			"a transfer ends a watcher as settled or failed"},
		rule{w.RefreshCount >= 0, "refreshes are counted from 0"},
		rule{w.EndSeq >= 0 && watching == (w.EndSeq == 0), "exactly a watcher that ended has its end in the wallet's sequence"},
		rule{!w.CreatedAt.IsZero() && !w.NextAt.IsZero() && !w.ExpiresAt.IsZero(), "a watcher has its times"},
		rule{len(w.LastError) <= MaxText && len(w.Refused) <= MaxText, "a text is bounded"},
	)
}
