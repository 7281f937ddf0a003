package store

import (
	"context"
	"fmt"
	"reflect"

	"github.com/settlehq/settle/statemachine"
)

// absent stands for a store, or a transaction, that is nil or lacks a domain: its
// answer is an error, where a nil one would panic later.
type absent[T any] struct{ err error }

func (a absent[T]) Update(context.Context, func(T) error) error { return a.err }

func (a absent[T]) View(ctx context.Context, fn func(T) error) error { return a.Update(ctx, fn) }

// present returns s, or what stands for it if it is nil.
func present[T any](s Store[T]) Store[T] {
	if isNil(s) {
		return absent[T]{fmt.Errorf("%w: the store is nil", statemachine.ErrInvalid)}
	}
	return s
}

// joined returns the two ways to run something in a transaction that is open.
func joined[T any](tx T) func(context.Context, func(T) error) error {
	if isNil(tx) {
		return absent[T]{fmt.Errorf("%w: the transaction is nil", statemachine.ErrInvalid)}.Update
	}
	return func(_ context.Context, fn func(T) error) error { return fn(tx) }
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
