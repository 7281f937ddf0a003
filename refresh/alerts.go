package refresh

import "github.com/settlehq/settle/statemachine"

// AlertKinds are the alerts of [Alerts], in its order.
func AlertKinds() []statemachine.AlertKind {
	return []statemachine.AlertKind{
		{Name: "job age", Person: true,
			Ends: "Job.Error says why it is put off: mend that; it is tried again when it is due"},
		{Name: "job wait", Person: true, Ends: "start a refresher, or give it more slots"},
		{Name: "lease expired", Person: true,
			Ends: "start a refresher, or give it more slots: the next claim of the wallet returns the job"},
		{Name: "tick wait", Person: true, Ends: "start a refresher, or give it more slots"},
		{Name: "past expiry",
			Ends: "with the first look-up that the node answers, or after a cancellation that is tried once more; for a wallet " +
				"that is gone from the node, let the listings answer with nothing"},
		{Name: "refresh ahead", Person: true,
			Ends: "set the clock of the store right; the age of what was made then counts from that time on"},
		{Name: "expired open", Person: true,
			Ends: "find out what became of the transfer, then enqueue a manual job for the wallet"},
		{Name: "cancellation refused",
			Ends: "with the look-up that shows that the transfer has moved, each Policy.RefreshInterval; at its expiry it ends, " +
				"open where the node refuses still"},
		{Name: "hung",
			Ends: "the wallet is tried again after a pause, at most MaxHungPause long: with the first round whose calls end in " +
				"time"},
		{Name: "not enqueued", Person: true,
			Ends: "mend the store: what is kept is stored with the next try; enqueue a manual job for each wallet whose job was " +
				"dropped"},
		{Name: "failed jobs", Person: true, Ends: "Job.Error says why: mend that, then enqueue a job for the wallet"},
	}
}
