package utxotest

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

func (m *Model) opened(ev utxo.WalletOpened) error {
	if ev.Wallet < 1 || ev.Birth < 0 {
		return fmt.Errorf("%w: wallets start at 1 and births at 0", statemachine.ErrInvalid)
	}
	if w := m.wallet(ev.Wallet); w != nil {
		if w.Birth != ev.Birth {
			return fmt.Errorf("%w: wallet %d was born at %d", statemachine.ErrIllegal, ev.Wallet, w.Birth)
		}
		return nil
	}
	m.wallets = append(m.wallets, utxo.Wallet{ID: ev.Wallet, Birth: ev.Birth, ScannedTo: ev.Birth - 1})
	return nil
}

func (m *Model) mustWallet(id utxo.WalletID) (*utxo.Wallet, error) {
	if id < 1 {
		return nil, fmt.Errorf("%w: wallets start at 1", statemachine.ErrInvalid)
	}
	if w := m.wallet(id); w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("%w: wallet %d", statemachine.ErrNotFound, id)
}

// submitted: the application created a transaction. The refusals stand in
// their order of precedence.
func (m *Model) submitted(ev utxo.Submitted) error {
	if err := wellFormed(ev.Tx); err != nil {
		return err
	}
	if isCoinbase(ev.Tx) {
		return fmt.Errorf("%w: nobody submits a coinbase", statemachine.ErrInvalid)
	}
	if _, err := m.mustWallet(ev.Wallet); err != nil {
		return err
	}
	if err := m.checkOwners(ev.Tx); err != nil {
		return err
	}
	if !m.relevant(ev.Wallet, utxo.Unconfirmed, ev.Tx)[0] {
		return fmt.Errorf("%w: it does not concern wallet %d", statemachine.ErrInvalid, ev.Wallet)
	}
	if r := m.row(ev.Wallet, ev.Tx.TxHash()); r != nil {
		if r.dead() {
			return fmt.Errorf("%w: %s is %s", statemachine.ErrIllegal, r.hash, r.status)
		}
		return nil
	}
	var replaced []*row
	for _, hash := range ev.Replaces {
		old := m.row(ev.Wallet, hash)
		if old == nil || !old.live() || old.confirmed() || !sharesInput(old.tx, ev.Tx) {
			return fmt.Errorf("%w: %s is nothing that it could replace", statemachine.ErrInvalid, hash)
		}
		replaced = append(replaced, old)
	}

	r := m.insert(ev.Wallet, ev.Tx, ev.At)
	m.credit(r)
	if err := m.mayPend(r, replaced, ev); err != nil {
		return err
	}
	m.move(r, utxo.OnSubmit, utxo.Pending)
	for _, old := range replaced {
		m.edge(old, r)
	}
	// A child that the network knows proves its parent.
	for _, child := range m.rows {
		if child.status == utxo.Published && child.childOf(r) {
			return m.place(r, evidence{trigger: utxo.OnProven})
		}
	}
	return nil
}

// mayPend says why r, with no status yet, may not become pending.
func (m *Model) mayPend(r *row, replaced []*row, ev utxo.Submitted) error {
	for _, parent := range m.rows {
		if r.childOf(parent) && parent.dead() {
			return fmt.Errorf("%w: %s is %s", utxo.ErrDeadParent, parent.hash, parent.status)
		}
	}
	for _, other := range m.rows {
		if other.live() && other.rivalOf(r) && !slices.Contains(replaced, other) {
			return fmt.Errorf("%w: by %s", utxo.ErrInputSpent, other.hash)
		}
	}
	// What could never be placed is not worth to be pending: it stands on what
	// it replaces, its ancestors conflict, or a rival has a confirmed descendant.
	lift := m.lift(r)
	rivals := m.rivals(lift)
	if err := conflict(lift, m.withDescendants(rivals), 0); err != nil {
		return err
	}
	for _, parent := range m.rows {
		if r.childOf(parent) && parent.coinbase && m.young(parent.height) {
			return fmt.Errorf("%w: %s", utxo.ErrImmature, parent.hash)
		}
	}
	for _, l := range m.leases {
		if l.Wallet == r.wallet && r.spends(l.OutPoint) && l.Active(ev.At) && l.Lock != ev.Lock {
			return fmt.Errorf("%w: input %s is leased", statemachine.ErrHeld, l.OutPoint)
		}
	}
	return nil
}

func (m *Model) broadcasted(ev utxo.Broadcasted) error {
	r, err := m.mustRow(ev.ID)
	if err != nil {
		return err
	}
	if r.dead() {
		return fmt.Errorf("%w: %s is %s", statemachine.ErrIllegal, r.hash, r.status)
	}
	if r.status == utxo.Published {
		return nil
	}
	return m.place(r, evidence{trigger: utxo.OnBroadcast})
}

func (m *Model) invalidated(ev utxo.Invalidated) error {
	r, err := m.mustRow(ev.ID)
	if err != nil {
		return err
	}
	if r.dead() {
		return nil
	}
	doomed := m.withDescendants([]*row{r})
	for _, d := range doomed {
		if d.confirmed() {
			return fmt.Errorf("%w: %s is confirmed", statemachine.ErrIllegal, d.hash)
		}
	}
	m.move(r, utxo.OnInvalidated, utxo.Failed)
	for _, d := range doomed[1:] {
		m.move(d, utxo.OnParentDied, utxo.Failed)
	}
	return nil
}

func (m *Model) revealed(ev utxo.OutputRevealed) error {
	r, err := m.mustRow(ev.ID)
	if err != nil {
		return err
	}
	w := m.wallet(r.wallet)
	if int(ev.Index) >= len(r.tx.TxOut) || r.height == 0 || ev.Birth < 0 || len(ev.Tag) > utxo.MaxTag {
		return fmt.Errorf("%w: %s has no output %d that %q can own", statemachine.ErrInvalid, r.hash, ev.Index, ev.Tag)
	}
	if tag, ok := r.tags[ev.Index]; ok {
		if tag != ev.Tag {
			return fmt.Errorf("%w: it belongs to %q", statemachine.ErrIllegal, tag)
		}
		return nil
	}
	r.tags[ev.Index] = ev.Tag
	m.move(r, utxo.OnRevealed, r.status)

	start := ev.Birth - 1
	at := slices.IndexFunc(w.Behind, func(o utxo.OwnerScan) bool { return o.Tag == ev.Tag })
	if at >= 0 {
		w.Behind[at].ScannedTo = min(w.Behind[at].ScannedTo, start)
	} else if start < w.ScannedTo {
		w.Behind = append(w.Behind, utxo.OwnerScan{Tag: ev.Tag, ScannedTo: start})
	}
	return nil
}

func (m *Model) labelled(ev utxo.Labelled) error {
	if utf8.RuneCountInString(ev.Label) > utxo.MaxLabel {
		return fmt.Errorf("%w: a label has at most %d characters", statemachine.ErrInvalid, utxo.MaxLabel)
	}
	r, err := m.mustRow(ev.ID)
	if err != nil {
		return err
	}
	if r.label != ev.Label {
		m.move(r, utxo.OnLabelled, r.status)
		r.label = ev.Label
	}
	return nil
}

// lease returns the stored lease of an outpoint, expired or not, or nil.
func (m *Model) lease(w utxo.WalletID, op wire.OutPoint) *utxo.Lease {
	for i := range m.leases {
		if m.leases[i].Wallet == w && m.leases[i].OutPoint == op {
			return &m.leases[i]
		}
	}
	return nil
}

func (m *Model) checkLease(w utxo.WalletID, ops []wire.OutPoint, lock utxo.LockID, d time.Duration) error {
	if d <= 0 || lock == (utxo.LockID{}) || len(ops) == 0 {
		return fmt.Errorf("%w: a lease has outpoints, a lock id and a duration", statemachine.ErrInvalid)
	}
	for i, op := range ops {
		if slices.Contains(ops[:i], op) {
			return fmt.Errorf("%w: %s is named twice", statemachine.ErrInvalid, op)
		}
	}
	_, err := m.mustWallet(w)
	return err
}

func (m *Model) leased(ev utxo.OutputsLeased) error {
	if err := m.checkLease(ev.Wallet, ev.OutPoints, ev.Lock, ev.Duration); err != nil {
		return err
	}
	for _, op := range ev.OutPoints {
		parent := m.row(ev.Wallet, op.Hash)
		if parent == nil {
			return fmt.Errorf("%w: output %s", statemachine.ErrNotFound, op)
		}
		if _, owned := parent.tags[op.Index]; !owned {
			return fmt.Errorf("%w: output %s is not owned", statemachine.ErrNotFound, op)
		}
		l := m.lease(ev.Wallet, op)
		active := l != nil && l.Active(ev.At)
		if active && l.Lock != ev.Lock {
			return fmt.Errorf("%w: output %s", statemachine.ErrHeld, op)
		}
		if spent := m.spentBy(ev.Wallet, op) != none; !active && (spent || !parent.live()) {
			return fmt.Errorf("%w: output %s is spent or dead", statemachine.ErrIllegal, op)
		}
		m.setLease(ev.Wallet, op, ev.Lock, ev.At.Add(ev.Duration))
	}
	return nil
}

func (m *Model) setLease(w utxo.WalletID, op wire.OutPoint, lock utxo.LockID, until time.Time) {
	l := m.lease(w, op)
	if l == nil {
		m.leases = append(m.leases, utxo.Lease{Wallet: w, OutPoint: op})
		l = &m.leases[len(m.leases)-1]
	}
	l.Lock, l.Until = lock, micros(until)
}

func (m *Model) renewed(ev utxo.LeasesRenewed) error {
	if err := m.checkLease(ev.Wallet, ev.OutPoints, ev.Lock, ev.Duration); err != nil {
		return err
	}
	for _, op := range ev.OutPoints {
		l := m.lease(ev.Wallet, op)
		if l == nil || !l.Active(ev.At) {
			return fmt.Errorf("%w: no active lease of %s", statemachine.ErrNotFound, op)
		}
		if l.Lock != ev.Lock {
			return fmt.Errorf("%w: output %s", statemachine.ErrHeld, op)
		}
		l.Until = micros(ev.At.Add(ev.Duration))
	}
	return nil
}

func (m *Model) released(ev utxo.LeasesReleased) error {
	if err := m.checkLease(ev.Wallet, ev.OutPoints, ev.Lock, time.Second); err != nil {
		return err
	}
	for _, op := range ev.OutPoints {
		if l := m.lease(ev.Wallet, op); l != nil && l.Lock != ev.Lock {
			return fmt.Errorf("%w: output %s", statemachine.ErrHeld, op)
		}
		m.leases = slices.DeleteFunc(m.leases, func(l utxo.Lease) bool { return l.Wallet == ev.Wallet && l.OutPoint == op })
	}
	return nil
}
