package ops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/chainhash/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/utxo"
)

// wallets is the kind of transactions of package utxo, by wallet and hash, such as "1:ab..".
func (s *Services) wallets() *Kind {
	if s.Wallets == nil {
		return nil
	}
	k := &Kind{Name: "wallet", Domain: store.DomainWallets, Machine: "utxo.tx", events: "utxo"}
	for _, w := range s.WalletIDs {
		k.Lists = append(k.Lists, fmt.Sprint(w))
	}
	k.list = func(ctx context.Context, q List) (page Page, err error) {
		id, err := strconv.ParseInt(q.Name, 10, 64)
		if err != nil {
			return page, fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
		}
		var after *utxo.HistoryKey
		if q.After != "" {
			tx, err := txID(q.After)
			if err != nil {
				return page, err
			}
			d, err := s.Wallets.Detail(ctx, tx)
			if err != nil {
				return page, err
			}
			key := d.Tx.Key()
			after = &key
		}
		all, err := s.Wallets.History(ctx, utxo.WalletID(id), after, q.Limit)
		for _, t := range all {
			var sum int64
			for _, o := range t.Outputs {
				sum += int64(o.Amount)
			}
			page.add(Row{ID: nameOf(t.ID), State: t.Status.String(), Amount: fmt.Sprint(sum), Since: t.FirstSeen, Cause: t.Status.String()})
		}
		page.next(len(all) == q.Limit, func() string { return nameOf(all[len(all)-1].ID) })
		return page, err
	}
	k.get = func(ctx context.Context, text string) (*Item, error) {
		id, err := txID(text)
		if err != nil {
			return nil, err
		}
		d, err := s.Wallets.Detail(ctx, id)
		if err != nil {
			return nil, err
		}
		t := d.Tx
		is := &Item{Kind: k.Name, ID: nameOf(t.ID), State: t.Status.String(), Version: t.Version, Sentence: "Blocks and the mempool move it on."}
		trail, err := s.Wallets.Trail(ctx, id)
		if err := is.tell(err, lines(trail)); err != nil {
			return nil, err
		}
		is.put("label", t.Label, "height", t.Height, "first seen", t.FirstSeen, "coinbase", t.Coinbase, "public", t.Public,
			"replaced by", d.ReplacedBy, "replaces", d.Replaces)
		outputs := Table{Name: "Outputs of the wallet", Columns: []string{"index", "satoshi", "owner"}}
		for _, o := range t.Outputs {
			outputs.Rows = append(outputs.Rows, row(o.Index, o.Amount, Masked(o.Tag)))
		}
		is.Tables = []Table{outputs}
		is.record = map[string]any{"ID": t.ID}
		is.digest()
		return is, nil
	}
	k.find = func(ctx context.Context, text string) (found []string, err error) {
		for _, w := range s.WalletIDs {
			id, err := txID(fmt.Sprintf("%d:%s", w, text[strings.LastIndexByte(text, ':')+1:]))
			if err != nil {
				return nil, err
			}
			if _, err := s.Wallets.Detail(ctx, id); err == nil {
				found = append(found, nameOf(id))
			} else if !errors.Is(err, statemachine.ErrNotFound) {
				return nil, err
			}
		}
		return found, nil
	}
	k.try = func(ctx context.Context, id string, ev any) (moves []store.TriedMove, err error) {
		err = s.DB.View(ctx, func(u store.Unit) error {
			now, err := u.Now()
			if err != nil {
				return err
			}
			set, err := s.walletPolicy.PlanAt(store.WalletSource(u), ev.(utxo.Event), now)
			for _, l := range set.Log {
				moves = append(moves, store.TriedMove{Machine: l.Machine, ID: nameOf(l.ID), From: l.From, To: l.To, Version: l.Version})
			}
			return err
		})
		return moves, err
	}
	k.do = func(ctx context.Context, _ string, ev any) error {
		_, err := s.Wallets.Do(ctx, ev.(utxo.Event))
		return err
	}
	return k
}

func nameOf(id utxo.TxID) string { return fmt.Sprintf("%d:%s", id.Wallet, id.Hash) }

func txID(text string) (id utxo.TxID, err error) {
	wallet, hash, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(wallet, 10, 64)
	if err == nil {
		var of *chainhash.Hash
		if of, err = chainhash.NewHashFromStr(hash); err == nil {
			return utxo.TxID{Wallet: utxo.WalletID(n), Hash: *of}, nil
		}
	}
	return id, fmt.Errorf("%w: %w", statemachine.ErrNotFound, err)
}
