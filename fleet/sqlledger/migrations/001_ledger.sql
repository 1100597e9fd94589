-- Instants are nanoseconds since 1970, NULL where there is none. Money is in
-- micro-dollars.

-- The guard's own state, one JSON value.
CREATE TABLE control (
	id   INTEGER PRIMARY KEY CHECK (id = 1),
	data BLOB NOT NULL
) STRICT;

CREATE TABLE reservations (
	id       TEXT PRIMARY KEY,
	key      TEXT NOT NULL,
	offer    TEXT NOT NULL,
	state    TEXT NOT NULL,
	price    INTEGER NOT NULL,
	instance TEXT NOT NULL,
	at       INTEGER,
	changed  INTEGER,
	due      INTEGER,
	overdue  INTEGER NOT NULL,
	unasked  INTEGER NOT NULL, -- a foreign instance
	bypassed TEXT NOT NULL,    -- JSON
	episode  TEXT NOT NULL,
	-- What the guard looks for, as the reservation itself says.
	held     INTEGER NOT NULL, -- it holds a slot
	attempt  INTEGER,          -- at, where it counts toward the rate window
	deadline INTEGER           -- due, where it is still to come
) STRICT, WITHOUT ROWID;

CREATE INDEX reservations_held     ON reservations (id)       WHERE held = 1;
CREATE INDEX reservations_attempt  ON reservations (attempt)  WHERE attempt IS NOT NULL;
CREATE INDEX reservations_deadline ON reservations (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX reservations_finished ON reservations (changed)  WHERE held = 0;
CREATE INDEX reservations_key      ON reservations (key);

CREATE TABLE decisions (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	key     TEXT NOT NULL,
	at      INTEGER NOT NULL,
	code    TEXT NOT NULL,
	asked   INTEGER NOT NULL,
	granted INTEGER NOT NULL,
	said    TEXT NOT NULL, -- the decision in one sentence
	body    TEXT NOT NULL  -- JSON
) STRICT;

CREATE INDEX decisions_key ON decisions (key, seq);
CREATE INDEX decisions_at  ON decisions (at);
