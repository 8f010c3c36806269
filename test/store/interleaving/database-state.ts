// All that a database holds, at one moment, as its rows have it. One statement, so that it is one state.
import { Client } from 'pg';
import { CITUS_URL } from '../postgres/citus.ts';

export type DeliveryRow = {
  id: string;
  place: 'open' | 'done';
  event_id: string;
  destination_id: string;
  /** 0 pending, 1 retrying, 2 succeeded, 3 dead. */
  status: number;
  dead_reason: number | null;
  rev: number;
  due_at: number | null;
  scheduled_at: number | null;
  fallback_status: number | null;
  schedule_position: number;
  attempt_count: number;
  code_count: number;
  completed_at: number | null;
};

type DestinationRow = {
  id: string;
  status: number;
  paused_reason: number | null;
  url: string;
  version: number;
  deleted_at: number | null;
  has_headers: boolean;
};

export type DatabaseState = {
  deliveries: DeliveryRow[];
  /** Their numbers, in order. */
  attempts: { delivery_id: string; numbers: number[] }[];
  events: { id: string; idempotency_key: string | null }[];
  bodies: string[];
  keys: { key: string; event_id: string }[];
  destinations: DestinationRow[];
  signingKeys: { destination_id: string; id: string; expires_at: number | null }[];
  subscriptions: { id: string; destination_id: string; deleted_at: number | null }[];
  /** Destinations that have a row of health. */
  health: string[];
  barriers: { destination_id: string; version: number }[];
  environment: { config_version: number; destination_count: number; subscription_count: number };
  horizons: { bodies: number; rows: number };
  /** Those that had an owner. */
  shards: { shard: number; node: string | null; epoch: number }[];
};

type Columns = readonly string[];

/** Each column named: of a subquery over several machines `json_agg(x)` has no names left. */
const list = (name: string, columns: Columns, rows: string): string => {
  const fields = columns.map((column) => `'${column}', x.${column}`).join(', ');
  return `'${name}', (SELECT coalesce(json_agg(json_build_object(${fields})), '[]') FROM (${rows}) AS x)`;
};
const listOf = (name: string, columns: Columns, from: string): string =>
  list(name, columns, `SELECT ${columns.join(', ')} FROM ${from}`);
const ids = (name: string, rows: string): string =>
  `'${name}', (SELECT coalesce(json_agg(x.id), '[]') FROM (${rows}) AS x)`;

const SHARED = [
  ...['id', 'event_id', 'destination_id', 'status', 'dead_reason', 'rev', 'schedule_position', 'attempt_count'],
  'completed_at',
];
const OPEN = ['due_at', 'scheduled_at', 'fallback_status'];
const COUNTED = `${SHARED.join(', ')}, octet_length(response_codes) / 2 AS code_count`;

const parts = [
  list(
    'deliveries',
    [...SHARED, 'code_count', 'place', ...OPEN],
    `SELECT ${COUNTED}, 'open' AS place, ${OPEN.join(', ')} FROM open_deliveries
     UNION ALL SELECT ${COUNTED}, 'done', NULL, NULL, NULL FROM done_deliveries`,
  ),
  list(
    'attempts',
    ['delivery_id', 'numbers'],
    'SELECT delivery_id, array_agg(n ORDER BY n) AS numbers FROM attempts GROUP BY delivery_id',
  ),
  listOf('events', ['id', 'idempotency_key'], 'events'),
  ids('bodies', 'SELECT event_id AS id FROM event_bodies'),
  listOf('keys', ['key', 'event_id'], 'idempotency'),
  list(
    'destinations',
    ['id', 'status', 'paused_reason', 'url', 'version', 'deleted_at', 'has_headers'],
    `SELECT id, status, paused_reason, url, version, deleted_at, headers IS NOT NULL AS has_headers FROM destinations`,
  ),
  listOf('signingKeys', ['destination_id', 'id', 'expires_at'], 'signing_keys ORDER BY id DESC'),
  listOf('subscriptions', ['id', 'destination_id', 'deleted_at'], 'subscriptions'),
  ids('health', 'SELECT destination_id AS id FROM destination_health'),
  listOf('barriers', ['destination_id', 'version'], 'barriers'),
  `'environment', (SELECT to_json(e) FROM environments e WHERE id = 1)`,
  `'horizons', (SELECT json_object_agg(name, before) FROM horizons)`,
  listOf('shards', ['shard', 'node', 'epoch'], 'shards WHERE epoch > 0'),
];
const SELECT_ALL = { name: 'everything', text: `SELECT json_build_object(${parts.join(', ')}) AS everything` };

// On Citus who waits is a connection of the machine that has the row, and `global_pid` says on whose behalf. Whoever
// else waits in that database counts too, so such tests run one at a time there.
const [WAITING, ACTIVITY] =
  CITUS_URL === undefined ? ['*', 'pg_stat_activity'] : ['DISTINCT global_pid', 'citus_stat_activity'];

const COUNT_LOCK_WAITS = {
  name: 'lock_waits',
  text: `SELECT count(${WAITING})::int4 AS waiting FROM ${ACTIVITY}
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
};

const EMPTIED = [
  'open_deliveries',
  'done_deliveries',
  'attempts',
  'events',
  'event_bodies',
  'idempotency',
  'destinations',
  'signing_keys',
  'subscriptions',
  'destination_health',
  'barriers',
  'nodes',
];

const RESET_COUNTS = {
  name: 'reset_counts',
  text: 'UPDATE environments SET destination_count = 0, subscription_count = 0',
};
const RESET_SHARDS = { name: 'reset_shards', text: 'UPDATE shards SET node = NULL, epoch = 0 WHERE epoch > 0' };

/** A look into a database from beside the stores that are on it. */
export class Observer {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(url: string): Promise<Observer> {
    const client = new Client({ connectionString: url, pipeline: true });
    await client.connect();
    return new Observer(client);
  }

  async readState(): Promise<DatabaseState> {
    return (await this.#client.query<{ everything: DatabaseState }>(SELECT_ALL)).rows[0]!.everything;
  }

  readonly countLockWaits = async (): Promise<number> =>
    (await this.#client.query<{ waiting: number }>(COUNT_LOCK_WAITS)).rows[0]!.waiting;

  /** Nothing but the environments is left: whoever counts in memory counts anew after this. */
  async empty(): Promise<void> {
    const deletions = EMPTIED.map((table) => ({ name: `empty_${table}`, text: `DELETE FROM ${table}` }));
    const together = ['BEGIN', ...deletions, RESET_COUNTS, RESET_SHARDS, 'COMMIT'];
    await Promise.all(together.map((query) => this.#client.query(query)));
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}
