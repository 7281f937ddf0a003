package blockfile

import (
	"encoding/binary"

	"github.com/btcsuite/btcd/wire/v2"
)

// countsFit reports whether every count and length in a serialised block fits
// into the bytes that follow it. Package wire allocates for a count before it
// reads what is counted, and bounds it by 32 MiB only: without this check, 100
// bytes could make it ask for 150 MB.
func countsFit(raw []byte) bool {
	c := cursor{rest: raw}
	c.skip(wire.MaxBlockHeaderPayload)
	for range c.count(10) {
		c.tx()
	}
	return !c.short
}

// cursor walks over a serialised block.
type cursor struct {
	rest  []byte
	short bool // something did not fit; all counts are zero from then on
}

func (c *cursor) tx() {
	c.skip(4) // version
	inputs, witness := c.count(41), false
	if inputs == 0 { // the marker of a witness, before the flag
		c.skip(1)
		inputs, witness = c.count(41), true
	}
	for range inputs {
		c.skip(36) // outpoint
		c.skip(c.count(1))
		c.skip(4) // sequence
	}
	for range c.count(9) {
		c.skip(8) // amount
		c.skip(c.count(1))
	}
	if witness {
		for range inputs {
			for range c.count(1) {
				c.skip(c.count(1))
			}
		}
	}
	c.skip(4) // lock time
}

func (c *cursor) skip(n int) {
	if n > len(c.rest) {
		c.rest, c.short = nil, true
		return
	}
	c.rest = c.rest[n:]
}

// count reads a CompactSize number of things that take at least this many bytes each.
func (c *cursor) count(least int) int {
	at := c.rest
	c.skip(1)
	if c.short {
		return 0
	}
	n := uint64(at[0])
	if at[0] >= 0xfd {
		size := 2 << (at[0] - 0xfd)
		c.skip(size)
		if c.short {
			return 0
		}
		var number [8]byte
		copy(number[:], at[1:1+size])
		n = binary.LittleEndian.Uint64(number[:])
	}
	if n > uint64(len(c.rest)/least) {
		c.rest, c.short = nil, true
		return 0
	}
	return int(n)
}
