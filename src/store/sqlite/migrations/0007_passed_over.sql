-- Number 5 landed before 2 and 4, so a store that had it passed them over: what they make, where it is missing. (The
-- first file had other idempotency keys on its first day; key-hash.ts makes them anew.)

CREATE TABLE IF NOT EXISTS stats (
  span        INTEGER NOT NULL CHECK (span IN (0, 1)),
  environment INTEGER NOT NULL,
  kind        INTEGER NOT NULL,
  subject     BLOB NOT NULL,
  at          INTEGER NOT NULL,
  writer      INTEGER NOT NULL,
  counts      BLOB NOT NULL,
  PRIMARY KEY (span, environment, kind, subject, at, writer)
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS stats_by_time ON stats (span, at);

CREATE TABLE IF NOT EXISTS destination_activity (
  destination_id    BLOB PRIMARY KEY CHECK (length(destination_id) = 16),
  environment       INTEGER NOT NULL,
  reported_at       INTEGER NOT NULL,
  last_attempt_at   INTEGER,
  last_success_at   INTEGER,
  failed_at         INTEGER,
  failed_outcome    INTEGER,
  failed_code       INTEGER,
  failed_error      TEXT,
  in_flight         INTEGER NOT NULL,
  in_flight_limit   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS destination_activity_by_time ON destination_activity (reported_at);

CREATE TABLE IF NOT EXISTS operations (
  id          BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
  environment INTEGER NOT NULL REFERENCES environments (id),
  request     TEXT NOT NULL,
  identity    BLOB NOT NULL,
  status      INTEGER NOT NULL CHECK (status BETWEEN 0 AND 4),
  rev         INTEGER NOT NULL,
  position    TEXT NOT NULL,
  total       INTEGER NOT NULL CHECK (total >= 0),
  done        INTEGER NOT NULL CHECK (done >= 0),
  failed      INTEGER NOT NULL CHECK (failed >= 0),
  skipped     INTEGER NOT NULL CHECK (skipped >= 0),
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  finished_at INTEGER,
  created_by  BLOB NOT NULL CHECK (length(created_by) = 16),
  CHECK ((status <= 1) = (finished_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS operations_by_environment ON operations (environment, id);
CREATE UNIQUE INDEX IF NOT EXISTS operations_unfinished ON operations (environment, identity) WHERE finished_at IS NULL;
CREATE INDEX IF NOT EXISTS operations_finished ON operations (finished_at) WHERE finished_at IS NOT NULL;
