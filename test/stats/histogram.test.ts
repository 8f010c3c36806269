// Quantiles come from logarithmic buckets: never more than 5 % off the true value, whatever the durations.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Histogram, bucketOf } from '../../src/stats/counts.ts';

/** Of all powers alike, from the shortest that is told apart to four weeks. */
const seconds = fc.double({ min: Math.log(0.0001), max: Math.log(2_400_000), noNaN: true }).map(Math.exp);

function histogramOf(durations: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const duration of durations) histogram.add(bucketOf(duration));
  return histogram;
}

describe('a histogram', () => {
  test('tells quantiles to within 5 %', () => {
    fc.assert(
      fc.property(fc.array(seconds, { minLength: 1, maxLength: 200 }), (durations) => {
        const histogram = histogramOf(durations);
        const sorted = durations.toSorted((a, b) => a - b);
        for (const part of [0.5, 0.95, 0.99, 1]) {
          const truth = sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1]!;
          const told = histogram.quantile(part)!;
          assert.ok(Math.abs(told - truth) <= 0.05 * truth, `${told} for ${truth}`);
        }
      }),
    );
  });

  test('is the same added up from parts as from the whole', () => {
    const many = fc.array(seconds, { maxLength: 50 });
    fc.assert(
      fc.property(many, many, (some, others) => {
        const sum = histogramOf(some);
        sum.merge(histogramOf(others));
        assert.deepEqual([...sum.entries()], [...histogramOf([...some, ...others]).entries()]);
        assert.equal(sum.total, some.length + others.length);
      }),
    );
  });

  test('has a place for what is below, above or no duration at all, and nulls where there is none', () => {
    for (const odd of [0, -5, Number.NaN]) assert.equal(bucketOf(odd), 0);
    assert.equal(bucketOf(Number.POSITIVE_INFINITY), 250);
    assert.deepEqual(new Histogram().quantiles(), { p50: null, p95: null, p99: null });
  });
});
