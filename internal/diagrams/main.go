// Command diagrams writes docs/machines.md, the diagrams of all tables. Run it
// at the root of the repository:
//
//	go run ./internal/diagrams          writes the page
//	go run ./internal/diagrams -check   fails if the page is not what the tables say
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

//go:generate go run . -root ../..

// machines has one line for each table, in the order of the page.
var machines = []string{
	section(utxo.TxMachine),
	section(utxo.CoinMachine),
	section(withdrawal.RequestMachine),
	section(withdrawal.JobMachine),
	section(refresh.JobMachine),
	section(refresh.WatcherMachine),
	section(refresh.WalletMachine),
}

func main() {
	root := flag.String("root", ".", "root of the repository")
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(filepath.Join(*root, "docs", "machines.md"), page(machines), *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes content to path, or says with check that the file differs.
func run(path, content string, check bool) error {
	if check {
		switch old, err := os.ReadFile(path); {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return err
		case err != nil || string(old) != content:
			return fmt.Errorf("%s is not what the tables say: run go generate ./internal/diagrams", path)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}
