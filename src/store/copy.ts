// Moves a whole store from the embedded adapter to PostgreSQL: every row, as it is, with ids, revisions and due times,
// so that the service goes on where it was. What was cut off goes on at the next call. At the end both sides are read
// once more and compared.
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { CopyTarget } from './postgres/copy/copy-target.ts';
import {
  COPIED_TABLES,
  type CopiedTable,
  type CopiedTableName,
  type CopyProgress,
  type TableProgress,
} from './rows/copied-tables.ts';
import { RowDigest, digestBodies } from './rows/row-digest.ts';
import type { CopySource } from './sqlite/file/copy-source.ts';
import { StoreError } from './store.ts';

type CopyOptions = {
  dataDir: string;
  databaseUrl: string;
  /** The setting MASTER_KEY; null: `master.key` in `dataDir`. */
  masterKey: string | null;
  clock: Clock;
  random: Random;
  onProgress: (step: CopyStep) => void;
};

/** `total`: of the table. */
export type CopyStep = { doing: 'copying' | 'checking'; table: CopiedTableName; rows: number; total: number };

export type CopyReport = {
  sourceId: string;
  /** It went on with what an earlier copy had begun. */
  isResumed: boolean;
  tables: Record<CopiedTableName, TableReport>;
};

/** The checksum is the same on both sides. */
type TableReport = { rows: number; sha256Sum: string };

/**
 * Throws StoreError: `missing` without a source, `in_use` while that is served, `unwritable` if the target holds
 * anything else, `corrupt` if the two differ in the end.
 */
export async function copyStore(options: CopyOptions): Promise<CopyReport> {
  const { dataDir, databaseUrl: url, masterKey: configured, clock, random, onProgress } = options;
  const { openSqliteCopySource } = await import('./sqlite/file/copy-source.ts');
  const { assertStoreIsThere } = await import('./sqlite/file/data-dir.ts');
  const { loadMasterKey } = await import('./sqlite/file/master-key.ts');
  assertStoreIsThere(dataDir);
  const masterKey = loadMasterKey({ dataDir, configured, random });
  const source = openSqliteCopySource({ dataDir, masterKey, random });
  try {
    const { openPostgresCopyTarget } = await import('./postgres/copy/copy-target.ts');
    const target = await openPostgresCopyTarget({ url, masterKey, clock, random });
    try {
      return await copyAll({ source, target, onProgress });
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

type Sides = { source: CopySource; target: CopyTarget; onProgress: CopyOptions['onProgress'] };

async function copyAll(sides: Sides): Promise<CopyReport> {
  const { source, target } = sides;
  const progress = await target.begin(source.id);
  const isResumed = Object.keys(progress.tables).length > 0;
  for (const table of COPIED_TABLES) await copyTable(sides, table, progress);
  const reports: [CopiedTableName, TableReport][] = [];
  for (const table of COPIED_TABLES) reports.push([table.name, await checkTable(sides, table)]);
  await target.complete();
  return { sourceId: source.id, isResumed, tables: Object.fromEntries(reports) as CopyReport['tables'] };
}

async function copyTable({ source, target, onProgress }: Sides, table: CopiedTable, all: CopyProgress): Promise<void> {
  let reached: TableProgress = all.tables[table.name] ?? { rows: 0, position: null, isDone: false };
  if (reached.isDone) return;
  const total = source.countRows(table);
  const tell = (): void => onProgress({ doing: 'copying', table: table.name, rows: reached.rows, total });
  // The next chunk is read while one is being written.
  let writing = Promise.resolve();
  for (const { rows, position } of source.readChunks(table, reached.position)) {
    await writing;
    tell();
    reached = { rows: reached.rows + rows.length, position, isDone: false };
    writing = target.insert(table, { rows, progress: reached });
    // Its rejection is met above or below; until then it must not end the process.
    writing.catch(() => {});
  }
  await writing;
  reached = { ...reached, isDone: true };
  await target.insert(table, { rows: [], progress: reached });
  tell();
}

/** Reads both sides from end to end. */
async function checkTable({ source, target, onProgress }: Sides, table: CopiedTable): Promise<TableReport> {
  const [given, kept] = [new RowDigest(), new RowDigest()];
  for (const { rows } of source.readChunks(table, null)) {
    for (const row of rows) given.add(digestBodies(table, row));
  }
  for await (const rows of target.readRows(table)) {
    for (const row of rows) kept.add(row);
    onProgress({ doing: 'checking', table: table.name, rows: kept.rows, total: given.rows });
  }
  if (given.rows === kept.rows && given.sha256Sum === kept.sha256Sum) {
    return { rows: kept.rows, sha256Sum: kept.sha256Sum };
  }
  throw new StoreError(
    'corrupt',
    `${table.name} differs: ${given.rows} rows in the data directory, ${kept.rows} in the database, or not the same ` +
      'ones. Nothing was changed in the data directory. Something else wrote to one of them: drop the database, ' +
      'create it, and copy again',
  );
}
