-- What nodes tell the streams that are open on other nodes, for a minute: nothing that a crash of the database may not
-- take along, so nothing of it is logged, copied or backed up. Written and read on the coordinator only.
CREATE UNLOGGED TABLE stream_batches (
  environment integer NOT NULL,
  node        uuid NOT NULL,
  number      bigint NOT NULL,
  published_at bigint NOT NULL,
  lost        integer,
  messages    text NOT NULL,
  PRIMARY KEY (environment, node, number)
);

-- Compressing half a megabyte takes longer than writing it where nothing is logged.
ALTER TABLE stream_batches ALTER COLUMN messages SET STORAGE EXTERNAL;

CREATE INDEX stream_batches_by_time ON stream_batches (environment, published_at);
