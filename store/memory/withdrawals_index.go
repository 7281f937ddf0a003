package memory

import (
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// The keys of requests and jobs. Each begins with what it is for and ends with
// an id; between them is the order. Due keys name the chain second.
const (
	keyClaim       = "c" // chain wallet priority scheduled_at
	keyRebroadcast = "b" // chain wallet nonce
	keyCheck       = "k" // chain next_check_at
	keyRescue      = "r" // chain lease_until
	keyEnqueue     = "e" // chain updated_at, of a request
	keyRefund      = "f" // chain offer_at updated_at, of a request
	keyStatus      = "s" // status created_at, of a request; status 0 for all
	keyUser        = "u" // user asset created_at, of a request
	keyWallet      = "w" // chain, of a hot wallet
	keyUnknown     = "o" // chain, of a hot wallet that stops it
)

var dueKeys = map[withdrawal.DueKind]string{
	withdrawal.DueClaim: keyClaim, withdrawal.DueRebroadcast: keyRebroadcast, withdrawal.DueCheck: keyCheck,
	withdrawal.DueRescue: keyRescue, withdrawal.DueEnqueue: keyEnqueue, withdrawal.DueRefund: keyRefund,
}

// timeBefore returns the time in front of the id of a key.
func timeBefore(key string) time.Time { return timeAt(key, len(key)-24) }

func statusPrefix(s withdrawal.RequestStatus) string { return keyStatus + string([]byte{byte(s)}) }

func userPrefix(user, asset uuid.UUID) string { return keyUser + idKey(user) + idKey(asset) }

func requestKeys(r *withdrawal.Request) (keys []string) {
	created := timeKey(r.CreatedAt) + idKey(r.ID)
	keys = append(keys, statusPrefix(0)+created, statusPrefix(r.Status)+created, userPrefix(r.User, r.Asset)+created)
	if r.Status == withdrawal.RequestApproved {
		keys = append(keys, keyEnqueue+idKey(r.Chain)+timeKey(r.UpdatedAt)+idKey(r.ID))
	}
	if at, ok := withdrawal.DueAt(withdrawal.DueRefund, &withdrawal.Withdrawal{Request: *r}, 0); ok {
		keys = append(keys, keyRefund+idKey(r.Chain)+timeKey(at)+timeKey(r.UpdatedAt)+idKey(r.ID))
	}
	return keys
}

func walletKeys(w *withdrawal.HotWallet) (keys []string) {
	keys = append(keys, keyWallet+idKey(w.Chain)+idKey(w.ID))
	if withdrawal.OutboundOf([]withdrawal.HotWallet{*w}) != uuid.Nil {
		keys = append(keys, keyUnknown+idKey(w.Chain)+idKey(w.ID))
	}
	return keys
}

func jobKeys(j *withdrawal.Job) (keys []string) {
	chain, id := idKey(j.Chain), idKey(j.ID)
	switch {
	case j.Status == withdrawal.JobPending:
		keys = append(keys, keyClaim+chain+idKey(j.Wallet)+string([]byte{255 - byte(j.Priority)})+timeKey(j.DueAt())+id)
	case j.Status == withdrawal.JobProcessing && !j.Review:
		keys = append(keys, keyRescue+chain+timeKey(j.Lease.Until)+id)
	case j.Status == withdrawal.JobConfirming:
		keys = append(keys, keyCheck+chain+timeKey(j.NextCheckAt)+id)
		if j.Rebroadcast && !j.Review {
			keys = append(keys, keyRebroadcast+chain+idKey(j.Wallet)+numberKey(j.Nonce)+id)
		}
	}
	return keys
}
