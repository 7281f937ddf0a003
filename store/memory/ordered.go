package memory

// ordered is a map from byte strings, in their order: a treap. All operations
// take logarithmic time. It is deterministic.
type ordered[V any] struct {
	root *node[V]
	rnd  uint64
}

type node[V any] struct {
	key         string
	value       V
	priority    uint64 // the greatest is at the root
	left, right *node[V]
}

// insert adds a key that is not there.
func (o *ordered[V]) insert(key string, v V) {
	o.rnd += 0x9e3779b97f4a7c15 // splitmix64
	p := (o.rnd ^ o.rnd>>30) * 0xbf58476d1ce4e5b9
	p = (p ^ p>>27) * 0x94d049bb133111eb
	at := &o.root
	for *at != nil && (*at).priority >= p {
		at = (*at).child(key)
	}
	left, right := split(*at, key)
	*at = &node[V]{key, v, p, left, right}
}

// remove takes a key out.
func (o *ordered[V]) remove(key string) {
	at := &o.root
	for *at != nil && (*at).key != key {
		at = (*at).child(key)
	}
	if *at != nil {
		*at = merge((*at).left, (*at).right)
	}
}

// from visits the keys from min on, in order, until visit returns false.
func (o *ordered[V]) from(min string, visit func(key string, v V) bool) { o.root.from(min, visit) }

func (n *node[V]) from(min string, visit func(string, V) bool) bool {
	for ; n != nil; n = n.right {
		if n.key < min {
			continue
		}
		if !n.left.from(min, visit) || !visit(n.key, n.value) {
			return false
		}
	}
	return true
}

func (n *node[V]) child(key string) **node[V] {
	if key < n.key {
		return &n.left
	}
	return &n.right
}

// split returns the keys below key, and the others.
func split[V any](n *node[V], key string) (below, above *node[V]) {
	if n == nil {
		return nil, nil
	}
	if n.key < key {
		n.right, above = split(n.right, key)
		return n, above
	}
	below, n.left = split(n.left, key)
	return below, n
}

// merge joins two maps of which every key of a is below every key of b.
func merge[V any](a, b *node[V]) *node[V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority >= b.priority:
		a.right = merge(a.right, b)
		return a
	}
	b.left = merge(a, b.left)
	return b
}
