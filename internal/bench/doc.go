// Package bench measures settle against its peers: the same work on both, in
// turn and in one run, since machines are noisy.
//
//	cd internal/bench && go test -run '^$' -bench . -benchtime 5x -timeout 30m
//
// A metric x-of-peer is our time divided by the peer's for the same work: 0.5
// is twice as fast, 2 half as fast. For bytes it is the same with sizes. The
// times beside it are medians over the rounds; of the ratio it is the median of
// the rounds' own ratios. cpu-x-of-peer compares the processor time of this
// process instead, in which neither a busy machine nor a wait for the disk or for
// PostgreSQL counts: on a busy machine it is the one to trust for what runs in the
// process, since a short piece of work is interrupted less often than a long one.
// go run ./table measures all of it and writes docs/speed.md; .ci/run measures the small sizes
// and says which are a quarter slower than that page.
// go test alone checks that both sides of the benchmarks give the same answers.
//
//   - machines_test.go: a table of statemachine against looplab/fsm and
//     qmuntal/stateless.
//   - wallets_test.go: utxo.Ledger in memory and sqlstore on SQLite against
//     btcwallet's wtxmgr on bbolt. Both files are synchronised at every commit.
//   - jobs_test.go: withdrawals through store/worker, with their audit trail,
//     against River, both on PostgreSQL, which is found or started as in the tests
//     of the root module. A cluster that was started does not synchronise.
//   - pay_test.go: the life of a withdrawal on PostgreSQL against hand_test.go, a
//     lean layout with the same rows, keys, audit and commits and no library. The
//     processor time is that of both processes, ours and the server's.
//
// A withdrawal with its five durable commits against hand-written SQL on our tables, on SQLite, is in the
// root module: BenchmarkWithdrawal and BenchmarkWithdrawalByHand of
// store/sqlstore.
package bench
