// Package ops has what people who operate settle need, whichever page or command they use: what an alert, an incident
// or an action means ([Explain]), the statistics of all domains with their alerts ([Services.Read]), metrics
// ([NewMetrics]), and a look at the database itself ([Doctor]). It decides nothing, pays nothing, and sends nothing to
// a chain.
package ops
