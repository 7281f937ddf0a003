package utxotest

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/btcsuite/btcd/chainhash/v2"
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

// submitted handles a transaction that the application created. The refusals stand in their
// order of precedence.
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
	f := m.fact(ev.Tx, ev.At)
	if r := m.row(ev.Wallet, f.hash); r != nil && r.live() {
		m.signed(r, ev.Tx)
		return m.declare(f, ev)
	} else if r != nil || f.public && !f.live() {
		return fmt.Errorf("%w: %s is %s", statemachine.ErrIllegal, f.hash, f.status)
	}
	if len(m.ownedIn(ev.Wallet, utxo.Unconfirmed, f.tx)) == 0 && !m.spendsOwned(f, ev.Wallet) {
		return fmt.Errorf("%w: it does not concern wallet %d", statemachine.ErrInvalid, ev.Wallet)
	}
	if f.status == utxo.Published { // another wallet's facts
		m.show1(f)
		m.settle()
		if r := m.row(ev.Wallet, f.hash); r != nil { // block 0 gives nobody one
			m.signed(r, ev.Tx)
		}
		return m.declare(f, ev)
	}
	var replaced []*fact
	for _, hash := range ev.Replaces {
		old := m.row(ev.Wallet, hash)
		if old == nil || !old.live() || old.confirmed() || !sharesInput(old.tx, ev.Tx) {
			return fmt.Errorf("%w: %s is nothing that it could replace", statemachine.ErrInvalid, hash)
		}
		if !slices.Contains(replaced, old.fact) {
			replaced = append(replaced, old.fact)
		}
	}
	if err := m.oneVersion(ev); err != nil {
		return err
	}
	if err := m.mayPend(f, replaced, ev); err != nil {
		return err
	}
	f.status = utxo.Pending
	r := m.enter(f, ev.Wallet)
	r.bytes = ev.Tx.Copy()
	m.credit(r)
	for _, old := range replaced {
		m.edges = append(m.edges, utxo.Replacement{Wallet: ev.Wallet, Loser: old.hash, Winner: f.hash, Declared: true})
	}
	// A child that the network knows proves its parent.
	for _, child := range m.facts {
		if child.status == utxo.Published && child.childOf(f) {
			return m.place(f, evidence{trigger: onProven})
		}
	}
	return nil
}

// declare records what a live transaction was meant to replace.
func (m *Model) declare(f *fact, ev utxo.Submitted) error {
	news := false
	for _, hash := range ev.Replaces {
		at := slices.IndexFunc(m.edges, func(e utxo.Replacement) bool {
			return e.Wallet == ev.Wallet && e.Loser == hash && e.Winner == f.hash
		})
		if at >= 0 && m.edges[at].Declared {
			continue
		}
		if old := m.row(ev.Wallet, hash); old == nil || old.confirmed() || !old.rivalOf(f) ||
			slices.Contains(m.edges, utxo.Replacement{Wallet: ev.Wallet, Loser: f.hash, Winner: hash, Declared: true}) {
			return fmt.Errorf("%w: %s is nothing that it could have replaced", statemachine.ErrInvalid, hash)
		}
		if at < 0 {
			at, m.edges = len(m.edges), append(m.edges, utxo.Replacement{Wallet: ev.Wallet, Loser: hash, Winner: f.hash})
		}
		m.edges[at].Declared, news = true, true
	}
	if !news {
		return nil
	}
	return m.oneVersion(ev)
}

// oneVersion refuses what could confirm beside a version of the same payment.
func (m *Model) oneVersion(ev utxo.Submitted) error {
	for _, hash := range m.versions(ev.Replaces) {
		version := m.known(hash)
		id := utxo.TxID{Wallet: m.rowsOf(version)[0].wallet, Hash: hash}
		if !sharesInput(version.tx, ev.Tx) && (m.policy.FinalDepth == 0 || !m.ProvablyDead(id, m.policy.FinalDepth)) {
			return fmt.Errorf("%w: version %s of the payment could confirm beside it", statemachine.ErrInvalid, hash)
		}
	}
	return nil
}

// versions returns all versions of the payment that the named transactions belong to: those
// that were declared, in any wallet, to replace or to be replaced by one of them.
func (m *Model) versions(named []chainhash.Hash) []chainhash.Hash {
	all := slices.Clone(named)
	for grown := true; grown; {
		grown = false
		for _, e := range m.edges {
			if !e.Declared || slices.Contains(all, e.Loser) == slices.Contains(all, e.Winner) {
				continue
			}
			all = append(all, e.Loser, e.Winner)
			grown = true
		}
	}
	return all
}

// mayPend says why r, with no row yet, may not become pending.
func (m *Model) mayPend(r *fact, replaced []*fact, ev utxo.Submitted) error {
	for _, parent := range m.facts {
		status := parent.status
		if own := m.row(ev.Wallet, parent.hash); own != nil {
			status = own.status
		}
		if r.childOf(parent) && status != 0 && status != utxo.Pending && status != utxo.Published {
			return fmt.Errorf("%w: %s is %s", utxo.ErrDeadParent, parent.hash, parent.status)
		}
	}
	for _, other := range m.facts {
		if other.live() && other.rivalOf(r) && !slices.Contains(replaced, other) {
			return fmt.Errorf("%w: by %s", utxo.ErrInputSpent, other.hash)
		}
	}
	// A transaction that could never be placed is refused now: one that descends from what
	// it replaces, whose ancestors conflict, or whose rival has a confirmed descendant.
	unconfirmed := 0
	for _, parent := range m.facts {
		if r.childOf(parent) && parent.status != 0 && !parent.confirmed() {
			unconfirmed++
		}
	}
	if len(replaced) > 0 || unconfirmed > 1 {
		lift := m.lift(r)
		if err := conflict(lift, m.withDescendants(m.rivals(lift))); err != nil {
			return err
		}
	}
	for _, parent := range m.facts {
		if r.childOf(parent) && parent.coinbase && parent.status != 0 && m.young(parent.height) {
			return fmt.Errorf("%w: %s", utxo.ErrImmature, parent.hash)
		}
	}
	for _, l := range m.leases {
		if r.spends(l.OutPoint) && l.Active(ev.At) && l.Lock != ev.Lock {
			return fmt.Errorf("%w: input %s is leased", statemachine.ErrHeld, l.OutPoint)
		}
	}
	if fee, known := m.fee(r); known && fee < 0 || m.spendsNothing(r) {
		return fmt.Errorf("%w: %s pays what it does not have", statemachine.ErrInvalid, r.hash)
	}
	return nil
}

// fee is the value of the inputs of f less the value of its outputs. It is unknown while a
// parent is in no wallet.
func (m *Model) fee(f *fact) (fee int64, known bool) {
	for _, out := range f.tx.TxOut {
		fee -= out.Value
	}
	known = true
	for _, in := range f.tx.TxIn {
		op := in.PreviousOutPoint
		p := m.known(op.Hash)
		switch {
		case p == nil || len(m.rowsOf(p)) == 0:
			known = false
		case int(op.Index) < len(p.tx.TxOut):
			fee += p.tx.TxOut[op.Index].Value
		}
	}
	return fee, known
}

// spendsNothing reports whether f has an input that does not exist: some wallet has the
// parent, and the parent has no such output.
func (m *Model) spendsNothing(f *fact) bool {
	return slices.ContainsFunc(f.tx.TxIn, func(in *wire.TxIn) bool {
		p := m.known(in.PreviousOutPoint.Hash)
		return p != nil && len(m.rowsOf(p)) > 0 && int(in.PreviousOutPoint.Index) >= len(p.tx.TxOut)
	})
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
	return m.place(r.fact, evidence{trigger: onBroadcast})
}

func (m *Model) invalidated(ev utxo.Invalidated) error {
	r, err := m.mustRow(ev.ID)
	if err != nil {
		return err
	}
	if r.dead() {
		return nil
	}
	doomed := m.withDescendants([]*fact{r.fact})
	for _, d := range doomed {
		if d.confirmed() {
			return fmt.Errorf("%w: %s is confirmed", statemachine.ErrIllegal, d.hash)
		}
	}
	if r.status == utxo.Pending {
		m.giveUp(r)
		return nil
	}
	m.move(r.fact, onInvalidated, utxo.Failed)
	for _, d := range doomed[1:] {
		m.move(d, onParentDied, utxo.Failed)
	}
	return nil
}

// giveUp fails a pending row alone, and then each pending row whose parent is dead by this,
// in the row's own wallet or everywhere.
func (m *Model) giveUp(r *row) {
	m.moveRow(r, onInvalidated, utxo.Failed)
	for grown := true; grown; {
		grown = false
		for _, f := range m.facts {
			alive := m.rowsOf(f)
			if slices.ContainsFunc(alive, func(r *row) bool { return r.status == utxo.Published }) {
				continue
			}
			f.status = utxo.Failed
			for _, r := range alive {
				if r.live() {
					f.status = utxo.Pending
				}
			}
			if f.status == utxo.Failed && len(alive) > 0 {
				f.status = alive[0].status
			}
		}
		for _, c := range m.rows {
			if c.fact == r.fact || c.status != utxo.Pending {
				continue
			}
			for _, p := range m.facts {
				if !c.childOf(p) {
					continue
				}
				gone := !p.live()
				if own := m.row(c.wallet, p.hash); own != nil {
					gone = !own.live()
				}
				if gone && c.status == utxo.Pending {
					m.moveRow(c, onParentDied, utxo.Failed)
					grown = true
				}
			}
		}
	}
}

func (m *Model) revealed(ev utxo.OutputRevealed) error {
	if ev.Birth < 0 || len(ev.Tag) > utxo.MaxTag {
		return fmt.Errorf("%w: owner %q cannot be born at %d", statemachine.ErrInvalid, ev.Tag, ev.Birth)
	}
	r, err := m.mustRow(ev.ID)
	if err != nil {
		return err
	}
	w := m.wallet(r.wallet)
	if int(ev.Index) >= len(r.tx.TxOut) {
		return fmt.Errorf("%w: %s has no output %d", statemachine.ErrInvalid, r.hash, ev.Index)
	}
	if tag, ok := r.tags[ev.Index]; ok {
		if tag != ev.Tag {
			return fmt.Errorf("%w: it belongs to %q", statemachine.ErrIllegal, tag)
		}
		m.announce(w, ev.Tag, ev.Birth)
		return nil
	}
	for _, other := range m.rowsOf(r.fact) {
		if _, owned := other.tags[ev.Index]; owned {
			return fmt.Errorf("%w: it belongs to wallet %d", statemachine.ErrIllegal, other.wallet)
		}
	}
	if r.height == 0 {
		return fmt.Errorf("%w: nobody can spend what block 0 creates", statemachine.ErrInvalid)
	}
	r.tags[ev.Index] = ev.Tag
	m.moveRow(r, onRevealed, r.status)

	m.announce(w, ev.Tag, ev.Birth)
	return nil
}

func (m *Model) announced(ev utxo.OwnersAnnounced) error {
	if len(ev.Tags) < 1 || len(ev.Tags) > utxo.MaxOwners || ev.Birth < 0 {
		return fmt.Errorf("%w: 1 to %d owners, and births from 0", statemachine.ErrInvalid, utxo.MaxOwners)
	}
	for _, tag := range ev.Tags {
		if len(tag) > utxo.MaxTag {
			return fmt.Errorf("%w: a tag of %d bytes", statemachine.ErrInvalid, len(tag))
		}
	}
	w, err := m.mustWallet(ev.Wallet)
	for _, tag := range ev.Tags {
		if err == nil {
			m.announce(w, tag, ev.Birth)
		}
	}
	return err
}

// announce lets one owner of a wallet be scanned from its birth on, unless it was scanned
// from there before.
func (m *Model) announce(w *utxo.Wallet, tag string, birth int32) {
	at := slices.IndexFunc(m.owners, func(o utxo.Owned) bool { return o.Wallet == w.ID && o.Tag == tag })
	switch {
	case at < 0:
		m.owners = append(m.owners, utxo.Owned{Wallet: w.ID, Tag: tag, Birth: birth})
	case m.owners[at].Birth <= birth:
		return
	default:
		m.owners[at].Birth = birth
	}
	is := func(o utxo.OwnerScan) bool { return o.Tags[0] == tag }
	if at := slices.IndexFunc(w.Behind, is); at >= 0 {
		w.Behind[at].ScannedTo = min(w.Behind[at].ScannedTo, birth-1)
	} else if birth-1 < w.ScannedTo && (m.tip() == nil || birth-1 < m.tipHeight()) {
		w.Behind = append(w.Behind, utxo.OwnerScan{ScannedTo: birth - 1, Tags: []string{tag}})
	}
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
		m.moveRow(r, onLabelled, r.status)
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
	if d < time.Microsecond || lock == (utxo.LockID{}) || len(ops) == 0 {
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
		m.setLease(ev.Wallet, op, ev.Lock, ev.At, ev.At.Add(ev.Duration))
	}
	return nil
}

func (m *Model) setLease(w utxo.WalletID, op wire.OutPoint, lock utxo.LockID, now, until time.Time) {
	l := m.lease(w, op)
	if l == nil {
		m.leases = append(m.leases, utxo.Lease{Wallet: w, OutPoint: op})
		l = &m.leases[len(m.leases)-1]
	}
	if !l.Active(now) || now.Before(l.Since) {
		l.Since = micros(now)
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
