-- Number 5 landed before 2 to 4, and the tables of nodes came into 1 when it had landed already: a store that was there
-- passed them over. What they make, where it is missing.

CREATE TABLE IF NOT EXISTS nodes (
  id           uuid PRIMARY KEY,
  name         text NOT NULL,
  version      text NOT NULL,
  address      text NOT NULL,
  lease_ms     integer NOT NULL,
  started_at   bigint NOT NULL,
  heartbeat_at bigint NOT NULL,
  is_leaving   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS shards (
  shard smallint PRIMARY KEY CHECK (shard BETWEEN 0 AND 255),
  node  uuid,
  epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO shards (shard) SELECT generate_series(0, 255) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS barriers (
  shard          smallint NOT NULL,
  destination_id uuid NOT NULL,
  environment    integer NOT NULL,
  version        bigint NOT NULL,
  PRIMARY KEY (destination_id, version)
);

CREATE TABLE IF NOT EXISTS stats (
  span        smallint NOT NULL CHECK (span IN (0, 1)),
  environment integer NOT NULL,
  kind        smallint NOT NULL,
  subject     bytea NOT NULL,
  at          bigint NOT NULL,
  writer      bigint NOT NULL,
  counts      bytea NOT NULL,
  PRIMARY KEY (span, environment, kind, subject, at, writer)
) WITH (fillfactor = 70);

CREATE INDEX IF NOT EXISTS stats_by_time ON stats (span, at);

CREATE TABLE IF NOT EXISTS destination_activity (
  destination_id  uuid PRIMARY KEY,
  environment     integer NOT NULL,
  reported_at     bigint NOT NULL,
  last_attempt_at bigint,
  last_success_at bigint,
  failed_at       bigint,
  failed_outcome  smallint,
  failed_code     smallint,
  failed_error    text,
  in_flight       integer NOT NULL,
  in_flight_limit integer NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX IF NOT EXISTS destination_activity_by_time ON destination_activity (reported_at);

ALTER TABLE stats SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

CREATE UNLOGGED TABLE IF NOT EXISTS stream_batches (
  environment integer NOT NULL,
  node        uuid NOT NULL,
  number      bigint NOT NULL,
  published_at bigint NOT NULL,
  lost        integer,
  messages    text NOT NULL,
  PRIMARY KEY (environment, node, number)
);

ALTER TABLE stream_batches ALTER COLUMN messages SET STORAGE EXTERNAL;

CREATE INDEX IF NOT EXISTS stream_batches_by_time ON stream_batches (environment, published_at);

CREATE TABLE IF NOT EXISTS operations (
  id          uuid PRIMARY KEY,
  environment integer NOT NULL,
  request     text NOT NULL,
  identity    bytea NOT NULL,
  status      smallint NOT NULL CHECK (status BETWEEN 0 AND 4),
  rev         integer NOT NULL,
  position    text NOT NULL,
  total       bigint NOT NULL CHECK (total >= 0),
  done        bigint NOT NULL CHECK (done >= 0),
  failed      bigint NOT NULL CHECK (failed >= 0),
  skipped     bigint NOT NULL CHECK (skipped >= 0),
  created_at  bigint NOT NULL,
  updated_at  bigint NOT NULL,
  finished_at bigint,
  created_by  uuid NOT NULL,
  CHECK ((status <= 1) = (finished_at IS NULL))
) WITH (fillfactor = 50);

CREATE INDEX IF NOT EXISTS operations_by_environment ON operations (environment, id);
CREATE UNIQUE INDEX IF NOT EXISTS operations_unfinished ON operations (environment, identity) WHERE finished_at IS NULL;
CREATE INDEX IF NOT EXISTS operations_finished ON operations (finished_at) WHERE finished_at IS NOT NULL;
