// Connections to PostgreSQL, in pools of their own for each kind of work, so that lists never keep an accept waiting.
// Every connection pipelines: statements are sent without waiting for the answers to those before them.
import { Socket } from 'node:net';
import { Pool } from 'pg';
import type { PoolClient, PoolConfig } from 'pg';
import type { DatabaseAddress } from './database-address.ts';
import { rowTypes } from './values.ts';

export type ConnectionOptions = DatabaseAddress & {
  /** Set on every connection: `SET name = value`. */
  settings: readonly string[];
  onError: (error: Error) => void;
};

/** Waiting for a connection of the pool, and making one. Then the database counts as away. */
const CONNECT_TIMEOUT_MS = 2_000;
/** No statement of ours should take a tenth of it. */
export const STATEMENT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 4_000;
/** Ends the transaction of a program that has vanished without its connection noticing: others may wait for it. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
/** A server that no longer answers at all, though the connection stands. */
const ANSWER_TIMEOUT_MS = 12_000;
const KEEP_ALIVE_DELAY_MS = 10_000;

export function openPool({ settings, onError, ...address }: ConnectionOptions, max: number): Pool {
  const config = { ...connectionConfig(address), max, idleTimeoutMillis: 0, allowExitOnIdle: false };
  const pool: Pool = new Pool({ ...config, stream: () => createSocket(() => pool.ending) });
  // An idle connection that breaks is dropped by the pool; the next one who asks gets a new one.
  pool.on('error', onError);
  pool.on('connect', (client) => {
    // For the moment between the pool's own listener and withConnection's: a server that ends a connection right after
    // it was made must not end the process. Whoever uses it then finds out.
    client.on('error', () => {});
    // Pipelined before whatever the connection was made for.
    for (const setting of settings) client.query(`SET ${setting}`).catch(onError);
  });
  return pool;
}

/** One that was forgotten on the way never hears that its goodbye has arrived: that must not keep the process. */
function createSocket(isEnding: () => boolean): Socket {
  const socket = new Socket();
  socket.once('finish', () => {
    if (isEnding()) socket.unref();
  });
  return socket;
}

export function connectionConfig({ url, ...tls }: DatabaseAddress): PoolConfig {
  return {
    connectionString: url,
    ...tls,
    fallback_application_name: 'postrider',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    pipeline: true,
    types: rowTypes,
  };
}

/** A connection of the pool for `work` alone. One that broke does not go back. */
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
  } finally {
    client.off('error', discard);
    client.release(broken);
  }
}
