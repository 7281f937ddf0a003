package node

// Faults says how often the node misbehaves, each in thousandths. Seed counts at
// the start alone.
type Faults struct {
	Seed    uint64 `json:"seed"`
	Errors  int    `json:"errors"`  // of calls: answered by an error, nothing was done
	Slow    int    `json:"slow"`    // of calls: done, and not answered before the caller gives up
	Lost    int    `json:"lost"`    // of calls: done, and the connection is cut
	Garbled int    `json:"garbled"` // of calls: done, and the answer is cut in the middle
	Drop    int    `json:"drop"`    // of the mempool, with each block
	Reorg   int    `json:"reorg"`   // of blocks: up to Finality-1 blocks leave the chain
	Usurp   int    `json:"usurp"`   // of transactions: somebody else's takes their nonce
	Spike   int    `json:"spike"`   // of blocks: the price of gas rises for a while
	Salt    int    `json:"salt"`    // of transactions: a malleated copy is mined instead
}

// Counts is what the node has done wrong since it started.
type Counts struct {
	Errors  int `json:"errors"`
	Slow    int `json:"slow"`
	Lost    int `json:"lost"`
	Garbled int `json:"garbled"`
	Dropped int `json:"dropped"`
	Reorgs  int `json:"reorgs"`
	Usurped int `json:"usurped"`
	Spikes  int `json:"spikes"`
	Salted  int `json:"salted"`
}

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	c.Errors += o.Errors
	c.Slow += o.Slow
	c.Lost += o.Lost
	c.Garbled += o.Garbled
	c.Dropped += o.Dropped
	c.Reorgs += o.Reorgs
	c.Usurped += o.Usurped
	c.Spikes += o.Spikes
	c.Salted += o.Salted
}

// happens draws a fault and counts it. The caller holds the lock.
func (n *Node) happens(permille int, count *int) bool {
	if permille == 0 || n.random.IntN(1000) >= permille {
		return false
	}
	*count++
	return true
}

// fate is how a call ends.
type fate int

const (
	answered fate = iota
	refused
	slow
	lost
	garbled
)

func (n *Node) fate() fate {
	f := &n.config.Faults
	switch {
	case n.happens(f.Errors, &n.counts.Errors):
		return refused
	case n.happens(f.Slow, &n.counts.Slow):
		return slow
	case n.happens(f.Lost, &n.counts.Lost):
		return lost
	case n.happens(f.Garbled, &n.counts.Garbled):
		return garbled
	}
	return answered
}
