// Retry policies: the default schedule, both forms, and what is wrong as a whole.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatApiKey, isApiKey } from '../../src/model/api-key.ts';
import { findPolicyFault, resolveSchedule } from '../../src/model/retry-policy.ts';

test('the default is ten attempts over 75 h 35 m 5 s', () => {
  const { delaysMs, timeoutMs, jitter } = resolveSchedule(null);
  assert.equal(delaysMs.length, 9);
  assert.equal(
    delaysMs.reduce((sum, delay) => sum + delay, 0),
    ((75 * 60 + 35) * 60 + 5) * 1_000,
  );
  assert.deepEqual([timeoutMs, jitter], [15_000, 0.2]);
});

describe('a policy', () => {
  test('by formula grows by its factor up to its maximum', () => {
    const { delaysMs } = resolveSchedule({ max_attempts: 5, initial_seconds: 2, factor: 3, max_seconds: 30 });
    assert.deepEqual(delaysMs, [2_000, 6_000, 18_000, 30_000]);
  });

  test('by formula has defaults for what it leaves out', () => {
    assert.equal(resolveSchedule({ factor: 1 }).delaysMs.length, 9);
    assert.deepEqual(resolveSchedule({ max_attempts: 1 }).delaysMs, []);
  });

  test('that sets only the timeout keeps the default schedule', () => {
    const { delaysMs, timeoutMs } = resolveSchedule({ timeout_seconds: 3 });
    assert.deepEqual([delaysMs.length, timeoutMs], [9, 3_000]);
  });

  test('in both forms at once is a fault that names them', () => {
    assert.match(findPolicyFault({ schedule_seconds: [1], factor: 2 })!, /schedule_seconds.*factor/);
  });

  test('may add up to 29 days with jitter, and no more', () => {
    const week = 604_800;
    assert.equal(findPolicyFault({ schedule_seconds: [week, week, week, week, 86_400], jitter: 0 }), null);
    assert.notEqual(findPolicyFault({ schedule_seconds: [week, week, week, week, 86_401], jitter: 0 }), null);
    assert.notEqual(findPolicyFault({ schedule_seconds: [week, week, week, week], jitter: 0.1 }), null);
  });
});

describe('an API key', () => {
  const digits = Array.from({ length: 30 }, (_, i) => (i * 7) % 62);
  const key = formatApiKey('live', digits);

  test('has its form and a checksum that holds', () => {
    assert.match(key, /^pr_live_[0-9A-Za-z]{36}$/);
    assert.equal(isApiKey(key), true);
  });

  test('with any one character changed is refused without a look-up', () => {
    for (let i = 8; i < key.length; i++) {
      const other = key[i] === 'a' ? 'b' : 'a';
      assert.equal(isApiKey(key.slice(0, i) + other + key.slice(i + 1)), false, `at ${i}`);
    }
    assert.equal(isApiKey(key.replace('live', 'test')), false, 'the mode is under the checksum');
  });
});
