// Package ops is what people who operate settle share, whatever they look through: what an
// alert, an incident or an action means ([Explain]). It decides nothing, pays nothing, and
// sends nothing to a chain.
package ops
