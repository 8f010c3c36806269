// The PostgreSQL under `--store postgres`: a real one, of the npm package that the tests use, started for each case, so
// that no case finds what another has left (dead rows, a checkpoint under way). Every commit is fsynced, as by default.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { startPostgres, type PostgresServer } from '../test/store/postgres/server.ts';
import { readTreeCpu } from './measure.ts';

/** What anyone sets who puts load on PostgreSQL; and the defaults where the tests' server has others. */
const SETTINGS = [
  // The default of 128 MB is for any machine at all; a quarter of the memory is what its manual advises for a server of
  // its own. This one shares the machine, and so gets less.
  'shared_buffers=1GB',
  // By default a checkpoint begins with every gigabyte of log or five minutes, and every page that is changed after one
  // goes into the log whole: a third more log under this load.
  'max_wal_size=8GB',
  'checkpoint_timeout=15min',
  'max_connections=100',
  'autovacuum_naptime=1min',
];

/** All that a service needs to share a database with others: the settings that name it. */
export type Database = { name: string; url: string; settings: Record<string, string> };

export class Postgres {
  readonly #server: PostgresServer;
  readonly #pid: number;
  readonly #masterKey = randomBytes(32).toString('base64');
  #made = 0;

  private constructor(server: PostgresServer, pid: number) {
    this.#server = server;
    this.#pid = pid;
  }

  static async start(): Promise<Postgres> {
    const server = await startPostgres(SETTINGS);
    const [row] = await server.query(`SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int4 AS pid`);
    return new Postgres(server, Number(row!['pid']));
  }

  /** An empty one, or a copy of another that nobody is connected to. */
  async createDatabase(template?: Database): Promise<Database> {
    const name = `bench_${this.#made++}`;
    const copied = template === undefined ? '' : ` TEMPLATE ${template.name} STRATEGY FILE_COPY`;
    await this.#server.query(`CREATE DATABASE ${name}${copied}`);
    const url = this.#server.urlOf(name);
    return { name, url, settings: { DATABASE_URL: url, MASTER_KEY: this.#masterKey } };
  }

  get masterKey(): Uint8Array {
    return Buffer.from(this.#masterKey, 'base64');
  }

  query(database: Database, sql: string): Promise<Record<string, unknown>[]> {
    return this.#server.query(sql, database.name);
  }

  /** What a database takes on disk, without the write-ahead log that all of them share. */
  async storedMib(database: Database): Promise<number> {
    const [row] = await this.query(database, 'SELECT pg_database_size(current_database())::float8 AS bytes');
    return Number(row!['bytes']) / 2 ** 20;
  }

  /** Bytes of write-ahead log since the server began. */
  async walBytes(): Promise<number> {
    const [row] = await this.#server.query(`SELECT (pg_current_wal_lsn() - '0/0')::float8 AS bytes`);
    return Number(row!['bytes']);
  }

  /** Microseconds of CPU of all its processes. */
  readCpu(): number {
    return readTreeCpu(this.#pid);
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}

/**
 * For rows that would take hours to make through the API. Commits are not waited for; what was written is on disk when
 * this returns, and known to the planner, so that neither is done while something is measured.
 */
export async function fillDatabase(url: string, fill: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('SET synchronous_commit = off');
    await fill(client);
    await client.query('VACUUM ANALYZE');
    await client.query('CHECKPOINT');
  } finally {
    await client.end();
  }
}
