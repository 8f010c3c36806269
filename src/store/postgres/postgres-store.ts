// The store on PostgreSQL: opens its pools, brings the schema up, and runs the methods until it is closed.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../runtime/clock.ts';
import { LinkedMap } from '../../runtime/linked-map.ts';
import type { Random } from '../../runtime/random.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { StoreError, type Store, type ToolStore } from '../store.ts';
import { createAnnouncements } from './announcements.ts';
import { Backlog, recountBacklog } from './backlog.ts';
import { openPool, withConnection, type ConnectionOptions } from './wire/connections.ts';
import { readProgressOn, refuseUnfinished } from './copy/copy-progress.ts';
import { readDatabaseAddress } from './wire/database-address.ts';
import { toStoreError } from './wire/errors.ts';
import { createHorizons } from './horizons.ts';
import type { WriteContext } from './context.ts';
import { createClusterStore, createStore, createToolStore } from './methods.ts';
import { LockedKeys } from './queries/events/locked-keys.ts';
import { Pass } from './queries/maintenance/steps.ts';
import { followTimeline } from './schema/history.ts';
import { MIGRATION_ANSWER_TIMEOUT_MS, migrate, type Layout } from './schema/migrate.ts';
import { noPartitions, openPartitions } from './schema/partitions.ts';
import type { Pipeline } from './wire/pipeline.ts';
import { createTransactions } from './wire/transaction.ts';

export type PostgresStoreOptions = {
  url: string;
  masterKey: Uint8Array;
  clock: Clock;
  random: Random;
  /** Beyond this many unfinished deliveries of one destination, new ones are born dead. Default 10,000,000. */
  maxBacklogPerDestination?: number;
  /** How long a batch of events waits for an idempotency key that another transaction holds. Default 500 ms. */
  keyWaitMs?: number;
  /** How a transaction's statements get to the server. Default: those of a turn together. */
  createPipeline?: (client: PoolClient) => Pipeline;
};

const BACKLOG_MAX_DEFAULT = 10_000_000;

/** Two that have the same key at once: the commit of one of them, and much more than that on a busy server. */
const KEY_WAIT_MS_DEFAULT = 500;

/** Connections for each kind of work. While one accept waits for its fsync the next one's statements run. */
const CONNECTIONS = { accepting: 3, recording: 2, other: 6, upkeep: 1, cluster: 1 } as const;
const LANES = {
  accepting: { batches: CONNECTIONS.accepting, itemsMin: 100, areParallel: true },
  recording: { batches: CONNECTIONS.recording, itemsMin: 200, areParallel: true },
};

/** At the start: whoever has ten million waiting for one destination, and nothing in memory, is to start again too. */
const COUNT_TIMEOUT_MS = 5 * 60_000;

const VERSION_MIN = 15;
/**
 * Citus only. One connection to each machine for a whole transaction: one for each shard would be more than helps, all
 * of them to be prepared, and what one has read at REPEATABLE READ another would see later.
 */
const CITUS_SETTINGS = ['citus.max_adaptive_executor_pool_size = 1', "citus.multi_shard_modify_mode = 'sequential'"];

/** Throws StoreError `unavailable`, `unwritable`, `newer_schema`, `corrupt` or `wrong_master_key`. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const pools = await openPools(options);
  try {
    const context = await createContext(options, pools);
    const announcements = createAnnouncements({ ...pools.connection, clock: options.clock });
    const calls = new Calls(async () => {
      await announcements.close();
      await pools.close();
    });
    const leases = transactionsOf(options, pools)(pools.cluster);
    const cluster = createClusterStore(calls.run, { leases, context, announcements });
    return createStore(calls.run, context, { lanes: LANES, cluster, close: calls.close });
  } catch (error) {
    await pools.close();
    throw toStoreError(error);
  }
}

/** For commands beside a running server. On an empty database throws `missing`, unless it `mayMake` the schema. */
export async function openPostgresTool(options: PostgresStoreOptions & { mayMake: boolean }): Promise<ToolStore> {
  const pools = await openPools(options);
  const { clock, random, masterKey } = options;
  const { read, look, write } = transactionsOf(options, pools)(pools.other);
  const context = { clock, read, look, write, sealer: createSealer(masterKey, random), horizons: createHorizons() };
  try {
    await read((tx) => context.horizons.refresh(tx));
    const calls = new Calls(pools.close);
    return createToolStore(calls.run, context, calls.close);
  } catch (error) {
    // Left open, its connections would keep the command from ending.
    await pools.close();
    throw error;
  }
}

type Pools = Record<keyof typeof CONNECTIONS, Pool> & {
  layout: Layout;
  connection: ConnectionOptions;
  close: () => Promise<void>;
};

/** `mayBeUnfinished`: opened to go on with a copy, not to be served. `mayMake`: the schema, as is the default. */
type PoolsOptions = PostgresStoreOptions & { mayBeUnfinished?: boolean; mayMake?: boolean };

export async function openPools(options: PoolsOptions): Promise<Pools> {
  const address = readDatabaseAddress(options.url);
  const first = openPool({ ...address, settings: [], answerTimeoutMs: MIGRATION_ANSWER_TIMEOUT_MS }, 1);
  try {
    const { layout, settings } = await prepare(first, options);
    const connection: ConnectionOptions = { ...address, settings, meet: followTimeline };
    const opened = Object.entries(CONNECTIONS).map(([name, max]) => [name, openPool(connection, max)] as const);
    const close = async (): Promise<void> => {
      await Promise.all(opened.map(([, pool]) => pool.end()));
    };
    return { ...Object.fromEntries(opened), layout, connection, close } as Pools;
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await first.end();
  }
}

async function prepare(pool: Pool, options: PoolsOptions): Promise<{ layout: Layout; settings: string[] }> {
  const { masterKey, random, clock, mayBeUnfinished = false, mayMake = true } = options;
  return withConnection(pool, async (client) => {
    const { rows } = await client.query<{ version: number; has_citus: boolean }>(
      `SELECT current_setting('server_version_num')::int4 / 10000 AS version,
              EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS has_citus`,
    );
    const { version, has_citus: hasCitus } = rows[0]!;
    if (version < VERSION_MIN) {
      throw new StoreError('unwritable', `PostgreSQL ${VERSION_MIN} or later is needed, this is ${version}`);
    }
    const layout = await migrate(client, { mayMake, sealer: createSealer(masterKey, random), clock });
    if (!mayBeUnfinished) refuseUnfinished(await readProgressOn(client));
    return { layout, settings: hasCitus ? CITUS_SETTINGS : [] };
  });
}

export function transactionsOf({ clock, random, createPipeline }: PostgresStoreOptions, { layout }: Pools) {
  const isDistributed = layout === 'distributed';
  return (pool: Pool) => createTransactions({ pool, clock, random, isDistributed, createPipeline });
}

async function createContext(options: PostgresStoreOptions, pools: Pools): Promise<WriteContext> {
  const { clock, random, masterKey } = options;
  const { maxBacklogPerDestination = BACKLOG_MAX_DEFAULT, keyWaitMs = KEY_WAIT_MS_DEFAULT } = options;
  const isDistributed = pools.layout === 'distributed';
  const transactions = transactionsOf(options, pools);
  const { read, look, write } = transactions(pools.other);
  const horizons = createHorizons();
  const partitions = isDistributed ? noPartitions : await openPartitions(pools.upkeep);
  await partitions.makeAhead(clock.now());
  await read((tx) => horizons.refresh(tx));
  const backlog = await countAtStart(options, pools);
  return {
    clock,
    sealer: createSealer(masterKey, random),
    read,
    look,
    write,
    accepting: transactions(pools.accepting),
    recording: transactions(pools.recording),
    horizons,
    partitions,
    isDistributed,
    backlog,
    backlogMax: maxBacklogPerDestination,
    foundFullAt: new Map(),
    lockedKeys: new LockedKeys(clock),
    recorded: new WeakMap(),
    sentBefore: new WeakSet(),
    keyWaitMs,
    passes: { erasing: new Pass(), pruning: new Pass(), ending: new Pass(), stats: new Pass() },
  };
}

/** On a connection of its own, for others' answers are waited for less long. */
async function countAtStart(options: PostgresStoreOptions, pools: Pools): Promise<Backlog> {
  const { settings, ...address } = pools.connection;
  const patient = [...settings, `statement_timeout = ${COUNT_TIMEOUT_MS}`];
  const pool = openPool({ ...address, settings: patient, answerTimeoutMs: COUNT_TIMEOUT_MS }, 1);
  try {
    const backlog = new Backlog();
    await recountBacklog(backlog, transactionsOf(options, pools)(pool).read);
    return backlog;
  } finally {
    await pool.end();
  }
}

/** What is under way, so that closing can wait for it. */
class Calls {
  readonly #underWay = new LinkedMap<number, Promise<unknown>>();
  #lastId = 0;
  readonly #closePools: () => Promise<void>;
  #closed: Promise<void> | null = null;

  constructor(closePools: () => Promise<void>) {
    this.#closePools = closePools;
  }

  /** Refuses when the store is closed, and rejects with errors of the store. */
  readonly run = async <Context, Parameters extends unknown[], Result>(
    query: (context: Context, ...parameters: Parameters) => Promise<Result>,
    context: Context,
    ...parameters: Parameters
  ): Promise<Result> => {
    if (this.#closed !== null) throw new StoreError('unavailable', 'the store is closed');
    const running = (async () => query(context, ...parameters))();
    const id = ++this.#lastId;
    this.#underWay.set(id, running);
    try {
      return await running;
    } catch (error) {
      throw toStoreError(error);
    } finally {
      this.#underWay.delete(id);
    }
  };

  readonly close = (): Promise<void> => {
    this.#closed ??= Promise.allSettled(this.#underWay.values()).then(this.#closePools);
    return this.#closed;
  };
}
