// History as the service writes it, straight into PostgreSQL: temporary tables hold the chunk (history.ts), and a few
// INSERT … SELECT write it with many times at once.
import { Pool, type Client } from 'pg';
import { firstIdBytesAt } from '../src/model/id.ts';
import { openPartitions } from '../src/store/postgres/schema/partitions.ts';
import { makeChunk, shardOf, TIME_BYTES, timesOf, type ChunkDelivery, type Growth } from './history.ts';
import { fillDatabase } from './postgres.ts';
import { ENVIRONMENT } from './store-file.ts';
import type { Recipient } from './stories.ts';

const TIMES_PER_STATEMENT = 50;
const ROWS_PER_STATEMENT = 2_000;

const TEMPLATES = `
  CREATE TEMP TABLE chunk_events (suffix bytea, shard int2, type text);
  CREATE TEMP TABLE chunk_deliveries (
    suffix bytea, shard int2, event_suffix bytea, destination_id uuid, subscription_id uuid, status int2,
    dead_reason int2, rev int4, due_after int8, position int4, codes bytea, updated_after int8, completed_after int8);
  CREATE TEMP TABLE chunk_attempts (
    suffix bytea, shard int2, n int4, started_after int8, duration int8, outcome int2, code int2, headers text,
    body bytea, error text);`;

const COLUMNS = { chunk_events: 3, chunk_deliveries: 13, chunk_attempts: 10 };

// $1: times as the first bytes of ids have them, $2: the same in ms.
const TIMES = 'unnest($1::bytea[], $2::int8[]) AS t(prefix, at)';
const id = (suffix: string): string => `encode(t.prefix || ${suffix}, 'hex')::uuid`;
const COUNTS = 'schedule_position, attempt_count, response_codes';
const DONE = `origin, status, dead_reason, rev, ${COUNTS}, updated_at, completed_at`;
const OPEN = `origin, status, rev, due_at, schedule_position, attempt_count, response_codes, updated_at`;

const INSERTS = [
  `INSERT INTO events (shard, id, environment, type, occurred_at)
   SELECT shard, ${id('suffix')}, ${ENVIRONMENT}, type, t.at FROM ${TIMES}, chunk_events`,
  `INSERT INTO done_deliveries (shard, id, environment, event_id, destination_id, subscription_id, ${DONE})
   SELECT shard, ${id('suffix')}, ${ENVIRONMENT}, ${id('event_suffix')}, destination_id, subscription_id,
          0, status, dead_reason, rev, position, rev, codes, t.at + updated_after, t.at + completed_after
   FROM ${TIMES}, chunk_deliveries WHERE completed_after IS NOT NULL`,
  `INSERT INTO open_deliveries (shard, id, environment, event_id, destination_id, subscription_id, ${OPEN})
   SELECT shard, ${id('suffix')}, ${ENVIRONMENT}, ${id('event_suffix')}, destination_id, subscription_id,
          0, status, rev, t.at + due_after, position, rev, codes, t.at + updated_after
   FROM ${TIMES}, chunk_deliveries WHERE completed_after IS NULL`,
  `INSERT INTO attempts (shard, delivery_id, n, trigger, started_at, duration_ms, outcome, response_code,
                         response_headers, response_body, response_truncated, error)
   SELECT shard, ${id('suffix')}, n, 0, t.at + started_after, duration, outcome, code, headers, body, false, error
   FROM ${TIMES}, chunk_attempts`,
];
const INSERT_BODIES = `
  INSERT INTO event_bodies (shard, event_id, body) SELECT shard, ${id('suffix')}, $3 FROM ${TIMES}, chunk_events`;

const RECIPIENTS = `
  SELECT t.id::text AS key, min(s.id::text) AS subscription
  FROM destinations t JOIN subscriptions s ON s.destination_id = t.id
  WHERE t.environment = ${ENVIRONMENT} AND t.deleted_at IS NULL GROUP BY t.id ORDER BY t.id`;

/** Of every destination that is not deleted. `waits`: of the first ones. */
export async function growTables(
  url: string,
  { waiting, ...growth }: Omit<Growth, 'recipients'> & { waiting: readonly Recipient['waits'][] },
): Promise<void> {
  await fillDatabase(url, async (client) => {
    const recipients = (await readRecipients(client)).map((one, i) => ({ ...one, waits: waiting[i] }));
    const times = timesOf({ recipients, ...growth });
    await makePartitions(url, times);
    await fillTemplates(client, recipients);
    for (let done = 0; done < times.length; done += TIMES_PER_STATEMENT) {
      const some = times.slice(done, done + TIMES_PER_STATEMENT);
      const prefixes = some.map((time) => Buffer.from(firstIdBytesAt(time).slice(0, TIME_BYTES)));
      for (const insert of INSERTS) await client.query(insert, [prefixes, some]);
      await client.query(INSERT_BODIES, [prefixes, some, Buffer.from(growth.body)]);
    }
  });
}

async function readRecipients(client: Client): Promise<Recipient[]> {
  const { rows } = await client.query<{ key: string; subscription: string }>(RECIPIENTS);
  return rows.map(({ key, subscription }) => {
    return { key, shard: uuidBytes(key)[9]!, subscriptionId: uuidBytes(subscription) };
  });
}

function uuidBytes(text: string): Uint8Array {
  return Buffer.from(text.replaceAll('-', ''), 'hex');
}

/** The service makes those of the future only. */
async function makePartitions(url: string, times: readonly number[]): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1 });
  await (await openPartitions(pool)).ensure(times);
  await pool.end();
}

async function fillTemplates(client: Client, recipients: readonly Recipient[]): Promise<void> {
  await client.query(TEMPLATES);
  const { events, deliveries } = makeChunk(recipients);
  await insertAll(
    client,
    'chunk_events',
    events.map(({ suffix, type }) => [suffix, shardOf(suffix), type]),
  );
  await insertAll(client, 'chunk_deliveries', deliveries.map(deliveryColumns));
  await insertAll(client, 'chunk_attempts', deliveries.flatMap(attemptColumns));
  await client.query('ANALYZE chunk_events, chunk_deliveries, chunk_attempts');
}

function deliveryColumns({ suffix, eventSuffix, recipient, story }: ChunkDelivery): unknown[] {
  const { status, deadReason, attempts, dueAfter, position, codes, updatedAfter, completedAfter } = story;
  const subscription = Buffer.from(recipient.subscriptionId).toString('hex');
  return [
    ...[suffix, shardOf(suffix), eventSuffix, recipient.key, subscription],
    ...[status, deadReason, attempts.length, dueAfter, position, codes, updatedAfter, completedAfter],
  ];
}

/** Texts for people are JSON strings here. */
function attemptColumns({ suffix, story }: ChunkDelivery): unknown[][] {
  return story.attempts.map((attempt) => {
    const error = attempt.at(-1);
    return [suffix, shardOf(suffix), ...attempt.slice(0, -1), error === null ? null : JSON.stringify(error)];
  });
}

async function insertAll(client: Client, table: keyof typeof COLUMNS, rows: readonly unknown[][]): Promise<void> {
  const columns = COLUMNS[table];
  for (let done = 0; done < rows.length; done += ROWS_PER_STATEMENT) {
    const some = rows.slice(done, done + ROWS_PER_STATEMENT);
    const places = some.map((row, nth) => `(${row.map((_, i) => `$${nth * columns + i + 1}`).join()})`);
    await client.query(`INSERT INTO ${table} VALUES ${places.join()}`, some.flat().map(toParameter));
  }
}

function toParameter(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}
