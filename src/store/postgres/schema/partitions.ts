// Insert-only tables in partitions by the time in their ids: what is old is dropped whole, which costs nothing however
// many rows it is. Partitions are made standalone and then attached, which no insert waits for; detached concurrently,
// then dropped. Every lock that must be waited for is waited for briefly: the next step tries again.
import type { Pool, PoolClient } from 'pg';
import { firstIdBytesAt } from '../../../model/id.ts';
import { LOCK_TIMEOUT_MS, withConnection } from '../wire/connections.ts';
import { isLockTimeout, sqlState } from '../wire/errors.ts';
import { uuidText } from '../wire/values.ts';

const DAY_MS = 86_400_000;

type PartitionedTable = 'events' | 'event_bodies' | 'done_deliveries' | 'attempts';

/** How long a time a partition spans. Counted from 1970-01-01. */
const PERIOD_MS: Readonly<Record<PartitionedTable, number>> = {
  events: 7 * DAY_MS,
  event_bodies: DAY_MS,
  done_deliveries: 7 * DAY_MS,
  attempts: 7 * DAY_MS,
};

export const PARTITIONED = Object.keys(PERIOD_MS) as PartitionedTable[];

/** A program that is stopped for two weeks, or cannot make any for so long, still finds where to insert. */
const MADE_AHEAD_MS = 14 * DAY_MS;

const DROP_LOCK_TIMEOUT_MS = 200;
/** One maker at a time: two would only wait for each other's locks. */
const LOCK_KEY = 0x70_72_70;

export interface Partitions {
  /** To be called before rows of these times (Unix ms) are inserted. Nearly always they are there already. */
  ensure(times: Iterable<number>): Promise<void>;
  /** What is needed until `now` + MADE_AHEAD_MS. */
  makeAhead(now: number): Promise<void>;
  /**
   * Drops the oldest partition of the tables that lies wholly before the cutoff. Returns about how many rows it had;
   * null: there is none, or somebody is reading it just now.
   */
  dropOneBefore(tables: readonly PartitionedTable[], cutoff: number): Promise<number | null>;
  /** They may have been dropped by another node: looks again. */
  forget(): Promise<void>;
}

/** A database without partitions: retention deletes rows. */
export const noPartitions: Partitions = {
  ensure: () => Promise.resolve(),
  makeAhead: () => Promise.resolve(),
  dropOneBefore: () => Promise.resolve(null),
  forget: () => Promise.resolve(),
};

export async function openPartitions(pool: Pool): Promise<Partitions> {
  const partitions = new KnownPartitions(pool);
  await partitions.forget();
  return partitions;
}

class KnownPartitions implements Partitions {
  readonly #pool: Pool;
  /** Their names. */
  #known = new Set<string>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async ensure(times: Iterable<number>): Promise<void> {
    const missing = new Map<string, Partition>();
    // By the day, which every period is a multiple of. Names made for each id anew took 3 % of the process's time.
    const days = new Set<number>();
    for (const time of times) days.add(Math.floor(time / DAY_MS));
    for (const day of days) {
      for (const table of PARTITIONED) {
        const partition = partitionAt(table, day * DAY_MS);
        if (!this.#known.has(partition.name)) missing.set(partition.name, partition);
      }
    }
    if (missing.size > 0) await this.#make([...missing.values()]);
  }

  async makeAhead(now: number): Promise<void> {
    const days = Array.from({ length: MADE_AHEAD_MS / DAY_MS + 1 }, (_, day) => now + day * DAY_MS);
    await this.ensure(days);
  }

  async dropOneBefore(tables: readonly PartitionedTable[], cutoff: number): Promise<number | null> {
    const old = [...this.#known]
      .map((name) => parsePartition(name))
      .filter((partition) => tables.includes(partition.table) && partition.end <= cutoff)
      .sort((a, b) => a.start - b.start);
    const [oldest] = old;
    if (oldest === undefined) return null;
    try {
      const rows = await withConnection(this.#pool, (client) => drop(client, oldest));
      this.#known.delete(oldest.name);
      return rows;
    } catch (error) {
      // Somebody reads it. It stays until the next step; nobody else has to wait for it.
      if (isLockTimeout(error)) return null;
      throw error;
    }
  }

  async forget(): Promise<void> {
    this.#known = new Set(await withConnection(this.#pool, readNames));
  }

  async #make(partitions: Partition[]): Promise<void> {
    await withConnection(this.#pool, async (client) => {
      await client.query('BEGIN');
      try {
        await client.query(`SELECT pg_advisory_xact_lock(${LOCK_KEY})`);
        const attached = new Set(await readNames(client));
        for (const partition of partitions) if (!attached.has(partition.name)) await attach(client, partition);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {});
        throw error;
      }
    });
    for (const { name } of partitions) this.#known.add(name);
  }
}

type Partition = { table: PartitionedTable; name: string; start: number; end: number };

function partitionAt(table: PartitionedTable, time: number): Partition {
  const period = PERIOD_MS[table];
  const start = Math.floor(time / period) * period;
  const day = new Date(start).toISOString().slice(0, 10).replaceAll('-', '');
  return { table, name: `${table}_${day}`, start, end: start + period };
}

function parsePartition(name: string): Partition {
  const [, table, year, month, day] = /^(\w+)_(\d{4,})(\d\d)(\d\d)$/.exec(name)!;
  return partitionAt(table as PartitionedTable, Date.UTC(Number(year), Number(month) - 1, Number(day)));
}

const SELECT_NAMES = `
  SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = ANY ($1::regclass[])`;

async function readNames(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(SELECT_NAMES, [PARTITIONED]);
  return rows.map(({ name }) => name);
}

// The new table is nobody's yet, so its own locks are free; the parent's lock (SHARE UPDATE EXCLUSIVE) is one that
// reading and writing never wait for. There is no default partition, which attaching would have to lock and scan.
async function attach(client: PoolClient, { table, name, start, end }: Partition): Promise<void> {
  const [from, to] = [start, end].map((time) => uuidText(firstIdBytesAt(time)));
  await client.query(`CREATE TABLE IF NOT EXISTS ${name} (LIKE ${table} INCLUDING ALL)`);
  await client.query(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`);
}

const SELECT_STATE = `
  SELECT i.inhdetachpending AS is_pending, greatest(c.reltuples, 1)::int8 AS rows
  FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid WHERE c.oid = to_regclass($1)`;

async function drop(client: PoolClient, { table, name }: Partition): Promise<number> {
  await client.query(`SET lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`);
  try {
    const found = await client.query<{ is_pending: boolean | null; rows: number }>(SELECT_STATE, [name]);
    const [state] = found.rows;
    // Another node was faster.
    if (state === undefined) return 1;
    // A detaching that was cut off half-way (its lock did not come in time, the program ended) is finished first.
    const how = state.is_pending === true ? 'FINALIZE' : 'CONCURRENTLY';
    if (state.is_pending !== null) await client.query(`ALTER TABLE ${table} DETACH PARTITION ${name} ${how}`);
    await client.query(`DROP TABLE IF EXISTS ${name}`);
    return state.rows;
  } catch (error) {
    // Another node was faster, just now.
    if (sqlState(error) !== '42P01') throw error;
    return 1;
  } finally {
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
  }
}
