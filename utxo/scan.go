package utxo

import (
	"slices"

	"github.com/settlehq/settle/statemachine"
)

// This file keeps how far the chain is matched against a wallet and its owners. A wallet
// that is scanned to the tip follows it, so that a block changes nothing about the wallet.
// An owner that was announced late is behind its wallet until the blocks from its birth on
// were applied again; owners that were announced together advance together.

// MaxOwners bounds the owners of one [OwnersAnnounced].
const MaxOwners = 10_000

// announce makes owners a wallet's own from a height on. An owner that is stored with the
// same or a lower birth stays as it is.
func (pl *plan) announce(ev OwnersAnnounced) error {
	if len(ev.Tags) == 0 || len(ev.Tags) > MaxOwners {
		return invalid("%d owners are not 1 to %d", len(ev.Tags), MaxOwners)
	}
	for _, tag := range ev.Tags {
		if err := checkOwner(tag, ev.Birth); err != nil {
			return err
		}
	}
	w, err := pl.wallet(ev.Wallet)
	if err != nil {
		return err
	}
	return pl.fallBehind(w, ev.Birth, ev.Tags)
}

func checkOwner(tag string, birth int32) error {
	if len(tag) > MaxTag || !statemachine.Storable(tag) || birth < 0 {
		return invalid("an owner needs a tag of at most %d bytes of UTF-8 and a birth height from 0", MaxTag)
	}
	return nil
}

// fallBehind stores the births of owners. Owners that were scanned beyond their new birth
// are scanned from there again.
func (pl *plan) fallBehind(w Wallet, birth int32, tags []string) error {
	tags = slices.Compact(slices.Sorted(slices.Values(tags)))
	stored, err := pl.r.Owners(w.ID, tags...)
	if err != nil {
		return err
	}
	births := make(map[string]int32, len(stored))
	for _, o := range stored {
		births[o.Tag] = o.Birth
	}
	tip, _, err := pl.tip()
	if err != nil {
		return err
	}
	if tip < 0 { // the first block can be of any height
		tip = w.ScannedTo
	}
	changed := w
	var back []string
	for _, tag := range tags {
		old, known := births[tag]
		if known && old <= birth {
			continue
		}
		c := OwnerChange{New: Owned{w.ID, tag, birth}}
		if known {
			c.Old = Owned{w.ID, tag, old}
		}
		pl.set.Owners = append(pl.set.Owners, c)
		if birth-1 < min(w.ScannedFor(tag), tip) {
			back = append(back, tag)
		}
	}
	if len(back) > 0 {
		changed.Announced++
		changed.Behind = append(w.without(back), OwnerScan{ID: changed.Announced, ScannedTo: birth - 1, Tags: back})
	}
	pl.changeWallet(w, changed)
	return nil
}

// without returns the owners that are behind but for some.
func (w Wallet) without(tags []string) []OwnerScan {
	var rest []OwnerScan
	for _, o := range w.Behind {
		left := slices.DeleteFunc(slices.Clone(o.Tags), func(t string) bool {
			_, gone := slices.BinarySearch(tags, t)
			return gone
		})
		if len(left) > 0 {
			rest = append(rest, OwnerScan{o.ID, o.ScannedTo, left})
		}
	}
	return rest
}

// changeWallet plans what is stored about a wallet.
func (pl *plan) changeWallet(old, updated Wallet) {
	if !old.same(updated) {
		pl.set.Wallets = append(pl.set.Wallets, WalletChange{old, updated})
	}
}

// same reports whether the stored columns of two wallets are equal. ScannedTo of a wallet
// that follows the tip is not stored: it is the height of the tip.
func (w Wallet) same(o Wallet) bool {
	return w.Follows == o.Follows && (w.Follows || w.ScannedTo == o.ScannedTo) && w.Announced == o.Announced &&
		slices.EqualFunc(w.Behind, o.Behind, OwnerScan.equal)
}

func (o OwnerScan) equal(p OwnerScan) bool {
	return o.ID == p.ID && o.ScannedTo == p.ScannedTo && slices.Equal(o.Tags, p.Tags)
}

// scanned returns w after the block at height was matched against it, while the tip was at
// height tip.
func (w Wallet) scanned(height, tip int32) Wallet {
	if w.ScannedTo+1 == height {
		w.ScannedTo = height
	}
	w.Follows = w.ScannedTo == tip
	w.Behind = w.behind(min(w.ScannedTo, tip), func(o *OwnerScan) {
		if o.ScannedTo+1 == height {
			o.ScannedTo = height
		}
	})
	return w
}

// rolledBack returns w after the block at height left the chain; linked says whether the
// block below it is the new tip.
func (w Wallet) rolledBack(height int32, linked bool) Wallet {
	if w.ScannedTo >= height {
		w.ScannedTo = max(height-1, w.Birth-1)
	}
	w.Follows = linked && w.ScannedTo == height-1
	to := w.ScannedTo
	if linked {
		to = height - 1
	}
	w.Behind = w.behind(to, func(o *OwnerScan) { o.ScannedTo = min(o.ScannedTo, height-1) })
	return w
}

// behind returns the owners that are not scanned to a height after a move.
func (w Wallet) behind(to int32, move func(*OwnerScan)) []OwnerScan {
	var behind []OwnerScan
	for _, o := range w.Behind {
		if move(&o); o.ScannedTo < to {
			behind = append(behind, o)
		}
	}
	return behind
}

// ScannedFor returns the height up to which the owner's coins are complete.
func (w Wallet) ScannedFor(tag string) int32 {
	for _, o := range w.Behind {
		if _, found := slices.BinarySearch(o.Tags, tag); found {
			return o.ScannedTo
		}
	}
	return w.ScannedTo
}
