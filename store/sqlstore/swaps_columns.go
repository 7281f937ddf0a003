package sqlstore

import (
	"database/sql/driver"
	"time"

	"github.com/settlehq/settle/swap"
)

// The records of package swap, see [table]. A direction has four tables of the source, with the same columns of ours
// beside the source's. The source shows an item's intents in its own columns, which are written together with the item
// and never read.

// depositTables and creditTables are by place.
var depositTables = map[swap.Place]*table[swap.Deposit]{
	swap.Unprocessed: newDepositTable("unprocessed_sigs", nil),
	swap.Processed: newDepositTable("processed_sigs", func(d *swap.Deposit) list {
		return list{{"amount_usdd text", shown(func() any { return paid(&d.Item, swap.Send).amount() })},
			{"reference int", shown(func() any { return paid(&d.Item, swap.Send).reference() })}}
	}),
	swap.Refunded: newDepositTable("refunded_sigs", func(d *swap.Deposit) list {
		return list{{"refund_sig text", shown(func() any { return paid(&d.Item, swap.Refund).txid() })},
			{"refunded_units int", shown(func() any { return paid(&d.Item, swap.Refund).units() })}}
	}),
	swap.Quarantined: newDepositTable("quarantined_sigs", func(d *swap.Deposit) list {
		return list{{"quarantine_sig text", shown(func() any { return paid(&d.Item, swap.Quarantine).txid() })},
			{"quarantined_units int", shown(func() any { return paid(&d.Item, swap.Quarantine).units() })}}
	}),
}

var creditTables = map[swap.Place]*table[swap.Credit]{
	swap.Unprocessed: newCreditTable("unprocessed_txids", "owner_from_address", nil),
	swap.Processed: newCreditTable("processed_txids", "owner", func(c *swap.Credit) list {
		return list{{"sig text", shown(func() any { return paid(&c.Item, swap.Send).txid() })}}
	}),
	swap.Refunded: newCreditTable("refunded_txids", "owner_from_address", func(c *swap.Credit) list {
		return list{{"sig text", shown(func() any { return paid(&c.Item, swap.Refund).txid() })}}
	}),
	swap.Quarantined: newCreditTable("quarantined_txids", "owner", func(c *swap.Credit) list {
		return list{{"sig text", shown(func() any { return paid(&c.Item, swap.Quarantine).txid() })}}
	}),
}

func newDepositTable(name string, more func(*swap.Deposit) list) *table[swap.Deposit] {
	return newTable(table[swap.Deposit]{
		name: name, machine: swap.DepositMachine.Name(),
		version: func(d *swap.Deposit) int64 { return d.Version },
		fixed: func(d *swap.Deposit) list {
			return append(list{{"sig text", always(&d.ID)}, {"amount_usdc_units int", always(&d.Amount)}}, itemFixed(&d.Item)...)
		},
		state: func(d *swap.Deposit) list {
			all := list{{"status text", depositStatus{&d.Status}}, {"memo text", always(&d.Memo)}, {"memo_read bool", always(&d.Read)},
				{"timestamp int", shown(func() any { return shownAt(&d.Item, d.Place()) })}, {"txid text",
					shown(func() any { return paid(&d.Item, swap.Send).txid() })}}
			if more != nil {
				all = append(all, more(d)...)
			}
			return append(all, itemState(&d.Item)...)
		},
		outside: func(d *swap.Deposit) list { return itemOutside(&d.Item) },
	})
}

func newCreditTable(name, owner string, more func(*swap.Credit) list) *table[swap.Credit] {
	return newTable(table[swap.Credit]{
		name: name, machine: swap.CreditMachine.Name(),
		version: func(c *swap.Credit) int64 { return c.Version },
		fixed: func(c *swap.Credit) list {
			return append(list{{"txid text", always(&c.ID)}, {"amount_usdd text", shown(func() any { return swap.FormatAmount(c.Amount) })},
				{"amount_usdd_units int", always(&c.Amount)},
				{"to_address text", always(&c.To)}, {owner + " text", always(&c.Owner)}}, itemFixed(&c.Item)...)
		},
		state: func(c *swap.Credit) list {
			all := list{{"status text", always(&c.Status)}, {"receival_account text", maybe(&c.Account)},
				{"confirmations_credit int", always(&c.Confirmations)},
				{"timestamp int", shown(func() any { return shownAt(&c.Item, c.Place()) })}, {"counted_at time", maybe(&c.CountedAt)},
				{"gone_at time", maybe(&c.GoneAt)}, {"collecting bool", always(&c.Collecting)}, {"settled_by int", always(&c.SettledBy)}}
			if more != nil {
				all = append(all, more(c)...)
			}
			return append(all, itemState(&c.Item)...)
		},
		outside: func(c *swap.Credit) list { return itemOutside(&c.Item) },
	})
}

func itemFixed(i *swap.Item) list {
	return list{{"from_address text", maybe(&i.From)}, {"item_time int", unixTime{&i.At}}, {"stored_at time", always(&i.Stored)}}
}

func itemState(i *swap.Item) list {
	return list{{"entered time", always(&i.Entered)}, {"version int", always(&i.Version)},
		{"terms_frozen bool", always(&i.Terms.Frozen)}, {"terms_net int", always(&i.Terms.Net)}, {"terms_fee int", always(&i.Terms.Fee)},
		{"terms_min int", always(&i.Terms.Min)},
		{"tried bool", always(&i.Tried)}, {"account_checked bool", always(&i.Checked)}, {"send_attempts int", always(&i.Attempts[0])},
		{"refund_attempts int", always(&i.Attempts[1])},
		{"quarantine_attempts int", always(&i.Attempts[2])}, {"fee_units int", always(&i.Fees)}, {"refund_reason text", maybe(&i.Reason)},
		{"hold_kind text", maybe(&i.Hold.Kind)},
		{"hold_at time", maybe(&i.Hold.At)}, {"hold_reason text", maybe(&i.Hold.Reason)}, {"stood int", always((*int64)(&i.Stood))},
		{"looked_back int", always(&i.LookedBack)},
		{"lost int", always(&i.Lost)}, {"by_hand_reference text", maybe(&i.ByHand.Reference)}, {"by_hand_actor text", maybe(&i.ByHand.Actor)},
		{"by_hand_at time", maybe(&i.ByHand.At)}, {"overdue_at time", maybe(&i.OverdueAt)}}
}

func itemOutside(i *swap.Item) list {
	return list{{"lease_holder text", maybe(&i.Lease.Holder)}, {"lease_fence int", always(&i.Lease.Fence)},
		{leaseUntil, maybe(&i.Lease.Until)}, {"check_at time", maybe(&i.CheckAt)}}
}

// intentRow is an intent with its item.
type intentRow struct {
	direction swap.Direction
	item      string
	swap.Intent
}

var intentTable = newTable(table[intentRow]{
	name: "swap_intents", keys: 3,
	fixed: func(r *intentRow) list {
		in := &r.Intent
		return list{{"direction text", always(&r.direction)}, {"item text", always(&r.item)}, {"number int", always(&in.Number)},
			{"action text", always(&in.Action)},
			{"attempt int", always(&in.Attempt)}, {"chain text", always(&in.Chain)}, {"reference int", maybe(&in.Reference)},
			{"memo text", maybe(&in.Memo)},
			{"signature text", maybe(&in.Signature)},
			{"raw_tx bytes", bytesField{&in.Raw}}, {"last_valid int", always(&in.LastValid)}, {"at time", always(&in.At)},
			{"filed bool", always(&in.Filed)}}
	},
	state: func(r *intentRow) list {
		in := &r.Intent
		return list{{"destination text", maybe(&in.Destination)}, {"net_units int", always(&in.Net)}, {"fee_units int", always(&in.Fee)},
			{"send_by time", always(&in.SendBy)}, {"outcome text", maybe(&in.Outcome)}, {"txid text", maybe(&in.TxID)},
			{"proof text", maybe(&in.Proof)},
			{"is_final bool", always(&in.Final)}, {"closed_at time", maybe(&in.ClosedAt)}, {"claim text", maybe(&in.Claim)},
			{"seen_at time", maybe(&in.SeenAt)},
			{"missed int", always((*int64)(&in.Missed))}, {"missed_at time", always(&in.MissedAt)}}
	},
})

var discrepancyTable = newTable(table[swap.Discrepancy]{
	name: "swap_discrepancies", keys: 4,
	fixed: func(d *swap.Discrepancy) list {
		return list{{"direction text", textOrEmpty{&d.Direction}}, {"item text", always(&d.Item)}, {"kind text", always(&d.Kind)},
			{"key text", always(&d.Key)},
			{"chain text", maybe(&d.Chain)}, {"txid text", maybe(&d.TxID)}, {"amount_units int", always(&d.Amount)},
			{"other_units int", always(&d.Other)},
			{"description text", always(&d.Text)}, {"actor text", always(&d.Actor)}, {"at time", always(&d.At)}}
	},
	state: func(d *swap.Discrepancy) list {
		return list{{"closed_by text", maybe(&d.ClosedBy)}, {"closed_at time", maybe(&d.ClosedAt)}, {"firm bool", always(&d.Firm)}}
	},
	unique: []unique{{columns: []string{"direction", "item", "kind", "key"}}}, // recorded once
})

var discrepancyRows = newNumberedRows(discrepancyTable, "n")

var controlTable = newTable(table[controlRow]{
	name: "swap_control", machine: "swap control",
	version: func(c *controlRow) int64 { return c.Version },
	fixed:   func(c *controlRow) list { return list{{"id int", always(&c.id)}} },
	state: func(c *controlRow) list {
		return list{{"generation int", always(&c.Generation)}, {"recovered_at time", maybe(&c.RecoveredAt)},
			{"solana_scanned bool", always(&c.SolanaScanned)}, {"nexus_scanned bool", always(&c.NexusScanned)},
			{"missing_said time", maybe(&c.MissingSaid)}, {"books_read time", maybe(&c.BooksRead)}, {"reference int", always(&c.Reference)},
			{"version int", always(&c.Version)}}
	},
})

type controlRow struct {
	id int64
	swap.Control
}

var waterlineTable = newTable(table[swap.Waterline]{
	name: "swap_waterlines", machine: "swap waterline", keys: 2,
	version: func(w *swap.Waterline) int64 { return w.Version },
	fixed: func(w *swap.Waterline) list {
		return list{{"chain text", always(&w.Chain)}, {"own bool", always(&w.Own)}}
	},
	state: func(w *swap.Waterline) list {
		return list{{"at time", always(&w.At)}, {"seen time", maybe(&w.Seen)}, {"version int", always(&w.Version)}}
	},
})

// shown is a column that is written and never read.
type shown func() any

func (shown) Scan(any) error { return nil }

func (f shown) Value() (driver.Value, error) { return f(), nil }

// payment is what the source's columns show of an outbound.
type payment struct{ *swap.Intent }

// paid is the latest intent of an action that went out, as far as is known.
func paid(i *swap.Item, a swap.Action) payment {
	for k := len(i.Intents) - 1; k >= 0; k-- {
		if in := &i.Intents[k]; in.Action == a && in.Landed() {
			return payment{in}
		}
	}
	return payment{}
}

func (p payment) txid() any {
	if p.Intent == nil {
		return nil
	}
	return p.TxID
}

func (p payment) units() any {
	if p.Intent == nil {
		return nil
	}
	return int64(p.Net)
}

func (p payment) amount() any {
	if p.Intent == nil {
		return nil
	}
	return swap.FormatAmount(p.Net)
}

func (p payment) reference() any {
	if p.Intent == nil || p.Reference == 0 {
		return nil
	}
	return int64(p.Reference)
}

// shownAt is the column timestamp: of a quarantined item when it was
// quarantined, so that the source's query finds it.
func shownAt(i *swap.Item, place swap.Place) any {
	if place == swap.Quarantined {
		return i.Entered.Unix()
	}
	return i.At.Unix()
}

// unixTime is a time in whole seconds.
type unixTime struct{ at *time.Time }

func (u unixTime) Scan(src any) error {
	n, err := integer(src)
	*u.at = time.Unix(n, 0).UTC()
	return err
}

func (u unixTime) Value() (driver.Value, error) { return u.at.Unix(), nil }

// depositStatus is NULL for detected.
type depositStatus struct{ at *swap.DepositStatus }

func (s depositStatus) Scan(src any) error {
	if src == nil {
		*s.at = swap.DepositDetected
		return nil
	}
	return s.at.Scan(src)
}

func (s depositStatus) Value() (driver.Value, error) {
	if *s.at == swap.DepositDetected {
		return nil, nil
	}
	return s.at.Value()
}

// textOrEmpty is an enumeration whose zero is an empty text: part of a key.
type textOrEmpty struct{ at *swap.Direction }

func (s textOrEmpty) Scan(src any) error {
	if src == "" {
		*s.at = 0
		return nil
	}
	return s.at.Scan(src)
}

func (s textOrEmpty) Value() (driver.Value, error) {
	if *s.at == 0 {
		return "", nil
	}
	return s.at.Value()
}
