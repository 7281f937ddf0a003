// Package explore is a breadth-first model checker for pure steps. It visits every state that a
// model can reach and judges properties on all of them, so that a rule is tested on all runs, and
// not only on those that somebody thought of.
//
// A [Model] is plain Go: the states to begin with, and a function that lists every step that may
// come next, such as a step of a worker or a customer, a crash, or a late answer. [Check]
// explores the model and judges its properties:
//
//   - [Always] and [Valid]: no reachable state breaks the rule. A Valid that calls the
//     domain's Next can check that each state names a worker with a task, or an operator and
//     why;
//   - [NoDeadlock]: no step leaves a state only where the run may end;
//   - [CanFinish]: from every reachable state a finishing state can still be reached, so
//     that nothing is stuck for ever;
//   - [EndsFairly]: whoever can act again and again acts at last, and then the run comes to rest,
//     so that nothing goes in circles for ever;
//   - [Reachable]: some reachable state fulfils the predicate. This guards against a model
//     that keeps its rules because it never does anything.
//
// A broken property comes with a [Counterexample]: the shortest run that leads to it, step by
// step. The numbers of states and transitions are exact and the same in every run. A test should
// compare them with constants, since a model that shrinks unnoticed proves less.
//
//	result, err := explore.Check(model,
//		explore.Always("at most one payment", func(s state) bool { return s.Paid <= 1 }),
//		explore.CanFinish("the request ends", func(s state) bool { return s.Done }),
//	)
//	if err != nil {
//		t.Fatal(err)
//	}
//
// # Contract
//
// Next and the predicates must be pure: they do not change the state that they are given, and the
// same state gives the same answer. A state is kept until the steps out of it are taken; states may
// share memory that no step changes. The run of a counterexample is taken once more, by the
// numbers of its steps.
//
// CanFinish says that the end is possible, not that it comes: it is fulfilled where a way to the
// end exists, even if another run goes in circles. EndsFairly finds the circles.
package explore
