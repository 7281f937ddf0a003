// Package dunning asks for money that is owed for relays: it charges, reminds
// and in the end churns. It knows when each is due and that none happens twice;
// the host charges and writes messages.
//
// # Contract
//
// Everything here is a plain value or a pure function. A tenant and its invoices
// are one aggregate, an [Account]: every event of an invoice moves the tenant's
// version, so that no decision outlives a payment. [Policy.Next] gives one
// effect at a time, charge before churn before message, or the moment to ask
// again. If every step is stored by compare-and-swap, and each intent before its
// effect, then
//
//   - no charge is made while another one's answer is unknown, and never under
//     a new key without an answer that the old one failed, or was not tried: one that no
//     look-up finds is made again as it was, which the provider takes once;
//   - one key is of one method and one amount, and all money that came is on file, in
//     whatever order it became known: one payment has paid, and what came beside it is
//     in Invoice.Overpaid until an operator has seen to it;
//   - there is at most one message for each reminder that is due, however often
//     somebody asks;
//   - after a restore nothing is charged, churned or written before it is known what
//     was paid since ([Policy].RecoveredAt);
//   - a tenant is churned once, not before the oldest open invoice is
//     [Policy.Grace] old, and never while a charge may have been paid;
//   - a step that comes late does each thing that is due once.
//
// Ages are compared in whole unix seconds: what lies in the future is not due.
//
// # Clocks
//
// The store's clock may jump by any time, forward and back:
//
//   - No charge is made twice, provided that the provider takes one key once: its key,
//     method and amount depend on answers and never on the clock. Only an operator's
//     Resolved{Failed} is a person's word: where the clock was moved, they wait for
//     Policy.Hold and Policy.Linger by a watch.
//   - What a clock that was ahead has dated is mended by the next step of the right one:
//     a step that it put off, an invoice, a reinstatement or a message more than two of
//     Policy.Tick in the future counts from then on. Within two ticks it is waited for.
//     A host that knows the right date of such an invoice issues it again with it.
//   - A clock that is behind for a while makes nothing older that was issued before. An
//     invoice that is issued meanwhile counts from the wrong time: a tenant may be
//     churned for it too early by as much as the clock was behind.
//   - A clock that is ahead by more than is left of Policy.Grace churns whoever owes, in
//     its next step: a jump and a biller that was down for days look alike. "tenant ahead" of
//     [Alerts] says so as soon as the clock is right, and the host reinstates; store.Tenants.Follow
//     names the tenants. So the clock may be ahead by less than the least grace that is
//     left, and messages of a day in a tenant's life come early.
//   - Policy.RecoveredAt, which the host sets, is waited for whatever it is.
//
// # Tenants and invoices
//
// active: invoices are charged, or reminded of by messages. The [Biller] acts at
// DueAt. A crash leaves a DueAt of Policy.Hold later.
//
// churned: nothing is charged and no message is sent. A charge whose answer is
// missing is still looked up. A payment does not undo it; the host or an
// operator does, with [Reinstated]. A host that makes or activates a relay sends
// [Provisioned] in the same transaction, so that no churn misses it.
//
// An invoice is open, paid or void. Its charge is none, open (its intent is on
// file; found by a later step it is looked up, never made again) or unknown (an
// operator ends it with [Resolved] where no look-up does). Of two payments the one
// that the host saw has paid, and the charge is to be paid back, whichever came first;
// of two that the host saw the one whose method and id are first in byte order. The
// others, what comes for an invoice that is void, and a charge under a key that is not
// the latest, whose amount the record does not say, are in Invoice.Overpaid until an
// operator has [Acknowledged] each. Two captures by a provider under one key are one
// here: it must take one key once.
//
// Voided and Amended are decisions about what is owed, and refused once it is paid.
package dunning
