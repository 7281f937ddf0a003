package memory

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/withdrawal"
)

// Stats implements [store.WithdrawalRecords]. It reads everything.
func (w withdrawals) Stats(now time.Time, window time.Duration, chain uuid.UUID) (withdrawal.Stats, error) {
	var all []withdrawal.Counted
	at := map[uuid.UUID]int{}
	for id, r := range w.requests.at {
		if chain != uuid.Nil && chain != r.Chain {
			continue
		}
		c := withdrawal.Counted{Request: *r}
		for _, job := range w.jobsOf[id] {
			c.Latest = *w.jobs.at[job]
			c.Jobs, c.Attempts = append(c.Jobs, c.Latest), append(c.Attempts, w.attempts[job])
		}
		c.Wallet = w.wallet(c.Latest.Wallet)
		if b := w.batches.at[c.Latest.Batch]; b != nil {
			c.Batch = *b
		}
		for _, line := range w.of[record[uuid.UUID]{withdrawal.RequestMachine.Name(), id}] {
			if withdrawal.IsApproval(&line) {
				c.Approved = line.At
			}
		}
		at[id] = len(all)
		all = append(all, c)
	}
	for _, i := range w.incidents {
		if k, of := at[i.Request]; of {
			all[k].Incidents = append(all[k].Incidents, i)
			if w.acked[incidentOf(&i)] {
				all[k].Settled++
			}
		}
	}
	s := withdrawal.StatsOf(all, now, window)
	w.confirmingBatches(chain, s.CountBatch)
	said := slices.Clip(w.said[chain])
	if chain == uuid.Nil {
		chains := slices.SortedFunc(maps.Keys(w.said), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		for _, c := range chains {
			said = append(said, w.said[c]...)
		}
	}
	open, err := withdrawal.UnknownOutbounds(said, func(wallet uuid.UUID, nonce uint64) (filler, job bool, err error) {
		o := w.nonces.at[walletNonce{wallet, nonce}]
		return o != nil && o.filler != "", o != nil && o.filler == "", nil
	})
	if err != nil {
		return withdrawal.Stats{}, err
	}
	s.UnknownOutbound = open[:min(len(open), withdrawal.MaxGaps)]
	for id, of := range w.wallets.at {
		if of.Status == withdrawal.WalletUnknown && (chain == uuid.Nil || chain == of.Chain) {
			s.WalletsOff = append(s.WalletsOff, id)
		}
	}
	slices.SortFunc(s.WalletsOff, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	s.WalletsOff = s.WalletsOff[:min(len(s.WalletsOff), withdrawal.MaxGaps)]
	return s, nil
}
