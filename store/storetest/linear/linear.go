// Package linear asks porcupine (github.com/anishathalye/porcupine) whether a store is linearizable:
// whether what concurrent clients saw of a record could have happened one after the other, each
// call at one moment between its beginning and its end. It shares nothing with the stores.
//
// A relay is the register. A client reads it, or saves a change of what the client has read before,
// which the store takes only if the record still is at that version (a compare-and-swap). A save
// whose answer is lost may have happened, at its time or later, or never. It is a module of its
// own, so that nobody needs porcupine who uses the library.
//
// What is checked of relays holds for every domain as far as a store shares one code for all of
// them, as memory and sqlstore do. It says nothing of rules that span records.
package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Options of a run. The zero value is 6 clients with 60 calls each on 3 relays.
type Options struct {
	Seed                   uint64
	Clients, Calls, Relays int
	// Cut breaks connections of the store meanwhile, until stop is closed; alone runs a function while no
	// client has a call under way, to mend them. nil: nothing is cut.
	Cut func(stop <-chan struct{}, alone func(mend func()))
}

func (o Options) orDefault() Options {
	for _, n := range []struct {
		at    *int
		value int
	}{{&o.Clients, 6}, {&o.Calls, 60}, {&o.Relays, 3}} {
		if *n.at == 0 {
			*n.at = n.value
		}
	}
	return o
}

// Summary counts what the calls of a run were answered.
type Summary struct{ Reads, Saved, Refused, Unknown int }

type input struct {
	relay    string
	save     bool
	was, put string
}

type outcome uint8

const (
	read outcome = iota
	saved
	refused // the store says that the record is at another version
	unknown // no answer, or one that says nothing of what happened
)

type output struct {
	outcome outcome
	value   string
}

// register is a register with compare-and-swap: one per relay.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			relay := op.Input.(input).relay
			by[relay] = append(by[relay], op)
		}
		var all [][]porcupine.Operation
		for _, ops := range by {
			all = append(all, ops)
		}
		return all
	},
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		now, call, answer := state.(string), in.(input), out.(output)
		switch fits := now == call.was; {
		case !call.save:
			return answer.value == now, now
		case answer.outcome == saved:
			return fits, call.put
		case answer.outcome == refused:
			return !fits, now
		case fits: // unknown, and it happened; one that did not is put at the end, where it no longer fits or nobody reads it
			return true, call.put
		}
		return true, now
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
}

// Check runs concurrent clients on a store and returns an error where what they saw is impossible. The
// store must have no relays named "linear...". An inconclusive search, after limit, is an error too.
func Check[T store.RelayUnit](t testing.TB, s store.Store[T], limit time.Duration, o Options) (Summary, error) {
	t.Helper()
	o = o.orDefault()
	policy := relaysync.DefaultPolicy()
	policy.RelayDomain = "relays.example"
	by := relaysync.By{Actor: "host", Role: relaysync.Host, At: time.Date(2001, 1, 2, 3, 4, 5, 0, time.UTC)}
	config := relaysync.Config{Info: relaysync.Document(fmt.Sprintf(`{"pubkey":"%064x","name":"a"}`, 1))}
	name := func(relay int) string { return fmt.Sprintf("linear_%d_%d", o.Seed, relay) }
	first := func(relay int) string { return fmt.Sprintf("first-%d-%d", o.Seed, relay) }
	for i := range o.Relays {
		c, err := policy.ApplyAt(relaysync.Sync{}, relaysync.Created{By: by, Relay: name(i), Tenant: "linear", Subdomain: first(i),
			Config: config}, by.At)
		if err == nil {
			err = s.Update(context.Background(), func(tx T) error { return tx.Relays().Save(c) })
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	began := time.Now()
	var mu sync.Mutex
	var calls sync.RWMutex // read-locked by each call
	var history []porcupine.Operation
	var sum Summary
	var clients, cutter sync.WaitGroup
	stop := make(chan struct{})
	if o.Cut != nil {
		cutter.Go(func() {
			o.Cut(stop, func(mend func()) {
				calls.Lock()
				defer calls.Unlock()
				mend()
			})
		})
	}
	value := func(r *relaysync.Sync) string { // of a relay that nobody has saved since: ""
		if strings.HasPrefix(r.Relay.Subdomain, "first-") {
			return ""
		}
		return r.Relay.Subdomain
	}
	for client := range o.Clients {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(o.Seed, uint64(client)))
			have := map[int]relaysync.Sync{}
			call := func(n int) {
				calls.RLock()
				defer calls.RUnlock()
				relay := rng.IntN(o.Relays)
				op := porcupine.Operation{ClientId: client}
				op.Call = int64(time.Since(began))
				held, ok := have[relay]
				if !ok || rng.IntN(4) == 0 {
					var got relaysync.Sync
					err := s.View(context.Background(), func(tx T) error {
						all, err := tx.Relays().Get(name(relay))
						if err == nil {
							got = all[0]
						}
						return err
					})
					if err != nil { // a read without an answer says nothing
						return
					}
					op.Return = int64(time.Since(began))
					op.Input, op.Output = input{relay: name(relay)}, output{value: value(&got)}
					have[relay] = got
				} else {
					put := fmt.Sprintf("c%d-n%d-%d", client, n, o.Seed)
					c, err := policy.ApplyAt(held, relaysync.Updated{By: by, Subdomain: put, Config: config}, by.At)
					if err != nil {
						t.Errorf("the update of a relay: %v", err)
						return
					}
					err = s.Update(context.Background(), func(tx T) error { return tx.Relays().Save(c) })
					op.Return = int64(time.Since(began))
					answer := output{outcome: saved}
					switch {
					case err == nil:
						have[relay] = c.New
					case errors.Is(err, store.ErrRetry): // it did nothing, whatever the record was
						return
					case errors.Is(err, statemachine.ErrConflict):
						answer.outcome = refused
						delete(have, relay)
					default:
						answer.outcome, op.Return = unknown, math.MaxInt64
						delete(have, relay)
					}
					op.Input, op.Output = input{name(relay), true, value(&held), put}, answer
				}
				mu.Lock()
				history = append(history, op)
				*[]*int{&sum.Reads, &sum.Saved, &sum.Refused, &sum.Unknown}[op.Output.(output).outcome]++
				mu.Unlock()
			}
			for n := range o.Calls {
				call(n)
			}
		})
	}
	clients.Wait()
	close(stop)
	cutter.Wait()
	switch porcupine.CheckOperationsTimeout(register, history, limit) {
	case porcupine.Illegal:
		return sum, fmt.Errorf("seed %d: no order of %d calls explains what their clients saw: %+v", o.Seed, len(history), sum)
	case porcupine.Unknown:
		return sum, fmt.Errorf("seed %d: not decided within %v: %+v", o.Seed, limit, sum)
	}
	return sum, nil
}
