// Package explore is a breadth-first model checker for pure steps. It visits
// every state that a model can reach and judges properties on all of them, so
// that a rule is not tested on the runs somebody thought of but on all runs.
//
// A [Model] is plain Go: the states to begin with, and a function that lists
// every step that may come next: a worker's, a customer's, a crash, a late
// answer. [Check] explores it and judges its properties:
//
//   - [Always] and [Valid]: no reachable state breaks the rule;
//   - [NoDeadlock]: a state that nothing leaves is one where things may end;
//   - [CanFinish]: from every reachable state a finishing state can still be
//     reached, so that nothing is stuck for ever;
//     With what the domain's Next says, [Valid] asks the other half: in each state
//     somebody is named, a worker with a task or an operator and why;
//   - [Reachable]: some reachable state fulfils it, which guards against a model
//     that proves its rules by never doing anything.
//
// A broken property comes with a [Counterexample]: the shortest run that leads
// to it, step by step. The numbers of states and transitions are exact and the
// same in every run, so a test should pin them: a model that silently shrinks
// proves less.
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
// Next and the predicates are pure: they do not change the state they are
// given, and the same state gives the same answer. A state is kept until the
// check ends; states may share memory that no step changes.
//
// CanFinish speaks of possibility, not of time: it is fulfilled where a way to
// the end exists, even if another run goes in circles.
package explore
