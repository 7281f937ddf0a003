package store

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

// SignedMessage is the message of the line that [Withdrawals] and [Batches] write at Info to [slog.Default] once signed
// bytes are on file by Prepared, Rebumped, BatchPrepared or BatchReplaced, before the call that lets a worker send them
// returns. Its attributes are wallet, nonce or input, hash, event, chain, and request or batch. Every transaction that
// was sent has such a line. So if the lines are kept off the machine, they say after a restore up to which nonce was
// signed, see [withdrawal.PayerLog].
//
// Nothing is written if the commit has failed. A line may be about bytes that are not on file after [ErrUnknownCommit],
// and if the caller's own transaction fails, since within it the line comes before the commit. A line may come twice
// for an event that was sent twice.
const SignedMessage = "settle: signed bytes are on file"

// signed writes the lines of commands whose transaction has ended with err, which left as.
func (s *core[T, K, L, A, E, C]) signed(ctx context.Context, commands []command[K, A, E], as []A, err error) {
	if s.of.signed == nil || err != nil && !errors.Is(err, ErrUnknownCommit) || len(as) != len(commands) {
		return
	}
	for i := range commands {
		for _, ev := range commands[i].events {
			if signed, is := s.of.signed(&as[i], ev); is {
				logSigned(ctx, signed)
			}
		}
	}
}

func logSigned(ctx context.Context, s withdrawal.Signed) {
	attributes := []slog.Attr{slog.String("wallet", s.Wallet.String())}
	if s.HasNonce {
		attributes = append(attributes, slog.Uint64("nonce", s.Nonce))
	} else {
		attributes = append(attributes, slog.String("input", s.Input))
	}
	of := slog.String("request", s.Request.String())
	if s.Batch != uuid.Nil {
		of = slog.String("batch", s.Batch.String())
	}
	attributes = append(attributes, slog.String("hash", s.Hash), slog.String("event", s.Event), slog.String("chain", s.Chain.String()), of)
	slog.LogAttrs(ctx, slog.LevelInfo, SignedMessage, attributes...)
}
