package statemachine_test

import (
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

func TestMermaidDrawsTheWholeTable(t *testing.T) {
	wantText(t, Parcels.Mermaid(), `
stateDiagram-v2
    state "waiting" as s1
    state "travelling" as s2
    state "delivered" as s3
    state "returned" as s4
    [*] --> s1 : accept
    s1 --> s2 : dispatch
    s2 --> s2 : scan
    s2 --> s3 : deliver
    s2 --> s4 : receiver not found
    %% extension: the sender may change their mind
    s1 --> s4 : recall (ext)
    s3 --> [*]
    s4 --> [*]
`)
}

func TestDOTDrawsTheWholeTable(t *testing.T) {
	wantText(t, Parcels.DOT(), `
digraph "parcel" {
    rankdir=LR;
    "" [shape=point];
    "waiting" [shape=box];
    "travelling" [shape=box];
    "delivered" [shape=box, peripheries=2];
    "returned" [shape=box, peripheries=2];
    "" -> "waiting" [label="accept"];
    "waiting" -> "travelling" [label="dispatch"];
    "travelling" -> "travelling" [label="scan"];
    "travelling" -> "delivered" [label="deliver"];
    "travelling" -> "returned" [label="receiver not found"];
    "waiting" -> "returned" [label="recall", style=dashed, tooltip="the sender may change their mind"];
}
`)
}

func TestDiagramKeepsAReasonOnOneLine(t *testing.T) {
	m := statemachine.Must("lamp", []statemachine.Edge[lamp, lamp]{
		{From: 0, Trigger: 1, To: 1},
		{From: 1, Trigger: 2, To: 2, Extension: "first line\n\tsecond \"line\""},
	})
	if want := "%% extension: first line second \"line\"\n"; !strings.Contains(m.Mermaid(), want) {
		t.Errorf("Mermaid lacks %q:\n%s", want, m.Mermaid())
	}
	if want := `tooltip="first line second \"line\""]`; !strings.Contains(m.DOT(), want) {
		t.Errorf("DOT lacks %q:\n%s", want, m.DOT())
	}
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want[1:] {
		t.Errorf("got:\n%s\nwant:\n%s", got, want[1:])
	}
}
