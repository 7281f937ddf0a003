package utxotest

// Joins are scenarios in which a wallet learns later that a stored transaction concerns it,
// or in which a transaction concerns a wallet only through other transactions.
var Joins = []Scenario{
	{"what lost to what is known in a wallet that learns of the winner last, as a parent", `
		open 1 0, 2 0
		tx a: x -> main=5 out, b: x -> main=4 out, d: a:1 -> 2/main=1, c: b:1 -> 2/main=2
		mempool 1: a d
		observe b 2
		edge? 1 a b
		tx? 2 b absent
		observe c 3
		tx? 2 b published
		edge? 2 a b`},
	{"what lost to what is known in a wallet that has the loser beside a rival of the winner's child", `
		open 1 0, 2 0
		tx a: x -> main=5 out, b: x -> main=4 out, d: a:1 y -> 2/main=1
		tx c: b:1 y -> 2/main=2
		mempool 1: a d
		observe b 2, c 3
		edge? 2 a b
		noedge? 2 d c          # it was dead before`},
	{"what lost to what is known in a wallet that learns of the loser last, as a rival", `
		open 1 0, 2 0
		tx a: x z -> main=5, b: x -> main=4 out, d: b:1 -> 2/main=1, e: z -> 2/main=2
		observe a 1
		mempool 2: b d
		tx? 2 a absent
		observe e 3
		tx? 2 a replaced
		edge? 2 a b
		noedge? 2 a e`},
	{"what spends a revealed output joins with its rivals and their parents", `
		open 1 0, 2 0
		tx p: x -> main=5 out, q: z -> 2/main=3, a: p:1 -> 2/main=4, b: p:1 q:0 -> 2/main=6
		mempool 1: p q a
		observe b 2
		tx? 1 a absent, b absent
		reveal 1 p:1 late 0
		tx? 1 a replaced, b published, q published
		coin? 1 p:1 spent b
		edge? 1 a b`},
	{"what spent a revealed output is the wallet's, as context, as its own, or as another wallet's draft", `
		open 1 0, 2 0
		tx p: x -> main=5 out out out, q: z -> 2/main=3, k: p:1 -> out, c: k:0 -> main=1
		tx d: p:2 -> main=1, e: p:3 q:0 -> 2/main=2
		mempool 1: p q k c d
		submit 2 e
		reveal 1 p:1 late 0
		coin? 1 p:1 spent k
		reveal 1 p:2 late 0
		coin? 1 p:2 spent d
		reveal 1 p:3 late 0
		tx? 1 e absent, q absent
		coin? 1 p:3 unconfirmed`},
	{"what a list shows in vain joins another wallet as it is", `
		open 1 0, 2 0
		tx d: x z -> main=5, r: x -> main=4, e: z -> 2/main=3
		observe d 3, r 5
		mempool 5: d e => d stale
		tx? 2 d replaced, e published`},
	{"the spender of a coin joins its owner's wallet when the coin is learnt last", `
		open 1 0, 2 0
		tx p: x -> main=5000, c: p:0 -> 2/main=4000
		observe c 1
		tx? 1 c absent
		observe p 2
		tx? 1 c published
		coin? 1 p:0 spent c
		tx? 2 p published
		balance? 1
		balance? 2 unconfirmed=4000`},
	{"the spender of a coin joins its owner's wallet in blocks too", `
		open 1 0, 2 0
		tx p: x -> main=5000, c: p:0 -> 2/main=4000
		connect 5:
		observe c 1
		connect 6: p
		coin? 1 p:0 spent c
		disconnect 6, 5
		connect 5b: c p
		tx? 1 c published 5
		tx? 2 p published 5
		balance? 1`},
	{"a child that concerns a wallet only through its parent, in one list", `
		open 1 0
		tx p: x -> main=5000, c: p:0 -> out
		mempool 0: c p
		coin? 1 p:0 spent c
		balance? 1`},
	{"a child that concerns a wallet only through its parent, offered once more", `
		open 1 0
		tx p: x -> main=5000, c: p:0 -> out
		observe c 1
		tx? 1 c absent         # alone it concerns nobody
		observe p 2
		balance? 1 unconfirmed=5000
		mempool 0: c p
		coin? 1 p:0 spent c`},
	{"a foreign parent is kept with its child, and not what is above it", `
		open 1 0
		tx g: x -> out, p: g:0 y -> out, c: p:0 -> main=5000
		mempool 0: c p g
		tx? 1 c published, p published, g absent
		tx rival: y -> out
		connect 1: rival
		tx? 1 p failed, c failed
		tx? 1 rival absent     # a rival of what is only context
		balance? 1`},
	{"a rival of a foreign parent acts, though no wallet keeps it", `
		open 1 0
		tx p: x y -> out, c: p:0 -> main=5000
		mempool 0: c p
		tx q: y -> out
		observe q 9
		tx? 1 p replaced, c failed
		noedge? 1 p q
		mempool 0: p c
		tx? 1 p published
		balance? 1 unconfirmed=5000`},
	{"a foreign child proves a pending payment", `
		open 1 0
		tx f: x -> main=9000
		connect 1: f
		tx p: f:0 -> out main=100
		submit 1 p
		tx c: p:0 -> out
		connect 2: c
		tx? 1 p published, c absent
		balance? 1 unconfirmed=100`},
	{"what replaced what is told to a wallet that joins later", `
		open 1 0, 2 0
		tx a: x -> main=10, b: x -> main=9, c: x -> 2/main=8
		observe a 1, b 2
		tx? 2 a absent
		observe c 3
		tx? 2 a replaced, b replaced
		edge? 1 a b
		edge? 2 a b, b c
		noedge? 2 a c`},
	{"an orphaned coinbase joins the wallet of what turns out to be owned", `
		open 1 0, 2 0
		coinbase m -> main=50 out
		tx c: m:1 y -> 2/main=5 out
		connect 1: m
		tx d: c:1 -> 2/main=1
		observe d 1, c 2
		tx? 2 m published 1
		disconnect 1
		tx? 2 c failed`},
	{"a coinbase that is orphaned is known to a wallet that learns of its child", `
		open 1 0, 2 0, 3 0
		coinbase m -> main=50 out
		tx g: y -> 3/main=5, c: m:1 g:0 -> 2/main=5 out
		connect 1: m g, 2: c
		tx? 3 m published 1
		disconnect 2, 1
		tx? 3 c failed
		tx e: g:0 -> main=4
		connect 1b: g e
		tx? 1 c failed         # a rival of what pays wallet 1
		tx? 1 m orphaned`},
	{"an orphaned coinbase joins the wallet of what is revealed", `
		open 1 0, 2 0, 3 0
		coinbase m -> main=50 out
		tx g: y -> 3/main=5, c: m:1 g:0 -> 3/main=5 out
		connect 1: m g, 2: c
		disconnect 2, 1
		tx a: g:0 -> 2/main=4
		connect 1b: g a
		tx? 2 c failed         # context: a rival
		tx? 2 m absent
		reveal 2 c:1 late 0
		tx? 2 m orphaned`},
	{"a dead rival that another wallet learns of takes no spender away", `
		open 1 0, 2 0
		tx p: x -> main=9 main=8, c: z -> 2/main=5, a: y p:0 -> main=7, b: p:0 -> main=6
		tx e: p:0 -> out=4, d: c:0 y p:1 -> 2/main=3
		mempool 1: p c a
		mempool 2: b
		connect 1: e
		coin? 1 p:0 spent e
		mempool 3: d        # it has an input of a, which wallet 2 learns of
		tx? 2 a replaced
		coin? 1 p:0 spent e
		balance? 2 unconfirmed=3`},
}
