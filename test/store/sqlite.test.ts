// The embedded store as a server has it, on its threads, through the suite of all adapters.
import { makeDataDir, openServer } from './data-dirs.ts';
import { testStore } from './conformance/suite.ts';

testStore('SQLite on its threads', (t, options) => openServer(t, makeDataDir(t), options), { propertyRuns: 3 });
