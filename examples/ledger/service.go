package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/settlehq/settle/examples/withdrawal/node"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// api is the service for its callers. Who they are is not asked: a host does.
type api struct {
	*service
	node    *node.Client
	bitcoin *bitcoin // of the demonstration; nil where another process watches
}

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /customers/{name}", answer(a.balances))
	mux.HandleFunc("POST /customers/{name}/fund", answer(a.fund))
	if a.bitcoin != nil {
		mux.HandleFunc("POST /customers/{name}/deposit", answer(a.deposit))
	}
	mux.HandleFunc("POST /withdrawals", answer(a.submit))
	mux.HandleFunc("GET /withdrawals/{id}", answer(a.show))
	mux.HandleFunc("POST /withdrawals/{id}/{event}", answer(a.say))
	mux.HandleFunc("POST /hotwallet/explain", answer(a.explain))
	mux.HandleFunc("GET /alerts", answer(a.alerts))
	mux.HandleFunc("GET /audit", answer(func(r *http.Request) (any, error) { return a.audit(r.Context()) }))
	return http.MaxBytesHandler(mux, 4<<10)
}

// answer writes what a handler returns as JSON.
func answer(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		result, err := handle(r)
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(status(err))
			result = map[string]string{"error": err.Error()}
		}
		_ = json.NewEncoder(w).Encode(result) // the caller may be gone
	}
}

// status says what a caller does about an error. After 503 nobody knows whether it was
// done: the caller sends the same again, and it is done once.
func status(err error) int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, store.ErrUnknownCommit), errors.Is(err, store.ErrRetry), errors.Is(err, sqlstore.ErrConnection),
		errors.Is(err, errNode):
		return http.StatusServiceUnavailable
	case errors.Is(err, statemachine.ErrInvalid), errors.As(err, &tooLarge):
		return http.StatusBadRequest
	case errors.Is(err, statemachine.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, statemachine.ErrForbidden):
		return http.StatusForbidden
	case errors.Is(err, statemachine.ErrIllegal), errors.Is(err, statemachine.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, errFunds):
		return http.StatusPaymentRequired
	}
	return http.StatusInternalServerError
}

func read(r *http.Request, into any) error {
	body := json.NewDecoder(r.Body)
	body.DisallowUnknownFields()
	if err := body.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
	}
	return nil
}

var names = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// customer makes the id of a customer.
func customer(name string) (id uuid.UUID, err error) {
	if !names.MatchString(name) {
		return id, fmt.Errorf("%w: a name has 1 to 40 of a-z, 0-9 and -", statemachine.ErrInvalid)
	}
	return statemachine.ID("customer", name), nil
}

func (a *api) balances(r *http.Request) (any, error) {
	id, err := customer(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	of := map[string]int64{}
	err = a.db.UpdateTx(r.Context(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
		for what, account := range map[string]string{"available": available(id.String()), "held": held(id.String()), "owed": owed(id.String())} {
			if of[what], err = balance(ctx, tx, account); err != nil {
				return err
			}
		}
		return nil
	})
	return of, err
}

// payment is what a customer pays in. The key names it, so that it is booked once.
type payment struct{ Key, Amount string }

func readPayment(r *http.Request) (customerID uuid.UUID, in payment, amount withdrawal.Raw, err error) {
	if customerID, err = customer(r.PathValue("name")); err == nil {
		err = read(r, &in)
	}
	if err == nil {
		_, amount, err = withdrawal.ParseAmount(in.Amount, decimals)
	}
	if err == nil && (in.Key == "" || len(in.Key) > 100) {
		err = fmt.Errorf("%w: a key has 1 to 100 bytes", statemachine.ErrInvalid)
	}
	return customerID, in, amount, err
}

// fund books what has come in by another way than a chain, on the word of the house.
func (a *api) fund(r *http.Request) (any, error) {
	id, in, amount, err := readPayment(r)
	if err != nil {
		return nil, err
	}
	return in, a.db.UpdateTx(r.Context(), func(ctx context.Context, tx sqlstore.Tx, _ store.Unit) error {
		return post(ctx, tx, fund(in.Key, id.String(), amount))
	})
}

// deposit has a customer of the demonstration pay in on Bitcoin. It is credited a few
// blocks later.
func (a *api) deposit(r *http.Request) (any, error) {
	id, in, amount, err := readPayment(r)
	if err != nil {
		return nil, err
	}
	txid, err := a.bitcoin.deposit(r.Context(), in.Key, id, amount)
	return map[string]string{"tx": txid}, err
}

// submit takes an order. Its id is the caller's, who sends the same order again until
// there is an answer.
func (a *api) submit(r *http.Request) (any, error) {
	var in struct {
		ID                   uuid.UUID
		Customer, To, Amount string
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	user, err := customer(in.Customer)
	switch {
	case err != nil:
		return nil, err
	case !node.ValidAddress(in.To):
		return nil, fmt.Errorf("%w: %.60q is no address of the chain", statemachine.ErrInvalid, in.To)
	}
	return shown(a.withdraw(r.Context(), withdrawal.Submitted{By: house, Request: in.ID, User: user, Asset: asset, Chain: chainID,
		ToAddress: in.To, Amount: in.Amount, Decimals: decimals}))
}

func (a *api) show(r *http.Request) (any, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
	}
	return shown(a.withdrawals.Get(r.Context(), id))
}

// view is what a caller sees of a withdrawal.
type view struct {
	ID        uuid.UUID                `json:"id"`
	Status    withdrawal.RequestStatus `json:"status"`
	Amount    string                   `json:"amount"`
	To        string                   `json:"to"`
	Paid      string                   `json:"paid,omitempty"`      // the transaction
	Refunded  string                   `json:"refunded,omitempty"`  // the posting
	PaidAfter string                   `json:"paidAfter,omitempty"` // the refund: people have to settle it
}

func shown(w withdrawal.Withdrawal, err error) (any, error) {
	r := &w.Request
	return view{r.ID, r.Status, r.Amount.String(), r.ToAddress, r.FinalTxHash, r.RefundReference, r.PaidAfter}, err
}

// say takes the word of a person about a withdrawal.
func (a *api) say(r *http.Request) (any, error) {
	var in struct{ Actor, Reason, Tx string }
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", statemachine.ErrInvalid, err)
	}
	if err := read(r, &in); err != nil {
		return nil, err
	}
	ctx, event := r.Context(), withdrawal.Event(nil)
	approver, operator := withdrawal.By{Actor: in.Actor, Role: withdrawal.Approver}, withdrawal.By{Actor: in.Actor, Role: withdrawal.Operator}
	switch r.PathValue("event") {
	case "approve":
		event = withdrawal.Approved{By: approver}
	case "reject":
		event = withdrawal.Rejected{By: approver, Reason: in.Reason}
	case "cancel":
		event = withdrawal.Cancelled{By: operator, Reason: in.Reason}
	case "acknowledge":
		event = withdrawal.Acknowledged{By: operator, Reason: in.Reason}
	case "paid": // by another transaction than those on file, such as one that somebody sent by hand
		if event, err = paidBy(ctx, a.node, operator, in.Tx, in.Reason); err != nil {
			return nil, err
		}
	case "requeue":
		if err := a.requeue(ctx, operator, id, in.Reason); err != nil {
			return nil, err
		}
		return shown(a.withdrawals.Get(ctx, id))
	default:
		return nil, fmt.Errorf("%w: nobody says %.20q", statemachine.ErrNotFound, r.PathValue("event"))
	}
	return shown(a.withdrawals.Do(ctx, id, event))
}

// explain takes the word of a person who knows who else has paid with the key of the hot wallet:
// what the chain shows of each transaction on no file is stored, whom it pays too, and the wallet pays again.
// Where the database was put back docs/restore.md comes first: then the transactions are the service's own.
func (a *api) explain(r *http.Request) (any, error) {
	var in struct{ Actor, Reason string }
	if err := read(r, &in); err != nil {
		return nil, err
	}
	ctx, by := r.Context(), withdrawal.By{Actor: in.Actor, Role: withdrawal.Operator}
	told := []withdrawal.Open{}
	for {
		open, err := a.withdrawals.Unsettled(ctx, chainID, 1)
		if err != nil {
			return nil, err
		}
		if len(open) == 0 { // all of it is explained: the wallet is put on, and the chain begins again
			return told, a.withdrawals.PutHotWallet(ctx, by, payingWallet)
		}
		o := open[0]
		if slices.Contains(told, o) {
			return nil, fmt.Errorf("%w: %v", statemachine.ErrIllegal, o)
		}
		told = append(told, o)
		if err := a.explained(ctx, by, &o, in.Reason); err != nil {
			return nil, err
		}
	}
}

// explained says what the chain shows of one open point.
func (a *api) explained(ctx context.Context, by withdrawal.By, o *withdrawal.Open, reason string) error {
	switch o.Point {
	case withdrawal.OpenUntold:
		event, err := used(ctx, a.node, by, o.Number, reason)
		if err != nil {
			return err
		}
		return a.withdrawals.Say(ctx, event)
	case withdrawal.OpenTransfer:
		request, event, err := whose(ctx, a.node, by, o, reason)
		if err != nil {
			return err
		}
		if request != uuid.Nil {
			_, err := a.withdrawals.Do(ctx, request, event)
			return err
		}
		return a.withdrawals.Say(ctx, event)
	}
	// A payment of the service names its request, and this one names none.
	return a.withdrawals.Say(ctx, withdrawal.Dropped{By: by, Wallet: o.Wallet, Tx: o.Hash, Output: uint32(o.Number), Reason: reason})
}

// alerts are what somebody has to look at.
func (a *api) alerts(r *http.Request) (any, error) {
	found, err := a.withdrawals.Alerts(r.Context(), time.Hour, withdrawal.DefaultThresholds(), nil)
	if err != nil {
		return nil, err
	}
	deposits, err := follow.DepositStatsOf(r.Context(), a.db, depositPolicy)
	if err != nil {
		return nil, err
	}
	below, err := a.below(r.Context())
	if err != nil {
		return nil, err
	}
	found = append(found, below...)
	found = append(found, follow.DepositAlerts(deposits, follow.DepositThresholds{Waiting: 3 * time.Hour})...)
	for _, name := range []string{consumer, follow.DepositsName} {
		stats, err := follow.StatsOf(r.Context(), a.db, name)
		if errors.Is(err, statemachine.ErrNotFound) { // the loops of the first start begin it beside the callers
			found = append(found, statemachine.Alert{AlertKind: statemachine.AlertKind{Name: "consumer"}, Text: name + " has not begun"})
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, follow.Alerts(stats, follow.Thresholds{Lag: time.Minute})...)
	}
	texts := []string{}
	for _, alert := range found {
		texts = append(texts, alert.Name+": "+alert.Text)
	}
	return texts, nil
}

// below are the alerts of what withdrawals and deposits stand on: the wallet and the database.
func (s *service) below(ctx context.Context) ([]statemachine.Alert, error) {
	coins, err := s.wallets.Stats(ctx, wallet)
	if err != nil {
		return nil, err
	}
	database, err := sqlstore.StatsOf(ctx, s.db)
	return append(utxo.Alerts(coins, utxo.DefaultThresholds()), sqlstore.Alerts(database, sqlstore.DefaultThresholds())...), err
}
