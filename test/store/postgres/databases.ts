// Databases of a test's own, copied from one that has the schema already: that takes a tenth of the time.
import { after, before, type TestContext } from 'node:test';
import { Client } from 'pg';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { openPool } from '../../../src/store/postgres/wire/connections.ts';
import { migrateFrom, type Layout } from '../../../src/store/postgres/schema/migrate.ts';
import { openPartitions } from '../../../src/store/postgres/schema/partitions.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { MASTER_KEY, atEnd } from '../data-dirs.ts';
import { DAY, START } from '../scene.ts';
import { CITUS_URL } from './citus.ts';
import type { PostgresServer } from './server.ts';
import { sharedPostgres } from './shared.ts';

let made = 0;

export function storeOptions(url: string, options: Partial<PostgresStoreOptions> = {}): PostgresStoreOptions {
  return { url, masterKey: MASTER_KEY, clock: systemClock, random: systemRandom, ...options };
}

/** On the server that all files of a run share, for the tests of the file or suite that calls this. */
export function sharedDatabases(): Databases {
  let server: PostgresServer | null = null;
  before(async () => {
    server = await sharedPostgres();
  });
  after(() => server?.stop());
  return new Databases(() => server!);
}

export class Databases {
  readonly #server: () => PostgresServer;
  readonly #templates = new Map<Layout, Promise<string>>();

  constructor(server: () => PostgresServer) {
    this.#server = server;
  }

  get server(): PostgresServer {
    return this.#server();
  }

  /** The URL of a new one, dropped after the test. */
  async make(t: TestContext, layout: Layout = 'partitioned'): Promise<string> {
    return this.#make(t, await this.template(layout));
  }

  /** What to copy; undefined: Citus copies none, and whoever opens an empty database makes its schema. */
  async template(layout: Layout = 'partitioned'): Promise<string | undefined> {
    if (CITUS_URL !== undefined) return undefined;
    const known = this.#templates.get(layout) ?? this.#makeTemplate(layout);
    this.#templates.set(layout, known);
    return known;
  }

  /** Without a schema. */
  makeEmpty(t: TestContext): Promise<string> {
    return this.#make(t);
  }

  async open(t: TestContext, options: Partial<PostgresStoreOptions> = {}, layout?: Layout): Promise<Store> {
    const url = await this.make(t, layout);
    const store = await openPostgresStore(storeOptions(url, options));
    atEnd(t, () => store.close());
    return store;
  }

  async #make(t: TestContext, template?: string): Promise<string> {
    const name = `test_${process.pid}_${made++}`;
    await this.server.create(name, template);
    atEnd(t, () => this.server.drop(name));
    return this.server.urlOf(name);
  }

  async #makeTemplate(layout: Layout): Promise<string> {
    const name = `template_${layout}`;
    await this.server.createTemplate(name, async (url) => {
      if (layout === 'distributed') await makeDistributed(url);
      await (await openPostgresStore(storeOptions(url))).close();
      if (layout === 'partitioned') await makePartitions(url);
    });
    return name;
  }
}

/** As Citus has it, on one machine: no partitions, and each statement that writes names one shard. */
export async function makeDistributed(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await migrateFrom(client, 0, 'distributed');
  await client.end();
}

/** For the days around START, which tests begin at. */
async function makePartitions(url: string): Promise<void> {
  const pool = openPool({ url, settings: [] }, 1);
  const partitions = await openPartitions(pool);
  await partitions.ensure([0, 1, 2].map((day) => START + day * DAY));
  await pool.end();
}
