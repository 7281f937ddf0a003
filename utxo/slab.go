package utxo

// slab cuts small slices off larger ones, so that a thousand small slices cost a few
// allocations. The first allocation has the size that is asked for, so that a single slice
// wastes nothing.
type slab[T any] struct {
	rest []T
	next int // size of the next allocation
}

// expect says that n more are about to be cut.
func (s *slab[T]) expect(n int) { s.next = min(n-len(s.rest), maxSlab) }

const maxSlab = 64

// cut returns a zeroed slice of n that cannot grow in place.
func (s *slab[T]) cut(n int) []T {
	if n > len(s.rest) {
		s.rest = make([]T, max(n, s.next))
		s.next = min(2*len(s.rest), maxSlab)
	}
	head := s.rest[:n:n]
	s.rest = s.rest[n:]
	return head
}

func (s *slab[T]) new() *T { return &s.cut(1)[0] }
