package utxotest

// Blocks is what chains and reorgs do to a wallet.
var Blocks = []Scenario{
	{"the tip falls to an older block that nothing links, and what was mature there is not", `
		open 1 0
		coinbase m -> main=50
		tx a: x -> main=7
		connect 100:, 3: m
		balance? 1 confirmed=50
		disconnect 100
		balance? 1 immature=50
		observe a 1 at 3
		connect 4 on 3: a
		balance? 1 confirmed=7 immature=50
		disconnect 4, 3
		tx? 1 m orphaned
		connect 9: a
		balance? 1 confirmed=7`},
	{"a block that is filled in holds nothing that stands on a later one", `
		open 1 0
		tx p: x -> main=10 main=10, u: p:0 -> main=9, v: u:0 -> main=8
		connect 1:, 2:, 3: p
		observe u 1
		connect 2: v => invalid      # through u, which is in no block
		connect 2: u => invalid
		tx? 1 v absent
		connect 4: v`},
	{"a block that is filled in holds nothing on which an earlier one stands", `
		open 1 0
		tx p: x -> main=10 main=10, k: p:0 -> main=9, l: p:1 -> main=8
		connect 1:, 2: k, 3:, 4: l
		connect 3: p => invalid
		connect 1: p
		tx? 1 p published 1`},
	{"what a taken-off block confirmed dies with what stands on it", `
		open 1 0
		tx a: y -> main=9, b: a:0 -> main=8, c: b:0 -> main=7, d: c:0 -> main=6
		tx r: y -> out=9
		connect 1: a b
		observe c 1, d 2
		disconnect 1
		observe r 3
		tx? 1 a replaced, b failed, c failed, d failed`},
	{"a reorg to a branch with a conflicting spend", `
		open 1 0
		tx fund: x -> main=50, a: fund:0 -> main=49, a2: a:0 -> main=48
		tx b: fund:0 -> main=47
		connect 1: fund, 2: a, 3: a2
		disconnect 2 => chain-mismatch
		disconnect 3
		disconnect 3         # not on the chain any more
		tx? 1 a2 published
		disconnect 2
		tx? 1 a published
		connect 2b: b
		tx? 1 a failed, a2 failed
		balance? 1 confirmed=47
		disconnect 2b
		tx? 1 b published
		tx? 1 a failed       # until evidence comes
		connect 2
		tx? 1 a published 2, a2 failed, b failed
		connect 3
		tx? 1 a2 published 3
		balance? 1 confirmed=48`},
	{"a coinbase that leaves the chain takes its descendants and comes back alone", `
		open 1 0
		coinbase m -> main=50
		tx spend: m:0 y -> main=49, child: spend:0 -> main=48
		connect 1: m spend
		observe child 1
		coin? 1 m:0 spent spend
		disconnect 1
		tx? 1 m orphaned, spend failed, child failed
		coin? 1 m:0 dead (recoverable)
		balance? 1
		observe child 2 => dead-parent
		submit 1 child => illegal
		connect 1b:, 2: m
		tx? 1 m published 2, spend failed
		coin? 1 m:0 immature
		balance? 1 immature=50
		observe child 3
		tx? 1 spend published
		balance? 1 unconfirmed=48`},
	{"what stands on an orphaned coinbase dies, through the block and the mempool by turns", `
		open 1 0
		coinbase m -> main=50
		tx s: m:0 -> main=40, c: s:0 -> main=30, d: c:0 -> main=20, e: d:0 -> main=10
		connect 1: m s d
		observe c 1, e 2
		disconnect 1
		tx? 1 m orphaned, s failed, c failed, d failed, e failed`},
	{"a coinbase matures at the third block above it", `
		open 1 0
		coinbase m -> main=50
		tx spend: m:0 -> main=49
		connect 1: m
		submit 1 spend => immature
		connect 2:, 3:
		balance? 1 immature=50
		submit 1 spend => immature
		connect 4:
		balance? 1 confirmed=50
		submit 1 spend
		disconnect 4
		tx? 1 spend pending
		disconnect 3, 2, 1
		tx? 1 spend failed`},
	{"the order inside a block does not matter", `
		open 1 0
		coinbase m -> out
		tx a: x -> out, b: a:0 -> out, c: b:0 -> main
		connect 1: m c b a
		tx? 1 c published 1, b published 1
		tx? 1 a absent         # a parent does not pass the wallet on to its own
		tx? 1 m absent
		connect 1            # again
		balance? 1 confirmed=1`},
	{"a child before its parent, over time", `
		open 1 0
		tx p: x -> main=5 out, c: p:0 -> main=4
		observe c 1
		tx? 1 p absent
		observe p 2
		coin? 1 p:0 spent c
		balance? 1 unconfirmed=4
		tx q: y -> main=9, d: q:0 -> main=8
		observe d 3
		submit 1 q           # a child proves its parent
		tx? 1 q published
		coin? 1 q:0 spent d`},
	{"a published child proves its pending parent", `
		open 1 0
		tx fund: x -> main=9 main=8
		connect 1: fund
		tx p: fund:0 -> main=7, c: p:0 fund:1 -> main=6
		submit 1 p
		submit 1 c
		balance? 1 pending=6
		observe c 1
		tx? 1 p published
		balance? 1 unconfirmed=6`},
	{"a block continues the tip, repeats a known one, or fills a hole", `
		open 1 3
		tx a: x -> main, old: y -> main
		connect 5:
		scanned? 1 2
		connect 4b:  => chain-mismatch     # its hash is not what block 5 stands on
		connect 7: => chain-mismatch
		connect 5c on 5: => chain-mismatch
		connect 6 on 4b: => chain-mismatch
		connect 6d on 5: a, 3: old
		scanned? 1 3
		connect 6d
		scanned? 1 3
		tx? 1 a published 6
		disconnect 5 => chain-mismatch
		connect 7d on 6d: a => confirmed-elsewhere`},
	{"a duplicated coinbase belongs to the later block", `
		open 1 0
		coinbase m -> main=50
		coinbase n -> main=1
		connect 91841: m n => invalid
		connect 91841b: m, 91842: m
		tx? 1 m published 91842
		connect 91843: m => confirmed-elsewhere
		balance? 1 immature=50`},
	{"nothing is confirmed below what it stands on", `
		open 1 0
		coinbase m -> main=50
		tx c: m:0 -> main=49, d: c:0 -> main=48
		connect 5: d
		connect 6: m c => invalid
		connect 6b: m
		observe c 1 => invalid       # it would join them
		tx? 1 c absent
		connect 3: c => invalid
		disconnect 6b
		tx? 1 m orphaned, d published 5`},
	{"what arrives after its descendants is confirmed above none of them", `
		open 1 0
		coinbase m -> main=50
		tx c: m:0 -> main=49, d: c:0 -> main=48, p: y -> main=9 main=9, q: p:0 -> main=8
		tx r: q:0 -> main=7, s: p:1 -> main=8, u: s:0 -> main=7
		connect 5: d r
		observe c 1, q 2, s 3, u 4
		connect 6: m => invalid
		connect 6b: p => invalid`},
	{"a duplicated coinbase does not move above what stands on it", `
		open 1 0
		coinbase m -> main=50
		tx p: m:0 -> main=49, c: p:0 -> main=48
		connect 91839: m, 91840: c
		observe p 1
		connect 91841:
		connect 91842: m => invalid`},
	{"the first block of a duplicated coinbase may be applied again", `
		open 1 0
		coinbase m -> main=50
		connect 91841: m, 91842: m, 91841
		tx? 1 m published 91842`},
	{"block 0 pays nobody", `
		open 1 0
		coinbase m -> main=50
		tx c: m:0 -> main=49
		connect 0: m
		tx? 1 m absent
		scanned? 1 0
		observe c 1
		connect 0
		tx? 1 m published 0    # spent by a stored one, for the history
		coin? 1 m:0 unknown
		reveal 1 m:0 main 0 => invalid
		balance? 1 unconfirmed=49`},
	{"an output that has its owner is no news, also in block 0", `
		open 1 1
		coinbase m -> main=50
		connect 1: m
		disconnect 1
		connect 0: m
		reveal 1 m:0 main 0
		reveal 1 m:0 other 0 => illegal`},
	{"what is published in block 0 is not submitted to a wallet that has no row of it", `
		open 1 0, 2 0
		tx p: x -> main=50, c: p:0 -> 2/main=49
		observe c 1
		connect 0: p
		tx? 2 p published 0    # the parent of what pays wallet 2
		submit 1 p
		tx? 1 p absent
		tx? 2 p published 0, c published`},
	{"a rescan adds what is missing", `
		open 1 0
		coinbase m -> out
		tx a: x -> out, c: a:0 -> main
		connect 1: m a, 2: c
		tx? 1 a absent
		connect 1
		tx? 1 a published 1
		reveal 1 a:0 late 1
		coin? 1 a:0 spent c
		scanned? 1 -1
		reveal 1 a:0 late 1
		reveal 1 a:0 other 1 => illegal
		reveal 1 a:7 late 1 => invalid
		reveal 1 m:0 late 1 => not-found
		reveal 1 m:0 late -1 => invalid   # what an event says comes before what is stored
		reveal 1 a:0 late -1 => invalid`},
	{"a late owner catches up by itself", `
		open 1 1
		tx a: x -> main out
		connect 1: a, 2:, 3:
		scanned? 1 3
		reveal 1 a:1 late 1
		scanned? 1 3 late=0
		connect 2
		scanned? 1 3 late=0
		connect 1
		scanned? 1 3 late=1
		connect 2
		disconnect 3
		scanned? 1 2
		disconnect 2, 1
		scanned? 1 0`},
}
