// The tables of the baseline. Like the service it answers for every event, delivery and attempt.

export const SCHEMA = `
  CREATE TABLE api_keys (hash bytea PRIMARY KEY);
  CREATE TABLE destinations (id uuid PRIMARY KEY, url text NOT NULL, secret text NOT NULL);
  CREATE TABLE subscriptions (
    id uuid PRIMARY KEY, destination_id uuid NOT NULL REFERENCES destinations, event_type text NOT NULL);
  CREATE INDEX ON subscriptions (event_type);
  CREATE TABLE events (
    id uuid PRIMARY KEY, type text NOT NULL, body jsonb NOT NULL, idempotency_key text UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX ON events (created_at);
  CREATE TABLE deliveries (
    id uuid PRIMARY KEY, event_id uuid NOT NULL, destination_id uuid NOT NULL, status text NOT NULL,
    attempt_count integer NOT NULL DEFAULT 0, created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX ON deliveries (event_id);
  CREATE INDEX ON deliveries (destination_id, created_at);
  CREATE INDEX deliveries_unfinished ON deliveries (id) WHERE status IN ('pending', 'retrying');
  CREATE TABLE attempts (
    delivery_id uuid NOT NULL, n integer NOT NULL, started_at timestamptz NOT NULL, duration_ms integer NOT NULL,
    outcome text NOT NULL, response_code integer, response_body text, PRIMARY KEY (delivery_id, n));
`;

/** What a case waits for: how many deliveries have not ended. */
export const COUNT_UNFINISHED = `SELECT count(*)::int4 AS n FROM deliveries WHERE status IN ('pending', 'retrying')`;
