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

` + "```mermaid" + `
stateDiagram-v2
    state "on" as s1
    state "off" as s2
    %% extension: why not
    [*] --> s1 : on (ext)
    %% extension: dark
    [*] --> s2 : off (ext)
    %% extension: why not
    s1 --> s2 : off (ext)
    s1 --> s1 : on
    s2 --> [*]
` + "```" + `

Extensions:

- why not
  - §on§ from §[*]§ to §on§
  - §off§ from §on§ to §off§
- dark
  - §off§ from §[*]§ to §off§
`
	if want = strings.ReplaceAll(want, "§", "`"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	plain := section(statemachine.Must("lamp", []lampEdge{{From: 0, Trigger: 1, To: 1}, {From: 1, Trigger: 2, To: 2}}))
	if !strings.HasSuffix(plain, "```\n") {
		t.Errorf("a machine without extensions has more than its diagram:\n%s", plain)
	}
}

func TestEveryMachineHasOneSection(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range machines {
		name, _, _ := strings.Cut(strings.TrimPrefix(s, "\n## "), "\n")
		if name == "" || seen[name] {
			t.Errorf("machine %q is empty or twice", name)
		}
		seen[name] = true
	}
	if len(machines) == 0 {
		t.Error("the page is empty")
	}
}

func TestCheckFailsUntilThePageIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docs", "machines.md")
	for _, c := range []struct {
		rule    string
		prepare func() error
		content string
		differs bool
	}{
		{"no page", func() error { return nil }, "a", true},
		{"the page as it was written", func() error { return run(path, "a", false) }, "a", false},
		{"a table that changed since", func() error { return nil }, "b", true},
		{"a page that was edited", func() error { return os.WriteFile(path, []byte("a "), 0o644) }, "a", true},
		{"a page that was written again", func() error { return run(path, "a", false) }, "a", false},
	} {
		if err := c.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := run(path, c.content, true); (err != nil) != c.differs {
			t.Errorf("%s: %v", c.rule, err)
		}
	}
}
