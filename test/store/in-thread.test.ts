// The SQLite methods in the calling thread, on a database in memory, through the suite of all adapters.
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { atEnd } from './data-dirs.ts';
import { testStore } from './conformance/suite.ts';

testStore(
  'SQLite in the calling thread',
  async (t, { maxBacklogPerDestination = 1_000_000 }) => {
    const store = openInThreadStore({
      path: ':memory:',
      masterKey: systemRandom.bytes(32),
      diskReserveBytes: 0,
      maxBacklogPerDestination,
      clock: systemClock,
      random: systemRandom,
    });
    atEnd(t, () => store.close());
    return store;
  },
  { propertyRuns: 50 },
);
