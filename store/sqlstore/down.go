package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/store"
)

// Loss is a table that [Down] drops, and what is in it.
type Loss struct {
	Table string
	Rows  int64
}

var dropped = regexp.MustCompile(`(?m)^DROP TABLE ([^\s;]+)`)

// Losses tells what [Down] of a domain would drop, in its order, and which migration it would undo. A database without the
// domain is [ErrNoTables]. A migration that this package does not know is [ErrNewerTables].
func Losses(ctx context.Context, db *sql.DB, d Dialect, opts Options, domain store.Domain) (version int64, all []Loss, err error) {
	opts.Domains = nil
	s, err := opts.syntax(d)
	if err == nil && db == nil {
		err = errNilDB
	}
	if err != nil {
		return 0, nil, fmt.Errorf("losses: %w", err)
	}
	m, err := s.last(ctx, db, domain)
	if err != nil {
		return 0, nil, wrapped("losses", err)
	}
	for _, name := range dropped.FindAllStringSubmatch(s.migration(m.down), -1) {
		l := Loss{Table: name[1]}
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+l.Table).Scan(&l.Rows); err != nil {
			return 0, nil, wrapped("losses", err)
		}
		all = append(all, l)
	}
	return m.version, all, nil
}

// Down undoes the latest migration of a domain, with all that is in what it drops, in one transaction: see [Losses], which
// says its number. If the number of the latest one is another by now, it is [statemachine.ErrConflict]. Down is for
// development: the domain's payments are forgotten, and whoever asks for them again is paid again. The shared tables go
// last; with another domain they are [statemachine.ErrIllegal]. Processes that use the domain fail from then on.
func Down(ctx context.Context, db *sql.DB, d Dialect, opts Options, domain store.Domain, version int64) error {
	opts.Domains = nil
	return migrating(ctx, db, d, opts, "migrate down", func(s syntax, ctx context.Context, conn *sql.Conn) error {
		m, err := s.last(ctx, conn, domain)
		if err != nil {
			return err
		}
		if m.version != version {
			return fmt.Errorf("%w: the latest migration of %s is %d, and not %d", statemachine.ErrConflict, domain, m.version, version)
		}
		noted := fmt.Sprintf("DELETE FROM %s WHERE version_id = %d;\n", s.versions, m.version)
		return execAll(ctx, conn, annotations.ReplaceAllString(s.migration(m.down), "")+noted)
	})
}

// last is the latest migration of a domain that was run.
func (s syntax) last(ctx context.Context, q queryer, domain store.Domain) (last step, err error) {
	known, err := s.applied(ctx, q)
	if err != nil {
		return last, err
	}
	for version, n := range known {
		if n.domain != domain && domain == shared {
			return last, fmt.Errorf("%w: %s is there, which needs the shared tables", statemachine.ErrIllegal, n.domain)
		}
		if n.domain == domain && version > last.version {
			last.version = version
		}
	}
	if last.version == 0 {
		return last, fmt.Errorf("%w: those of %s", ErrNoTables, domain)
	}
	for _, m := range s.steps() {
		if m.version == last.version {
			return m, nil
		}
	}
	return last, fmt.Errorf("%w: this package cannot undo migration %d of %s", ErrNewerTables, last.version, domain)
}
