package purity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

// written is what of a package has JSON that is promised: its events, and its records with
// what they contain. What has none is named with the reason.
type written struct {
	events  any // a slice
	records []any
	not     map[string]string // exported structs without promised JSON, and why
}

// Why the JSON of a struct is not promised.
const (
	inside   = "it goes between a rule and its caller in one process"
	settings = "it is a setting"
	numbers  = "it is a statistic, or what one is made from"
	failure  = "it is an error"
)

// not makes the reasons from lists of names.
func not(reasons ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(reasons); i += 2 {
		for name := range strings.FieldsSeq(reasons[i+1]) {
			all[name] = reasons[i]
		}
	}
	return all
}

var jsonOf = map[string]written{
	"statemachine/switches": {switches.Events(), []any{switches.Switch{}, switches.State{}}, not(inside, "Change")},
	"utxo": {utxo.Events(), []any{utxo.Wallet{}, utxo.Tx{}, utxo.Owned{}, utxo.Coin{}, utxo.Lease{}, utxo.Replacement{}, utxo.Action{},
		utxo.Deposit{}, utxo.DepositFact{}, utxo.Balance{}, utxo.Snapshot{}, utxo.Detail{}, utxo.HistoryKey{}},
		not(inside, "ChangeSet SeqChange WalletChange OwnerChange TxUpdate TxState JoinedOutput Spend LeaseChange SumChange DepositSight Ledger",
			settings, "Policy DepositPolicy Thresholds", numbers, "Stats Waiting", failure, "Refused UnsettledError")},
	"withdrawal": {slices.Concat(asAny(withdrawal.Events()), asAny(withdrawal.BatchEvents()), asAny(withdrawal.StatementEvents())),
		[]any{withdrawal.Withdrawal{}, withdrawal.Step{}, withdrawal.Payout{}, withdrawal.Incident{}, withdrawal.Acknowledgement{},
			withdrawal.Filler{}, withdrawal.OwnedNonce{}, withdrawal.UnknownOutbound{}, withdrawal.Cause{}, withdrawal.Filter{}, withdrawal.Statement{}, withdrawal.Open{}},
		not(inside, "Signed Change BatchChange Reservation Copy CopyWallet Recovery Ended", settings, "Policy Chain ApprovalPolicy ApprovalLimits Window Thresholds",
			numbers, "Stats Money Mean Counted", failure, "TakenError UnsettledError")},
	"swap": {swap.Events(), []any{swap.Deposit{}, swap.Credit{}, swap.Step{}, swap.Waterline{}, swap.Scan{}, swap.Lost{}, swap.Recovery{}},
		not(settings, "Policy Thresholds", numbers, "Stats Money Tally")},
	"refresh": {refresh.Events(), []any{refresh.Work{}, refresh.Step{}, refresh.WaitCause{}},
		not(inside, "Change Latest Tick Candidate Snapshot Slot Assignment Claim Reads", settings, "Policy Thresholds",
			numbers, "Stats WalletCount", failure, "TakenError TransferError")},
	"relaysync": {relaysync.Events(), []any{relaysync.Sync{}, relaysync.Step{}, relaysync.Activity{}, relaysync.Attempt{}, relaysync.Answer{}, relaysync.AuthEvent{}, relaysync.Cause{}},
		not(inside, "Change", settings, "Policy Thresholds", numbers, "Stats")},
	"relaysync/dunning": {dunning.Events(), []any{dunning.Account{}, dunning.Step{}, dunning.Cause{}},
		not(inside, "Change", settings, "Policy Thresholds", numbers, "Stats")},
}

func asAny[E any](events []E) (all []any) {
	for _, ev := range events {
		all = append(all, ev)
	}
	return all
}

// The JSON of events, records and steps is promised: a host keeps it in its own queues and
// logs, and another release reads it. Each type is filled in every field; what a golden file
// says of it decodes to the same value.
func TestJSONIsGolden(t *testing.T) {
	for _, dir := range withEvents(t) {
		of, ok := jsonOf[dir]
		if !ok {
			t.Errorf("%s has events and is missing in jsonOf", dir)
			continue
		}
		t.Run(dir, func(t *testing.T) { of.golden(t, dir) })
	}
}

func (w written) golden(t *testing.T, dir string) {
	roots := slices.Clone(w.records)
	for events := reflect.ValueOf(w.events); events.Len() > 0; events = events.Slice(1, events.Len()) {
		roots = append(roots, events.Index(0).Interface()) // it is a value of an interface
	}
	covered, now := map[string]bool{}, map[string]string{}
	path := filepath.Join("../..", dir, "testdata", "json.golden")
	golden, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	was := map[string]string{}
	for line := range strings.Lines(string(golden)) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		was[name] = text
	}
	for _, root := range roots {
		f := filler{of: reflect.TypeOf(root), structs: covered}
		v := reflect.New(f.of)
		f.fill(v.Elem())
		name := f.of.Name()
		text, err := json.Marshal(v.Interface())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		now[name] = string(text)
		if *update {
			was[name] = string(text)
		}
		back := reflect.New(f.of)
		decode := json.NewDecoder(strings.NewReader(was[name]))
		decode.DisallowUnknownFields()
		switch err := decode.Decode(back.Interface()); {
		case was[name] == "":
			t.Errorf("%s is new: run this test with -update", name)
		case err != nil || !reflect.DeepEqual(back.Interface(), v.Interface()):
			t.Errorf("%s: what was written is read as\n%+v, want\n%+v, %v", name, back.Elem(), v.Elem(), err)
		case was[name] != string(text):
			t.Errorf("%s is written otherwise:\n%s\nwas\n%s", name, text, was[name])
		}
		delete(was, name)
	}
	for name := range was {
		t.Errorf("%s is in the golden file, and no longer in the package", name)
	}
	if len(now) < 4 {
		t.Errorf("%d types are golden", len(now))
	}
	if *update {
		var all bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(now)) {
			fmt.Fprintf(&all, "%s %s\n", name, now[name])
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range exportedStructs(t, dir) {
		full := "github.com/settlehq/settle/" + dir + "." + name
		if _, not := w.not[name]; not == covered[full] {
			t.Errorf("%s.%s: its JSON must be golden, or it is named in jsonOf with why it has none; not both", dir, name)
		}
	}
}

// withEvents are the packages that have events.
func withEvents(t *testing.T) (dirs []string) {
	sources(t, func(dir string, file *ast.File) {
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil || f.Name.Name != "Events" {
				continue
			}
			if list, is := f.Type.Results.List[0].Type.(*ast.ArrayType); is && nameOf(list.Elt) == "Event" {
				dirs = append(dirs, dir)
			}
		}
	})
	return dirs
}

// exportedStructs are the names of the exported structs of a package, but for generic ones.
func exportedStructs(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if g, is := d.(*ast.GenDecl); is {
				for _, spec := range g.Specs {
					s, is := spec.(*ast.TypeSpec)
					if !is || !s.Name.IsExported() || s.TypeParams != nil || s.Assign.IsValid() {
						continue
					}
					if _, is := s.Type.(*ast.StructType); is {
						names = append(names, s.Name.Name)
					}
				}
			}
		}
	}
	return names
}
