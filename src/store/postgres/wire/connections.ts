// Connections to PostgreSQL, in pools of their own for each kind of work, so that lists never keep an accept waiting.
// Every connection pipelines: statements are sent without waiting for the answers to those before them.
import { Socket } from 'node:net';
import { Pool, type ClientBase, type PoolClient, type PoolConfig } from 'pg';
import type { DatabaseAddress } from './database-address.ts';
import { ReadOnlyServer, isReadOnly } from './errors.ts';
import { rowTypes } from './values.ts';

export type ConnectionOptions = DatabaseAddress & {
  /** Set on every connection, beside those of all: `SET name = value`. */
  settings: readonly string[];
  /** Without an answer for so long the server counts as gone. Default 12 s. */
  answerTimeoutMs?: number;
  /** Of a pool: what has to be done on each connection before it is used. */
  meet?: (client: PoolClient) => Promise<void>;
};

/** Waiting for a connection of the pool, and making one. Then the database counts as away. */
const CONNECT_TIMEOUT_MS = 2_000;
/** No statement of ours should take a tenth of it. */
const STATEMENT_TIMEOUT_MS = 10_000;
export const LOCK_TIMEOUT_MS = 4_000;
/** Ends the transaction of a program that has vanished without its connection noticing: others may wait for it. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** A server that no longer answers at all, though the connection stands. */
const ANSWER_TIMEOUT_MS = 12_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
/**
 * Whatever the role or the database has for others. By SET, for a pooler refuses what it does not know at the start of
 * a connection: PgBouncer all of these.
 */
const SETTINGS = [
  `statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
  `lock_timeout = ${LOCK_TIMEOUT_MS}`,
  `idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
  // A statement that has waited for a lock must see what the one before did under it.
  "default_transaction_isolation = 'read committed'",
  // values.ts reads bytes as hex.
  "bytea_output = 'hex'",
  // Every digit of a rate.
  'extra_float_digits = 1',
];
/** A 202 must outlive a crash of the server. A role that has `local` or `remote_apply`, say, keeps that. */
const COMMIT_DURABLY = `
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

export function openPool(options: ConnectionOptions, max: number): Pool {
  const { settings, answerTimeoutMs, meet, ...address } = options;
  const config = { ...connectionConfig(address, answerTimeoutMs), max, idleTimeoutMillis: 0, allowExitOnIdle: false };
  const verify = (client: PoolClient, done: (error?: Error) => void): void =>
    void assertWritable(client)
      .then(() => meet?.(client))
      .then(() => done(), done);
  const pool: Pool = new Pool({ ...config, verify, stream: () => createSocket(() => pool.ending) });
  // An idle connection that breaks is dropped by the pool; the next one who asks gets a new one.
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    // For the moment between the pool's own listener and withConnection's: a server that ends a connection right after
    // it was made must not end the process. Whoever uses it then finds out.
    client.on('error', () => {});
    // Pipelined before whatever the connection was made for.
    applySettings(client, settings).catch(() => {});
  });
  return pool;
}

export async function applySettings(client: ClientBase, settings: readonly string[]): Promise<void> {
  const statements = [...SETTINGS, ...settings].map((setting) => `SET ${setting}`);
  await client.query([COMMIT_DURABLY, ...statements].join('; '));
}

/** One that was forgotten on the way never hears that its goodbye has arrived: that must not keep the process. */
function createSocket(isEnding: () => boolean): Socket {
  const socket = new Socket();
  socket.once('finish', () => {
    if (isEnding()) socket.unref();
  });
  return socket;
}

export function connectionConfig(
  { url, ...tls }: DatabaseAddress,
  answerTimeoutMs: number = ANSWER_TIMEOUT_MS,
): PoolConfig {
  return {
    connectionString: url,
    ...tls,
    fallback_application_name: 'postrider',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: answerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    pipeline: true,
    types: rowTypes,
  };
}

// A name that leads to the primary may lead to a standby for a while, in a failover. Reading there would show the past,
// and the connection would stay there when the name has moved on: none is kept to a server that takes no writes.
async function assertWritable(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
  if (rows[0]!.transaction_read_only === 'on') throw new ReadOnlyServer('the server takes no writes');
}

/** A connection of the pool for `work` alone. One that broke does not go back, nor one to a read-only server. */
export async function withConnection<Result>(
  pool: Pool,
  work: (client: PoolClient, discard: (error: Error) => void) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const discard = (error: Error): void => {
    broken ??= error;
  };
  // While it is out of the pool nobody else listens, and an 'error' event without a listener ends the process.
  client.on('error', discard);
  try {
    return await work(client, discard);
  } catch (error) {
    if (isReadOnly(error)) discard(error as Error);
    throw error;
  } finally {
    client.off('error', discard);
    client.release(broken);
  }
}
