package utxotest

// Several are scenarios of wallets of one store that pay one another, and take coins from
// one another.
var Several = []Scenario{
	{"what is given up in one wallet fails elsewhere what stands on it over a dead one", `
		open 1 0, 2 0
		tx f: x -> main=10, g: y -> 2/main=10
		connect 1: f g
		tx a: f:0 g:0 -> 2/main=8 main=8, b: a:1 -> main=7, c: a:0 b:0 -> 2/main=9
		submit 1 a
		submit 2 a
		submit 1 b
		submit 2 c
		invalidate 1 a
		tx? 1 b failed
		tx? 2 a pending
		tx? 2 c failed         # b is dead in all wallets
		tx d: a:1 -> main=6
		submit 1 d => dead-parent   # given up here, alive in wallet 2
		invalidate 2 a
		tx? 2 a failed`},
	{"what was given up in one wallet before its parent is dead already", `
		open 1 0, 2 0
		tx f: x -> main=10
		connect 1: f
		tx a: f:0 -> main=8, c: a:0 -> main=3 2/main=4
		submit 1 a
		submit 1 c
		submit 2 c
		invalidate 1 c
		tx? 2 c pending
		invalidate 1 a
		tx? 1 a failed
		tx? 2 c failed`},
	{"a payment between wallets dies with its parent, parents first", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p1: f:0 -> main=7900 out, p2: p1:0 -> 2/main=5000 main=2800
		observe p1 1, p2 2
		tx? 2 p1 published     # the direct parent of what pays wallet 2
		tx bump: f:0 -> main=8000
		connect 2: bump
		tx? 1 p2 failed
		tx? 2 p2 failed, p1 failed
		balance? 2
		balance? 1 confirmed=8000`},
	{"a payment between wallets dies with its parent, child first", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p1: f:0 -> main=7900 out, p2: p1:0 -> 2/main=5000 main=2800
		observe p2 1, p1 2
		tx bump: f:0 -> main=8000
		observe bump 3
		tx? 1 p1 replaced
		tx? 2 p1 replaced
		tx? 1 p2 failed
		tx? 2 p2 failed
		balance? 2`},
	{"a payment between wallets dies with a grandparent that only the payer has", `
		open 1 0, 2 0, 3 0
		tx f: x -> main=9000
		connect 1: f
		tx p1: f:0 -> main=8000, p2: p1:0 -> main=7000, p3: p2:0 -> 2/main=6000
		tx p4: p3:0 -> 3/main=5000
		mempool 0: p4 p3 p2 p1
		tx? 2 p1 absent, p2 published
		tx? 3 p2 absent, p3 published
		tx bump: f:0 -> main=8500
		connect 2: bump
		tx? 2 p3 failed
		tx? 3 p4 failed, p3 failed
		balance? 3`},
	{"a parent that was confirmed when its child came leaves the chain and is double-spent in a block", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p1: f:0 -> main=7900, p2: p1:0 -> 2/main=5000
		connect 2: p1
		observe p2 1
		balance? 2 unconfirmed=5000
		disconnect 2
		tx bump: f:0 -> main=8000
		connect 2b: bump
		tx? 1 p1 failed
		tx? 2 p1 failed, p2 failed
		balance? 2`},
	{"a parent that was confirmed when its child came leaves the chain and is replaced in the mempool", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p1: f:0 -> main=7900, p2: p1:0 -> 2/main=5000
		connect 2: p1, 3: p2
		disconnect 3, 2
		tx? 2 p2 published
		tx bump: f:0 -> main=8000
		observe bump 1
		tx? 2 p1 replaced, p2 failed
		balance? 2
		connect 2b: p1
		tx? 2 p1 published 2
		tx? 2 p2 failed        # until evidence comes
		connect 3b: p2
		balance? 2 confirmed=5000`},
	{"an orphaned coinbase takes what it paid to another wallet", `
		open 1 0, 2 0
		coinbase m -> main=50
		connect 1: m, 2:, 3:, 4:
		tx pay: m:0 -> 2/main=49
		observe pay 1
		tx? 2 m published 1
		disconnect 4, 3, 2, 1
		tx? 1 m orphaned
		tx? 2 m orphaned, pay failed
		balance? 2`},
	{"a declaration is its wallet's own", `
		open 1 0, 2 0
		tx f: x -> main=9
		connect 1: f
		tx a: f:0 -> main=5 out, b: f:0 -> main=4 out, d: a:1 -> 2/main=1
		tx c: b:1 -> 2/main=2
		mempool 1: a d
		submit 1 b replaces a
		edge? 1 a b
		broadcast 1 b
		observe c 3
		tx? 2 a replaced, b published
		noedge? 2 a b`},
	{"the mempool proves another wallet's pending parent", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p1: f:0 -> main=7900, p2: p1:0 -> 2/main=5000
		submit 1 p1
		tx? 2 p1 absent
		observe p2 1
		tx? 1 p1 published
		tx? 2 p1 published
		tx? 1 p2 published     # it spends a coin of wallet 1
		coin? 1 p1:0 spent p2
		balance? 2 unconfirmed=5000`},
	{"what one wallet has submitted is its own until the network has it", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p: f:0 -> 2/main=5000 main=3000
		submit 1 p
		tx? 2 p absent
		balance? 2
		broadcast 1 p
		tx? 2 p published
		balance? 2 unconfirmed=5000
		invalidate 1 p         # published: said to both
		tx? 2 p failed
		balance? 2
		tx q: f:0 -> 2/main=5000 main=2000
		submit 1 q
		invalidate 1 q         # pending: wallet 1's alone
		tx? 1 q failed
		tx? 2 q absent
		tx r: f:0 -> 2/main=6000
		observe r 1
		tx? 2 q absent`},
	{"what one wallet gives up takes along what another has built on it", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p: f:0 -> 2/main=5000, c: p:0 -> 2/main=4000
		submit 1 p
		submit 2 c             # nobody has shown it to wallet 2 but its host
		tx? 2 p absent
		invalidate 1 p
		tx? 2 c failed
		coin? 1 f:0 confirmed`},
	{"both parties submit a payment, and one gives it up", `
		open 1 0, 2 0
		tx f: x -> main=9000, g: y -> 2/main=100
		connect 1: f g
		tx p: f:0 g:0 -> 2/main=9000, c: p:0 -> 2/main=8000
		submit 1 p
		submit 2 p
		submit 2 c
		invalidate 1 p
		tx? 1 p failed
		tx? 2 p pending, c pending
		coin? 1 f:0 confirmed
		coin? 2 g:0 spent p
		broadcast 1 p => illegal
		broadcast 2 p
		tx? 1 p published
		tx? 2 p published
		coin? 1 f:0 spent p`},
	{"a submission that comes after its observation declares what it replaces", `
		open 1 0
		tx f: x -> main=10 main=20 main=30 main=40
		connect 1: f
		tx a: f:0 f:1 -> out, b: f:1 f:2 -> out, c: f:2 f:3 -> out, d: f:1 f:2 -> out=1
		tx e: f:3 -> out
		submit 1 a
		broadcast 1 a
		observe b 1
		submit 1 b
		submit 1 b replaces e => invalid
		submit 1 b replaces f => invalid
		submit 1 b replaces b => invalid
		submit 1 b replaces a
		submit 1 b replaces a
		submit 1 c replaces b => invalid   # a shares no input with it
		submit 1 d replaces b
		observe c 2
		submit 1 c replaces b => invalid   # nor is it a version when it is published
		tx? 1 c published`},
	{"what is dead is replaced by nothing that comes after it", `
		open 1 0
		tx f: x -> main=10 main=20, e: f:0 -> out, r: f:0 -> out=1, b: f:1 -> out, c: f:0 -> out=2
		connect 1: f
		observe e 1, r 2
		submit 1 c replaces e r => invalid
		connect 2: r, 3:
		observe b 3
		submit 1 b replaces e => invalid   # provably dead, and no rival
		noedge? 1 e b`},
	{"of two that replace one another one is the later", `
		open 1 0
		tx f: x -> main=10
		connect 1: f
		tx a: f:0 -> out, b: f:0 -> out=1
		submit 1 a
		submit 1 b replaces a
		submit 1 a replaces b => invalid
		submit 1 b replaces a`},
	{"an output has one owner, in one wallet", `
		open 1 0, 2 0
		tx f: x -> main=9 2/main=8
		connect 1: f
		reveal 2 f:0 other 1 => illegal
		balance? 1 confirmed=9
		balance? 2 confirmed=8`},
	{"an input that passes on passes to the first to arrive", `
		open 1 0
		tx f: x -> main=9
		connect 1: f
		tx t: z -> main=5, a: f:0 -> main=8, b: f:0 t:0 -> main=7, e: f:0 z -> main=6
		observe t 1
		submit 1 a
		submit 1 b replaces a
		submit 1 e replaces t a b
		connect 2: t
		tx? 1 e failed
		coin? 1 f:0 spent a`},
	{"a wallet cannot spend what another holds, nor what another has leased", `
		open 1 0, 2 0
		tx f: x -> main=9 2/main=8
		connect 1: f
		lease 2 k 60 f:1
		tx p: f:0 f:1 -> out
		submit 1 p => held
		submit 1 p lock k
		tx q: f:1 -> 2/main=7
		submit 2 q => input-spent
		submit 2 q replaces p => invalid`},
}
