-- What is asked for many deliveries at once, and how far it has come. `request` is JSON; `identity` is equal for equal
-- requests, of which one at a time is unfinished; `position` is where the next step goes on. created_by: an API key,
-- which may be gone. Numbers that stand for names:
--   status   0 running   1 paused   2 done   3 cancelled   4 failed        (unfinished: status <= 1)
CREATE TABLE operations (
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

CREATE INDEX operations_by_environment ON operations (environment, id);
CREATE UNIQUE INDEX operations_unfinished ON operations (environment, identity) WHERE finished_at IS NULL;
CREATE INDEX operations_finished ON operations (finished_at) WHERE finished_at IS NOT NULL;
