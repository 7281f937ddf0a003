package statemachine

import (
	"fmt"
	"html"
	"strings"
)

// SVG draws the machine as a picture without external files. States stand in layers from the
// left; creation begins at a dot, and terminal states have a double border. The steps between two
// states are one arrow with their triggers above it; the steps of a state onto itself are listed
// in its box. Extensions are dashed and in italics, with their reason as a tooltip. counts, which
// may be nil, is written under the states that it names.
func (m *Machine[S, T]) SVG(counts map[S]int64) string {
	l := &layout{}
	boxes := make([]*slot, len(m.states)+1)
	boxes[0] = l.add(&slot{kind: dot, w: 12, h: 12})
	for i, s := range m.states {
		box := &slot{kind: state, text: []line{{text: s.String()}}, double: m.Terminal(s)}
		if n, ok := counts[s]; ok {
			box.text = append(box.text, line{text: fmt.Sprint(n)})
		}
		box.head = len(box.text)
		boxes[i+1] = l.add(box)
	}
	type pair struct {
		from, to S
		ext      bool
	}
	arrows := map[pair]*arrow{}
	for _, e := range m.edges {
		label := line{text: e.Trigger.String(), reason: oneLine(e.Extension)}
		if e.From == e.To {
			boxes[e.From].text = append(boxes[e.From].text, label)
			continue
		}
		p := pair{e.From, e.To, e.Extension != ""}
		a := arrows[p]
		if a == nil {
			a = &arrow{from: boxes[e.From], to: boxes[e.To], dashed: p.ext}
			arrows[p] = a
			l.arrows = append(l.arrows, a)
		}
		a.label = append(a.label, label)
	}
	l.run()
	return l.draw(m.name)
}

const svgStyle = `text{font:12px "DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1f2328}
.name{font-weight:bold}.ext{font-style:italic;fill:#57606a}.title{font-size:15px;font-weight:bold}
path{fill:none;stroke:#1f2328}.dashed{stroke:#57606a;stroke-dasharray:5 3}
rect{fill:#f6f8fa;stroke:#1f2328}.paper{fill:#fff;stroke:none}`

func (l *layout) draw(name string) string {
	var b strings.Builder
	dashed := false
	for _, a := range l.arrows {
		dashed = dashed || a.dashed
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %d">`+"\n<style>%[3]s</style>\n",
		l.width, l.height, svgStyle)
	b.WriteString(`<marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">` +
		`<path d="M0,0L8,4L0,8z" style="fill:#1f2328;stroke:none"/></marker>` + "\n")
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`+"\n", l.width, l.height)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="24">%s</text>`+"\n", margin, html.EscapeString(name))
	for _, a := range l.arrows {
		class := ""
		if a.dashed {
			class = ` class="dashed"`
		}
		fmt.Fprintf(&b, `<path%s d="%s" marker-end="url(#a)"/>`+"\n", class, a.path())
	}
	for _, s := range l.slots {
		s.draw(&b)
	}
	if dashed {
		fmt.Fprintf(&b, `<text class="ext" x="%d" y="%d">dashed: not in the source document</text>`+"\n", margin, l.height-10)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (s *slot) draw(b *strings.Builder) {
	left, top := s.x, s.y-s.h/2
	switch s.kind {
	case dot:
		fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="6"/>`+"\n", s.x+s.w/2, s.y)
		return
	case state:
		if s.double {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="7"/>`+"\n", left-3, top-3, s.w+6, s.h+6)
		}
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="5"/>`+"\n", left, top, s.w, s.h)
		if s.head < len(s.text) {
			y := top + boxPad + s.head*lineHeight + 2
			fmt.Fprintf(b, `<path d="M%d,%dh%d"/>`+"\n", left, y, s.w)
		}
		if top += boxPad; s.head == len(s.text) {
			top = s.y - s.head*lineHeight/2
		}
	}
	for i, t := range s.text {
		class, anchor, x, text := "", "", left+boxPad, t.text
		switch {
		case s.kind == state && i == 0:
			class = "name"
		case t.reason != "":
			class = "ext"
		}
		if s.kind == state && i < s.head {
			anchor, x = ` text-anchor="middle"`, left+s.w/2
		} else if s.kind == state {
			text = loopMark + text
			if i == s.head {
				top += headGap
			}
		}
		if class != "" {
			class = ` class="` + class + `"`
		}
		fmt.Fprintf(b, `<text%s%s x="%d" y="%d">%s`, class, anchor, x, top+i*lineHeight+11, html.EscapeString(text))
		if t.reason != "" {
			fmt.Fprintf(b, "<title>%s</title>", html.EscapeString(t.reason))
		}
		b.WriteString("</text>\n")
	}
}

// path runs through the slots of an arrow: level across each, curved between them.
func (a *arrow) path() string {
	type point struct{ x, y int }
	var points []point
	for i, s := range a.through {
		switch {
		case i == 0:
			points = append(points, point{s.x + s.w + s.border(), a.start})
		case i == len(a.through)-1:
			points = append(points, point{s.x - s.border(), a.end})
		default:
			points = append(points, point{s.x, s.line()}, point{s.x + s.column, s.line()})
		}
	}
	if a.reversed {
		for i, j := 0, len(points)-1; i < j; i, j = i+1, j-1 {
			points[i], points[j] = points[j], points[i]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "M%d,%d", points[0].x, points[0].y)
	for i := 1; i < len(points); i++ {
		p, q := points[i-1], points[i]
		if i%2 == 0 {
			fmt.Fprintf(&b, "H%d", q.x)
			continue
		}
		half := (q.x - p.x) / 2
		fmt.Fprintf(&b, "C%d,%d %d,%d %d,%d", p.x+half, p.y, q.x-half, q.y, q.x, q.y)
	}
	return b.String()
}
