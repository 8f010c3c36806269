-- What is asked for many deliveries at once, and how far it has come. `request` is JSON; `identity` is equal for equal
-- requests, of which one at a time is unfinished; `position` is where the next step goes on. created_by: an API key,
-- which may be gone. Numbers that stand for names:
--   status   0 running   1 paused   2 done   3 cancelled   4 failed        (unfinished: status <= 1)
-- Each step writes its row: on the coordinator alone, where the database is distributed.
CREATE TABLE operations (
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

CREATE INDEX operations_by_environment ON operations (environment, id);
CREATE UNIQUE INDEX operations_unfinished ON operations (environment, identity) WHERE finished_at IS NULL;
CREATE INDEX operations_finished ON operations (finished_at) WHERE finished_at IS NOT NULL;
