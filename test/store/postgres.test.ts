// The PostgreSQL store through the suite of all adapters: as a single database is laid out, and as a distributed one.
import { after, before } from 'node:test';
import { testStore } from './conformance/suite.ts';
import { CITUS_URL } from './postgres/citus.ts';
import { Databases } from './postgres/databases.ts';
import type { PostgresServer } from './postgres/server.ts';
import { sharedPostgres } from './postgres/shared.ts';

let server: PostgresServer;
let databases: Databases;

before(async () => {
  // What survives a crash is tested elsewhere; here a database is made for every test, which syncs hundreds of files.
  server = await sharedPostgres();
  databases = new Databases(server);
});
after(() => server.stop());

// Citus is laid out so by itself.
if (CITUS_URL === undefined) {
  testStore('PostgreSQL', (t, options) => databases.open(t, options), { propertyRuns: 2 });
}
const distributed = CITUS_URL === undefined ? 'PostgreSQL, laid out to be distributed' : 'Citus';
testStore(distributed, (t, options) => databases.open(t, options, 'distributed'), {
  propertyRuns: 2,
});
