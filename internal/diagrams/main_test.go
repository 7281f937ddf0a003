package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

type (
	lamp      = statemachine.Enum[lampNames]
	lampEdge  = statemachine.Edge[lamp, lamp]
	lampNames struct{}
)

func (lampNames) Kind() string    { return "lamp" }
func (lampNames) Names() []string { return []string{"on", "off"} }

func TestSectionShowsTheDiagramAndTheExtensionsByReason(t *testing.T) {
	got := section(statemachine.Must("lamp", []lampEdge{
		{From: 0, Trigger: 1, To: 1, Extension: "why\n\tnot"},
		{From: 0, Trigger: 2, To: 2, Extension: "dark"},
		{From: 1, Trigger: 2, To: 2, Extension: "why not"},
		{From: 1, Trigger: 1, To: 1},
	}))
	want := `
## lamp

![lamp](machines/lamp.svg)

Extensions:

- why not
  - §on§ from §[*]§ to §on§
  - §off§ from §on§ to §off§
- dark
  - §off§ from §[*]§ to §off§
`
	if want = strings.ReplaceAll(want, "§", "`"); got.text != want || got.name != "lamp" || !strings.HasPrefix(got.picture, "<svg ") {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	plain := section(statemachine.Must("lamp", []lampEdge{{From: 0, Trigger: 1, To: 1}, {From: 1, Trigger: 2, To: 2}}))
	if !strings.HasSuffix(plain.text, ".svg)\n") {
		t.Errorf("a machine without extensions has more than its diagram:\n%s", plain.text)
	}
}

func TestEveryMachineHasOneSection(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range machines {
		if m.name == "" || seen[m.name] || !strings.HasPrefix(m.text, "\n## "+m.name+"\n") {
			t.Errorf("machine %q is empty or twice", m.name)
		}
		seen[m.name] = true
	}
	if len(machines) == 0 {
		t.Error("the page is empty")
	}
}

func TestCheckFailsUntilThePageIsWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "docs")
	made := func(page string) map[string]string {
		return map[string]string{"machines.md": page, "machines/lamp.svg": "<svg/>"}
	}
	picture := func(name, content string) func() error {
		return func() error { return os.WriteFile(filepath.Join(folder, "machines", name), []byte(content), 0o644) }
	}
	write := func(page string) func() error { return func() error { return run(folder, made(page), false) } }
	for _, c := range []struct {
		rule    string
		prepare func() error
		content string
		differs bool
	}{
		{"no page", func() error { return nil }, "a", true},
		{"the page as it was written", write("a"), "a", false},
		{"a table that changed since", func() error { return nil }, "b", true},
		{"a page that was edited", func() error { return os.WriteFile(filepath.Join(folder, "machines.md"), []byte("a "), 0o644) }, "a", true},
		{"a page that was written again", write("a"), "a", false},
		{"a picture that was edited", picture("lamp.svg", "<svg />"), "a", true},
		{"a picture that was written again", write("a"), "a", false},
		{"a picture of no table", picture("bulb.svg", "<svg/>"), "a", true},
		{"which is removed", write("a"), "a", false},
	} {
		if err := c.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := run(folder, made(c.content), true); (err != nil) != c.differs {
			t.Errorf("%s: %v", c.rule, err)
		}
	}
}
