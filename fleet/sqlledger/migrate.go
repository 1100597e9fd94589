package sqlledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

// The migrations, in order of name. One that was released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the file to the schema of this version. Two processes that
// open a new file at once wait for one another.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of what was not committed
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(files) {
		return fmt.Errorf("its schema is version %d, and this program knows up to %d: use a newer program", version, len(files))
	}
	for _, name := range files[version:] {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if version < len(files) {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(files))); err != nil {
			return err
		}
	}
	return tx.Commit()
}
