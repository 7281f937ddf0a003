// Command settings writes docs/settings.md: each field of each policy and of the options of
// loops and databases, with its default and the bounds that Validate accepts, which are found
// by asking it. Run it at the root of the repository:
//
//	go run ./internal/settings          writes the page
//	go run ./internal/settings -check   fails if the page is not what the code says
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/settlehq/settle/refresh"
	"github.com/settlehq/settle/relaysync"
	"github.com/settlehq/settle/relaysync/dunning"
	"github.com/settlehq/settle/store"
	"github.com/settlehq/settle/store/follow"
	"github.com/settlehq/settle/store/reactor"
	"github.com/settlehq/settle/store/sqlstore"
	"github.com/settlehq/settle/store/worker"
	"github.com/settlehq/settle/swap"
	"github.com/settlehq/settle/utxo"
	"github.com/settlehq/settle/withdrawal"
)

//go:generate go run . -root ../..

// settings is a struct that a host fills. Where validate is nil, its fields have no bounds here.
type settings struct {
	title, dir string
	value      any // a pointer to a valid value
	validate   func() error
}

// validated are the settings of a policy, which is valid as it is given.
func validated[P interface{ Validate() error }](title, dir string, p *P) settings {
	return settings{title, dir, p, func() error { return (*p).Validate() }}
}

func all() []settings {
	swaps := swap.DefaultPolicy()
	swaps.USDCQuarantineAccount, swaps.USDDQuarantineAccount = "quarantine-usdc", "quarantine-usdd"
	swaps.OwnAccounts = []string{swaps.USDCQuarantineAccount, swaps.USDDQuarantineAccount}
	relays, withdrawals, refreshes, charges := relaysync.DefaultPolicy(), withdrawal.DefaultPolicy(),
		refresh.DefaultPolicy(), dunning.DefaultPolicy()
	relays.RelayDomain = "relays.example"
	return []settings{
		validated("withdrawal.Policy", "withdrawal", &withdrawals),
		validated("swap.Policy", "swap", &swaps),
		validated("refresh.Policy", "refresh", &refreshes),
		validated("relaysync.Policy", "relaysync", &relays),
		validated("dunning.Policy", "relaysync/dunning", &charges),
		{title: "utxo.Policy", dir: "utxo", value: new(utxo.Policy)},
		{title: "store.RunWithdrawals", dir: "store", value: new(store.RunWithdrawals)},
		{title: "worker.Options", dir: "store/worker", value: new(worker.Options[int, int])},
		{title: "reactor.Options", dir: "store/reactor", value: new(reactor.Options)},
		{title: "follow.Consumer", dir: "store/follow", value: new(follow.Consumer)},
		{title: "sqlstore.Options", dir: "store/sqlstore", value: new(sqlstore.Options)},
	}
}

const intro = `# Settings

This page is made from the code by ` + "`go generate ./internal/settings`" + `. It has each field of each policy, and of the
options of loops and databases. *From* and *to* are the least and the most that the policy's Validate accepts while the
other fields have their defaults; a bound that depends on another field moves with it. The constructor of a service
refuses anything else with an error that names the field and its value, before it does anything. A dash means: no bound,
or no default.

All processes of one database have the same policy; an alert names a process that has another.
`

func main() {
	root := flag.String("root", ".", "root of the repository")
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	text, err := page(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, "docs", "settings.md")
	if !check {
		return os.WriteFile(path, []byte(text), 0o644)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if string(old) != text {
		return fmt.Errorf("%s: not what the code says: run go generate ./internal/settings", path)
	}
	return nil
}

func page(root string) (string, error) {
	var b strings.Builder
	b.WriteString(intro)
	docs := comments{root: root}
	for _, s := range all() {
		fmt.Fprintf(&b, "\n## %s\n\n| field | default | from | to | what it does |\n|---|---|---|---|---|\n", s.title)
		if s.validate != nil {
			if err := s.validate(); err != nil {
				return "", fmt.Errorf("%s: %w", s.title, err)
			}
		}
		if err := docs.rows(&b, s, "", reflect.ValueOf(s.value).Elem()); err != nil {
			return "", fmt.Errorf("%s: %w", s.title, err)
		}
	}
	return b.String(), nil
}

// rows writes the fields of a struct, and those of the structs in it behind their name.
func (c *comments) rows(b *strings.Builder, s settings, prefix string, v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, field := prefix+f.Name, v.Field(i)
		text, err := c.of(v.Type(), f.Name)
		if err != nil {
			return err
		}
		if f.Type.Kind() == reflect.Struct && strings.HasPrefix(f.Type.PkgPath(), module) && f.Type.NumField() > 0 {
			if text != "" {
				fmt.Fprintf(b, "| %s | | | | %s |\n", name, text)
			}
			if err := c.rows(b, s, name+".", field); err != nil {
				return err
			}
			continue
		}
		if text == "" {
			return fmt.Errorf("%s has no comment", name)
		}
		from, to := bounds(field, s.validate)
		def := shown(field)
		if s.validate == nil { // the zero value is the default, and the comment says what it stands for
			def = none
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, def, from, to, text)
	}
	return nil
}

const none = "–"

// bounds finds the least and the most that validate accepts in a number. It assumes that what is
// accepted is one range, and restores the number.
func bounds(field reflect.Value, validate func() error) (from, to string) {
	if validate == nil || !field.CanInt() && !field.CanUint() || hasNames(field.Type()) {
		return none, none
	}
	old := reflect.New(field.Type()).Elem()
	old.Set(field)
	defer field.Set(old)
	accepts := func(n int64) bool {
		switch {
		case field.CanUint() && (n < 0 || field.OverflowUint(uint64(n))), field.CanInt() && field.OverflowInt(n):
			return false
		case field.CanUint():
			field.SetUint(uint64(n))
		default:
			field.SetInt(n)
		}
		return validate() == nil
	}
	def := int64(0)
	if field.CanUint() {
		def = int64(old.Uint())
	} else {
		def = old.Int()
	}
	unit := int64(1) // what the value is a multiple of
	if field.Type() == reflect.TypeFor[time.Duration]() {
		for unit = int64(time.Microsecond); unit < int64(time.Second) && !accepts(def+unit) && !accepts(def-unit); unit *= 1000 {
		}
	}
	text := func(n int64) string {
		field.Set(reflect.ValueOf(n * unit).Convert(field.Type()))
		return shown(field)
	}
	most := int64(math.MaxInt64)
	if field.CanInt() {
		most >>= 64 - field.Type().Bits()
	} else if bits := field.Type().Bits(); bits < 63 {
		most = 1<<bits - 1
	}
	from, to = none, none
	if !accepts(-unit) && !field.CanUint() || field.CanUint() {
		from = text(edge(def/unit, -1, func(n int64) bool { return accepts(n * unit) }))
	}
	if !accepts(most / unit * unit) {
		to = text(edge(def/unit, most/unit, func(n int64) bool { return accepts(n * unit) }))
	}
	return from, to
}

// edge returns the last accepted number on the way from one that is to one that is not.
func edge(yes, no int64, accepts func(int64) bool) int64 {
	for yes-no > 1 || no-yes > 1 {
		if middle := no + (yes-no)/2; accepts(middle) {
			yes = middle
		} else {
			no = middle
		}
	}
	return yes
}

func hasNames(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[fmt.Stringer]()) && t != reflect.TypeFor[time.Duration]()
}

// shown is how a value is written in the page.
func shown(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return duration(x)
	case time.Time:
		return none
	case fmt.Stringer:
		if text := x.String(); !v.IsZero() && text != "" {
			return text
		}
		return none
	}
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16,
		reflect.Uint32, reflect.Uint64:
		return fmt.Sprint(v.Interface())
	case reflect.String:
		if v.String() != "" {
			return v.String()
		}
	}
	return none
}

func duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day && d%day == 0:
		return fmt.Sprintf("%d d", d/day)
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}

const module = "github.com/settlehq/settle"

// comments reads what the source says of the fields of structs.
type comments struct {
	root  string
	known map[string]map[string]string // by package and type, the text of each field
}

func (c *comments) of(t reflect.Type, field string) (string, error) {
	name, _, _ := strings.Cut(t.Name(), "[")
	key := t.PkgPath() + "." + name
	if c.known[key] == nil {
		if c.known == nil {
			c.known = map[string]map[string]string{}
		}
		if err := c.read(filepath.Join(c.root, strings.TrimPrefix(strings.TrimPrefix(t.PkgPath(), module), "/")), t.PkgPath()); err != nil {
			return "", err
		}
		if c.known[key] == nil {
			return "", fmt.Errorf("%s is not in the source", key)
		}
	}
	return c.known[key][field], nil
}

func (c *comments) read(dir, pkg string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				if s, ok := t.Type.(*ast.StructType); ok {
					c.known[pkg+"."+t.Name.Name] = texts(s)
				}
			}
			return true
		})
	}
	return nil
}

// texts are the comments of a struct's fields, each in one line that fits into a table.
func texts(s *ast.StructType) map[string]string {
	all := map[string]string{}
	for _, f := range s.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		for _, n := range f.Names {
			all[n.Name] = strings.ReplaceAll(text, "|", `\|`)
		}
	}
	return all
}
