// Brings a database to the schema this program knows: numbered SQL files, forward only, each in one transaction with
// the number it leaves. An advisory lock lets many nodes that start together take turns. Nodes of the version before go
// on meanwhile, so a table that somebody reads for long (pg_dump) is not waited for but asked for again and again:
// whoever wants a table after one who waits for all of it waits behind that one.
import { readFileSync, readdirSync } from 'node:fs';
import type { ClientBase } from 'pg';
import { delay, type Clock } from '../../../runtime/clock.ts';
import type { Sealer } from '../../../runtime/sealer.ts';
import { StoreError } from '../../store.ts';
import { isConflict, isLockTimeout, toStoreError } from '../wire/errors.ts';
import { PARTITIONED } from './partitions.ts';
import { rememberTimeline } from './history.ts';

const MIGRATIONS = new URL('../migrations/', import.meta.url);
/** 'post' as a number. */
const LOCK_KEY = 0x70_6f_73_74;
/** Another node may be at it. Creating the tables takes well under a second; spreading them over machines, several. */
const LOCK_TIMEOUT_MS = 60_000;
/** For a table: less than events wait to be stored, and more than the second after which an autovacuum makes way. */
const TABLE_TIMEOUT_MS = 2_000;
/** Between two tries, in which others get on. */
const TRY_INTERVAL_MS = 3_000;
/** For the connection that migrates: the server's own time-outs come first. */
export const MIGRATION_ANSWER_TIMEOUT_MS = LOCK_TIMEOUT_MS + 5_000;

/** Distributed by shard, side by side. */
export const DISTRIBUTED = [...PARTITIONED, 'open_deliveries', 'destination_health', 'idempotency'];
/**
 * Whole on every machine: the configuration, which statements on distributed tables join. The version of an environment
 * is among them, for it must never be seen before the rows that it stamps; read from one copy, both come together.
 */
export const REFERENCE = ['accounts', 'environments', 'api_keys', 'destinations', 'signing_keys', 'subscriptions'];
/**
 * On the coordinator alone, as ordinary tables. So a lease hangs on nothing but the coordinator, renewing it is one
 * commit on one machine, and nodes wait for each other by the row: a table that stands everywhere is locked whole.
 */
export const LOCAL = [
  'meta',
  'horizons',
  'nodes',
  'shards',
  'barriers',
  'stats',
  'destination_activity',
  'stream_batches',
  'operations',
];

const KEY_CHECK = 'key_check';

type Migration = { version: number; sql: string };

/** In order; the number in a file's name is the schema version it leads to. */
function readMigrations(): Migration[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ version: Number.parseInt(name, 10), sql: readFileSync(new URL(name, MIGRATIONS), 'utf8') }));
}

export type Layout = 'partitioned' | 'distributed';

type MigrateOptions = { mayMake: boolean; sealer: Sealer; clock: Clock };

/**
 * Returns the layout that the database was made with: distributed where the extension `citus` was there then. Throws
 * `newer_schema`, `corrupt` or `wrong_master_key` for one that is not ours to change, `missing` for an empty one unless
 * it `mayMake` the schema, and `unavailable` where others are in the way for too long.
 */
export async function migrate(client: ClientBase, options: MigrateOptions): Promise<Layout> {
  const { clock } = options;
  const deadline = clock.monotonic() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      return await tryToMigrate(client, options);
    } catch (error) {
      if (!isLockTimeout(error) && !isConflict(error)) throw error;
      if (clock.monotonic() >= deadline) throw inTheWay(error);
    }
    await delay(clock, TRY_INTERVAL_MS);
  }
}

function inTheWay(cause: unknown): StoreError {
  return new StoreError(
    'unavailable',
    'the schema of the database cannot be changed while somebody else uses its tables for so long (pg_dump, a ' +
      'transaction that was left open): start again when that has ended',
    { cause },
  );
}

async function tryToMigrate(client: ClientBase, options: MigrateOptions): Promise<Layout> {
  await client.query('BEGIN');
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(`SET LOCAL statement_timeout = ${LOCK_TIMEOUT_MS}`);
    if (await hasCitus(client)) await prepareCitus(client);
    await client.query(`SELECT pg_advisory_xact_lock(${LOCK_KEY})`);
    const version = await readVersion(client);
    assertKnown(version);
    if (version === 0 && !options.mayMake) {
      throw new StoreError('missing', 'there is no store in the database of POSTRIDER_DATABASE_URL');
    }
    if (version === 0) await assertHoldsAnyText(client);
    else await makeBeside(client);
    const layout = version === 0 ? await chooseLayout(client) : await readLayout(client);
    await client.query(`SET LOCAL lock_timeout = ${TABLE_TIMEOUT_MS}`);
    await migrateFrom(client, version, layout);
    await checkMasterKey(client, options.sealer);
    await rememberTimeline(client);
    await client.query('COMMIT');
    return layout;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

// A schema that came before it on the path since, as one of the role's name does, would get tables of the same names.
async function makeBeside(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT set_config('search_path', relnamespace::regnamespace::text, true)
     FROM pg_class WHERE oid = to_regclass('meta')`,
  );
}

// People write in any language: of what an encoding has no letters for, a whole statement fails. SQL_ASCII holds any.
async function assertHoldsAnyText(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding');
  const { server_encoding: encoding } = rows[0]!;
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return;
  throw new StoreError(
    'unwritable',
    `the database of POSTRIDER_DATABASE_URL has the encoding ${encoding}, which has no letters for most languages: ` +
      "make it anew with ENCODING 'UTF8' TEMPLATE template0",
  );
}

/** Distributed without Citus it is on one machine all the same, with statements that could run on many. */
export async function migrateFrom(client: ClientBase, version: number, layout: Layout): Promise<void> {
  for (const migration of readMigrations().filter((one) => one.version > version)) {
    await apply(client, migration, layout);
  }
}

async function apply(client: ClientBase, { version, sql }: Migration, layout: Layout): Promise<void> {
  await client.query(layout === 'partitioned' ? sql : sql.replaceAll(/ PARTITION BY RANGE \(\w+\)/g, ''));
  if (version === 1) {
    await writeMeta(client, 'layout', layout);
    if (layout === 'distributed' && (await hasCitus(client))) await distribute(client);
  }
  await writeMeta(client, 'schema_version', String(version));
}

/**
 * Throws `unwritable` on a worker: what is only on the coordinator is not there, nor are its locks and announcements.
 * One connection to each machine does all of the transaction: several would meet each other's locks.
 */
async function prepareCitus(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ groupid: number }>('SELECT groupid FROM pg_dist_local_group');
  if (rows[0]!.groupid !== 0) {
    throw new StoreError(
      'unwritable',
      'the server of POSTRIDER_DATABASE_URL is a worker of a Citus cluster: name its coordinator, the same on ' +
        'every node',
    );
  }
  await client.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'");
}

/**
 * Spreads the tables over the machines of a Citus cluster. To be called before they grow. Fill factors, autovacuum
 * settings, checks and indexes go along, because they are there by now.
 */
async function distribute(client: ClientBase): Promise<void> {
  for (const table of REFERENCE) await client.query('SELECT create_reference_table($1)', [table]);
  const [first, ...others] = DISTRIBUTED;
  // Side by side with nobody else's tables: 'default' would be, with those that happen to have as many shards.
  await client.query("SELECT create_distributed_table($1, 'shard', colocate_with => 'none')", [first]);
  for (const table of others) {
    await client.query("SELECT create_distributed_table($1, 'shard', colocate_with => $2)", [table, first]);
  }
}

async function hasCitus(client: ClientBase): Promise<boolean> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'");
  return rowCount === 1;
}

async function chooseLayout(client: ClientBase): Promise<Layout> {
  return (await hasCitus(client)) ? 'distributed' : 'partitioned';
}

/** 0: nothing of ours is there yet. */
async function readVersion(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ has_meta: boolean; has_environments: boolean }>(
    `SELECT to_regclass('meta') IS NOT NULL AS has_meta, to_regclass('environments') IS NOT NULL AS has_environments`,
  );
  const { has_meta: hasMeta, has_environments: hasEnvironments } = rows[0]!;
  if (!hasMeta && !hasEnvironments) return 0;
  const version = hasMeta ? await readMeta(client, 'schema_version').catch(noneIfOfOthers) : null;
  if (version === null || !/^\d+$/.test(version)) {
    throw new StoreError(
      'corrupt',
      'the database of POSTRIDER_DATABASE_URL holds tables of something else: name an empty one',
    );
  }
  return Number(version);
}

/** A table of that name has other columns, or other types of them. Trouble with the database is said as what it is. */
function noneIfOfOthers(error: unknown): null {
  if (toStoreError(error) instanceof StoreError) throw error;
  return null;
}

// What was sealed under the key that the database was made with can be opened only under that one. A refusal rolls
// back whatever was done before it.
async function checkMasterKey(client: ClientBase, sealer: Sealer): Promise<void> {
  await client.query('INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    KEY_CHECK,
    sealer.seal(Buffer.from(KEY_CHECK), KEY_CHECK),
  ]);
  const { rows } = await client.query<{ value: Uint8Array }>('SELECT value FROM meta WHERE name = $1', [KEY_CHECK]);
  if (sealer.open(rows[0]!.value, KEY_CHECK) !== null) return;
  throw new StoreError(
    'wrong_master_key',
    'the master key is not the one this database was made with: set POSTRIDER_MASTER_KEY as it was',
  );
}

function assertKnown(version: number): void {
  const known = readMigrations().at(-1)!.version;
  if (version <= known) return;
  throw new StoreError(
    'newer_schema',
    `the database has schema ${version}, this program knows up to ${known}: run the newer program again, ` +
      'or restore a backup made with this one',
  );
}

async function readLayout(client: ClientBase): Promise<Layout> {
  return (await readMeta(client, 'layout')) === 'distributed' ? 'distributed' : 'partitioned';
}

async function readMeta(client: ClientBase, name: string): Promise<string | null> {
  const { rows } = await client.query<{ value: Uint8Array }>('SELECT value FROM meta WHERE name = $1', [name]);
  return rows[0] === undefined ? null : Buffer.from(rows[0].value).toString();
}

async function writeMeta(client: ClientBase, name: string, value: string): Promise<void> {
  await client.query('INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2', [
    name,
    Buffer.from(value),
  ]);
}
