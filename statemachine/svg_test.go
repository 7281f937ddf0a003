package statemachine_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
)

var update = flag.Bool("update", false, "write the golden files")

func TestSVGDrawsTheWholeTable(t *testing.T) {
	for name, picture := range map[string]string{
		"parcel.svg":        Parcels.SVG(nil),
		"parcel-counts.svg": Parcels.SVG(map[status]int64{Waiting: 12, Delivered: 0}),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(picture), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != picture {
			t.Errorf("%s is not what the table says (%v): look at the picture, then run go test -update; got\n%s", path, err, picture)
		}
		texts, arrows := read(t, picture)
		for _, s := range Parcels.States() {
			if texts[s.String()] != 1 {
				t.Errorf("%s: state %s is drawn %d times", name, s, texts[s.String()])
			}
		}
		for _, e := range Parcels.Edges() {
			label := e.Trigger.String()
			if e.From == e.To {
				label = "↻ " + label
			}
			if texts[label] == 0 {
				t.Errorf("%s: step %s is missing", name, label)
			}
		}
		if arrows != 5 { // six steps, one of them onto its own state
			t.Errorf("%s: %d arrows", name, arrows)
		}
		if counted := strings.Contains(name, "counts"); counted != (texts["12"] == 1) || counted != (texts["0"] == 1) {
			t.Errorf("%s: counts %v", name, texts)
		}
	}
}

// read parses a picture: its texts, and its number of arrows.
func read(t *testing.T, picture string) (texts map[string]int, arrows int) {
	t.Helper()
	texts = map[string]int{}
	in, d := "", xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF):
			return texts, arrows
		case err != nil:
			t.Fatalf("%v in\n%s", err, picture)
		}
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local
			for _, a := range token.Attr {
				if a.Name.Local == "marker-end" {
					arrows++
				}
			}
		case xml.CharData:
			if in == "text" {
				texts[string(token)]++
			}
		case xml.EndElement:
			in = ""
		}
	}
}

func TestSVGEscapesTexts(t *testing.T) {
	m := statemachine.Must(`a "lamp" & <more>`, []statemachine.Edge[lamp, lamp]{
		{From: 0, Trigger: 1, To: 1},
		{From: 1, Trigger: 2, To: 2, Extension: "x < y\n&\t\"z\""},
	})
	picture := m.SVG(nil)
	if texts, _ := read(t, picture); texts[`a "lamp" & <more>`] != 1 {
		t.Errorf("%v", texts)
	}
	if !strings.Contains(picture, "<title>x &lt; y &amp; &#34;z&#34;</title>") {
		t.Errorf("the reason is not in\n%s", picture)
	}
}
