package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store/refresher"
)

// client is the wallet API as the workers call it.
type client struct {
	url  string
	http *http.Client
}

var _ refresher.Host = (*client)(nil)

func newClient(url string) *client {
	return &client{url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}} // the refresher bounds each call
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

func (c *client) post(ctx context.Context, w refresh.Credentials, path string, body, answer any) error {
	doc, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(doc))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("xpub-van", w.XpubVan)
	r.Header.Set("xpub-col", w.XpubCol)
	r.Header.Set("master-fingerprint", w.MasterFingerprint)
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusServiceUnavailable, response.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s", refresher.ErrDeferred, text)
	// the request is wrong, and stays so
	case response.StatusCode == http.StatusBadRequest, response.StatusCode == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %s: %s", refresher.ErrPermanent, response.Status, text)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", response.Status, text)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}

// apiTransfer is a transfer in the words of the API.
type apiTransfer struct {
	RecipientID      string `json:"recipient_id,omitempty"`
	AssetID          string `json:"asset_id,omitempty"`
	Status           int    `json:"status"`
	Kind             int    `json:"kind"`
	Expiration       int64  `json:"expiration,omitempty"`
	BatchTransferIdx *int32 `json:"batch_transfer_idx,omitempty"`
}

type assetBody struct {
	AssetID string `json:"asset_id,omitempty"`
}

type failBody struct {
	BatchTransferIdx int32 `json:"batch_transfer_idx"`
}

// Refresh implements [refresher.Host].
func (c *client) Refresh(ctx context.Context, w refresh.Credentials) error {
	return c.post(ctx, w, "/wallet/refresh", struct{}{}, nil)
}

// ListAssets implements [refresher.Host].
func (c *client) ListAssets(ctx context.Context, w refresh.Credentials) (assets []string, err error) {
	err = c.post(ctx, w, "/wallet/listassets", struct{}{}, &assets)
	return assets, err
}

// ListTransfers implements [refresher.Host].
func (c *client) ListTransfers(ctx context.Context, w refresh.Credentials, asset string) ([]refresh.Transfer, error) {
	var listed []apiTransfer
	if err := c.post(ctx, w, "/wallet/listtransfers", assetBody{asset}, &listed); err != nil {
		return nil, err
	}
	all := make([]refresh.Transfer, len(listed))
	for i, t := range listed {
		all[i] = refresh.Transfer{Recipient: t.RecipientID, Asset: t.AssetID, Status: t.Status, Kind: t.Kind, Expiration: t.Expiration}
		if t.BatchTransferIdx != nil {
			all[i].Index, all[i].HasIndex = *t.BatchTransferIdx, true
		}
	}
	return all, nil
}

// FailTransfers implements [refresher.Host].
func (c *client) FailTransfers(ctx context.Context, w refresh.Credentials, index int32) error {
	return c.post(ctx, w, "/wallet/failtransfers", failBody{index}, nil)
}
