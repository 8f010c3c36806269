-- What is counted: by the minute for 48 hours, by the hour for 90 days. Each process writes rows of its own (`writer`),
-- so that writing one again changes nothing; they are added up when they are read. Numbers that stand for names are in
-- rows/stats-rows.ts; `counts` is packed as stats/counts.ts has it. Both tables are on the coordinator alone where the
-- database is distributed: what each node writes every ten seconds are rows of what it does, not of the traffic.
CREATE TABLE stats (
  span        smallint NOT NULL CHECK (span IN (0, 1)),
  environment integer NOT NULL,
  kind        smallint NOT NULL,
  subject     bytea NOT NULL,
  at          bigint NOT NULL,
  writer      bigint NOT NULL,
  counts      bytea NOT NULL,
  PRIMARY KEY (span, environment, kind, subject, at, writer)
) WITH (fillfactor = 70);

CREATE INDEX stats_by_time ON stats (span, at);

-- What was last heard of each destination. failed_at: when its last failed attempt ended.
CREATE TABLE destination_activity (
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

CREATE INDEX destination_activity_by_time ON destination_activity (reported_at);

-- Rows are written over and over in their minute and hour.
ALTER TABLE stats SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
