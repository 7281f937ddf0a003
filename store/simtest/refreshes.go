package simtest

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/refresher"
)

// Refreshes is a node with wallets, which shows what happened to a transfer only once it was asked to
// refresh the wallet. It takes one call for a wallet at a time.
type Refreshes struct {
	*Sim
	Policy  refresh.Policy
	service *store.Refreshes
	wallets []refresh.Credentials
	real    map[string][]refresh.Transfer // as the network has them
	shown   map[string][]refresh.Transfer // as the node shows them
	calls   map[string]string             // who calls for a wallet now
	asked   map[string]int                // refreshes of a wallet
	made    int
}

// NewRefreshes returns a node for hosts of a policy.
func NewRefreshes(p refresh.Policy) *Refreshes {
	return &Refreshes{Policy: p, real: map[string][]refresh.Transfer{}, shown: map[string][]refresh.Transfer{},
		calls: map[string]string{}, asked: map[string]int{}}
}

// Open implements [World].
func (r *Refreshes) Open(s *Sim) {
	r.Sim = s
	var err error
	r.service, err = store.NewRefreshes(s.DB, r.Policy)
	s.Must(err)
	for n := range 1 + s.IntN(2) {
		r.wallets = append(r.wallets,
			refresh.Credentials{XpubVan: fmt.Sprint("van", n), XpubCol: fmt.Sprint("col", n), MasterFingerprint: fmt.Sprintf("%08x", n)})
		r.invoice(r.wallets[n])
	}
}

func (r *Refreshes) enqueue(w refresh.Credentials, ev refresh.Enqueued) {
	r.made++
	ev.By, ev.Credentials = refresh.By{Actor: "api", Role: refresh.API}, w
	ev.Job = uuid.UUID{0: 9, 6: 0x40, 8: 0x80, 14: byte(r.made >> 8), 15: byte(r.made)}
	_, err := r.service.Enqueue(context.Background(), ev)
	r.Say("%s: enqueued %v %s: %v", w.XpubVan, ev.Cause, ev.Recipient, err)
	r.Must(err)
}

func (r *Refreshes) invoice(w refresh.Credentials) {
	n := len(r.real[w.XpubVan])
	t := refresh.Transfer{Recipient: fmt.Sprint(w.XpubVan, ":", n), Asset: "rgb:usd", Kind: refresh.ReceiveBlind,
		Index: int32(n), HasIndex: true}
	r.real[w.XpubVan] = append(r.real[w.XpubVan], t)
	r.enqueue(w, refresh.Enqueued{Cause: refresh.InvoiceCreated, Recipient: t.Recipient, Asset: t.Asset})
}

// Node is the node as a process calls it.
func (r *Refreshes) Node(p *Process) refresher.Host { return &rgbNode{r, p} }

type rgbNode struct {
	*Refreshes
	p *Process
}

// call is one call of a wallet; locked: the node takes one such at a time.
func (n *rgbNode) call(ctx context.Context, w refresh.Credentials, what string, locked bool, effect func()) error {
	if locked {
		n.mu.Lock()
		other := n.calls[w.XpubVan]
		overlap := !n.p.dead && other != "" && n.alive(other)
		if !n.p.dead {
			n.calls[w.XpubVan] = n.p.Name
		}
		n.mu.Unlock()
		if overlap {
			n.Errorf("%s is called by %s and %s", w.XpubVan, other, n.p.Name)
		}
		defer func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.calls[w.XpubVan] == n.p.Name {
				delete(n.calls, w.XpubVan)
			}
		}()
	}
	return n.p.Call(ctx, what+" "+w.XpubVan, effect)
}

// Refresh implements [refresher.Host].
func (n *rgbNode) Refresh(ctx context.Context, w refresh.Credentials) error {
	return n.call(ctx, w, "refresh", true, func() {
		n.asked[w.XpubVan]++
		n.shown[w.XpubVan] = append([]refresh.Transfer(nil), n.real[w.XpubVan]...)
	})
}

// ListAssets implements [refresher.Host].
func (n *rgbNode) ListAssets(ctx context.Context, w refresh.Credentials) (all []string, err error) {
	err = n.call(ctx, w, "assets", false, func() { all = []string{"rgb:usd"} })
	return all, err
}

// ListTransfers implements [refresher.Host].
func (n *rgbNode) ListTransfers(ctx context.Context, w refresh.Credentials, asset string) (all []refresh.Transfer, err error) {
	err = n.call(ctx, w, "transfers "+asset, false, func() {
		if asset != "" {
			all = append(all, n.shown[w.XpubVan]...)
		}
	})
	return all, err
}

// FailTransfers implements [refresher.Host].
func (n *rgbNode) FailTransfers(ctx context.Context, w refresh.Credentials, index int32) error {
	return n.call(ctx, w, fmt.Sprint("fail ", index), true, func() {})
}

// Move implements [World].
func (r *Refreshes) Move() {
	w := r.wallets[r.IntN(len(r.wallets))]
	ts := r.real[w.XpubVan]
	switch t := &ts[r.IntN(len(ts))]; r.IntN(6) {
	case 0, 1:
		if t.Status < refresh.TransferSettled {
			t.Status++
		}
	case 2:
		if len(ts) < 3 {
			r.invoice(w)
		}
	case 3:
		r.enqueue(w, refresh.Enqueued{Cause: refresh.Sync})
	}
}

// Settle implements [World].
func (r *Refreshes) Settle() bool {
	ended := true
	for _, w := range r.wallets {
		for k := range r.real[w.XpubVan] {
			r.real[w.XpubVan][k].Status = refresh.TransferSettled
		}
		all, err := r.service.Get(context.Background(), w.XpubVan)
		r.Must(err)
		for _, j := range all.Jobs {
			ended = ended && !j.Live()
		}
		for _, x := range all.Watchers {
			ended = ended && x.Status != refresh.Watching
		}
	}
	return ended
}

// Count implements [World].
func (r *Refreshes) Count() {
	for _, w := range r.wallets {
		all, err := r.service.Get(context.Background(), w.XpubVan)
		r.Must(err)
		r.Must(refresh.Check(all))
		for _, j := range all.Jobs {
			r.Ends["job "+j.Status.String()]++
		}
		for _, x := range all.Watchers {
			r.Ends["watcher "+x.EndReason.String()]++
		}
		if r.asked[w.XpubVan] == 0 {
			r.Errorf("%s was never refreshed", w.XpubVan)
		}
	}
}
