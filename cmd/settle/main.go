// Settle is what an operator of services that embed settle has on a command line: it shows
// what waits and why, and sends events of an operator or an approver. It pays nothing, signs
// nothing, and sends nothing to a chain. docs/operations.md of the module has a page on it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Getenv("SETTLE_DB"), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// What the command exits with.
const (
	exitDone      = 0
	exitFailure   = 1 // the database does not answer, or a file cannot be read
	exitUsage     = 2
	exitNotFound  = 3
	exitRefused   = 4
	exitChanged   = 5 // since --version was seen
	exitForbidden = 6
	exitAlerts    = 7 // alerts fire, or the doctor found something
	exitUnknown   = 8 // whether it was stored is not known: say it again
)

var (
	errUsage  = errors.New("usage")
	errAlerts = errors.New("alerts fire")
)

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errAlerts):
		return exitAlerts
	case errors.Is(err, store.ErrUnknownCommit):
		return exitUnknown
	case errors.Is(err, statemachine.ErrNotFound):
		return exitNotFound
	case errors.Is(err, statemachine.ErrConflict):
		return exitChanged
	case errors.Is(err, statemachine.ErrForbidden):
		return exitForbidden
	case statemachine.CodeOf(err) != "":
		return exitRefused
	}
	return exitFailure
}

// app is one call of the command.
type app struct {
	in        io.Reader
	out, errs io.Writer
	flags
	*database // once it is open
}

type flags struct {
	url, schema, policy string
	json, reveal        bool

	actor, reason string
	version       int64
	dry, anyone   bool
}

// run is the command: its exit code.
func run(ctx context.Context, args []string, url string, in io.Reader, out, errs io.Writer) int {
	a := &app{in: in, out: plain{out}, errs: plain{errs}}
	root := &cobra.Command{Use: "settle", Short: "Look at withdrawals, swaps and the rest, and say what an operator says",
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}}
	f := root.PersistentFlags()
	f.StringVar(&a.url, "db", url, "postgres://... or the path of an SQLite file (SETTLE_DB)")
	f.StringVar(&a.schema, "schema", "", "schema of the tables, on SQLite their prefix")
	f.StringVar(&a.policy, "policy", "", "file with the host's policies as JSON, by which events are judged; else the defaults")
	f.BoolVar(&a.json, "json", false, "an object a line, errors too")
	f.BoolVar(&a.reveal, "reveal", false, "show addresses, memos and users whole, which is a line of the journal")
	a.reads(root)
	a.acts(root)
	a.restores(root)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		err = fmt.Errorf("%w: %w", errUsage, err)
	}
	if a.database != nil {
		err = errors.Join(err, a.database.close())
	}
	code := exitCode(err)
	switch {
	case err == nil || errors.Is(err, errAlerts):
	case a.json:
		_ = json.NewEncoder(errs).Encode(map[string]any{"error": err.Error(), "code": statemachine.CodeOf(err), "exit": code})
	default:
		fmt.Fprintf(plain{errs}, "settle: %v\n", err)
		if code == exitUnknown {
			fmt.Fprintln(errs, "settle: whether it was stored is not known; say it again, which changes nothing if it was")
		}
	}
	return code
}

// command adds a command that works on an open database.
func (a *app) command(to *cobra.Command, use, short string, args int, do func(context.Context, []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: func(c *cobra.Command, got []string) error {
		if err := exactly(args, got, use); err != nil {
			return err
		}
		if err := a.open(c.Context()); err != nil {
			return err
		}
		return do(c.Context(), got)
	}}
	to.AddCommand(c)
	return c
}

func exactly(args int, got []string, use string) error {
	if len(got) != args {
		return fmt.Errorf("%w: settle %s", errUsage, use)
	}
	return nil
}

// plain writes text so that what others have written, such as a memo, does nothing to a
// terminal: what is not to be seen, control characters and marks of direction among it, is U+FFFD.
type plain struct{ to io.Writer }

func (p plain) Write(text []byte) (int, error) {
	clean := bytes.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
	_, err := p.to.Write(clean)
	return len(text), err
}

// print writes a value as one line of JSON, or as its text.
func (a *app) print(value any, text string, args ...any) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(value)
	}
	_, err := fmt.Fprintf(a.out, text+"\n", args...)
	return err
}
