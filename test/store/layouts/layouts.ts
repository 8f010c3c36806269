// Stores as earlier versions left them: the files of this folder, by layout, and how one becomes a store again.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { databasePath } from '../../../src/store/sqlite/file/data-dir.ts';

const MIGRATIONS = new URL('../../../src/store/postgres/migrations/', import.meta.url);

export type PostgresLayout = {
  partitions: { name: string; parent: string; bound: string }[];
  /** By table: rows as json_agg writes them. */
  rows: Record<string, Record<string, unknown>[]>;
};

/** Every layout that was ever landed with data in it, oldest first. */
export function listLayouts(adapter: 'sqlite' | 'postgres'): number[] {
  const versions = readdirSync(new URL('.', import.meta.url)).flatMap((name) => {
    const [version, kind] = name.split('.');
    return kind === adapter && name.endsWith('.json.gz') ? [Number(version)] : [];
  });
  return versions.sort((a, b) => a - b);
}

/** Leaves a data directory as that version did, and returns what its interface showed. */
export function restoreSqlite(version: number, dataDir: string): unknown {
  writeFileSync(databasePath(dataDir), read(`${version}.sqlite.db.gz`), { mode: 0o600 });
  return JSON.parse(read(`${version}.sqlite.json.gz`).toString());
}

/** The same in an empty database. */
export async function restorePostgres(version: number, url: string): Promise<unknown> {
  const { layout, shown } = JSON.parse(read(`${version}.postgres.json.gz`).toString()) as {
    layout: PostgresLayout;
    shown: unknown;
  };
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const name of readdirSync(MIGRATIONS).sort()) {
    if (Number.parseInt(name, 10) <= version) await client.query(readFileSync(new URL(name, MIGRATIONS), 'utf8'));
  }
  for (const { name, parent, bound } of layout.partitions) {
    await client.query(`CREATE TABLE ${name} PARTITION OF ${parent} ${bound}`);
  }
  for (const [table, rows] of Object.entries(layout.rows)) {
    await client.query(`DELETE FROM ${table}`);
    const from = `json_populate_recordset(NULL::${table}, $1)`;
    await client.query(`INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${from}`, [JSON.stringify(rows)]);
  }
  await client.end();
  return shown;
}

/** As JSON, bytes as hex: what two versions of the program say can be compared. */
export function toText(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    one instanceof Uint8Array ? Buffer.from(one).toString('hex') : one,
  );
}

function read(name: string): Buffer {
  return gunzipSync(readFileSync(new URL(name, import.meta.url)));
}
