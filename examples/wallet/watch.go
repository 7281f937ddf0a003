package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settlehq/settle/utxo"
)

// block9Coinbase is the script that the coinbase of block 9 pays to; the first
// payment of all, in block 170, spends it.
const block9Coinbase = "410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a" +
	"5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac"

// watchSet says which output scripts are ours.
type watchSet struct {
	all     bool
	scripts map[string]bool
}

// add takes one value of -watch.
func (w *watchSet) add(value string) error {
	if value == "all" {
		w.all = true
		return nil
	}
	script, err := hex.DecodeString(value)
	if err != nil || len(script) == 0 {
		return errors.New("it is neither an output script in hex nor all")
	}
	if w.scripts == nil {
		w.scripts = map[string]bool{}
	}
	w.scripts[string(script)] = true
	return nil
}

func (w *watchSet) complete() error {
	switch {
	case w.all && len(w.scripts) > 0:
		return errors.New("-watch all leaves nothing for another -watch to add")
	case !w.all && len(w.scripts) == 0:
		return w.add(block9Coinbase)
	}
	return nil
}

// String returns the flags that give the set, the same text for the same set.
func (w *watchSet) String() string {
	if w.all {
		return "-watch all"
	}
	flags := make([]string, 0, len(w.scripts))
	for _, script := range slices.Sorted(maps.Keys(w.scripts)) {
		flags = append(flags, fmt.Sprintf("-watch %x", script))
	}
	return strings.Join(flags, " ")
}

// policy is where a host says what it owns. One that has customers returns a
// customer's name as the Tag.
func (w *watchSet) policy() utxo.Policy {
	return utxo.Policy{Owner: func(script []byte) (utxo.Owner, bool) {
		return utxo.Owner{Wallet: walletID}, w.all || w.scripts[string(script)]
	}}
}
