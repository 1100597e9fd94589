package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // registers "sqlite3"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/internal/clock"
)

// busyTimeout is how long a transaction waits for another process's. A guard's
// own take milliseconds.
const busyTimeout = 5 * time.Second

// A Ledger is a [fleet.Ledger] in a SQLite file. It is safe for concurrent use.
// Make one with [Open], and close it when no guard uses it any more.
type Ledger struct {
	db    *sql.DB
	stmts map[string]*sql.Stmt
}

var _ fleet.Ledger = (*Ledger)(nil)

// Open opens the file at path, makes it when there is none, and brings its
// schema up to this version's. The directory must exist.
func Open(ctx context.Context, path string) (*Ledger, error) {
	l, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("sqlledger: %s: %w", path, err)
	}
	return l, nil
}

func open(ctx context.Context, path string) (*Ledger, error) {
	if path == "" || path == ":memory:" {
		return nil, errors.New("a path is needed: for a ledger in memory use fleet.NewMemory")
	}
	db, err := sql.Open("sqlite3", source(path))
	if err != nil {
		return nil, err
	}
	// Transactions run one after the other anyway. With one connection those of
	// this process wait in line and not by polling the file's lock.
	db.SetMaxOpenConns(1)
	l := &Ledger{db: db, stmts: map[string]*sql.Stmt{}}
	if err := writeAhead(ctx, db); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	for _, q := range queries {
		if l.stmts[q], err = db.PrepareContext(ctx, q); err != nil {
			return nil, errors.Join(fmt.Errorf("%w in %s", err, q), l.Close())
		}
	}
	return l, nil
}

// source is the driver's name for path. A transaction takes the write lock when
// it begins, so that two that read before they write cannot both have read the
// same.
func source(path string) string {
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
	return fmt.Sprintf("file:%s?_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=synchronous(full)",
		escaped, busyTimeout.Milliseconds())
}

// writeAhead puts the file into WAL mode, in which readers and a writer do not
// wait for one another. The mode stays with the file. SQLite answers busy at
// once, and not after the busy timeout, to two that set it on a new file.
func writeAhead(ctx context.Context, db *sql.DB) error {
	const pause = 10 * time.Millisecond
	for tries := busyTimeout / pause; ; tries-- {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = wal")
		if !errors.Is(err, sqlite3.BUSY) || tries == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-clock.Real{}.After(pause):
		}
	}
}

// Close closes the file.
func (l *Ledger) Close() error {
	var errs []error
	for _, s := range l.stmts {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, l.db.Close())...)
}

// Update calls fn in a transaction, as [fleet.Ledger] tells.
func (l *Ledger) Update(ctx context.Context, fn func(fleet.Tx) error) error {
	err := l.update(ctx, fn)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (l *Ledger) update(ctx context.Context, fn func(fleet.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of what was not committed: an error, or a panic in fn
	if err := fn(&transaction{ctx: ctx, ledger: l, tx: tx}); err != nil {
		return err
	}
	return tx.Commit()
}
