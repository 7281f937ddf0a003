// Package utxotest helps to test implementations of the wallet rules of package utxo: a
// store, a cache, a port to another language.
//
// [Model] is a second wallet, slow and obvious, written from the rules and not from the
// code of package utxo. [Histories] draws what can happen to a wallet, including reorgs,
// conflicts, lies and refusals. Feed one history step by step to the model and to the
// implementation, and compare the two after every event: [Model.Apply] says which refusal
// is right, [Compare] what has to be stored, [CompareReads] what the queries have to
// answer.
package utxotest
