// Writes a store of the current layout into this folder, in both adapters, with every kind of row and what the
// interface shows of it. Run once for each layout, before the next is begun: node test/store/layouts/write.ts
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { databasePath } from '../../../src/store/sqlite/file/data-dir.ts';
import { openDatabase, readNumber } from '../../../src/store/sqlite/file/database.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { MASTER_KEY } from '../data-dirs.ts';
import { fill, readEverything } from '../everything.ts';
import { startPostgres } from '../postgres/server.ts';
import { Scene } from '../scene.ts';
import { toText, type PostgresLayout } from './layouts.ts';

const BODY_BYTES = 2_000;

/** Of an ordinary table: its columns' text by name. */
const ROWS = (table: string) => `SELECT coalesce(json_agg(r), '[]') AS rows FROM ${table} r`;

async function writeSqlite(): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-layout-'));
  const options = { dataDir, masterKey: MASTER_KEY, random: systemRandom, diskReserveBytes: 0, onFatal: () => {} };
  const store = await openSqliteStore(options);
  await fill(new Scene(store), BODY_BYTES);
  const shown = await readEverything(store);
  await store.close();
  const db = openDatabase(databasePath(dataDir));
  const version = readNumber(db, 'PRAGMA user_version');
  db.exec('VACUUM');
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  write(`${version}.sqlite.db.gz`, readFileSync(databasePath(dataDir)));
  write(`${version}.sqlite.json.gz`, toText(shown));
  rmSync(dataDir, { recursive: true });
  return version;
}

async function writePostgres(): Promise<number> {
  const server = await startPostgres();
  try {
    await server.create('layout');
    const url = server.urlOf('layout');
    const store = await openPostgresStore({ url, masterKey: MASTER_KEY, clock: systemClock, random: systemRandom });
    await fill(new Scene(store), BODY_BYTES);
    const shown = await readEverything(store);
    await store.close();
    const ask = (sql: string) => server.query(sql, 'layout');
    const layout: PostgresLayout = { partitions: [], rows: {} };
    layout.partitions = (await ask(
      `SELECT c.relname AS name, p.relname AS parent, pg_get_expr(c.relpartbound, c.oid) AS bound
       FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid JOIN pg_class p ON p.oid = inhparent
       WHERE c.relkind = 'r' ORDER BY 1`,
    )) as PostgresLayout['partitions'];
    const tables = await ask(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
       AND NOT relispartition ORDER BY 1`,
    );
    for (const { name } of tables as { name: string }[]) {
      layout.rows[name] = (await ask(ROWS(name)))[0]!['rows'] as Record<string, unknown>[];
    }
    const [meta] = await ask(`SELECT convert_from(value, 'UTF8') AS version FROM meta WHERE name = 'schema_version'`);
    const version = Number(meta!['version']);
    write(`${version}.postgres.json.gz`, toText({ layout, shown }));
    return version;
  } finally {
    await server.stop();
  }
}

function write(name: string, content: string | Uint8Array): void {
  writeFileSync(new URL(name, import.meta.url), gzipSync(content, { level: 9 }));
}

process.stdout.write(`SQLite layout ${await writeSqlite()}, PostgreSQL layout ${await writePostgres()}\n`);
