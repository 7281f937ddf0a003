package statemachine_test

import (
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/settlehq/settle/statemachine"
)

// Hosts have these ids in their databases: none may ever change.
func TestIDsStay(t *testing.T) {
	seen := map[uuid.UUID]string{}
	for _, tt := range []struct{ kind, text, want string }{
		{"user", "7", "652c11f1-4ee5-525e-9fd0-f662c06cfbeb"},
		{"user", "07", "d777993e-7b8a-5885-88ad-1ef965fc688d"},
		{"asset", "7", "4d587dfe-0861-5ede-99dd-8e094aa4e209"},
		{"chain", "ethereum", "5ed7662e-add2-5820-b5ac-73a43170c60a"},
		{"chain", "Ethereum", "2d094d67-8bfe-5c8a-9626-96a5a61e6ade"},
		{"", "", "44557f60-ac47-5040-bfac-bcb6aa36ad5d"},
		{"user/1", "2", "a4b6c98c-57bc-566a-a267-37b1290d1067"}, // the kind and the text do not run into one another
		{"user", "1/2", "554ec91a-4659-56ab-883b-a6479dc15881"},
	} {
		got := statemachine.ID(tt.kind, tt.text)
		if got.String() != tt.want {
			t.Errorf("ID(%q, %q) is %v, want %v", tt.kind, tt.text, got, tt.want)
		}
		if got.Version() != 5 || got.Variant() != uuid.RFC4122 {
			t.Errorf("ID(%q, %q) is of version %v and variant %v", tt.kind, tt.text, got.Version(), got.Variant())
		}
		if was, is := seen[got]; is {
			t.Errorf("ID(%q, %q) is that of %s", tt.kind, tt.text, was)
		}
		seen[got] = tt.kind + " " + tt.text
	}
}

func TestIDsOfTwoThingsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune("1/a\x00")), 0, 4, -1)
		k1, t1, k2, t2 := part.Draw(t, "kind"), part.Draw(t, "text"), part.Draw(t, "other kind"), part.Draw(t, "other text")
		if same := k1 == k2 && t1 == t2; same != (statemachine.ID(k1, t1) == statemachine.ID(k2, t2)) {
			t.Fatalf("%q %q and %q %q", k1, t1, k2, t2)
		}
	})
}
