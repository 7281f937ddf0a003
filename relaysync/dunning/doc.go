// Package dunning asks for money that is owed for relays: tenants are charged, reminded
// and in the end churned (their relays are switched off). The package knows when each of
// these is due and that none happens twice; the host charges and writes messages.
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
//   - no charge is made while the answer to another one is unknown, and none under a new key
//     before an answer says that the old charge failed or was not tried: a charge that no
//     look-up finds is made again as it was, and the provider takes one key once;
//   - one key has one method and one amount, and all money that came is on file, in
//     whatever order it became known: one payment has paid, and any other is in
//     Invoice.Overpaid until an operator has seen to it;
//   - there is at most one message for each reminder that is due, however often
//     somebody asks;
//   - after a restore no tenant is charged, churned or written to before it is known what
//     was paid since the copy was made ([Account].RecoveredAt);
//   - a tenant is churned once, not before the oldest open invoice is
//     [Policy.Grace] old, and never while a charge may have been paid; time in which no
//     biller came does not count;
//   - a step that comes late does each thing that is due once.
//
// Ages are compared in whole unix seconds; an age from a date in the future is not due.
//
// # Clocks
//
// The store's clock may jump by any time, forward and back:
//
//   - No charge is made twice, provided that the provider takes one key once: its key,
//     method and amount depend on answers and never on the clock. The exception is an
//     operator's Resolved{Failed}, a person's word. It counts from the time on at which a jump
//     of the clock since the intent would have been seen; if a step has seen one, and taken it
//     out of the ages, the person waits for Policy.Hold and Policy.Linger by a watch.
//   - No jump churns or reminds anybody sooner. A jump forward and days in which no biller
//     comes look alike, so neither counts: ages go on only while each step comes at most one
//     of Policy.Tick after it was due (Tenant.DueAt, which may be only Policy.Hold after the
//     step before). A step that comes later takes the time before it out of every age, see
//     [StepBegun]. A jump delays a churn by three ticks at most, with one exception: after a
//     jump back to a time after the invoice's issue, the churn is also delayed by the length of
//     the jump when the clock is set right. Each absence of the biller delays a churn by the
//     length of the absence and up to two ticks.
//   - A jump of at most two of Policy.Tick at a time cannot be told from a step that is late,
//     and counts as time that passed. So Policy.Tick is not longer than the error of the clock
//     that tenants can bear, and a biller comes at least once in a tick: a biller that comes
//     less often than once in two ticks churns nobody. The alerts "tenant due wait" and
//     "tenant owed" say so. A Policy.Tick that is made much shorter looks like a clock that
//     went back.
//   - The next step by the right clock mends the times that a clock which was ahead has set: a
//     date more than two of Policy.Tick in the future counts as the date of that step. A date
//     within two ticks is waited for. The intent of a charge with such a date counts as made at
//     that step, and an operator's Resolved{Failed} waits for the step. A host that knows the
//     right date of such an invoice issues the invoice again with that date.
//   - An invoice that the host dates in the past is as old as the host says.
//   - If a clock went too fast from step to step and churned tenants, the alert "tenant ahead"
//     says so as soon as the clock is right, and the host reinstates them; store.Tenants.Follow
//     names the tenants.
//   - Account.RecoveredAt, by the store's clock, and Policy.RecoveredAt, which a host may set,
//     are waited for however far ahead they are.
//
// # Tenants and invoices
//
// active: invoices are charged, or reminded of by messages. The [Biller] acts at
// DueAt. A crash leaves a DueAt of Policy.Hold later.
//
// churned: nothing is charged and no message is sent. A charge whose answer is
// missing is still looked up. A payment does not undo the churn; the host or an
// operator does, with [Reinstated]. A host that makes or activates a relay sends
// [Provisioned] in the same transaction, so that no churn misses it.
//
// An invoice is open, paid or void. Its charge is none, open (the intent is on file; a later
// step that finds it open looks the charge up, and never makes it again) or unknown (where
// no look-up ends it, an operator does with [Resolved]). If a charge and a payment that the
// host saw both came in, the payment has paid and the charge is to be paid back, whichever
// came first; of two payments that the host saw, the one whose method and id are first in
// byte order has paid. Invoice.Overpaid has the others until an operator has [Acknowledged]
// each. It also has payments of a void invoice, and a charge under a key that is not the
// latest, since the record does not say the amount of that charge. Two captures by a provider
// under one key count as one here: the provider must take one key once.
//
// Voided and Amended change what is owed, and are refused once the invoice is paid.
//
// # For stores
//
// A service never needs what is listed here; a store or a suite of tests does. Orders: [CompareDue], [CompareInvoices].
// Who may say what: [Speakers], [Events].
package dunning
