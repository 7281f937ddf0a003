package store_test

import (
	"context"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/withdrawal"
)

// What a person calls and what is no event is in the journal by itself; a call that sends
// events to the records that it finds has a line for each of them.
var namedCalls = map[string]string{
	"Swaps.AcceptGap": "call", "Swaps.Acknowledge": "call", "Swaps.Restored": "call", "Swaps.Seed": "call",
	"Swaps.MissingSaid": "call", "Swaps.BooksRead": "call",
	"Withdrawals.Acknowledge": "call", "Withdrawals.PutFiller": "call", "Withdrawals.PutHotWallet": "a line for each wallet",
	"Withdrawals.Rescue": "events", "Withdrawals.Revoke": "events", "Batches.Revoke": "events", "Refreshes.Recover": "events", "Refreshes.Reconcile": "events",
	"Refreshes.Revoke": "events", "Relays.Reconcile": "events", "Relays.Revoke": "events", "Tenants.Reconcile": "events",
	"SwapDeposits.Revoke": "events", "SwapCredits.Revoke": "events", "Swaps.Outbound": "events",
}

// A method that names who calls is in the list above, and a new one must say how its line
// comes to the journal; what the list says to be a call is made by the function call.
func TestCallsThatNameTheirActorAreKnown(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found, told := map[string]bool{}, map[string]bool{}
	named := func(f *ast.Field) bool {
		switch x := f.Type.(type) {
		case *ast.SelectorExpr:
			return slices.Contains([]string{"By", "Acknowledgement", "Filler"}, x.Sel.Name)
		case *ast.Ident:
			return x.Name == "string" && slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return n.Name == "operator" || n.Name == "actor" })
		}
		return false
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") || e.Name() == "unimplemented.go" {
			continue
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv == nil || !f.Name.IsExported() || !slices.ContainsFunc(f.Type.Params.List, named) {
				continue
			}
			receiver, is := f.Recv.List[0].Type.(*ast.StarExpr)
			if !is {
				continue
			}
			name := receiver.X.(*ast.Ident).Name + "." + f.Name.Name
			found[name] = true
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if c, is := n.(*ast.CallExpr); is {
					fn, is := c.Fun.(*ast.Ident)
					told[name] = told[name] || is && fn.Name == "call"
				}
				return true
			})
		}
	}
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(namedCalls)); !slices.Equal(got, want) {
		t.Errorf("methods that name their actor:\n%q\nknown:\n%q", got, want)
	}
	for name, how := range namedCalls {
		if (how == "call") != told[name] {
			t.Errorf("%s is no %s", name, how)
		}
	}
}

// A filler and a revocation, done or refused, are in the journal.
func TestCallsOfPeopleAreTold(t *testing.T) {
	ctx, b := context.Background(), newBank(t)
	filler := withdrawal.Filler{Wallet: hot, Chain: chain, Nonce: 7, Hash: "0xfiller", Actor: "olga", Reason: "stuck"}
	elsewhere := filler
	elsewhere.Chain = named("another chain")
	olga := withdrawal.By{Actor: "olga", Role: withdrawal.Operator}
	wallet := withdrawal.HotWallet{ID: hot, Chain: chain, Role: withdrawal.WalletRoleHot, Status: "retired"}
	refused(t, b.PutHotWallet(ctx, withdrawal.By{Actor: "olga", Role: withdrawal.WithdrawalWorker}, wallet), statemachine.ErrForbidden)
	for _, c := range []struct {
		call func() error
		want string
	}{
		{func() error { return b.PutFiller(ctx, elsewhere) }, "PutFiller invalid"},
		{func() error { return b.PutFiller(ctx, filler) }, "PutFiller done"},
		{func() error { _, err := b.Revoke(ctx, olga, statemachine.Revocation{Holder: "w"}); return err }, "Revoked invalid"},
		{func() error { return b.PutHotWallet(ctx, olga, wallet, withdrawal.HotWallet{ID: wallet.ID}) }, "PutHotWallet invalid"},
		{func() error { return b.PutHotWallet(ctx, olga, wallet) }, "PutHotWallet done"},
	} {
		err := c.call()
		lines, _, failed := store.NewJournal(b.store).Page(ctx, "", 100)
		if failed != nil || len(lines) == 0 {
			t.Fatalf("%s: %v, %v", c.want, err, failed)
		}
		last := lines[len(lines)-1]
		if got := last.Event + " " + last.Outcome; got != c.want || last.Actor != "olga" || (err == nil) != (last.Outcome == "done") {
			t.Errorf("%v: the journal has %+v, want %s", err, last, c.want)
		}
	}
	lines, _, err := store.NewJournal(b.store).Page(ctx, "", 100)
	if err != nil || len(lines) != 6 { // two of the call for two wallets
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
