package store

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/settlehq/settle/withdrawal"
)

// SignedMessage is the message of the line that [Withdrawals] and [Batches] write at Info to
// [slog.Default] when signed bytes are on file, before the call returns that lets a worker send them:
// of Prepared, Rebumped, BatchPrepared and BatchReplaced. Its attributes are wallet, nonce or input,
// hash, event, chain, and request or batch. What was sent has such a line, so that lines that are kept
// off the machine say after a restore how far was signed, see [withdrawal.PayerLog].
//
// Nothing is written where the commit has failed. A line may be of bytes that are not on file after
// [ErrUnknownCommit], and where the caller's own transaction ends otherwise, as within one the line comes
// before its commit. It may come twice for an event that was sent twice.
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
