package sqlstore

import (
	"cmp"
	"database/sql"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

// Who owns a nonce of a wallet, and whom a transaction of a chain pays.

var (
	insertNonces = statement{once: true, rows: "operation_wallet_address_id uuid, nonce int, job_id uuid",
		text: "INSERT INTO @withdrawal_nonces " +
			"(operation_wallet_address_id, nonce, job_id) SELECT r.operation_wallet_address_id, r.nonce, r.job_id FROM {rows} WHERE NOT EXISTS " +
			"(SELECT 1 FROM @withdrawal_nonces o WHERE o.operation_wallet_address_id = r.operation_wallet_address_id AND o.nonce = r.nonce) AND " +
			"NOT EXISTS " +
			"(SELECT 1 FROM @withdrawal_fillers f WHERE f.operation_wallet_address_id = r.operation_wallet_address_id AND f.nonce = r.nonce) ON " +
			"CONFLICT DO NOTHING"}
	ownerOf = statement{once: true, each: "id uuid, wallet uuid, nonce int", text: "SELECT n.job_id FROM @withdrawal_nonces n " +
		"WHERE n.operation_wallet_address_id = r.wallet AND n.nonce = r.nonce AND n.job_id <> r.id"}
	fillerOf = statement{once: true, each: "wallet uuid, nonce int", text: "SELECT f.tx_hash FROM @withdrawal_fillers f " +
		"WHERE f.operation_wallet_address_id = r.wallet AND f.nonce = r.nonce"}
	// A filler waits for the nonces that others are about to take, and keeps
	// them out until it has its own: there is no unique rule over two tables.
	lockNonces = statement{text: "LOCK TABLE @withdrawal_nonces IN SHARE ROW EXCLUSIVE MODE"}

	// The nonces of a wallet from $2 on: each job's, with its request, and each filler's.
	noncesFrom = statement{text: "SELECT n.nonce, j.withdrawal_request_id FROM @withdrawal_nonces n JOIN @withdrawal_queue j ON j.id = " +
		"n.job_id " +
		"WHERE n.operation_wallet_address_id = $1 AND n.nonce >= $2 UNION ALL " +
		"SELECT nonce, NULL FROM @withdrawal_fillers WHERE operation_wallet_address_id = $1 AND nonce >= $2 ORDER BY nonce"}

	insertPayments = statement{once: true, rows: "chain_id text, tx_form text, output int, withdrawal_request_id uuid",
		text: "INSERT INTO @withdrawal_payments " +
			"(chain_id, tx_form, output, withdrawal_request_id) SELECT r.chain_id, r.tx_form, r.output, r.withdrawal_request_id FROM {rows} " +
			"WHERE true ON CONFLICT DO NOTHING"}
	// Another request that has the transaction, or its output if it is one.
	paidRequest = statement{once: true, each: "chain_id text, tx_form text, output int, request uuid",
		text: "SELECT p.withdrawal_request_id FROM @withdrawal_payments p " +
			"WHERE p.chain_id = r.chain_id AND p.tx_form = r.tx_form AND p.withdrawal_request_id <> r.request AND (r.output = -1 OR p.output IN " +
			"(-1, r.output))"}
)

// The highest nonces of a wallet w on file, of a job and of a filler; and the wallet that stops its chain.
const (
	lastNonces = "m.nonce, f.nonce, u.id"
	withNonces = " LEFT JOIN @withdrawal_nonces m ON m.operation_wallet_address_id = w.id AND m.nonce = " +
		"(SELECT max(o.nonce) FROM @withdrawal_nonces o WHERE o.operation_wallet_address_id = w.id) " +
		"LEFT JOIN @withdrawal_fillers f ON f.operation_wallet_address_id = w.id AND f.nonce = " +
		"(SELECT max(o.nonce) FROM @withdrawal_fillers o WHERE o.operation_wallet_address_id = w.id) " +
		"LEFT JOIN @operation_wallet_addresses u ON u.id = (SELECT o.id FROM @operation_wallet_addresses o " +
		"WHERE o.chain_id = w.chain_id AND o.status = 'unknown outbound' ORDER BY o.id LIMIT 1) "
)

// walletCells are the places of a wallet's columns, its last nonces and the wallet that stops its chain; next
// sets its next nonce after a scan.
func walletCells(w *withdrawal.HotWallet) (cells []any, next func()) {
	job, filler := nonceField{new(uint64), new(bool)}, nonceField{new(uint64), new(bool)}
	return append(hotWalletTable.cells(w), job, filler, maybe(&w.Outbound)), func() {
		w.NextNonce = 0
		for _, last := range []nonceField{job, filler} {
			if *last.has {
				w.NextNonce = max(w.NextNonce, *last.n+1)
			}
		}
	}
}

// insertNonces gives nonces to jobs. A job may have its own again.
func (s *changeset) insertNonces() error {
	return s.later(stage{statement: &insertNonces, rows: &s.nonces, few: func(int64) error {
		filler, err := s.nonceTaken()
		if err != nil || filler == "" {
			return err
		}
		return usedBy(filler)
	}})
}

// nonceTaken is the error of the first nonce that another job has, else the hash of
// the first filler that has one; empty: none has.
func (s *changeset) nonceTaken() (filler string, err error) {
	owner, err := s.holder(&ownerOf, &s.nonces, 2, 0, 1) // job, wallet, nonce
	if err != nil {
		return "", err
	}
	if owner != "" {
		return "", takenBy(withdrawal.ErrNonceTaken)(owner)
	}
	return s.holder(&fillerOf, &s.nonces, 0, 1)
}

func usedBy(filler string) error {
	return &statemachine.Refusal{Err: withdrawal.ErrNonceUsed, Machine: "hot wallet", Event: "save",
		Reason: "filler " + filler + " has the nonce"}
}

// pays adds the rows of a transaction in withdrawal_payments.
func (s *changeset) pays(chain uuid.UUID, hash string, byOutput bool, output uint32, request uuid.UUID) {
	form := statemachine.HashForm(hash)
	if !byOutput {
		s.payments.add(chain.String(), form, -1, request.String())
		return
	}
	if whole := chain.String() + form; !s.marked[whole] { // or 1,000 members of a batch would look like others' outputs
		if s.marked == nil {
			s.marked = map[string]bool{}
		}
		s.marked[whole] = true
		s.payments.add(chain.String(), form, -1, nil)
	}
	s.payments.add(chain.String(), form, int(output), request.String())
}

// insertPayments gives transactions to requests. A request may have its own
// again.
func (s *changeset) insertPayments() error {
	return s.later(stage{statement: &insertPayments, rows: &s.payments, few: func(int64) error {
		set := new(batch)
		for i := 0; i < len(s.payments.values); i += s.payments.width {
			if row := s.payments.values[i : i+s.payments.width]; row[3] != nil {
				set.add(row...)
			}
		}
		return s.paidTo(set)
	}})
}

// paidTo returns the error of the first row that is another request's.
func (w withdrawals) paidTo(set *batch) error {
	owner, err := w.paidRequest(set)
	if err != nil || owner == nil {
		return err
	}
	return &withdrawal.TakenError{Err: withdrawal.ErrPaymentTaken, ID: *owner}
}

func (w withdrawals) paidRequest(set *batch) (owner *uuid.UUID, err error) {
	err = w.read(&paidRequest, set, func(rows *sql.Rows) error {
		owner = new(uuid.UUID)
		return rows.Scan(owner)
	})
	return owner, err
}

// PaidRequest implements [store.WithdrawalRecords].
func (w withdrawals) PaidRequest(request, chain uuid.UUID, hash string, byOutput bool, output uint32) (uuid.NullUUID, error) {
	set := new(batch)
	index := -1
	if byOutput {
		index = int(output)
	}
	set.add(chain.String(), statemachine.HashForm(hash), index, request.String())
	owner, err := w.paidRequest(set)
	if err != nil || owner == nil {
		return uuid.NullUUID{}, err
	}
	return uuid.NullUUID{UUID: *owner, Valid: true}, nil
}

// PutFiller implements [store.HotWalletRecords].
func (w hotWallets) PutFiller(f withdrawal.Filler) error {
	return w.save("hot wallet", func() error {
		if w.store.Dialect == Postgres {
			if _, err := w.write(&lockNonces, nil); err != nil {
				return err
			}
		}
		s := changeset{withdrawals: w.withdrawals}
		s.nonces.add(f.Wallet, int64(f.Nonce), uuid.Nil)
		other, err := s.nonceTaken()
		switch {
		case err != nil:
			return err
		case statemachine.SameHash(other, f.Hash):
			return nil
		case other != "":
			return usedBy(other)
		}
		s.pays(f.Chain, f.Hash, false, 0, uuid.Nil)
		n, err := w.write(&insertPayments, &s.payments)
		if err == nil && n == 0 {
			err = cmp.Or(s.paidTo(&s.payments), f.Twice())
		}
		if err != nil {
			return err
		}
		rows := new(batch)
		fillerTable.insertRow(rows, &f)
		if _, err = w.write(&fillerTable.insertOne, rows); dangling(err) {
			err = fmt.Errorf("withdrawal fillers: %w: the hot wallet: %w", statemachine.ErrNotFound, err)
		}
		return err
	})
}

// NoncesFrom implements [store.HotWalletRecords].
func (w hotWallets) NoncesFrom(wallet uuid.UUID, from uint64) (all []withdrawal.OwnedNonce, err error) {
	err = w.read(&noncesFrom, nil, func(rows *sql.Rows) error {
		var n int64
		var request uuid.NullUUID
		err := rows.Scan(&n, &request)
		all = append(all, withdrawal.OwnedNonce{Nonce: uint64(n), Request: request.UUID})
		return err
	}, wallet.String(), int64(from))
	return all, err
}

var selectTheseWallets = statement{once: true, each: "id uuid", text: strings.Replace(selectWalletsOf.text,
	"w.chain_id = $1 ORDER BY w.id", "w.id = r.id", 1)}

// Get implements [store.HotWalletRecords].
func (w hotWallets) Get(ids ...uuid.UUID) ([]withdrawal.HotWallet, error) {
	set := new(batch)
	for _, id := range ids {
		set.add(id)
	}
	return w.wallets(&selectTheseWallets, set)
}
