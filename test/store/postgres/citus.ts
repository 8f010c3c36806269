// A Citus cluster given from outside in place of a server of the tests' own: see docs/guides/citus.md. It has the one
// database of the URL, and each "database" of a test is a schema there: another database would need the extension, and
// every machine added to it, first.
import { Client } from 'pg';
import type { OwnPostgres } from './server.ts';

/** `postgres://` of the coordinator, as a role that may create schemas in that database; undefined: none is given. */
export const CITUS_URL = process.env['POSTRIDER_TEST_CITUS_URL'];

/** For tests that stop the server or need what only a server of their own has. */
export const needsOwnServer = CITUS_URL === undefined ? false : 'the Citus cluster is not ours to stop or to set up';

/** A few for each machine: making a store takes as long as it has shards. */
const SHARD_COUNT = 8;

export async function connectCitus(url: string): Promise<OwnPostgres> {
  const made = new Set<string>();
  const urlOf = (schema: string): string => {
    const target = new URL(url);
    const options = target.searchParams.get('options') ?? '';
    const added = `-c search_path=${schema} -c citus.shard_count=${SHARD_COUNT}`;
    target.searchParams.set('options', `${options} ${added}`.trim());
    return target.href;
  };
  const query = async (sql: string, schema = 'public'): Promise<Record<string, unknown>[]> => {
    const client = new Client({ connectionString: urlOf(schema) });
    await client.connect();
    try {
      return (await client.query(sql)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  const drop = async (schema: string): Promise<void> => {
    await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    made.delete(schema);
  };
  const notOurs = (): Promise<void> => Promise.reject(new Error(String(needsOwnServer)));
  const [extension] = await query(`SELECT extversion FROM pg_extension WHERE extname = 'citus'`);
  if (extension === undefined) throw new Error('POSTRIDER_TEST_CITUS_URL names a database without the extension citus');
  return {
    port: Number(new URL(url).port || 5432),
    urlOf,
    query,
    async create(schema) {
      // One of a run that was cut off.
      await drop(schema);
      await query(`CREATE SCHEMA ${schema}`);
      made.add(schema);
    },
    createTemplate: notOurs,
    drop,
    restart: notOurs,
    halt: notOurs,
    resume: notOurs,
    keep: notOurs,
    async stop() {
      for (const schema of made) await drop(schema);
    },
  };
}
