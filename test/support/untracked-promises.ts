// Loaded before all else in each process of a run (scripts/test). Node's test runner follows asynchronous resources to
// tell which test an uncaught error belongs to; following promises too took 40 % of a simulation's CPU. An error that
// only a promise leads to then fails its file instead of its test; node with that file alone names the test.
import asyncHooks from 'node:async_hooks';

const { createHook } = asyncHooks;
asyncHooks.createHook = (hooks) => createHook({ ...hooks, trackPromises: false });
