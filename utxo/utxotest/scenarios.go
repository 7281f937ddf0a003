package utxotest

// Conflicts is what happens when two transactions want the same coin.
var Conflicts = []Scenario{
	{"a double spend in the mempool: the one seen last wins, the block decides", `
		open 1 0
		tx fund: x -> main=50, a: fund:0 -> main=49, b: fund:0 -> main=48
		connect 1: fund
		observe a 1, b 2
		tx? 1 a replaced, b published
		coin? 1 fund:0 spent b
		connect 2: a
		tx? 1 a published 2, b failed
		edge? 1 a b, b a
		coin? 1 fund:0 spent a
		balance? 1 confirmed=49`},
	{"an old observation never wins", `
		open 1 0
		tx a: x -> main, b: x -> main
		observe b 5
		observe a 4 => stale
		tx? 1 a absent
		observe a 5 => stale # of one reading the first wins
		observe b 5          # known already
		tx? 1 b published
		observe a 6
		tx? 1 a published, b replaced`},
	{"an observation at another tip is out of date", `
		open 1 0
		tx a: x -> main
		connect 1:
		observe a 1 at - => stale
		connect 2:
		observe a 1 at 1 => stale
		observe a 1
		tx? 1 a published
		coinbase m -> main
		observe m 2 => invalid
		observe a -1 => invalid`},
	{"a chain of replacements ends with the last one", `
		open 1 0
		tx fund: x -> main=50
		connect 1: fund
		tx a: fund:0 -> main=49, b: fund:0 -> main=48, c: fund:0 -> main=47
		submit 1 a
		broadcast 1 a
		submit 1 b => input-spent
		submit 1 b replaces a
		coin? 1 fund:0 spent a
		edge? 1 a b
		submit 1 c replaces a => input-spent
		submit 1 c replaces a b
		observe a 1          # news of the old one changes nothing
		coin? 1 fund:0 spent a
		balance? 1 unconfirmed=49 pending=95
		broadcast 1 b
		tx? 1 a replaced
		tx? 1 c failed       # it lost before it was broadcast
		edge? 1 b c          # the intent stays on record
		edge? 1 a c, c b
		connect 2: c
		tx? 1 c published 2, b failed
		tx? 1 a replaced     # one already replaced stays so
		coin? 1 fund:0 spent c`},
	{"placing the old one ends the replacements that were never placed", `
		open 1 0
		tx a: x -> main=49, b: x -> main=48
		submit 1 a
		submit 1 b replaces a
		broadcast 1 a
		tx? 1 a published, b failed
		edge? 1 a b, b a`},
	{"giving up the old one leaves the coin to its replacement", `
		open 1 0
		tx fund: x -> main=50
		connect 1: fund
		tx a: fund:0 -> main=49, b: fund:0 -> main=48
		submit 1 a
		submit 1 b replaces a
		invalidate 1 a
		tx? 1 a failed
		coin? 1 fund:0 spent b
		invalidate 1 b
		coin? 1 fund:0 confirmed
		submit 1 a => illegal
		invalidate 1 a       # dead already`},
	{"when the old one loses to a third, the coin passes to its replacement", `
		open 1 0
		tx fund: x -> main=50, old: fund:0 y -> main=49, new: fund:0 -> main=48
		tx third: y -> out
		connect 1: fund
		observe old 1
		submit 1 new replaces old
		observe third 2
		tx? 1 old replaced
		edge? 1 old third
		coin? 1 fund:0 spent new
		broadcast 1 new
		tx? 1 new published`},
	{"a confirmed transaction gives way to nothing in a mempool", `
		open 1 0
		tx a: x -> main, b: x y -> main
		connect 1: a
		observe b 9 => spent-by-confirmed
		tx? 1 b absent
		submit 1 b => input-spent
		connect 2: b => spent-by-confirmed
		tx? 1 a published 1
		invalidate 1 a => illegal`},
	{"an unconfirmed ancestor of a confirmed transaction is protected", `
		open 1 0
		tx a: x -> main, c: a:0 -> main, b: x -> main
		observe a 1
		connect 1: c
		tx? 1 a published
		observe b 2 => spent-by-confirmed
		invalidate 1 a => illegal
		connect 2: b => spent-by-confirmed
		connect 2: a => invalid   # below its child`},
	{"what can not be placed any more is refused when it is broadcast, with its parent", `
		open 1 0
		tx fund: x -> main, old: fund:0 -> main, new: fund:0 -> main, c: old:0 -> main
		tx child: new:0 -> main
		connect 1: fund
		observe old 1
		submit 1 new replaces old
		connect 2: c
		tx? 1 new pending
		submit 1 child
		broadcast 1 child => spent-by-confirmed
		broadcast 1 new => spent-by-confirmed
		connect 3: old => invalid   # below its child
		disconnect 2
		connect 2: old c
		tx? 1 new failed, child failed`},
	{"a loser takes its descendants with it and frees their other inputs", `
		open 1 0
		tx f1: x -> main=10 main=20
		connect 1: f1
		tx a: f1:0 -> main out, b: a:0 f1:1 -> main, c: b:0 -> main, other: a:1 -> main
		tx rival: f1:0 -> out
		observe a 1
		submit 1 b
		submit 1 c
		observe other 2
		coin? 1 f1:1 spent b
		connect 2: rival
		tx? 1 rival published 2, a failed, b failed, c failed, other failed
		edge? 1 a rival
		noedge? 1 b rival
		coin? 1 f1:1 confirmed, c:0 dead (permanent)
		broadcast 1 b => illegal
		balance? 1 confirmed=20`},
	{"a deep cascade stops at nothing", `
		open 1 0
		tx t0: x -> main, t1: t0:0 -> main, t2: t1:0 -> main, t3: t2:0 -> main
		tx t4: t3:0 -> main, t5: t4:0 -> main, rival: x -> out
		observe t5 1, t4 2, t3 3, t2 4, t1 5, t0 6
		balance? 1 unconfirmed=1
		observe rival 7
		tx? 1 t0 replaced, t1 failed, t5 failed
		observe t5 8
		tx? 1 t0 published, t5 published, rival replaced
		balance? 1 unconfirmed=1`},
	{"a revived transaction does not bring its children back", `
		open 1 0
		tx a: x -> main, b: a:0 -> main, c: b:0 -> main, rival: x -> out
		observe a 1, b 2, c 3, rival 4, b 5
		tx? 1 a published, b published, c failed, rival replaced
		edge? 1 rival a
		noedge? 1 rival b
		coin? 1 b:0 unconfirmed`},
	{"nothing may stand on its own rival", `
		open 1 0
		tx a: x -> main main, b: a:0 -> main, c: x b:0 -> main, twice: y y -> main
		tx d: y -> main, e: y -> main, both: d:0 e:0 -> main
		observe twice 1 => self-conflict
		submit 1 twice => self-conflict
		observe a 1, b 2
		observe c 3 => self-conflict
		submit 1 c => input-spent
		submit 1 c replaces a => self-conflict
		observe d 3
		submit 1 e replaces d
		submit 1 both => self-conflict
		invalidate 1 d
		submit 1 both => dead-parent
		observe both 4 => self-conflict
		tx? 1 d failed, e pending`},
	{"a submitted transaction may replace only what shares an input and is unconfirmed", `
		open 1 0
		tx a: x -> main, b: y -> main, c: x y -> main, d: b:0 z -> main
		connect 1: a
		observe b 1
		submit 1 c replaces a => invalid
		submit 1 c replaces d => invalid
		submit 1 c replaces b => input-spent
		submit 1 d replaces b => invalid
		submit 1 d
		submit 1 d`},
	{"a foreign rival is kept if it takes an input of a stored one", `
		open 1 0
		tx a: x y -> main, b: y z -> out, c: z -> out
		observe c 1
		tx? 1 c absent
		observe a 2, b 3
		tx? 1 b published, a replaced
		observe c 4
		tx? 1 b replaced, a replaced`},
	{"what evidence says is said to every wallet", `
		open 1 0, 2 0
		tx fund: x -> main=5 2/main=7
		connect 1: fund
		tx a: fund:0 -> 2/main=5, b: fund:0 -> main=4
		submit 1 a
		tx? 2 a absent
		observe a 1
		tx? 2 a published
		coin? 2 a:0 unconfirmed
		invalidate 2 a       # both have it as the network showed it
		tx? 1 a failed
		observe b 1
		tx? 1 b published
		tx? 2 b published, a failed
		balance? 2 confirmed=7`},
	{"what one wallet gave up stays given up when a rival is mined", `
		open 1 0, 2 0
		tx f: x -> main=9 2/main=9, a: f:0 f:1 -> main=5 2/main=5, r: f:0 -> out
		connect 1: f
		submit 1 a
		submit 2 a
		invalidate 1 a
		tx? 1 a failed
		tx? 2 a pending
		connect 2: r
		tx? 1 a failed
		tx? 2 a failed`},
	{"what one wallet gives up takes its own with it, and nothing of another wallet", `
		open 1 0, 2 0
		tx f: x -> main=9 2/main=9, p: f:0 f:1 -> main=5 2/main=5, c: p:0 -> main=4
		tx d: p:1 z -> 2/main=4   # z is in no wallet, and not dead by that
		connect 1: f
		submit 1 p
		submit 2 p
		submit 1 c
		submit 2 d
		invalidate 1 p
		tx? 1 p failed, c failed
		tx? 2 p pending, d pending`},
	{"a transaction that a list has twice is seen once, also where it concerns nobody", `
		open 1 0
		tx a: x -> main, f: y -> out
		mempool 1: a a f f
		tx? 1 a published`},
}

// Leases is who may hold a coin.
var Leases = []Scenario{
	{"a lease is held until its end, then anybody may take it", `
		open 1 0
		tx fund: x -> main=50 main=7 out
		connect 1: fund
		lease 1 k 60 fund:0 fund:1
		balance? 1 confirmed=57 leased=57
		lease 1 other 60 fund:0 => held
		renew 1 other 60 fund:0 => held
		release 1 other fund:0 => held
		renew 1 k 10 fund:0
		wait 9
		renew 1 other 60 fund:0 => held
		wait 1
		coin? 1 fund:0 confirmed, fund:1 leased
		renew 1 k 60 fund:0 => not-found
		release 1 other fund:0 => held
		lease 1 other 60 fund:0
		release 1 other fund:0
		release 1 other fund:0
		lease 1 k 60 fund:2 => not-found
		lease 1 k 0 fund:0 => invalid
		lease 3 k 1 fund:0 => not-found`},
	{"the wallet needs the lock, the chain does not", `
		open 1 0
		tx fund: x -> main=50 main=7
		connect 1: fund
		lease 1 k 60 fund:0 fund:1
		tx a: fund:0 -> main, b: fund:1 -> main
		submit 1 a => held
		submit 1 a lock other => held
		submit 1 a lock k
		lease 1 k 90 fund:0   # renewed while spent
		observe b 1
		coin? 1 fund:1 spent b
		wait 61
		lease 1 k 60 fund:1 => illegal
		invalidate 1 a
		coin? 1 fund:0 leased
		wait 29
		coin? 1 fund:0 confirmed`},
	{"a lease survives a rollback, and a dead coin takes none", `
		open 1 0
		tx fund: x -> main=50, a: fund:0 -> main=49, b: fund:0 -> main=48
		connect 1: fund
		observe a 1
		lease 1 k 60 a:0
		disconnect 1
		coin? 1 a:0 leased
		observe b 2 at -
		coin? 1 a:0 dead (permanent)
		lease 1 k 60 a:0      # its own is still active
		lease 1 other 60 a:0 => held
		release 1 k a:0
		lease 1 k 60 a:0 => illegal`},
}

// Words is what the rest refuses.
var Words = []Scenario{
	{"a submitted transaction pays no more than its inputs bring, where that is known", `
		open 1 0, 2 0
		tx f: x -> main=10 out=5 2/main=3, late: y -> main=7
		connect 1: f
		tx more: f:0 -> main=6 out=5, all: f:0 f:1 f:2 -> main=18
		tx over: f:0 f:1 f:2 -> main=19, nothing: f:0 f:3 -> main=1
		tx blind: f:0 late:0 -> main=18, again: f:0 late:0 -> main=9 out=9
		submit 1 more => invalid
		submit 1 over => invalid
		submit 1 nothing => invalid
		tx? 1 more absent
		coin? 1 f:0 confirmed
		submit 1 blind         # the other input is in no wallet
		invalidate 1 blind
		observe late 1
		submit 1 again => invalid
		submit 1 all
		submit 1 more replaces all => invalid
		balance? 1 unconfirmed=7 pending=18`},
	{"a mempool and a block are believed, whatever a transaction pays", `
		open 1 0
		tx f: x -> main=10
		connect 1: f
		tx more: f:0 -> main=11, child: more:0 -> main=12, nothing: child:7 -> main=1
		observe more 1
		submit 1 more          # known from the network
		balance? 1 unconfirmed=11
		mempool 2: child nothing
		connect 2: more, 3: child nothing
		balance? 1 confirmed=13`},
	{"a wallet is opened once", `
		tx a: x -> main
		observe a 1 => invalid
		open 1 5, 1 5
		open 1 6 => illegal
		open 0 1 => invalid
		submit 2 a => not-found
		submit 1 a
		label 1 a rent of May
		label 1 a rent of May
		broadcast 1 a, 1 a
		tx b: y -> 2/main
		observe b 1 => invalid
		broadcast 1 b => not-found
		invalidate 1 b => not-found
		label 1 b x => not-found
		tx half: y -> main 2/main
		submit 1 half => invalid   # wallet 2 is not open
		tx none: y z ->
		submit 1 none => invalid
		tx foreign: y -> out
		submit 1 foreign => invalid
		coinbase m -> main
		submit 1 m => invalid`},
}
