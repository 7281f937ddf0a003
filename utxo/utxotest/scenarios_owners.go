package utxotest

// Owners is what happens to those that the host learns of late.
var Owners = []Scenario{
	{"a late owner's coin is no money before its scan has reached the tip", `
		open 1 100
		tx f: x -> main=100000, s: f:0 -> out
		connect 100:
		announce 1 101 main
		connect 101: f, 102: s, 103:
		scanned? 1 103
		balance? 1`},
	{"an owner announced late is behind until its blocks were applied again", `
		open 1 100, 2 100
		tx f: x -> late=100000 2/main=7, s: f:0 -> late=90000
		connect 100:, 101:, 102:, 103:
		announce 1 101 late other
		scanned? 1 103 late=100 other=100
		announce 1 101 late      # no news
		announce 1 102 late, 1 102 late other
		scanned? 1 103 late=100 other=100
		connect 101: f           # a host that filters sends more now
		balance? 1 unscanned=100000
		balance? 2 confirmed=7
		scanned? 1 103 late=101 other=101
		lease 1 k 60 f:0
		balance? 1 leased=100000 unscanned=100000
		connect 102: s
		coin? 1 f:0 spent s
		balance? 1 unscanned=90000
		connect 103
		scanned? 1 103
		balance? 1 confirmed=90000
		announce 1 90 late       # lower than before
		scanned? 1 103 late=89
		balance? 1 unscanned=90000`},
	{"owners fall back and catch up on their own", `
		open 1 1
		connect 1:, 2:, 3:
		announce 1 3 a b
		scanned? 1 3 a=2 b=2
		announce 1 2 b
		scanned? 1 3 a=2 b=1
		connect 3
		scanned? 1 3 b=1
		connect 2
		disconnect 3
		scanned? 1 2
		connect 3b:
		scanned? 1 3
		announce 1 1 a c
		disconnect 3b, 2, 1
		scanned? 1 0
		connect 1b:
		scanned? 1 1
		connect 2b:, 3c:
		announce 1 3 e, 1 2 e
		scanned? 1 3 e=1`},
	{"nothing is behind for a birth above the tip, and a birth below the base waits for older blocks", `
		open 1 5
		connect 5:
		announce 1 6 new
		scanned? 1 5
		announce 1 4 old
		scanned? 1 5 old=3
		connect 5
		scanned? 1 5 old=3
		connect 4:  => chain-mismatch
		announce 1 5 new         # lower: it is scanned from there
		scanned? 1 5 new=4 old=3
		connect 5
		scanned? 1 5 old=3`},
	{"an owner who is scanned to the tip is not behind, wherever its wallet begins", `
		open 1 9
		connect 1:, 2:
		announce 1 4 late                    # above the tip
		scanned? 1 8
		tx f: x -> late=7
		connect 3:, 4: f
		balance? 1 confirmed=7
		announce 1 2 late
		scanned? 1 8 late=1
		balance? 1 unscanned=7
		connect 2, 3
		scanned? 1 8 late=3
		disconnect 4
		scanned? 1 8
		connect 4
		balance? 1 confirmed=7
		announce 1 4 other, 1 3 other
		connect 3, 4
		scanned? 1 8`},
	{"an owner is behind where its chain may begin later", `
		open 1 5
		announce 1 2 old
		scanned? 1 4 old=1
		connect 5:
		scanned? 1 5 old=1
		disconnect 5
		scanned? 1 4 old=1`},
	{"an owner has caught up with its wallet where that is behind itself", `
		open 2 0
		connect 1:, 2:, 3:
		open 1 1
		connect 1, 2
		scanned? 1 2
		announce 1 1 late
		scanned? 1 2 late=0
		connect 1
		scanned? 1 2 late=1
		connect 2
		scanned? 1 2
		connect 3
		scanned? 1 3`},
	{"nothing is behind above block 0", `
		open 1 5
		connect 0:
		announce 1 2 late
		scanned? 1 4`},
	{"a revealed output announces its owner", `
		open 1 1
		tx a: x -> main=5 out=7, s: a:1 -> out
		connect 1: a, 2:
		reveal 1 a:1 late 1
		balance? 1 confirmed=5 unscanned=7
		announce 1 1 late
		scanned? 1 2 late=0
		connect 1, 2
		scanned? 1 2
		reveal 1 a:1 late 1
		scanned? 1 2
		reveal 3 a:1 late 1 => not-found
		announce 3 1 late => not-found
		announce 1 1 => invalid`},
	{"a birth that was revealed too late is corrected by revealing it again", `
		open 1 1
		tx a: x -> main=5 out=7, s: a:1 -> out
		connect 1: a, 2: s, 3:
		reveal 1 a:1 late 3
		connect 3
		balance? 1 confirmed=12
		reveal 1 a:1 late 1
		scanned? 1 3 late=0
		balance? 1 confirmed=5 unscanned=7
		connect 1, 2, 3
		coin? 1 a:1 spent s
		balance? 1 confirmed=5`},
	{"an output that was revealed to a wallet stays there, whatever its script says later", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p: f:0 -> 2/main=5000 2/main=1000 main=3000
		submit 1 p
		reveal 1 p:0 main 1
		reveal 1 p:1 main 1
		broadcast 1 p
		tx? 2 p absent
		balance? 1 unconfirmed=9000
		tx q: p:0 -> main=4000
		submit 2 q => invalid
		connect 2: p
		tx? 2 p absent
		balance? 1 confirmed=9000
		balance? 2`},
	{"an output that was revealed to a wallet stays there, where another has the next one", `
		open 1 0, 2 0
		tx f: x -> main=9000
		connect 1: f
		tx p: f:0 -> 2/main=5000 2/main=1000 main=3000
		submit 1 p
		reveal 1 p:0 main 1
		broadcast 1 p
		balance? 1 unconfirmed=8000
		balance? 2 unconfirmed=1000`},
	{"a revealed output does not give away what another wallet has only submitted", `
		open 1 0, 2 0
		tx p: x -> main=5 out=7, c: p:1 -> 2/main=6
		connect 1: p
		submit 2 c
		reveal 1 p:1 late 2
		tx? 1 c absent
		broadcast 2 c
		tx? 1 c published
		coin? 1 p:1 spent c`},
}

// Versions is what may replace what.
var Versions = []Scenario{
	{"a replacement shares an input with every version of the payment", `
		open 1 0
		tx f: x -> main=10 main=20 main=30
		connect 1: f
		tx a: f:0 -> main=9, a2: f:0 f:1 -> main=28, a3: f:1 f:2 -> main=48
		tx a4: f:0 f:1 f:2 -> main=58
		submit 1 a
		broadcast 1 a
		submit 1 a2 replaces a
		broadcast 1 a2
		tx? 1 a replaced
		submit 1 a3 replaces a2 => invalid   # a can be mined beside it
		submit 1 a4 replaces a2
		edge? 1 a a2, a2 a4`},
	{"a version that was given up can be mined too", `
		open 1 0
		tx f: x -> main=10 main=20 main=30
		connect 1: f
		tx a: f:0 -> main=9, a2: f:0 f:1 -> main=28, a3: f:1 -> main=19
		submit 1 a
		submit 1 a2 replaces a
		invalidate 1 a
		submit 1 a3 replaces a2 => invalid
		tx? 1 a3 absent`},
	{"a version that another wallet declared can be mined too", `
		open 1 0, 2 0
		tx f: x -> main=10000, g: y -> 2/main=10000
		connect 1: f g
		tx a: f:0 -> out=9000, a2: f:0 g:0 -> out=9000 main=5000 2/main=5000
		tx a3: g:0 -> out=9000               # a can be mined beside it
		tx a4: g:0 f:0 -> out=9000 2/main=900
		submit 1 a
		broadcast 1 a
		submit 1 a2 replaces a
		broadcast 1 a2
		submit 2 a3 replaces a2 => invalid
		submit 2 a4 replaces a2
		edge? 2 a2 a4`},
	{"a version that another wallet declared is provably dead", `
		open 1 0, 2 0
		tx f: x -> main=10000, g: y -> 2/main=10000, h: z -> main=10000
		connect 1: f g h
		tx a: f:0 h:0 -> out=9000, a2: h:0 g:0 -> out=9000 main=5000 2/main=5000
		tx a3: g:0 -> out=9000
		submit 1 a
		broadcast 1 a
		submit 1 a2 replaces a
		broadcast 1 a2
		tx rival: f:0 -> out
		connect 2: rival, 3:
		submit 2 a3 replaces a2`},
	{"a version that is provably dead asks for no input", `
		open 1 0
		tx f: x -> main=10 main=20 main=30
		connect 1: f
		tx a: f:0 f:1 -> main=28, b: f:1 f:2 -> main=48, c: f:2 -> main=28
		tx rival: f:0 -> out
		submit 1 a
		submit 1 b replaces a
		submit 1 c replaces b => invalid
		connect 2: rival
		tx? 1 a failed, b pending
		submit 1 c replaces b => invalid     # one block deep is not final
		connect 3:
		submit 1 c replaces b
		tx? 1 c pending
		disconnect 3, 2
		submit 1 c replaces b                # again: no news, whatever is final now
		tx? 1 c pending`},
	{"versions are followed from either end, by what was declared and not by what evidence did", `
		open 1 0
		tx f: x -> main=10 main=20 main=30 main=40
		connect 1: f
		tx a: f:0 f:1 -> main=29, b: f:1 f:2 -> main=48, c: f:2 f:3 -> main=68
		submit 1 a
		broadcast 1 a
		observe b 1
		tx? 1 a replaced
		edge? 1 a b
		submit 1 c replaces b                # b is no version of a
		tx? 1 c pending`},
	{"a block that is on the chain fits at no other height", `
		open 1 0
		tx a: x -> main
		connect 1:, 2: a
		again 1 at 3 => chain-mismatch
		again 2 at 3 => chain-mismatch
		again 2 at 1 => chain-mismatch
		again 2 at 0 => chain-mismatch
		again 2 at 2
		disconnect 2
		again 2 at 3 => chain-mismatch
		tx? 1 a published
		connect 2
		tx? 1 a published 2`},
}
