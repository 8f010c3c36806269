-- The first schema. Times are Unix milliseconds. Ids are the 16 bytes of a UUIDv7, so rows sort by creation and
-- `created_at` of an event or delivery is the time in its id. Small integers stand for names; codec.ts has them:
--   mode              0 live      1 test
--   destination       0 active    1 paused
--   delivery status   0 pending   1 retrying   2 succeeded   3 dead        (unfinished: status <= 1)

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- The counts are kept here because every change that moves them writes this row anyway.
CREATE TABLE environments (
  id                 INTEGER PRIMARY KEY,
  account_id         INTEGER NOT NULL REFERENCES accounts (id),
  mode               INTEGER NOT NULL CHECK (mode IN (0, 1)),
  config_version     INTEGER NOT NULL DEFAULT 0,
  auth_version       INTEGER NOT NULL DEFAULT 0,
  destination_count  INTEGER NOT NULL DEFAULT 0 CHECK (destination_count >= 0),
  subscription_count INTEGER NOT NULL DEFAULT 0 CHECK (subscription_count >= 0),
  UNIQUE (account_id, mode)
) STRICT;

INSERT INTO accounts (id, name) VALUES (1, 'default');
INSERT INTO environments (id, account_id, mode) VALUES (1, 1, 0), (2, 1, 1);

CREATE TABLE api_keys (
  id           BLOB PRIMARY KEY CHECK (length(id) = 16),
  environment  INTEGER NOT NULL REFERENCES environments (id),
  name         TEXT,
  scopes       TEXT NOT NULL,
  prefix       TEXT NOT NULL,
  last4        TEXT NOT NULL,
  hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

-- `key` stands for the destination in deliveries: short, and never used twice, so that a map from id to key in
-- memory cannot point at another destination. A deleted destination stays as a tombstone until nothing refers to
-- it; `is_settled` says that its unfinished deliveries have been ended in their rows too.
CREATE TABLE destinations (
  key             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  environment     INTEGER NOT NULL REFERENCES environments (id),
  version         INTEGER NOT NULL,
  url             TEXT NOT NULL,
  name            TEXT,
  status          INTEGER NOT NULL CHECK (status IN (0, 1)),
  paused_reason   INTEGER,
  retry_policy    TEXT,
  max_in_flight   INTEGER NOT NULL,
  rate_per_second REAL,
  headers         BLOB,
  metadata        TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  deleted_at      INTEGER,
  is_settled      INTEGER NOT NULL DEFAULT 0 CHECK (is_settled IN (0, 1)),
  CHECK ((status = 1) = (paused_reason IS NOT NULL)),
  CHECK (is_settled = 0 OR deleted_at IS NOT NULL)
) STRICT;

CREATE INDEX destinations_by_version ON destinations (environment, version);
CREATE INDEX destinations_by_id ON destinations (environment, id) WHERE deleted_at IS NULL;
CREATE INDEX destinations_by_status ON destinations (environment, status, id) WHERE deleted_at IS NULL;
CREATE INDEX destinations_deleted ON destinations (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX destinations_unsettled ON destinations (environment) WHERE deleted_at IS NOT NULL AND is_settled = 0;

CREATE TABLE signing_keys (
  destination INTEGER NOT NULL REFERENCES destinations (key),
  id          BLOB NOT NULL CHECK (length(id) = 16),
  secret      BLOB NOT NULL,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER,
  PRIMARY KEY (destination, id)
) STRICT, WITHOUT ROWID;

-- A row exists while there is trouble to remember.
CREATE TABLE destination_health (
  destination   INTEGER PRIMARY KEY REFERENCES destinations (key),
  failing_since INTEGER,
  failure_count INTEGER NOT NULL,
  held_until    INTEGER
) STRICT;

CREATE TABLE subscriptions (
  id          BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
  environment INTEGER NOT NULL REFERENCES environments (id),
  destination INTEGER NOT NULL REFERENCES destinations (key),
  version     INTEGER NOT NULL,
  event_type  TEXT NOT NULL,
  filter      TEXT,
  identity    BLOB NOT NULL,
  created_at  INTEGER NOT NULL,
  deleted_at  INTEGER
) STRICT;

CREATE INDEX subscriptions_by_version ON subscriptions (environment, version);
CREATE INDEX subscriptions_by_id ON subscriptions (environment, id) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_by_destination ON subscriptions (destination, id);
CREATE UNIQUE INDEX subscriptions_by_identity ON subscriptions (destination, identity) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_deleted ON subscriptions (deleted_at) WHERE deleted_at IS NOT NULL;

-- Keys are random and there are many, so the index that finds them is as narrow as can be: a hash. The rows stand in
-- the order of their expiry. One may outlive its event, where retention is shorter than the idempotency window.
CREATE TABLE idempotency (
  key_hash    INTEGER NOT NULL,
  environment INTEGER NOT NULL,
  key         TEXT NOT NULL,
  event_id    BLOB NOT NULL,
  fingerprint BLOB NOT NULL,
  expires_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX idempotency_by_hash ON idempotency (key_hash);

CREATE TABLE events (
  environment     INTEGER NOT NULL,
  id              BLOB NOT NULL CHECK (length(id) = 16),
  type            TEXT NOT NULL,
  idempotency_key TEXT,
  occurred_at     INTEGER NOT NULL,
  PRIMARY KEY (environment, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX events_by_type ON events (environment, type, id);

-- A rowid table: bodies are long. Oldest first is the queue of what to erase.
CREATE TABLE event_bodies (
  event_id    BLOB PRIMARY KEY NOT NULL,
  environment INTEGER NOT NULL,
  body        BLOB NOT NULL
) STRICT;

-- due_at = 0 is a forced attempt: it sorts first. Until its result comes, scheduled_at keeps when the schedule would
-- have gone on (null: it was over), fallback_status what the delivery was, and dead_reason and completed_at stay.
-- response_codes: two bytes each, big-endian, oldest first, the last 50; 0 where no response came.
CREATE TABLE deliveries (
  id                BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
  environment       INTEGER NOT NULL,
  event_id          BLOB NOT NULL,
  destination       INTEGER NOT NULL,
  subscription_id   BLOB NOT NULL,
  origin            INTEGER NOT NULL CHECK (origin IN (0, 1)),
  status            INTEGER NOT NULL CHECK (status BETWEEN 0 AND 3),
  dead_reason       INTEGER,
  rev               INTEGER NOT NULL DEFAULT 0,
  due_at            INTEGER,
  scheduled_at      INTEGER,
  fallback_status   INTEGER,
  schedule_position INTEGER NOT NULL DEFAULT 0,
  attempt_count     INTEGER NOT NULL DEFAULT 0,
  response_codes    BLOB NOT NULL DEFAULT x'',
  updated_at        INTEGER NOT NULL,
  completed_at      INTEGER,
  CHECK ((status <= 1) = (due_at IS NOT NULL)),
  CHECK ((due_at IS 0) = (fallback_status IS NOT NULL)),
  CHECK (scheduled_at IS NULL OR due_at IS 0),
  CHECK (due_at IS NOT 0 OR status = 1),
  CHECK ((status >= 2) = (completed_at IS NOT NULL) OR due_at IS 0),
  CHECK ((status = 3) = (dead_reason IS NOT NULL) OR due_at IS 0)
) STRICT, WITHOUT ROWID;

-- Every attempt updates its delivery, so these are few. The primary key is the last column of each.
CREATE INDEX deliveries_by_due ON deliveries (destination, due_at) WHERE status <= 1;
CREATE INDEX deliveries_by_environment ON deliveries (status, environment);
CREATE INDEX deliveries_by_destination ON deliveries (status, destination);
CREATE INDEX deliveries_by_event ON deliveries (event_id);

CREATE TABLE attempts (
  delivery_id        BLOB NOT NULL,
  n                  INTEGER NOT NULL,
  trigger            INTEGER NOT NULL,
  started_at         INTEGER NOT NULL,
  duration_ms        INTEGER NOT NULL,
  outcome            INTEGER NOT NULL,
  response_code      INTEGER,
  response_headers   TEXT,
  response_body      BLOB,
  response_truncated INTEGER NOT NULL CHECK (response_truncated IN (0, 1)),
  error              TEXT,
  UNIQUE (delivery_id, n)
) STRICT;
