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
//     a new key without proof that the old one failed or never arrived;
//   - one key is of one method and one amount, and money that comes twice, since
//     a proof was wrong, is in Invoice.Overpaid until an operator has seen to it;
//   - there is at most one message for each reminder that is due, however often
//     somebody asks;
//   - after a restore nothing is charged, churned or written before it is known what
//     was paid since ([Policy].RecoveredAt);
//   - a tenant is churned once, not before the oldest open invoice is
//     [Policy.Grace] old, and never while a charge may have been paid;
//   - a step that comes late does each thing that is due once.
//
// Ages are compared in whole unix seconds, and never through a clock that went
// back: what lies in the future is not due.
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
// operator ends it with [Resolved] where no look-up does). A charge that is done
// for an invoice that is paid or void, or under a key that is not the latest, is an
// incident: Invoice.Overpaid has it until an operator has [Acknowledged] it. Two
// captures by a provider under one key are one here: it must take one key once.
package dunning
