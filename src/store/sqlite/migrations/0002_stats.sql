-- What is counted: by the minute for 48 hours, by the hour for 90 days. Each process writes rows of its own (`writer`),
-- so that writing one again changes nothing; they are added up when they are read. Numbers that stand for names are in
-- rows/stats-rows.ts; `counts` is packed as stats/counts.ts has it.
CREATE TABLE stats (
  span        INTEGER NOT NULL CHECK (span IN (0, 1)),
  environment INTEGER NOT NULL,
  kind        INTEGER NOT NULL,
  subject     BLOB NOT NULL,
  at          INTEGER NOT NULL,
  writer      INTEGER NOT NULL,
  counts      BLOB NOT NULL,
  PRIMARY KEY (span, environment, kind, subject, at, writer)
) STRICT, WITHOUT ROWID;

CREATE INDEX stats_by_time ON stats (span, at);

-- What was last heard of each destination. failed_at: when its last failed attempt ended.
CREATE TABLE destination_activity (
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

CREATE INDEX destination_activity_by_time ON destination_activity (reported_at);
