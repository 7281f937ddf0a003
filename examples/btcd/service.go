package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
	"github.com/settlehq/settle/utxo"
)

// depth is how deep a block must be to be final. A reorg of the example is less
// deep; on a public chain it is 6 or more.
const depth = 3

var walletPolicy = utxo.Policy{Owner: ownerOf, Rebroadcast: time.Second}

// service is what a host runs: it follows a node, credits deposits and pays
// payouts. It keeps nothing that a crash may not take.
type service struct {
	*database
	node rpc
	pool map[chainhash.Hash]*wire.MsgTx // transactions of the mempool that were fetched
	sent time.Time                      // when Next was carried out the last time
}

// serve runs until ctx is done. What fails is done again.
func serve(ctx context.Context, path, nodeAddress string, log io.Writer) error {
	d, err := openDatabase(ctx, path)
	if err != nil {
		return err
	}
	defer d.Close()
	s := &service{database: d, node: rpc{nodeAddress}}
	var credits sync.WaitGroup
	credits.Go(func() { s.credit(ctx, log) })
	defer credits.Wait() // before the database is closed
	last := ""
	for ctx.Err() == nil {
		for _, err := range s.turn(ctx) {
			away := (*url.Error)(nil) // the node is being started again
			if err != nil && ctx.Err() == nil && !errors.As(err, &away) && err.Error() != last {
				last = err.Error()
				fmt.Fprintln(log, "service:", err)
			}
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// turn does each thing once. One that fails does not stop the others.
func (s *service) turn(ctx context.Context) []error {
	return []error{s.follow(ctx), s.settle(ctx), s.broadcast(ctx)}
}

// broadcast sends what the wallet owes to the network.
func (s *service) broadcast(ctx context.Context) error {
	var peers int
	if err := s.node.call(ctx, "getconnectioncount", &peers); err != nil || peers == 0 {
		return err // a node that is alone would keep it to itself
	}
	actions, _, err := s.wallets.Next(ctx, walletID, s.sent)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, a := range actions {
		detail, err := s.wallets.Detail(ctx, a.ID)
		if err != nil {
			return err
		}
		tx := new(wire.MsgTx)
		if err := tx.Deserialize(bytes.NewReader(detail.Tx.Raw)); err != nil {
			return err
		}
		err = s.node.send(ctx, tx)
		if answer := (*rpcError)(nil); errors.As(err, &answer) {
			if err := s.refused(ctx, a.ID.Hash, answer); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err // nobody knows whether it was sent: it is sent again
		}
		if a.Kind == utxo.Broadcast {
			if _, err := s.wallets.Do(ctx, utxo.Broadcasted{ID: a.ID}); err != nil {
				return err
			}
		}
	}
	s.sent = now
	return nil
}

// refused remembers what the node did not take because of the transaction itself. A spent or missing input is no fault
// of the transaction: the node knows another block, or lost its mempool in a crash, and a rival or a parent is on the
// way. Nor is it a fault of a replacement that a block with one of its new inputs has left the chain since it was
// built: it is sent again once the input is in a block again.
func (s *service) refused(ctx context.Context, hash chainhash.Hash, answer *rpcError) error {
	for _, passing := range []string{"orphan", "already spent", "already in", "already exists", "fully-spent",
		"references outputs of unknown", "spends new unconfirmed input"} {
		if strings.Contains(answer.Message, passing) {
			return nil
		}
	}
	_, err := s.db.ExecContext(ctx,
		"INSERT INTO refused SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM refused WHERE hash = $1 AND reason = $2)",
		hash.String(), answer.Message)
	return err
}
