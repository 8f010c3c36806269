// Seeded runs of the whole service on a virtual clock: see scenario.ts for what happens in one, the ledgers for what
// must hold. A seed always gives the same run.
//
//   one seed again:    SIM_SEED=123 npm test -- test/sim/simulation.test.ts
//   many, longer:      SIM_SEED=1000 SIM_COUNT=2000 SIM_OPERATIONS=600 npm test -- test/sim/simulation.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runScenario, type ScenarioOptions } from './scenario.ts';

/** Each kind of world once (optionsOf); `npm run test:soak` has a hundred of other seeds. */
const SEEDS = 5;
const OPERATIONS = 150;

/** The seed also says which kind of world it is, so that it says everything. */
function optionsOf(seed: number): ScenarioOptions {
  const operations = Number(process.env['SIM_OPERATIONS'] ?? OPERATIONS);
  const slots = seed % 4 === 0 ? 12 : 256;
  return { operations, crashes: seed % 3 !== 0, slots, hasShortRetention: seed % 5 === 0, isShared: seed % 7 < 3 };
}

const first = Number(process.env['SIM_SEED'] ?? 1);
const count = Number(process.env['SIM_COUNT'] ?? (process.env['SIM_SEED'] === undefined ? SEEDS : 1));

for (let seed = first; seed < first + count; seed++) {
  test(`seed ${seed}`, async () => {
    const { violations, starts } = await runScenario(seed, optionsOf(seed));
    assert.deepEqual(violations, []);
    assert.ok(starts > 0);
  });
}

test('a seed gives the same run again', async () => {
  for (const isShared of [false, true]) {
    const options = { operations: 40, isShared };
    assert.deepEqual(await runScenario(5, options), await runScenario(5, options));
  }
});
