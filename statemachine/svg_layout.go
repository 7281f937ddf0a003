package statemachine

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Sizes of a drawing, in pixels.
const (
	margin     = 16
	titleSpace = 40
	lineHeight = 15
	charWidth  = 7.3 // of a monospaced font of 12 pixels, rounded up
	boxPad     = 6
	headGap    = 5
	slotGap    = 12 // between two slots of a column
	portGap    = 9  // between two arrows at a box
)

const loopMark = "\u21bb " // before a step of a state onto itself

// layout places boxes and labels in columns. States are in even columns and labels in odd ones,
// and an arrow has a place of its own in each column that it crosses. So nothing can overlap, and
// arrows cross each other only between two columns (Sugiyama, Tagawa and Toda 1981).
type layout struct {
	slots         []*slot
	arrows        []*arrow
	columns       [][]*slot
	width, height int
}

type kind uint8

const (
	state kind = iota + 1
	dot
	label
	bend
)

type line struct{ text, reason string }

// slot is a place in a column.
type slot struct {
	kind   kind
	text   []line
	head   int // lines of a state above the steps onto itself
	double bool

	layer       int
	x, y        int // left edge, middle
	w, h        int
	column      int // width of the column
	left, right []*slot
}

// line is the height at which an arrow passes: under the text of a label.
func (s *slot) line() int { return s.y + s.under() }

func (s *slot) under() int {
	if s.kind == label {
		return s.h/2 - 1
	}
	return 0
}

func (s *slot) border() int {
	if s.double {
		return 3
	}
	return 0
}

type arrow struct {
	from, to *slot
	label    []line
	dashed   bool

	reversed   bool    // to is left of from
	through    []*slot // from left to right
	start, end int     // heights at the first and the last slot
}

func (l *layout) add(s *slot) *slot {
	l.slots = append(l.slots, s)
	return s
}

func (l *layout) run() {
	l.layer()
	l.route()
	for _, s := range l.slots {
		s.size()
		for len(l.columns) <= s.layer {
			l.columns = append(l.columns, nil)
		}
		l.columns[s.layer] = append(l.columns[s.layer], s)
	}
	l.order()
	l.place()
	l.ports()
}

// layer reverses the arrows that close a cycle, and puts each state to the right of all states
// that lead to it.
func (l *layout) layer() {
	onPath, done := map[*slot]bool{}, map[*slot]bool{}
	var order []*slot // reverse topological
	var visit func(*slot)
	visit = func(s *slot) {
		onPath[s] = true
		for _, a := range l.arrows {
			if a.from != s {
				continue
			}
			if onPath[a.to] {
				a.reversed = true
			} else if !done[a.to] {
				visit(a.to)
			}
		}
		onPath[s], done[s] = false, true
		order = append(order, s)
	}
	visit(l.slots[0]) // every state can be reached from creation
	for _, s := range slices.Backward(order) {
		for _, a := range l.arrows {
			if from, to := a.ends(); from == s {
				to.layer = max(to.layer, s.layer+2)
			}
		}
	}
}

// ends returns the left and the right box.
func (a *arrow) ends() (left, right *slot) {
	if a.reversed {
		return a.to, a.from
	}
	return a.from, a.to
}

// route gives each arrow its label, in the column beside its source, and a bend
// in each other column that it crosses.
func (l *layout) route() {
	for _, a := range l.arrows {
		left, right := a.ends()
		at := left.layer + 1
		if a.reversed {
			at = right.layer - 1
		}
		a.through = []*slot{left}
		for layer := left.layer + 1; layer < right.layer; layer++ {
			s := &slot{kind: bend, layer: layer}
			if layer == at {
				s.kind, s.text = label, a.label
			}
			a.through = append(a.through, l.add(s))
		}
		a.through = append(a.through, right)
		for i, s := range a.through[1:] {
			s.left = append(s.left, a.through[i])
			a.through[i].right = append(a.through[i].right, s)
		}
	}
}

func (s *slot) size() {
	longest := 0
	for i, t := range s.text {
		n := utf8.RuneCountInString(t.text)
		if s.kind == state && i >= s.head {
			n += utf8.RuneCountInString(loopMark)
		}
		longest = max(longest, n)
	}
	switch s.kind {
	case state:
		s.w = int(float64(longest)*charWidth) + 2*boxPad + 8
		s.h = len(s.text)*lineHeight + 2*boxPad
		if s.head < len(s.text) {
			s.h += headGap
		}
		s.h = max(s.h, (max(len(s.left), len(s.right))+1)*portGap)
	case label:
		s.w = int(float64(longest)*charWidth) + 2*boxPad
		s.h = len(s.text)*lineHeight + 4
	}
}

// order sorts the columns so that few arrows cross: each slot moves to the average position of
// its neighbours, in passes from left to right and back.
func (l *layout) order() {
	best, fewest := l.clone(), l.crossings()
	for sweep := range 24 {
		for i := range l.columns {
			at, side := i, func(s *slot) []*slot { return s.left }
			if sweep%2 == 1 {
				at, side = len(l.columns)-1-i, func(s *slot) []*slot { return s.right }
			}
			rank := map[*slot]float64{}
			for i, s := range l.columns[at] {
				rank[s] = float64(i)
				if next := side(s); len(next) > 0 {
					sum := 0
					for _, n := range next {
						sum += slices.Index(l.columns[n.layer], n)
					}
					rank[s] = float64(sum) / float64(len(next))
				}
			}
			slices.SortStableFunc(l.columns[at], func(a, b *slot) int { return cmp.Compare(rank[a], rank[b]) })
		}
		if n := l.crossings(); n < fewest {
			best, fewest = l.clone(), n
		}
	}
	l.columns = best
}

func (l *layout) clone() [][]*slot {
	columns := make([][]*slot, len(l.columns))
	for i, c := range l.columns {
		columns[i] = slices.Clone(c)
	}
	return columns
}

func (l *layout) crossings() (n int) {
	for _, column := range l.columns {
		var ends []int // of the segments to the right, from above
		for _, s := range column {
			var mine []int
			for _, r := range s.right {
				mine = append(mine, slices.Index(l.columns[r.layer], r))
			}
			slices.Sort(mine)
			for _, to := range mine {
				for _, other := range ends {
					if other > to {
						n++
					}
				}
			}
			ends = append(ends, mine...)
		}
	}
	return n
}

// place gives each slot its coordinates.
func (l *layout) place() {
	x := margin
	for i, column := range l.columns {
		width, segments := 0, 0
		for _, s := range column {
			width, segments = max(width, s.w+2*s.border()), segments+len(s.right)
		}
		for _, s := range column {
			s.x, s.column = x, width
			if s.kind == state || s.kind == dot {
				s.x += (width - s.w) / 2
			}
		}
		x += width
		if i+1 < len(l.columns) {
			x += min(24+5*segments, 70)
		}
	}
	l.width = x + margin
	for _, column := range l.columns {
		stack(column, nil)
	}
	for sweep := range 40 {
		for i := range l.columns {
			at, both := i, sweep >= 30
			if sweep%2 == 1 {
				at = len(l.columns) - 1 - i
			}
			stack(l.columns[at], func(s *slot) []*slot {
				switch {
				case both:
					return slices.Concat(s.left, s.right)
				case sweep%2 == 1:
					return s.right
				}
				return s.left
			})
		}
	}
	top, bottom := 0, 0
	for i, s := range l.slots {
		if i == 0 || s.y-s.h/2 < top {
			top = s.y - s.h/2
		}
		if i == 0 || s.y+s.h/2 > bottom {
			bottom = s.y + s.h/2
		}
	}
	for _, s := range l.slots {
		s.y += titleSpace + 8 - top
	}
	l.height = titleSpace + bottom - top + 2*margin + 20
}

// stack moves the slots of a column as near as possible to their neighbours (by least squares)
// without changing their order and without overlap. It is isotonic regression, which pools slots
// that would overlap (Ayer et al. 1955).
func stack(column []*slot, next func(*slot) []*slot) {
	type pool struct {
		sum, weight float64
		slots       int
	}
	var pools []pool
	offsets := make([]float64, len(column))
	for i, s := range column {
		if i > 0 {
			offsets[i] = offsets[i-1] + float64(column[i-1].h+s.h)/2 + slotGap
		}
		wanted, weight := float64(s.y), 0.1
		if next != nil {
			if near := next(s); len(near) > 0 {
				wanted, weight = 0, 1
				for _, n := range near {
					wanted += float64(n.line()-s.under()) / float64(len(near))
				}
				if s.kind == bend {
					weight = 4 // long arrows are straight
				}
			}
		}
		p := pool{(wanted - offsets[i]) * weight, weight, 1}
		for len(pools) > 0 && pools[len(pools)-1].sum/pools[len(pools)-1].weight >= p.sum/p.weight {
			last := pools[len(pools)-1]
			p = pool{p.sum + last.sum, p.weight + last.weight, p.slots + last.slots}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	i := 0
	for _, p := range pools {
		for range p.slots {
			column[i].y = int(p.sum/p.weight+offsets[i]+1_000_000) - 1_000_000 // rounded down
			i++
		}
	}
}

// ports spreads the arrows of a box over its sides, in the order of the slots that they lead to
// in the next column.
func (l *layout) ports() {
	for _, s := range l.slots {
		if s.kind != state && s.kind != dot {
			continue
		}
		for _, right := range []bool{false, true} {
			var at []*arrow
			for _, a := range l.arrows {
				if left, last := a.ends(); right && left == s || !right && last == s {
					at = append(at, a)
				}
			}
			beside := func(a *arrow) int {
				if right {
					return a.through[1].line()
				}
				return a.through[len(a.through)-2].line()
			}
			slices.SortStableFunc(at, func(a, b *arrow) int { return cmp.Compare(beside(a), beside(b)) })
			for i, a := range at {
				y := s.y + (2*i-len(at)+1)*portGap/2
				if s.kind == dot {
					y = s.y
				}
				if right {
					a.start = y
				} else {
					a.end = y
				}
			}
		}
	}
}
