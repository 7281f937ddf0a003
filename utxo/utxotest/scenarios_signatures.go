package utxotest

// Signatures are scenarios about the bytes of a transaction, whose hash does not commit to
// the witnesses. "-" is an input without a witness.
var Signatures = []Scenario{
	{"a signature that comes later", `
		open 1 0
		tx f: x -> main=10
		connect 1: f
		tx s: f:0 -> out=5 main=4
		witness u: s -
		submit 1 u
		bytes? 1 s u
		submit 1 s
		bytes? 1 s s
		submit 1 u             # nothing takes a signature away
		bytes? 1 s s
		witness z: s z
		submit 1 z             # a later one counts, as long as it is not sent
		bytes? 1 s z
		broadcast 1 s
		submit 1 s             # the network has what was stored
		bytes? 1 s z`},
	{"signatures that come one by one", `
		open 1 0
		tx f: x -> main=10 main=10
		connect 1: f
		tx s: f:0 f:1 -> out=15
		witness u: s - -
		witness a: s a -
		witness b: s - b
		witness c: s a b
		witness d: s d -
		witness e: s d b
		submit 1 u
		submit 1 b
		bytes? 1 s b
		submit 1 a
		bytes? 1 s c
		submit 1 u
		submit 1 d
		bytes? 1 s e`},
	{"what was broadcast without its signatures is completed, not changed", `
		open 1 0
		tx f: x -> main=10 main=10
		connect 1: f
		tx s: f:0 f:1 -> out=15
		witness a: s a -
		witness b: s z b
		witness c: s a b
		submit 1 a
		broadcast 1 a
		submit 1 b
		bytes? 1 s c`},
	{"a mempool shows what is valid", `
		open 1 0
		tx f: x -> main=10
		connect 1: f
		tx s: f:0 -> out=5 main=4
		witness u: s -
		witness y: s y
		witness z: s z
		submit 1 u
		observe z 1
		bytes? 1 s z
		submit 1 y
		bytes? 1 s z
		observe y 1            # of one reading the first counts
		bytes? 1 s z
		observe u 2            # a host may leave witnesses out
		bytes? 1 s z
		observe y 3
		bytes? 1 s y
		mempool 0: z
		bytes? 1 s z`},
	{"a mempool completes what its reading has proven by a child", `
		open 1 0
		tx f: x -> main=10
		connect 1: f
		tx s: f:0 -> main=9, c: s:0 -> main=8
		witness u: s -
		submit 1 u
		mempool 4: c
		tx? 1 s published
		bytes? 1 s u
		mempool 4: s
		bytes? 1 s s`},
	{"a block shows what is valid, and a mempool does not change it", `
		open 1 0
		tx f: x -> main=10
		connect 1: f
		tx s: f:0 -> out=5 main=4
		witness u: s -
		witness y: s y
		witness z: s z
		submit 1 u
		observe y 1
		connect 2: z
		bytes? 1 s z
		observe y 2
		mempool 0: y
		bytes? 1 s z
		connect 2: u
		bytes? 1 s z
		connect 2: y           # the host reads it again, and it was wrong before
		bytes? 1 s y
		disconnect 2
		bytes? 1 s y
		observe z 5
		bytes? 1 s z`},
	{"what was given up is revived with the bytes that are shown", `
		open 1 0
		tx f: x -> main=10
		connect 1: f
		tx s: f:0 -> out=5 main=4
		witness u: s -
		submit 1 u
		invalidate 1 u
		submit 1 s => illegal  # a dead transaction is not submitted again
		bytes? 1 s u
		observe s 1
		tx? 1 s published
		bytes? 1 s s
		invalidate 1 s
		witness z: s z
		connect 2: z
		bytes? 1 s z`},
	{"evidence speaks to the rows of all wallets, a submission to its own", `
		open 1 0, 2 0, 3 0
		tx f: x -> main=10, g: y -> 2/main=10
		connect 1: f g
		tx s: f:0 g:0 -> 3/main=15
		witness u: s - -
		witness a: s a -
		witness z: s z z
		submit 1 u
		submit 2 a
		bytes? 1 s u
		bytes? 2 s a
		broadcast 1 u
		bytes? 1 s u
		bytes? 2 s a
		bytes? 3 s a           # the row that lacks the least
		observe z 1
		bytes? 1 s z
		bytes? 2 s z
		bytes? 3 s z`},
}
