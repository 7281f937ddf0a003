package sqlstore_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/settlehq/settle/internal/pgtest"
	"github.com/settlehq/settle/store/sqlstore"
)

// The set of one migration for each domain makes what the chain makes, but for the
// order of columns and the names of constraints that had none. On SQLite, which adds
// no rule to a table that is there and drops none, three things take the form that
// they have on PostgreSQL.
func TestOneSetMakesTheSameTables(t *testing.T) {
	pgtest.Beside(t)
	both(t, func(t *testing.T, d sqlstore.Dialect) {
		ctx, chain, set := context.Background(), newDatabase(t, d), newDatabase(t, d)
		chain.migrate(t)
		set.opts = sqlstore.WithMigrations(set.opts, os.DirFS("migrations/one"))
		if err := sqlstore.Migrate(ctx, set.DB, d, set.opts); err != nil {
			t.Fatal(err)
		}
		want := chain.parts(t)
		if d == sqlstore.SQLite {
			for gone, instead := range map[string]string{
				"withdrawal_txs CHECK (length(tx_hash) BETWEEN 1 AND 100)":    "swap_intents CHECK (proof IS NULL OR outcome IS NOT NULL)", // in the place of two triggers
				"withdrawal_txs UNIQUE (withdrawal_request_id, tx_hash)":      "CREATE UNIQUE INDEX withdrawal_txs_hash ON withdrawal_txs (tx_hash, withdrawal_request_id)",
				"withdrawal_payments PRIMARY KEY (chain_id, tx_form, output)": "withdrawal_payments PRIMARY KEY (tx_form, chain_id, output)",
			} {
				if !slices.Contains(want, gone) {
					t.Errorf("the chain has no %s", gone)
				}
				if !strings.Contains(gone, "CHECK") {
					want = slices.DeleteFunc(want, func(s string) bool { return s == gone })
				}
				want = append(want, instead)
			}
			want = slices.DeleteFunc(want, func(s string) bool {
				return strings.HasPrefix(s, "CREATE TRIGGER a_proof_has") || s == "CREATE INDEX withdrawal_txs_hash ON withdrawal_txs (tx_hash)" || s == "CREATE INDEX withdrawal_payments_of_hash ON withdrawal_payments (tx_form)"
			})
		}
		if len(want) < 700 {
			t.Errorf("only %d parts are compared", len(want))
		}
		sameSchema(t, "the set", set.parts(t), want)
	})
}

var (
	comment  = regexp.MustCompile(`--[^\n]*`)
	space    = regexp.MustCompile(`\s+`)
	header   = regexp.MustCompile(`^CREATE TABLE "?(\w+)"? \(`)
	name     = regexp.MustCompile(`CONSTRAINT \w+ `)
	madeName = regexp.MustCompile(`^constraint (\S+) \S+ (CHECK|UNIQUE|PRIMARY|FOREIGN)`)
)

// parts are what tables consist of.
func (d database) parts(t *testing.T) (all []string) {
	for _, line := range d.schemaOf(t) {
		if d.dialect == sqlstore.Postgres {
			all = append(all, madeName.ReplaceAllString(line, "constraint $1 $2"))
			continue
		}
		kind, text, _ := strings.Cut(line, " ")
		_, text, _ = strings.Cut(text, " ")
		if text == "" {
			continue // an index of a UNIQUE
		}
		text = strings.TrimSpace(space.ReplaceAllString(comment.ReplaceAllString(text, ""), " "))
		if kind != "table" {
			all = append(all, text)
			continue
		}
		table := header.FindStringSubmatch(text)
		if table == nil {
			t.Fatal(text)
		}
		body, end := text[len(table[0]):strings.LastIndex(text, ")")], text[strings.LastIndex(text, ")"):]
		all = append(all, table[1]+" ends with "+end)
		for _, part := range atTop(body) {
			part = strings.NewReplacer("DEFAULT FALSE", "DEFAULT 0", "DEFAULT TRUE", "DEFAULT 1").Replace(name.ReplaceAllString(part, ""))
			for {
				before, check, found := strings.Cut(part, "CHECK (")
				if !found {
					break
				}
				inner := atClose(check)
				all = append(all, table[1]+" CHECK ("+inner+")")
				part = strings.TrimSpace(before + check[len(inner)+1:])
			}
			if part != "" {
				all = append(all, table[1]+" "+space.ReplaceAllString(part, " "))
			}
		}
	}
	slices.Sort(all)
	return all
}

// atClose is what stands before the parenthesis that closes.
func atClose(text string) string {
	depth, quoted := 1, false
	for i, c := range text {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return text[:i]
			}
		}
	}
	panic(text)
}

func atTop(body string) (all []string) {
	depth, quoted, from := 0, false, 0
	for i, c := range body {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			all, from = append(all, strings.TrimSpace(body[from:i])), i+1
		}
	}
	return append(all, strings.TrimSpace(body[from:]))
}
