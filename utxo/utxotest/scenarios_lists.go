package utxotest

// Lists is what happens when a mempool is told as a list, once or again.
var Lists = []Scenario{
	{"of two that conflict in one list the later is refused", `
		open 1 0
		tx a: x -> main=5, b: x -> main=4, c: y -> main=3, d: b:0 -> main=2
		tx bad: z z -> main=1
		coinbase m -> main=1
		mempool 0: a b bad m c d => b input-spent bad self-conflict m invalid d dead-parent
		tx? 1 a published, b absent
		tx? 1 d absent         # its parent is not there
		balance? 1 unconfirmed=8
		mempool 0: d b a => a input-spent   # b has won before a is looked at
		tx? 1 b published, d published`},
	{"what would lose with its parent to a later one of the list keeps it out", `
		open 1 0
		tx r: x -> main=5, c: r:0 -> main=4, a: x -> main=3
		observe r 1
		mempool 0: c a => a input-spent
		tx? 1 r published, c published, a absent
		mempool 0: a
		tx? 1 c failed`},
	{"what a list refused does not refuse the child of its child", `
		open 1 0, 2 0, 3 0
		tx f: x -> main=5, r: x f:0 -> main=4 other=1, p: r:1 -> main=3 2/main=1
		tx k: p:0 -> 3/main=2
		submit 1 p
		mempool 0: f r k => r input-spent
		tx? 1 f published, r absent
		tx? 1 p published   # k is in a mempool, so it is too
		tx? 2 p published   # which it pays
		tx? 3 p published   # the direct parent of what pays wallet 3
		tx? 3 k published`},
	{"what a list refuses at its turn stops nothing before", `
		open 1 0, 2 0, 3 0
		tx p: y z -> main=9 3/main=8 main=7, s: x -> 2/main=6, f: z p:1 -> 3/main=5
		tx k: p:2 s:0 f:0 -> 3/main=4
		mempool 3: k
		mempool 0: f
		mempool 0: s f p => f input-spent
		tx? 2 s published
		tx? 2 k failed      # it spends a coin of wallet 2, which has its parents then
		tx? 2 p published, f replaced
		edge? 2 f p`},
	{"a reading that is delivered again, or in two parts, has the same winner", `
		open 1 0
		tx a: x -> main=5, b: x -> main=4, p: y -> main, c: p:0 -> main, r: y -> main
		mempool 7: a b => b input-spent
		mempool 7: a b => b input-spent
		mempool 7: b => b stale
		tx? 1 a published
		observe p 1
		mempool 8: c r => r input-spent
		mempool 8: c r => r input-spent
		mempool 8: r => r stale
		tx? 1 c published
		mempool 9: b
		mempool 9: a b => a stale   # what lost to the same reading
		tx? 1 b published`},
	{"a list at another tip does nothing", `
		open 1 0
		tx a: x -> main=5
		connect 1:
		observe a 1 at - => stale
		mempool 0: a
		mempool 0: a
		mempool -1: a => invalid
		mempool 4611686018427387905: a => invalid
		mempool 7: a
		mempool 6: a           # old
		tx b: x -> main=4
		mempool 6: b => b stale
		mempool 0: b
		tx? 1 a replaced`},
	{"a sequence that is drawn is above all that were given", `
		open 1 0
		tx a: x -> main=5, b: x -> main=4, c: x -> main=3
		mempool 70: a
		mempool 0: b
		tx? 1 b published
		mempool 0: c
		mempool 71: a => a stale`},
}
