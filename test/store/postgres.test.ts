// The PostgreSQL store through the suite of all adapters: as a single database is laid out, and as a distributed one.
import { testStore } from './conformance/suite.ts';
import { CITUS_URL } from './postgres/citus.ts';
import { sharedDatabases } from './postgres/databases.ts';

// What survives a crash is tested elsewhere: the shared server does not sync the files of a database for each test.
const databases = sharedDatabases();

// Citus is laid out so by itself.
if (CITUS_URL === undefined) {
  testStore('PostgreSQL', (t, options) => databases.open(t, options), { propertyRuns: 2 });
}
const distributed = CITUS_URL === undefined ? 'PostgreSQL, laid out to be distributed' : 'Citus';
testStore(distributed, (t, options) => databases.open(t, options, 'distributed'), {
  propertyRuns: 2,
});
