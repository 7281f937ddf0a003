package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
)

// api is the wallet API with the source's endpoints.
type api struct {
	wallets *wallets
	service *store.Refreshes
	log     *slog.Logger
	took    time.Duration // of a refresh
}

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, do func(r *http.Request, w refresh.Credentials, body requestBody) (any, error)) {
		mux.HandleFunc("POST /wallet/"+path, func(out http.ResponseWriter, r *http.Request) {
			w := refresh.Credentials{XpubVan: r.Header.Get("xpub-van"), XpubCol: r.Header.Get("xpub-col"),
				MasterFingerprint: r.Header.Get("master-fingerprint")}
			var body requestBody
			if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&body); err != nil || w.XpubVan == "" {
				http.Error(out, "a wallet and a JSON object are needed", http.StatusBadRequest)
				return
			}
			answer, err := do(r, w, body)
			switch {
			case errors.Is(err, errMoved):
				http.Error(out, err.Error(), http.StatusConflict)
			case err != nil:
				http.Error(out, err.Error(), http.StatusInternalServerError)
			default:
				out.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(out).Encode(answer)
			}
		})
	}
	receive := func(kind int) func(*http.Request, refresh.Credentials, requestBody) (any, error) {
		return func(r *http.Request, w refresh.Credentials, body requestBody) (any, error) {
			t := body.transfer(kind)
			made := a.wallets.add(w.XpubVan, t)
			a.enqueue(r, w, refresh.InvoiceCreated, made.RecipientID, body.AssetID)
			return made, nil
		}
	}
	handle("blindreceive", receive(refresh.ReceiveBlind))
	handle("witnessreceive", receive(refresh.ReceiveWitness))
	handle("sendend", func(r *http.Request, w refresh.Credentials, body requestBody) (any, error) {
		t := body.transfer(refresh.Send)
		t.Status = refresh.WaitingConfirmations
		made := a.wallets.add(w.XpubVan, t)
		a.enqueue(r, w, refresh.AssetSent, made.RecipientID, body.AssetID)
		return made, nil
	})
	handle("sync", func(r *http.Request, w refresh.Credentials, _ requestBody) (any, error) { // an immediate sync, and no job
		return struct{}{}, a.wallets.change(r.Context(), w.XpubVan, a.took, func(x *wallet, now time.Time) error { x.refresh(now); return nil })
	})
	handle("sync-job", func(r *http.Request, w refresh.Credentials, _ requestBody) (any, error) { // a job, and no immediate sync
		return map[string]uuid.UUID{"job_id": a.enqueue(r, w, refresh.Sync, "", "")}, nil
	})
	handle("refresh", func(r *http.Request, w refresh.Credentials, _ requestBody) (any, error) {
		return struct{}{}, a.wallets.change(r.Context(), w.XpubVan, a.took, func(x *wallet, now time.Time) error { x.refresh(now); return nil })
	})
	handle("listassets", func(_ *http.Request, w refresh.Credentials, _ requestBody) (any, error) {
		return a.wallets.assets(w.XpubVan), nil
	})
	handle("listtransfers", func(_ *http.Request, w refresh.Credentials, body requestBody) (any, error) {
		return a.wallets.list(w.XpubVan, body.AssetID), nil
	})
	handle("failtransfers", func(r *http.Request, w refresh.Credentials, body requestBody) (any, error) {
		if body.BatchTransferIdx == nil { // it would mean every transfer
			return nil, errMoved
		}
		return struct{}{}, a.wallets.change(r.Context(), w.XpubVan, a.took, func(x *wallet, _ time.Time) error {
			if err := x.fail(*body.BatchTransferIdx); err != nil {
				return errors.Join(errMoved, err)
			}
			return nil
		})
	})
	return mux
}

var errMoved = errors.New("not cancelled")

// enqueue makes the job of a request. A failure is logged, and the request goes on.
func (a *api) enqueue(r *http.Request, w refresh.Credentials, cause refresh.Cause, recipient, asset string) uuid.UUID {
	return a.service.EnqueueLogged(r.Context(), refresh.Enqueued{By: refresh.By{Actor: "wallet-api", Role: refresh.API}, Credentials: w,
		Cause: cause, Recipient: recipient, Asset: asset}, a.log)
}

// requestBody is what the endpoints take. The last fields tell the simulation
// what becomes of the transfer.
type requestBody struct {
	AssetID          string `json:"asset_id,omitempty"`
	Expiration       int64  `json:"expiration,omitempty"`
	BatchTransferIdx *int32 `json:"batch_transfer_idx,omitempty"`

	Flow    string        `json:"flow,omitempty"`
	Asset   string        `json:"asset,omitempty"` // that an invoice without asset gets
	AssetIn time.Duration `json:"asset_in,omitempty"`
	PaidIn  time.Duration `json:"paid_in,omitempty"` // 0: never
	DoneIn  time.Duration `json:"done_in,omitempty"` // 0: never
	Fails   bool          `json:"fails,omitempty"`
}

func (b *requestBody) transfer(kind int) transfer {
	now := time.Now()
	in := func(d time.Duration) time.Time {
		if d == 0 {
			return time.Time{}
		}
		return now.Add(d)
	}
	return transfer{apiTransfer: apiTransfer{AssetID: b.AssetID, Kind: kind, Expiration: b.Expiration}, flow: b.Flow, asset: b.Asset,
		assetAt: in(b.AssetIn), payAt: in(b.PaidIn), confirmAt: in(b.DoneIn), fails: b.Fails}
}
