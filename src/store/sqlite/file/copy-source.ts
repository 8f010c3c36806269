// The embedded store as the source of a copy: every table as neutral rows, from end to end, a chunk at a time.
import type { Random } from '../../../runtime/random.ts';
import { createSealer } from '../../../runtime/sealer.ts';
import type { CopiedRow, CopiedTable, CopiedTableName, CopiedValue } from '../../rows/copied-tables.ts';
import type { ColumnKind } from '../../rows/codec.ts';
import { assertStoreIsThere, databasePath } from './data-dir.ts';
import { prepare, type Database, type Parameter } from './database.ts';
import { nameForCopying, openPrepared, withOpenErrors } from './prepare-database.ts';
import { takeServerLock } from './server-lock.ts';

export type CopySource = ReturnType<typeof openSqliteCopySource>;

/** `position` says where the chunk ends, in words of this file's own. */
type CopiedChunk = { rows: CopiedRow[]; position: string };

/** A chunk ends at whichever comes first. */
const CHUNK_ROWS = 2_000;
const CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * The order in which a table's rows (`s`) are read. `from`, `where`: they are a part of another table's.
 * `hasDestinationKey`: they have the destination's key where a copy has its id.
 */
type Origin = { from?: string; where?: string; key: readonly string[]; hasDestinationKey?: true };

const ORIGINS: Readonly<Record<CopiedTableName, Origin>> = {
  accounts: { key: ['id'] },
  environments: { key: ['id'] },
  api_keys: { key: ['id'] },
  destinations: { key: ['key'] },
  signing_keys: { key: ['destination', 'id'], hasDestinationKey: true },
  destination_health: { key: ['destination'], hasDestinationKey: true },
  subscriptions: { key: ['id'], hasDestinationKey: true },
  idempotency: { key: ['rowid'] },
  events: { key: ['environment', 'id'] },
  event_bodies: { key: ['event_id'] },
  open_deliveries: { from: 'deliveries', where: 's.status <= 1', key: ['id'], hasDestinationKey: true },
  done_deliveries: { from: 'deliveries', where: 's.status >= 2', key: ['id'], hasDestinationKey: true },
  attempts: { key: ['delivery_id', 'n'] },
  stats: { key: ['span', 'environment', 'kind', 'subject', 'at', 'writer'] },
  destination_activity: { key: ['destination_id'] },
  operations: { key: ['id'] },
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
  const { from = name, where = 'true' } = ORIGINS[name];
  return prepare<{ count: number }>(db, `SELECT count(*) AS count FROM ${from} s WHERE ${where}`).get()!.count;
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
  const { from = name, where = 'true', key, hasDestinationKey = false } = ORIGINS[name];
  const values = Object.keys(columns).map((column, i) => {
    return `${hasDestinationKey && column === 'destination_id' ? 't.id' : `s.${column}`} AS c${i}`;
  });
  // A left join, because a row that is not there would be left out in silence; so the target refuses it.
  const join = hasDestinationKey ? 'LEFT JOIN destinations t ON t.key = s.destination' : '';
  const keys = key.map((column, i) => `s.${column} AS k${i}`);
  const order = key.map((column) => `s.${column}`).join(', ');
  const after = isContinued ? `AND (${order}) > (${key.map(() => '?').join(', ')})` : '';
  return `SELECT ${[...values, ...keys].join(', ')} FROM ${from} s ${join} WHERE ${where} ${after} ORDER BY ${order}`;
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
