-- The first schema. Times are Unix milliseconds, given by the program: never now() (but for nodes). Ids are UUIDv7, so
-- they sort by creation and name their time; `shard` is the byte of an id that names its place in a cluster
-- (model/id.ts): a delivery's is its destination's, an event's its own. Small integers stand for names; rows/codec.ts
-- has them:
--   mode              0 live      1 test
--   destination       0 active    1 paused
--   delivery status   0 pending   1 retrying   2 succeeded   3 dead        (unfinished: status <= 1)
-- Every unique key of a table that grows with the traffic includes shard, so that the table can be distributed by it.
-- Texts that people wrote are JSON strings, because PostgreSQL's text cannot hold U+0000.
-- PARTITION BY is left out where the database is distributed (see migrate.ts).

CREATE TABLE meta (
  name  text PRIMARY KEY,
  value bytea NOT NULL
);

-- How far retention has come: what is older is gone for every reader, whether its rows are or not.
CREATE TABLE horizons (
  name   text PRIMARY KEY,
  before bigint NOT NULL
);

INSERT INTO horizons (name, before) VALUES ('bodies', 0), ('rows', 0);

-- Who takes part. A node proves that it lives by heartbeat_at, in this database's time: the clocks of nodes may
-- differ. One that has not for lease_ms is removed by any other, and its shards are freed in the same transaction.
CREATE TABLE nodes (
  id           uuid PRIMARY KEY,
  name         text NOT NULL,
  version      text NOT NULL,
  address      text NOT NULL,
  lease_ms     integer NOT NULL,
  started_at   bigint NOT NULL,
  heartbeat_at bigint NOT NULL,
  is_leaving   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

-- Who may send to the destinations of each shard; null: nobody just now. The epoch counts its owners.
CREATE TABLE shards (
  shard smallint PRIMARY KEY CHECK (shard BETWEEN 0 AND 255),
  node  uuid,
  epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO shards (shard) SELECT generate_series(0, 255);

-- Changes of destinations that the owner of their shard has not acknowledged yet. Who made one answers after that.
CREATE TABLE barriers (
  shard          smallint NOT NULL,
  destination_id uuid NOT NULL,
  environment    integer NOT NULL,
  version        bigint NOT NULL,
  PRIMARY KEY (destination_id, version)
);

CREATE TABLE accounts (
  id   integer PRIMARY KEY,
  name text NOT NULL UNIQUE
);

-- The row of an environment is also the lock that its configuration changes take turns by.
CREATE TABLE environments (
  id                 integer PRIMARY KEY,
  account_id         integer NOT NULL,
  mode               smallint NOT NULL CHECK (mode IN (0, 1)),
  config_version     bigint NOT NULL DEFAULT 0,
  auth_version       bigint NOT NULL DEFAULT 0,
  destination_count  integer NOT NULL DEFAULT 0 CHECK (destination_count >= 0),
  subscription_count integer NOT NULL DEFAULT 0 CHECK (subscription_count >= 0),
  UNIQUE (account_id, mode)
) WITH (fillfactor = 50);

INSERT INTO accounts (id, name) VALUES (1, 'default');
INSERT INTO environments (id, account_id, mode) VALUES (1, 1, 0), (2, 1, 1);

CREATE TABLE api_keys (
  id           uuid PRIMARY KEY,
  environment  integer NOT NULL,
  name         text,
  scopes       text NOT NULL,
  prefix       text NOT NULL,
  last4        text NOT NULL,
  hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_at   bigint NOT NULL,
  expires_at   bigint,
  last_used_at bigint
);

-- A deleted destination stays as a tombstone until nothing refers to it; `is_settled` says that its unfinished
-- deliveries have been ended in their rows too.
CREATE TABLE destinations (
  id              uuid PRIMARY KEY,
  environment     integer NOT NULL,
  version         bigint NOT NULL,
  url             text NOT NULL,
  name            text,
  status          smallint NOT NULL CHECK (status IN (0, 1)),
  paused_reason   smallint,
  retry_policy    text,
  max_in_flight   integer NOT NULL,
  rate_per_second double precision,
  headers         bytea,
  metadata        text NOT NULL,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  deleted_at      bigint,
  is_settled      boolean NOT NULL DEFAULT false,
  CHECK ((status = 1) = (paused_reason IS NOT NULL)),
  CHECK (NOT is_settled OR deleted_at IS NOT NULL)
);

CREATE INDEX destinations_by_version ON destinations (environment, version);
CREATE INDEX destinations_by_id ON destinations (environment, id) WHERE deleted_at IS NULL;
CREATE INDEX destinations_by_status ON destinations (environment, status, id) WHERE deleted_at IS NULL;
CREATE INDEX destinations_deleted ON destinations (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX destinations_unsettled ON destinations (environment, id) WHERE deleted_at IS NOT NULL AND NOT is_settled;

CREATE TABLE signing_keys (
  destination_id uuid NOT NULL,
  id             uuid NOT NULL,
  secret         bytea NOT NULL,
  created_at     bigint NOT NULL,
  expires_at     bigint,
  PRIMARY KEY (destination_id, id)
);

CREATE TABLE subscriptions (
  id             uuid PRIMARY KEY,
  environment    integer NOT NULL,
  destination_id uuid NOT NULL,
  version        bigint NOT NULL,
  event_type     text NOT NULL,
  filter         text,
  identity       bytea NOT NULL,
  created_at     bigint NOT NULL,
  deleted_at     bigint
);

CREATE INDEX subscriptions_by_version ON subscriptions (environment, version);
CREATE INDEX subscriptions_by_id ON subscriptions (environment, id) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_by_destination ON subscriptions (destination_id, id);
CREATE UNIQUE INDEX subscriptions_by_identity ON subscriptions (destination_id, identity) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_deleted ON subscriptions (deleted_at) WHERE deleted_at IS NOT NULL;

-- Written with the results of attempts, hence distributed. `reported_at` keeps an older report from overwriting a
-- younger one; a row with nothing to say stays, for the same reason.
CREATE TABLE destination_health (
  shard          smallint NOT NULL,
  destination_id uuid NOT NULL,
  failing_since  bigint,
  failure_count  integer NOT NULL,
  held_until     bigint,
  reported_at    bigint NOT NULL,
  PRIMARY KEY (destination_id, shard)
) WITH (fillfactor = 70);

CREATE INDEX destination_health_in_trouble ON destination_health (destination_id)
  WHERE failing_since IS NOT NULL OR failure_count > 0 OR held_until IS NOT NULL;

-- shard: a hash of environment and key. `event_id` names the event's own. Keys are of one day and mostly insert-only,
-- so that their index stays small; the rows go in the order of expires_at.
CREATE TABLE idempotency (
  shard       smallint NOT NULL,
  environment integer NOT NULL,
  key         text COLLATE "C" NOT NULL,
  event_id    uuid NOT NULL,
  fingerprint bytea NOT NULL,
  expires_at  bigint NOT NULL,
  PRIMARY KEY (shard, environment, key)
);

CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

CREATE TABLE events (
  shard           smallint NOT NULL,
  id              uuid NOT NULL,
  environment     integer NOT NULL,
  type            text COLLATE "C" NOT NULL,
  idempotency_key text,
  occurred_at     bigint NOT NULL,
  PRIMARY KEY (id, shard)
) PARTITION BY RANGE (id);

CREATE INDEX events_by_environment ON events (environment, id);
CREATE INDEX events_by_type ON events (environment, type, id);

CREATE TABLE event_bodies (
  shard    smallint NOT NULL,
  event_id uuid NOT NULL,
  body     bytea NOT NULL,
  PRIMARY KEY (event_id, shard)
) PARTITION BY RANGE (event_id);

-- What changes: small, and never partitioned. due_at = 0 is a forced attempt: it sorts first. Until its result comes,
-- scheduled_at keeps when the schedule would have gone on (null: it was over), fallback_status what the delivery was,
-- and dead_reason and completed_at stay. response_codes: two bytes each, big-endian, oldest first, the last 50; 0
-- where no response came.
CREATE TABLE open_deliveries (
  shard             smallint NOT NULL,
  id                uuid NOT NULL,
  environment       integer NOT NULL,
  event_id          uuid NOT NULL,
  destination_id    uuid NOT NULL,
  subscription_id   uuid NOT NULL,
  origin            smallint NOT NULL CHECK (origin IN (0, 1)),
  status            smallint NOT NULL CHECK (status IN (0, 1)),
  dead_reason       smallint,
  rev               integer NOT NULL,
  due_at            bigint NOT NULL,
  scheduled_at      bigint,
  fallback_status   smallint,
  schedule_position integer NOT NULL,
  attempt_count     integer NOT NULL,
  response_codes    bytea NOT NULL,
  updated_at        bigint NOT NULL,
  completed_at      bigint,
  PRIMARY KEY (id, shard),
  CHECK ((due_at = 0) = (fallback_status IS NOT NULL)),
  CHECK (scheduled_at IS NULL OR due_at = 0),
  CHECK (due_at <> 0 OR status = 1),
  CHECK ((completed_at IS NULL AND dead_reason IS NULL) OR due_at = 0)
) WITH (fillfactor = 85);

CREATE INDEX open_deliveries_by_due ON open_deliveries (shard, destination_id, due_at, id);
CREATE INDEX open_deliveries_by_environment ON open_deliveries (environment, status, id);
CREATE INDEX open_deliveries_by_destination ON open_deliveries (destination_id, status, id);
CREATE INDEX open_deliveries_by_event ON open_deliveries (event_id, id);

-- Every delivery passes through: by the defaults (a fifth of the table dead) a backlog of millions would leave the
-- index of what is due full of entries that lead nowhere.
ALTER TABLE open_deliveries SET (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
);

CREATE TABLE done_deliveries (
  shard             smallint NOT NULL,
  id                uuid NOT NULL,
  environment       integer NOT NULL,
  event_id          uuid NOT NULL,
  destination_id    uuid NOT NULL,
  subscription_id   uuid NOT NULL,
  origin            smallint NOT NULL CHECK (origin IN (0, 1)),
  status            smallint NOT NULL CHECK (status IN (2, 3)),
  dead_reason       smallint,
  rev               integer NOT NULL,
  schedule_position integer NOT NULL,
  attempt_count     integer NOT NULL,
  response_codes    bytea NOT NULL,
  updated_at        bigint NOT NULL,
  completed_at      bigint NOT NULL,
  PRIMARY KEY (id, shard),
  CHECK ((status = 3) = (dead_reason IS NOT NULL))
) PARTITION BY RANGE (id);

CREATE INDEX done_deliveries_by_environment ON done_deliveries (environment, status, id);
CREATE INDEX done_deliveries_by_destination ON done_deliveries (destination_id, status, id);
CREATE INDEX done_deliveries_by_event ON done_deliveries (event_id, id);

CREATE TABLE attempts (
  shard              smallint NOT NULL,
  delivery_id        uuid NOT NULL,
  n                  integer NOT NULL,
  trigger            smallint NOT NULL,
  started_at         bigint NOT NULL,
  duration_ms        bigint NOT NULL,
  outcome            smallint NOT NULL,
  response_code      smallint,
  response_headers   text,
  response_body      bytea,
  response_truncated boolean NOT NULL,
  error              text,
  PRIMARY KEY (delivery_id, n, shard)
) PARTITION BY RANGE (delivery_id);
