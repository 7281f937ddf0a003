package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What the rules of every domain use: one moment to begin at, a store that must
// answer, and a comparison that says what differs.

var (
	ctx   = context.Background()
	start = time.Date(2001, 1, 2, 3, 4, 5, 678901000, time.UTC) // so long ago that no random history comes near the store's clock

	errRollback        = errors.New("the test wants it back")
	concurrentAttempts = 8
)

// failer is what helpers need of a test, a property test included.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// noError ends a test at an error.
func noError(t failer, err error, what ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(append(what, err)...)
	}
}

// must returns what a call did, must(call())(t), or ends the test at its error.
func must[V any](v V, err error) func(failer) V {
	return func(t failer) V {
		t.Helper()
		noError(t, err)
		return v
	}
}

// errOf is the error of a call.
func errOf[V any](_ V, err error) error { return err }

func named(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

// patience is how long a store may take for one transaction.
const patience = time.Minute

const noAnswer = "the store did not answer: does a panic or an error leak its connection?"

// bounded ends a call by its context, and the test's process if that does not
// help. A context that ended with every call would free what a store leaks.
func bounded(ctx context.Context, call func(context.Context) error) error {
	limited, cancel := context.WithCancel(ctx)
	defer time.AfterFunc(patience, cancel).Stop()
	defer time.AfterFunc(2*patience, func() { panic(noAnswer) }).Stop()
	err := call(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s %w", noAnswer, err)
	}
	return err
}

// text is a value in a form that compares: decimals and times by what they say.
func text(t failer, v any) string {
	t.Helper()
	b := must(json.Marshal(v))(t)
	return string(b)
}

// plain is a value as maps, slices and texts.
func plain(t failer, v any) (p any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text(t, v)))
	d.UseNumber()
	noError(t, d.Decode(&p))
	return p
}

// same requires equal values, and prints the fields that differ. Most are equal,
// which is seen without taking them apart.
func same(t failer, rule string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) || text(t, got) == text(t, want) {
		return
	}
	if d := differences("", plain(t, got), plain(t, want)); len(d) > 0 {
		t.Fatalf("%s\n%s", rule, strings.Join(d[:min(len(d), 20)], "\n"))
	}
}

func differences(path string, got, want any) (all []string) {
	switch g := got.(type) {
	case map[string]any:
		if w, ok := want.(map[string]any); ok {
			both := maps.Clone(g)
			maps.Copy(both, w)
			for _, key := range slices.Sorted(maps.Keys(both)) {
				all = append(all, differences(strings.TrimPrefix(path+"."+key, "."), g[key], w[key])...)
			}
			return all
		}
	case []any:
		if w, ok := want.([]any); ok && len(w) == len(g) {
			for i := range g {
				all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), g[i], w[i])...)
			}
			return all
		}
	}
	g, w := short(got), short(want)
	if reflect.DeepEqual(got, want) || g == "nothing" && w == g {
		return nil
	}
	return []string{fmt.Sprintf("%s: got %s, want %s", cmp.Or(path, "it"), g, w)}
}

// short is a plain value in one line. A nil slice is as good as an empty one.
func short(v any) string {
	if all, ok := v.([]any); v == nil || v == "" || ok && len(all) == 0 {
		return "nothing"
	}
	b, _ := json.Marshal(v)
	if s := string(b); len(s) > 300 {
		return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:200], ""), len(s))
	}
	return string(b)
}
