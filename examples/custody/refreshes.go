package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/settlehq/settle/refresh"
)

// A refresh brings a wallet at a remote node up to date. [refresher.Run] calls the node, which is
// rgbNode in outside.go; all that is left for the service is to ask for a job with each invoice.

func credentials(n int) refresh.Credentials {
	return refresh.Credentials{XpubVan: fmt.Sprint("xpub-van-", n), XpubCol: fmt.Sprint("xpub-col-", n),
		MasterFingerprint: fmt.Sprintf("%08x", n)}
}

// invoice makes an invoice at the node, and the job that watches it until it is paid. A job that
// cannot be stored now is tried again later by the process, and fails no request.
func (s *service) invoice(ctx context.Context, n int) {
	w := credentials(n)
	t := s.out.rgb.invoice(w.XpubVan)
	s.Refreshes.EnqueueLogged(ctx, refresh.Enqueued{By: wallets, Credentials: w, Cause: refresh.InvoiceCreated,
		Recipient: t.Recipient, Asset: t.Asset}, slog.Default())
}
