package shapes

import "testing"

func TestPath(t *testing.T) {
	s := Parse("// a comment --x--> b\na --on--> b\nb --on--> c\nb --off--> a\na --on--> a\n")
	if len(s) != 4 || Parse(s.String()).String() != s.String() {
		t.Fatalf("%v", s)
	}
	for _, c := range []struct {
		from     string
		triggers []string
		to       string
		want     bool
	}{
		{"a", nil, "a", true}, {"a", nil, "b", false},
		{"a", []string{"on"}, "b", true}, {"a", []string{"off"}, "b", false}, {"b", []string{"on"}, "b", false},
		{"a", []string{"on", "on"}, "c", true}, {"a", []string{"on", "off", "on"}, "b", true}, {"a", []string{"on", "off"}, "c", false},
		{"x", []string{"on"}, "b", false},
	} {
		if got := s.Path(c.from, c.triggers, c.to); got != c.want {
			t.Errorf("%s by %v to %s: %v", c.from, c.triggers, c.to, got)
		}
	}
}
