// Command diagrams writes docs/machines.md and docs/machines/*.svg, the diagrams
// of all tables. Run it at the root of the repository:
//
//	go run ./internal/diagrams          writes them
//	go run ./internal/diagrams -check   fails if they are not what the tables say
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/statemachine/switches"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

//go:generate go run . -root ../..

// machines has one line for each table, in the order of the page.
var machines = []part{
	section(switches.Machine),
	section(utxo.TxMachine),
	section(utxo.CoinMachine),
	section(utxo.DepositMachine),
	section(withdrawal.RequestMachine),
	section(withdrawal.JobMachine),
	section(withdrawal.BatchMachine),
	section(swap.DepositMachine),
	section(swap.CreditMachine),
	section(refresh.JobMachine),
	section(refresh.WatcherMachine),
	section(refresh.WalletMachine),
	section(relaysync.Machine),
	section(dunning.TenantMachine),
	section(dunning.InvoiceMachine),
}

func main() {
	root := flag.String("root", ".", "root of the repository")
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(filepath.Join(*root, "docs"), files(machines), *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes files into a folder, or says with check that one differs. A
// picture that no table makes is one that differs, and is removed.
func run(folder string, files map[string]string, check bool) error {
	stale, err := filepath.Glob(filepath.Join(folder, "machines", "*.svg"))
	if err != nil {
		return err
	}
	stale = slices.DeleteFunc(stale, func(path string) bool { return files["machines/"+filepath.Base(path)] != "" })
	if check {
		differ := stale
		for name, content := range files {
			path := filepath.Join(folder, filepath.FromSlash(name))
			if old, err := os.ReadFile(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			} else if err != nil || string(old) != content {
				differ = append(differ, path)
			}
		}
		if len(differ) > 0 {
			slices.Sort(differ)
			return fmt.Errorf("%s: not what the tables say: run go generate ./internal/diagrams", strings.Join(differ, ", "))
		}
		return nil
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(folder, "machines"), 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
