package utxo

import "slices"

func (pl *plan) changeWallet(old, updated Wallet) {
	if old.ScannedTo != updated.ScannedTo || !slices.Equal(old.Behind, updated.Behind) {
		pl.set.Wallets = append(pl.set.Wallets, WalletChange{old, updated})
	}
}

// scanned returns w after the block at height was matched against it.
func (w Wallet) scanned(height int32) Wallet {
	if w.ScannedTo+1 == height {
		w.ScannedTo = height
	}
	var behind []OwnerScan
	for _, o := range w.Behind {
		if o.ScannedTo+1 == height {
			o.ScannedTo = height
		}
		if o.ScannedTo < w.ScannedTo {
			behind = append(behind, o)
		}
	}
	w.Behind = behind
	return w
}

// rolledBack returns w after the block at height left the chain.
func (w Wallet) rolledBack(height int32) Wallet {
	if w.ScannedTo >= height {
		w.ScannedTo = max(height-1, w.Birth-1)
	}
	var behind []OwnerScan
	for _, o := range w.Behind {
		o.ScannedTo = min(o.ScannedTo, height-1)
		if o.ScannedTo < w.ScannedTo {
			behind = append(behind, o)
		}
	}
	w.Behind = behind
	return w
}

// fallBehind returns w with the owner scanned to no more than height.
func (w Wallet) fallBehind(tag string, height int32) Wallet {
	if height >= w.ScannedTo {
		return w
	}
	at, found := slices.BinarySearchFunc(w.Behind, tag, func(o OwnerScan, t string) int {
		switch {
		case o.Tag < t:
			return -1
		case o.Tag > t:
			return 1
		}
		return 0
	})
	if found && w.Behind[at].ScannedTo <= height {
		return w
	}
	w.Behind = slices.Clone(w.Behind)
	if found {
		w.Behind[at].ScannedTo = height
	} else {
		w.Behind = slices.Insert(w.Behind, at, OwnerScan{tag, height})
	}
	return w
}

// ScannedFor returns the height up to which the owner's coins are complete.
func (w Wallet) ScannedFor(tag string) int32 {
	for _, o := range w.Behind {
		if o.Tag == tag {
			return min(o.ScannedTo, w.ScannedTo)
		}
	}
	return w.ScannedTo
}
