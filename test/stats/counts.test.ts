// Counts survive their way into rows and back, and are added up from any number of processes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { OUTCOMES } from '../../src/model/attempt.ts';
import { Counts, decodeCounts, decodeNumbers, encodeCounts, encodeNumbers } from '../../src/stats/counts.ts';

const number = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const few = fc.nat({ max: 1_000_000 });
/** Those of rows that are stored. */
const BUCKET_MAX = 250;
const buckets = fc.array(fc.tuple(fc.nat({ max: BUCKET_MAX }), fc.integer({ min: 1, max: 1_000_000 })));

const counts = fc
  .record({
    sums: fc.tuple(few, few, few, few),
    attempts: fc.array(few, { minLength: OUTCOMES.length, maxLength: OUTCOMES.length }),
    first: buckets,
    all: buckets,
  })
  .map(({ sums, attempts, first, all }) => {
    const made = new Counts();
    [made.eventsAccepted, made.deliveriesScheduled, made.deliveriesSucceeded, made.deliveriesDead] = sums;
    attempts.forEach((count, index) => (made.attempts[index] = count));
    for (const [bucket, count] of first) made.firstAttempt.add(bucket, count);
    for (const [bucket, count] of all) made.attempt.add(bucket, count);
    return made;
  });

const shown = (of: Counts) => ({
  sums: [of.eventsAccepted, of.deliveriesScheduled, of.deliveriesSucceeded, of.deliveriesDead, ...of.attempts],
  firstAttempt: [...of.firstAttempt.entries()],
  attempt: [...of.attempt.entries()],
});

describe('counts', () => {
  test('are the same after their way through a row', () => {
    fc.assert(fc.property(counts, (made) => assert.deepEqual(shown(decodeCounts(encodeCounts(made))), shown(made))));
    fc.assert(fc.property(fc.array(number), (all) => assert.deepEqual(decodeNumbers(encodeNumbers(all)), all)));
  });

  test('are added up in any order', () => {
    fc.assert(
      fc.property(counts, counts, counts, (a, b, c) => {
        const [forward, backward] = [new Counts(), new Counts()];
        for (const one of [a, b, c]) forward.merge(one);
        for (const one of [c, b, a]) backward.merge(decodeCounts(encodeCounts(one)));
        assert.deepEqual(shown(forward), shown(backward));
      }),
    );
  });

  test('of an empty row are none; what is cut short or unknown is refused', () => {
    assert.deepEqual(shown(decodeCounts(new Uint8Array())), shown(new Counts()));
    const whole = encodeCounts(new Counts());
    assert.throws(() => decodeCounts(whole.subarray(0, 4)), /cut short/);
    assert.throws(() => decodeCounts(Uint8Array.of(2, ...whole.subarray(1))), /layout/);
  });
});
