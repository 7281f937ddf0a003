package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/settlehq/settle/swap"
)

// observation is one line of the file: what comes in, and what its sender has
// published. A line may come twice.
type observation struct {
	Chain  string `json:"chain"` // solana: a deposit; nexus: a credit
	ID     string `json:"id"`
	Amount string `json:"amount"`
	From   string `json:"from,omitempty"`
	At     int    `json:"at"` // milliseconds after the beginning at which it is seen

	Memos      []string `json:"memos,omitempty"`      // of a deposit
	Unreadable bool     `json:"unreadable,omitempty"` // the memo cannot be fetched
	Account    string   `json:"account,omitempty"`    // state of the account that is paid; usable if empty

	Owner    string `json:"owner,omitempty"`    // of a credit
	MappedBy string `json:"mappedBy,omitempty"` // who published a mapping; nobody if empty
	MappedTo string `json:"mappedTo,omitempty"`
	MappedAt int    `json:"mappedAt,omitempty"` // milliseconds after the beginning
	units    uint64
}

//go:embed testdata/day.jsonl
var sample []byte

// readFile reads a file of observations, or the sample.
func readFile(path string) (all []observation, err error) {
	content := sample
	if path != "" {
		if content, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var o observation
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&o); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if o.units, err = swap.ParseAmount(o.Amount); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if o.Chain != swap.Solana.String() && o.Chain != swap.Nexus.String() {
			return nil, fmt.Errorf("line %d: chain %q", n, o.Chain)
		}
		all = append(all, o)
	}
	return all, lines.Err()
}

func (o *observation) deposit() bool { return o.Chain == swap.Solana.String() }

func (o *observation) account() swap.AccountState {
	s := swap.AccountUsable
	if o.Account != "" {
		_ = s.UnmarshalText([]byte(o.Account))
	}
	return s
}

// mapping is what a look-up of the asset says so long after the beginning.
func (o *observation) mapping(since time.Duration) swap.MappingLooked {
	ev := swap.MappingLooked{Finding: swap.MappingMissing}
	if o.MappedBy != "" && since >= time.Duration(o.MappedAt)*time.Millisecond {
		ev.Finding, ev.TxID, ev.Owner, ev.Account = swap.MappingFound, o.ID, o.MappedBy, o.MappedTo
	}
	return ev
}
