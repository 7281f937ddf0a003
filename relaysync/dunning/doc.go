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
//     was paid since ([Account].RecoveredAt);
//   - a tenant is churned once, not before the oldest open invoice is
//     [Policy.Grace] old, and never while a charge may have been paid; only time in which a
//     biller came counts;
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
//     Resolved{Failed} is a person's word. It counts once a jump of the clock since the intent
//     would have been seen; where the next step has seen one, and taken it out of the ages, the
//     person waits for Policy.Hold and Policy.Linger by a watch.
//   - No jump churns or reminds anybody sooner. A jump forward and days in which no biller
//     comes look alike, so neither counts: ages go on only while each step comes at most one
//     of Policy.Tick after it was due (Tenant.DueAt, which may be only Policy.Hold after the
//     step before). The time before a step that comes later is taken out of every age by that
//     step, see [StepBegun]. A jump makes a churn later by three ticks at most, but for a jump back
//     to a time at which the invoice was issued already: when the clock is set right, the churn
//     is later by that jump too. Each absence of the biller makes a churn later by its own
//     length, and up to two ticks.
//   - A jump of at most two of Policy.Tick at a time cannot be told from a step that is late,
//     and counts as time that passed. So Policy.Tick is not longer than the error of the clock
//     that tenants can bear, and a biller comes at least once in a tick: a biller that comes
//     less often than once in two ticks churns nobody. The alerts "tenant due wait" and
//     "tenant owed" say so. A Policy.Tick that is made much shorter looks like a clock that
//     went back.
//   - What a clock that was ahead has dated or put off is mended by the next step of the right
//     one: a date more than two of Policy.Tick in the future counts from then on. Within two
//     ticks it is waited for. The intent of a charge that such a clock has dated counts as made
//     at that step, and an operator's Resolved{Failed} waits for it. A host that knows the right
//     date of such an invoice issues it again with that date.
//   - An invoice that the host dates in the past is as old as the host says.
//   - A churn by a clock that went too fast from step to step is told by the alert "tenant
//     ahead", as soon as the clock is right, and the host reinstates; store.Tenants.Follow
//     names the tenants.
//   - Account.RecoveredAt, of the store's clock, and Policy.RecoveredAt, which a host may set,
//     are waited for whatever they are.
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
//
// # For stores
//
// A service never needs what is listed here; a store or a suite of tests does. Orders: [CompareDue], [CompareInvoices].
// Who may say what: [Speakers], [Events].
package dunning
