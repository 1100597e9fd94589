package sqlledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

const (
	readControl  = `SELECT data FROM control WHERE id = 1`
	writeControl = `INSERT INTO control (id, data) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data`

	columns          = `id, key, offer, state, price, instance, at, changed, due, overdue, unasked, bypassed, episode`
	readReservation  = `SELECT ` + columns + ` FROM reservations WHERE id = ?`
	readHeld         = `SELECT ` + columns + ` FROM reservations WHERE held = 1 ORDER BY id`
	readDue          = `SELECT ` + columns + ` FROM reservations WHERE deadline <= ? ORDER BY deadline LIMIT ?`
	readAttempts     = `SELECT ` + columns + ` FROM reservations WHERE attempt > ? ORDER BY attempt, id`
	writeReservation = `INSERT OR REPLACE INTO reservations (` + columns + `, held, attempt, deadline)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	forgetReservations = `DELETE FROM reservations AS old WHERE held = 0 AND changed < ?1 AND (key = '' OR NOT EXISTS
		(SELECT 1 FROM reservations WHERE key = old.key AND (held = 1 OR changed >= ?1)))`

	writeDecision   = `INSERT INTO decisions (key, at, code, asked, granted, said, body) VALUES (?, ?, ?, ?, ?, ?, ?)`
	readDecision    = `SELECT body FROM decisions WHERE key = ? ORDER BY seq DESC LIMIT 1`
	readDecisions   = `SELECT body FROM decisions ORDER BY seq DESC LIMIT ?`
	forgetDecisions = `DELETE FROM decisions WHERE at < ?1 OR seq <= (SELECT max(seq) FROM decisions) - ?2`
)

// queries are prepared once.
var queries = []string{
	readControl, writeControl, readReservation, readHeld, readDue, readAttempts, writeReservation, forgetReservations,
	writeDecision, readDecision, readDecisions, forgetDecisions,
}

// transaction is a [fleet.Tx]. Its context is that of the Update it belongs to.
type transaction struct {
	ctx    context.Context
	ledger *Ledger
	tx     *sql.Tx
}

func (t *transaction) exec(query string, args ...any) error {
	_, err := t.tx.StmtContext(t.ctx, t.ledger.stmts[query]).ExecContext(t.ctx, args...)
	return err
}

func (t *transaction) row(query string, args ...any) *sql.Row {
	return t.tx.StmtContext(t.ctx, t.ledger.stmts[query]).QueryRowContext(t.ctx, args...)
}

func (t *transaction) rows(query string, args ...any) (*sql.Rows, error) {
	return t.tx.StmtContext(t.ctx, t.ledger.stmts[query]).QueryContext(t.ctx, args...)
}

func (t *transaction) Control() ([]byte, error) {
	var data []byte
	err := t.row(readControl).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, err
}

func (t *transaction) SetControl(data []byte) error { return t.exec(writeControl, data) }

func (t *transaction) Reservation(id fleet.ReservationID) (fleet.Reservation, bool, error) {
	r, err := scan(t.row(readReservation, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.Reservation{}, false, nil
	}
	return r, err == nil, err
}

func (t *transaction) Put(r fleet.Reservation) error {
	bypassed, err := json.Marshal(r.Bypassed)
	if err != nil {
		return err
	}
	var attempt, deadline any
	if r.Attempt() {
		attempt = r.At.UnixNano()
	}
	if r.Timed() {
		deadline = r.Due.UnixNano()
	}
	return t.exec(writeReservation, string(r.ID), r.Key, r.Offer, string(r.State), int64(r.Price), r.Instance,
		nanos(r.At), nanos(r.Changed), nanos(r.Due), r.Overdue, r.Foreign, string(bypassed), r.Episode,
		r.Holds(), attempt, deadline)
}

func (t *transaction) Held() iter.Seq2[fleet.Reservation, error] {
	return func(yield func(fleet.Reservation, error) bool) {
		rows, err := t.rows(readHeld)
		if err != nil {
			yield(fleet.Reservation{}, err)
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if r, err := scan(rows); !yield(r, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(fleet.Reservation{}, err)
		}
	}
}

func (t *transaction) Due(at time.Time, limit int) ([]fleet.Reservation, error) {
	return t.reservations(readDue, at.UnixNano(), limit)
}

func (t *transaction) Attempts(after time.Time) ([]fleet.Reservation, error) {
	return t.reservations(readAttempts, after.UnixNano())
}

func (t *transaction) reservations(query string, args ...any) ([]fleet.Reservation, error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var rs []fleet.Reservation
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, rows.Err()
}

func (t *transaction) Record(d fleet.Decision) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return t.exec(writeDecision, d.Key, d.At.UnixNano(), string(d.Code), d.Asked, d.Granted, d.String(), string(body))
}

func (t *transaction) Decision(key string) (fleet.Decision, bool, error) {
	d, err := decision(t.row(readDecision, key))
	if errors.Is(err, sql.ErrNoRows) {
		return fleet.Decision{}, false, nil
	}
	return d, err == nil, err
}

func (t *transaction) Decisions(limit int) ([]fleet.Decision, error) {
	rows, err := t.rows(readDecisions, max(0, limit)) // to SQLite a negative limit is none
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var ds []fleet.Decision
	for rows.Next() {
		d, err := decision(rows)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, rows.Err()
}

func (t *transaction) Forget(before time.Time, keep int) error {
	if err := t.exec(forgetReservations, before.UnixNano()); err != nil {
		return err
	}
	return t.exec(forgetDecisions, before.UnixNano(), keep)
}

// scanner is a *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

func scan(row scanner) (fleet.Reservation, error) {
	var r fleet.Reservation
	var at, changed, due sql.NullInt64
	var bypassed string
	err := row.Scan(&r.ID, &r.Key, &r.Offer, &r.State, &r.Price, &r.Instance, &at, &changed, &due,
		&r.Overdue, &r.Foreign, &bypassed, &r.Episode)
	if err != nil {
		return fleet.Reservation{}, err
	}
	r.At, r.Changed, r.Due = instant(at), instant(changed), instant(due)
	if err := json.Unmarshal([]byte(bypassed), &r.Bypassed); err != nil {
		return fleet.Reservation{}, fmt.Errorf("reservation %s: bypassed: %w", r.ID, err)
	}
	return r, nil
}

func decision(row scanner) (fleet.Decision, error) {
	var body string
	if err := row.Scan(&body); err != nil {
		return fleet.Decision{}, err
	}
	var d fleet.Decision
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		return fleet.Decision{}, fmt.Errorf("a recorded decision cannot be read: %w", err)
	}
	return d, nil
}

// nanos is what a column holds of t: NULL for none.
func nanos(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func instant(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64).UTC()
}
