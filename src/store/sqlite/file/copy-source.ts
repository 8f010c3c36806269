// The embedded store as the source of a copy: every table as neutral rows, from end to end, a chunk at a time.
import type { Random } from '../../../runtime/random.ts';
import { createSealer } from '../../../runtime/sealer.ts';
import type { CopiedRow, CopiedTable, CopiedTableName, CopiedValue } from '../../rows/copied-tables.ts';
import type { ColumnKind } from '../../rows/codec.ts';
import { assertStoreIsThere, databasePath } from './data-dir.ts';
import { prepare } from './database.ts';
import type { Database, Parameter } from './database.ts';
import { nameForCopying, openPrepared, withOpenErrors } from './prepare-database.ts';
import { takeServerLock } from './server-lock.ts';

export type CopySource = ReturnType<typeof openSqliteCopySource>;

/** `position` says where the chunk ends, in words of this file's own. */
type CopiedChunk = { rows: CopiedRow[]; position: string };

/** A chunk ends at whichever comes first. */
const CHUNK_ROWS = 2_000;
const CHUNK_BYTES = 4 * 1024 * 1024;

/** Where a table's rows are (`s`), the key they stand in the order of, and which columns are not simply theirs. */
type Origin = { from: string; key: readonly string[]; where?: string; columns?: Readonly<Record<string, string>> };

// A left join, because a row that is not there would be left out in silence; so the target refuses it.
const WITH_DESTINATION = 'LEFT JOIN destinations t ON t.key = s.destination';
const DESTINATION_ID = { destination_id: 't.id' };

const ORIGINS: Readonly<Record<CopiedTableName, Origin>> = {
  accounts: { from: 'accounts s', key: ['s.id'] },
  environments: { from: 'environments s', key: ['s.id'] },
  api_keys: { from: 'api_keys s', key: ['s.id'] },
  destinations: { from: 'destinations s', key: ['s.key'] },
  signing_keys: {
    from: `signing_keys s ${WITH_DESTINATION}`,
    key: ['s.destination', 's.id'],
    columns: DESTINATION_ID,
  },
  destination_health: {
    from: `destination_health s ${WITH_DESTINATION}`,
    key: ['s.destination'],
    columns: DESTINATION_ID,
  },
  subscriptions: { from: `subscriptions s ${WITH_DESTINATION}`, key: ['s.id'], columns: DESTINATION_ID },
  idempotency: { from: 'idempotency s', key: ['s.rowid'] },
  events: { from: 'events s', key: ['s.environment', 's.id'] },
  event_bodies: { from: 'event_bodies s', key: ['s.event_id'] },
  open_deliveries: {
    from: `deliveries s ${WITH_DESTINATION}`,
    key: ['s.id'],
    where: 's.status <= 1',
    columns: DESTINATION_ID,
  },
  done_deliveries: {
    from: `deliveries s ${WITH_DESTINATION}`,
    key: ['s.id'],
    where: 's.status >= 2',
    columns: DESTINATION_ID,
  },
  attempts: { from: 'attempts s', key: ['s.delivery_id', 's.n'] },
  stats: {
    from: 'stats s',
    key: ['s.span', 's.environment', 's.kind', 's.subject', 's.at', 's.writer'],
  },
  destination_activity: { from: 'destination_activity s', key: ['s.destination_id'] },
  operations: { from: 'operations s', key: ['s.id'] },
};

/**
 * Takes the server's lock and holds it, so that nothing changes meanwhile. Throws StoreError `in_use` while a server
 * runs, `missing` where there is no store.
 */
export function openSqliteCopySource(options: { dataDir: string; masterKey: Uint8Array; random: Random }) {
  const { dataDir, masterKey, random } = options;
  assertStoreIsThere(dataDir);
  const lock = withOpenErrors(dataDir, () => takeServerLock(dataDir));
  try {
    const db = openPrepared(databasePath(dataDir), createSealer(masterKey, random));
    return {
      /** Of what it holds now: another once it has been served again. */
      id: nameForCopying(db, random),
      countRows: (table: CopiedTable) => countRows(db, table),
      /** All rows after a position, in an order of its own. */
      readChunks: (table: CopiedTable, after: string | null) => readChunks(db, table, after),
      close(): void {
        db.close();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

function countRows(db: Database, { name }: CopiedTable): number {
  const { from, where = 'true' } = ORIGINS[name];
  return prepare<{ count: number }>(db, `SELECT count(*) AS count FROM ${from} WHERE ${where}`).get()!.count;
}

function* readChunks(db: Database, table: CopiedTable, after: string | null): Iterable<CopiedChunk> {
  const { key } = ORIGINS[table.name];
  const kinds = Object.values(table.columns);
  const select = prepare<Record<string, CopiedValue>>(db, selectText(table, after !== null));
  let rows: CopiedRow[] = [];
  let bytes = 0;
  let last: Record<string, CopiedValue> | undefined;
  for (const found of select.iterate(...(after === null ? [] : decodePosition(after)))) {
    const row = kinds.map((kind, i) => neutral(kind, found[`c${i}`]!));
    rows.push(row);
    bytes += row.reduce<number>((sum, value) => sum + bytesOf(value), 0);
    last = found;
    if (rows.length < CHUNK_ROWS && bytes < CHUNK_BYTES) continue;
    yield { rows, position: encodePosition(key.map((_, i) => found[`k${i}`]!)) };
    [rows, bytes] = [[], 0];
  }
  if (rows.length > 0) yield { rows, position: encodePosition(key.map((_, i) => last![`k${i}`]!)) };
}

function selectText({ name, columns }: CopiedTable, isContinued: boolean): string {
  const { from, key, where = 'true', columns: others = {} } = ORIGINS[name];
  const values = Object.keys(columns).map((column, i) => `${others[column] ?? `s.${column}`} AS c${i}`);
  const keys = key.map((column, i) => `${column} AS k${i}`);
  const after = isContinued ? `AND (${key.join(', ')}) > (${key.map(() => '?').join(', ')})` : '';
  return `SELECT ${[...values, ...keys].join(', ')} FROM ${from} WHERE ${where} ${after} ORDER BY ${key.join(', ')}`;
}

function neutral(kind: ColumnKind, value: CopiedValue): CopiedValue {
  return kind === 'flag' ? value === 1 : value;
}

function bytesOf(value: CopiedValue): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
}

type StoredPosition = (number | string)[];

// No key has text in it, so a string is the hex digits of bytes.
function encodePosition(values: CopiedValue[]): string {
  const stored = values.map((value) => (value instanceof Uint8Array ? value.toHex() : value));
  return JSON.stringify(stored);
}

function decodePosition(position: string): Parameter[] {
  const stored = JSON.parse(position) as StoredPosition;
  return stored.map((value) => (typeof value === 'string' ? Uint8Array.fromHex(value) : value));
}
