// Package ops is what people who operate settle share, whatever they look through: what an
// alert, an incident or an action means ([Explain]), the statistics of all domains with their
// alerts ([Services.Read]), metrics
// ([NewMetrics]), and a look at the database itself ([Doctor]). It decides nothing, pays nothing, and
// sends nothing to a chain.
package ops
