// How a CPU profile is told in parts: each sample counts for the innermost function that a rule knows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { divide, type CpuProfile } from '../../bench/profile.ts';

const frame = (functionName: string, url = ''): { functionName: string; url: string } => ({ functionName, url });

const PROFILE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 4, 7] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('(garbage collector)') },
    { id: 4, callFrame: frame('handle', 'file:///src/api/server.ts'), children: [5] },
    { id: 5, callFrame: frame('sign', 'file:///src/attempt/sign.ts'), children: [6] },
    { id: 6, callFrame: frame('update') },
    { id: 7, callFrame: frame('runMicrotasks'), children: [] },
  ],
  startTime: 1_000,
  samples: [4, 2, 6, 5, 3, 7, 4, 4],
  timeDeltas: [10, 20, 30, 40, 50, 60, 70, 80],
};
const RULES = [
  { part: 'signing', files: /\/sign\.ts$/ },
  { part: 'HTTP', files: /\/api\// },
];

test('a native function counts for its caller, the idle time for nobody, the rest for the loop', () => {
  const all = divide(PROFILE, { rules: RULES, other: 'loop', from: 0, to: 10_000 });
  const expected = { HTTP: 160, signing: 70, 'garbage collection': 50, loop: 60 };
  assert.deepEqual(Object.fromEntries(all), expected);
});

test('only what was sampled in the span counts', () => {
  const some = divide(PROFILE, { rules: RULES, other: 'loop', from: 1_040, to: 1_160 });
  assert.deepEqual(Object.fromEntries(some), { signing: 70, 'garbage collection': 50 });
});
