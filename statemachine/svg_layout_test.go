package statemachine

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLayoutLeavesRoomForEverything: in a random machine no box, label or arrow overlaps another,
// everything is within the drawing, and every arrow goes from its source to its target.
func TestLayoutLeavesRoomForEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &layout{}
		boxes := []*slot{l.add(&slot{kind: dot, w: 12, h: 12})}
		word := func(name string) []line {
			var lines []line
			for range rapid.IntRange(1, 4).Draw(t, name) {
				lines = append(lines, line{text: strings.Repeat("m", rapid.IntRange(1, 20).Draw(t, "letters"))})
			}
			return lines
		}
		states := rapid.IntRange(1, 8).Draw(t, "states")
		for i := range states {
			text := word("text")
			boxes = append(boxes,
				l.add(&slot{kind: state, text: text, head: rapid.IntRange(1, len(text)).Draw(t, "head"), double: rapid.Bool().Draw(t, "double")}))
			from := boxes[rapid.IntRange(0, i).Draw(t, "reached from")]
			l.arrows = append(l.arrows, &arrow{from: from, to: boxes[i+1], label: word("label")})
		}
		for range rapid.IntRange(0, 20).Draw(t, "more arrows") {
			from, to := rapid.IntRange(0, states).Draw(t, "from"), rapid.IntRange(1, states).Draw(t, "to")
			if from != to {
				l.arrows = append(l.arrows, &arrow{from: boxes[from], to: boxes[to], label: word("label")})
			}
		}
		l.run()
		last := 0
		for i, column := range l.columns {
			right := 0
			for j, s := range column {
				switch {
				case j > 0 && s.y-s.h/2 < column[j-1].y+column[j-1].h/2+slotGap-2:
					t.Fatalf("column %d: slot %d is over slot %d", i, j, j-1)
				case s.x-s.border() < last || s.y-s.h/2-s.border() < titleSpace || s.y+s.h/2 > l.height-20:
					t.Fatalf("column %d: slot %d at %d,%d is outside, the last column ends at %d", i, j, s.x, s.y, last)
				}
				for _, text := range s.text {
					if wide := int(charWidth * float64(len(text.text))); wide > s.w {
						t.Fatalf("a text of %d in a slot of %d", wide, s.w)
					}
				}
				right = max(right, s.x+s.w+s.border())
			}
			last = max(last, right)
		}
		if last > l.width-margin+3 {
			t.Fatalf("the last column ends at %d of %d", last, l.width)
		}
		ends := map[string]bool{}
		for _, a := range l.arrows {
			left, right := a.ends()
			if a.through[0] != left || a.through[len(a.through)-1] != right || left.layer >= right.layer {
				t.Fatalf("an arrow from layer %d to layer %d", left.layer, right.layer)
			}
			named := 0
			for i, s := range a.through {
				if s.layer != left.layer+i {
					t.Fatalf("an arrow leaps from layer %d to %d", left.layer+i, s.layer)
				}
				if s.kind == label {
					named++
				}
			}
			if named != 1 {
				t.Fatalf("an arrow with %d labels", named)
			}
			for _, at := range []struct {
				box *slot
				y   int
			}{{left, a.start}, {right, a.end}} {
				if at.y < at.box.y-at.box.h/2 || at.y > at.box.y+at.box.h/2 {
					t.Fatalf("an arrow ends at %d beside a box from %d to %d", at.y, at.box.y-at.box.h/2, at.box.y+at.box.h/2)
				}
				if key := fmt.Sprint(at.box == left, at.box.x, at.y); at.box.kind == state {
					if ends[key+fmt.Sprint(at.box.y)] {
						t.Fatal("two arrows end at one point")
					}
					ends[key+fmt.Sprint(at.box.y)] = true
				}
			}
		}
	})
}
