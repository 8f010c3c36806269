// What slows a destination down: its rate, and its own trouble.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Health } from '../../src/dispatch/health.ts';
import type { Instant } from '../../src/runtime/clock.ts';
import { InFlight, Window } from '../../src/dispatch/in-flight.ts';
import { RateLimit } from '../../src/dispatch/pace.ts';
import type { AttemptResult } from '../../src/model/attempt.ts';
import { openDelivery } from '../support/deliveries.ts';

/** Starts as fast as the limit allows; returns when. */
function startsWithin(ratePerSecond: number, durationMs: number): number[] {
  const limit = new RateLimit(ratePerSecond, 0);
  const starts: number[] = [];
  for (let at = 0; at <= durationMs; at += Math.max(0.001, limit.waitMs(at, 0))) {
    if (limit.waitMs(at, 0) > 0) continue;
    limit.take(at);
    starts.push(at);
  }
  return starts;
}

describe('rate_per_second', () => {
  test('in any window there are no more starts than the rate and one burst', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 200, noNaN: true }), (rate) => {
        const starts = startsWithin(rate, 20_000);
        const burst = Math.max(1, rate / 10);
        starts.forEach((start, i) => {
          const last = starts[Math.min(starts.length - 1, i + 50)]!;
          const count = Math.min(50, starts.length - 1 - i) + 1;
          assert.ok(count <= burst + ((last - start) / 1_000) * rate + 1e-6, `${count} in ${last - start} ms`);
        });
      }),
      { numRuns: 50 },
    );
  });

  test('on average all of it can be used', () => {
    for (const rate of [0.5, 7, 90]) {
      const { length } = startsWithin(rate, 60_000);
      assert.ok(length >= rate * 60 - 1, `${length} at ${rate}/s`);
    }
  });

  test('an idle destination saves up one burst and no more', () => {
    const limit = new RateLimit(100, 0);
    let taken = 0;
    while (limit.waitMs(3_600_000, 0) === 0) {
      limit.take(3_600_000);
      taken++;
    }
    assert.equal(taken, 10);
  });

  test('none means no limit, and a new one holds from then on', () => {
    const limit = new RateLimit(null, 0);
    for (let i = 0; i < 1_000; i++) limit.take(0);
    assert.equal(limit.waitMs(0, 0), 0);
    limit.setRate(1, 0);
    limit.take(0);
    assert.equal(limit.waitMs(0, 0), 1_000);
    assert.equal(limit.isFull(500), false);
    assert.equal(limit.isFull(1_000), true);
  });
});

const DAY_MS = 86_400_000;
const event = { endedAt: 1_000, heldUntil: 0 };

/** Both clocks, which agree. */
const at = (ms = 0): Instant => ({ now: ms, monotonic: ms });

function ended(outcome: AttemptResult['outcome'], responseCode: number | null = null): AttemptResult {
  return { outcome, responseCode } as AttemptResult;
}

describe('the window', () => {
  test('is small at first, grows by each answer while more wait, and is forgotten when it was long ago', () => {
    const window = new Window();
    assert.deepEqual([window.earned(5_000), window.size(5_000)], [0, 20]);
    for (let i = 0; i < 21; i++) window.noteAnswer(20, true, 5_010);
    assert.equal(window.size(5_010), 40);
    window.noteAnswer(20, true, 5_010);
    assert.equal(window.size(5_010), 40, 'it is not in use');
    window.noteAnswer(30, false, 5_020);
    assert.equal(window.size(5_900), 40);
    window.noteAnswer(3, false, 6_100);
    assert.equal(window.earned(6_500), 40, 'what the stretch before had');
    assert.equal(window.earned(7_200), 3);
    assert.deepEqual([window.earned(9_300), window.size(9_300)], [0, 20]);
  });
});

describe('what is in flight', () => {
  test('counts as long as it is on the wire, also left behind, and is not started beside itself', () => {
    const inFlight = new InFlight();
    const [old, later] = ['dlv_old', 'dlv_later'].map((id) => openDelivery({ id: id as `dlv_${string}` }));
    inFlight.start(old!, 0, { mode: 'live', standing: 'earner' });
    const answered = inFlight.start(later!, 1_500, { mode: 'live', standing: 'earner' });
    inFlight.noteAnswer(answered, 2_000);
    assert.deepEqual([inFlight.currentCount, inFlight.count], [1, 2]);
    assert.throws(() => inFlight.start(old!, 2_000, { mode: 'live', standing: 'earner' }), /two attempts/);
  });
});

describe('health', () => {
  test('trouble halves what may be on the wire, down to one, and spaces the starts, up to a second', () => {
    const health = new Health('dst_1', 50, null, at());
    const seen = Array.from({ length: 9 }, () => {
      health.note(ended('timed_out'), event, at());
      return [health.inFlightLimit, health.spacingMs];
    });
    assert.deepEqual(seen.slice(0, 3), [
      [25, 10],
      [12, 20],
      [6, 40],
    ]);
    assert.deepEqual(seen.at(-1), [1, 1_000]);
  });

  for (const [code, isTrouble] of [
    [429, true],
    [500, true],
    [503, true],
    [404, false],
    [302, false],
  ] as const) {
    test(`a ${code} ${isTrouble ? 'is' : 'is no'} sign of overload`, () => {
      const health = new Health('dst_1', 50, null, at());
      health.note(ended('bad_status', code), event, at());
      assert.equal(health.inFlightLimit < 50, isTrouble);
    });
  }

  test('what the receiver has left behind, having answered later ones, says nothing of how it is now', () => {
    const health = new Health('dst_1', 50, null, at());
    const noted = health.note(ended('timed_out'), { ...event, isLate: true }, at());
    assert.deepEqual([health.inFlightLimit, health.spacingMs, noted?.failureCount], [50, 0, 1]);
  });

  test('successes give it back', () => {
    const health = new Health('dst_1', 4, null, at());
    for (let i = 0; i < 10; i++) health.note(ended('connect_failed'), event, at());
    for (let i = 0; i < 10; i++) health.note(ended('succeeded', 200), event, at());
    assert.deepEqual([health.inFlightLimit, health.spacingMs, health.isNeutral(at(2_000))], [4, 0, true]);
  });

  test('only ten failures and more, over all of the time, without a success, are failing', () => {
    const health = new Health('dst_1', 4, null, at());
    for (let i = 0; i < 9; i++)
      health.note(ended('bad_status', 500), { endedAt: i * DAY_MS, heldUntil: 0 }, at(i * DAY_MS));
    assert.equal(health.isFailingFor(5 * DAY_MS, 9 * DAY_MS), false);
    health.note(ended('bad_status', 500), { endedAt: 9 * DAY_MS, heldUntil: 0 }, at(9 * DAY_MS));
    assert.equal(health.isFailingFor(5 * DAY_MS, 9 * DAY_MS), true);
    assert.equal(health.isFailingFor(10 * DAY_MS, 9 * DAY_MS), false);
    assert.equal(health.isFailingFor(0, 9 * DAY_MS), false, '0 turns it off');
    assert.deepEqual(health.note(ended('succeeded', 200), event, at())?.failingSince, null);
    assert.equal(health.isFailingFor(5 * DAY_MS, 30 * DAY_MS), false);
  });

  test('what was stored counts on after a restart', () => {
    const stored = { destinationId: 'dst_1', failingSince: 0, failureCount: 9, heldUntil: 5_000 } as const;
    const health = new Health('dst_1', 4, stored, at());
    assert.equal(health.heldMs(at(1_000)), 4_000);
    health.note(ended('bad_status', 500), { endedAt: 6 * DAY_MS, heldUntil: 0 }, at(6 * DAY_MS));
    assert.equal(health.isFailingFor(5 * DAY_MS, 6 * DAY_MS), true);
  });

  test('a hold that is over is not stored again', () => {
    const health = new Health('dst_1', 4, null, at());
    const held = health.note(ended('bad_status', 429), { endedAt: 1_000, heldUntil: 5_000 }, at(1_000));
    assert.deepEqual([held?.heldUntil, held?.failingSince], [5_000, 1_000]);
    assert.equal(health.note(ended('bad_status', 500), { endedAt: 4_999, heldUntil: 0 }, at(4_999))?.heldUntil, 5_000);
    const well = health.note(ended('succeeded', 200), { endedAt: 5_000, heldUntil: 0 }, at(5_000));
    assert.deepEqual(well, { destinationId: 'dst_1', failingSince: null, failureCount: 0, heldUntil: null });
  });

  test('a hold lasts as long as was asked for, though the wall clock is set back meanwhile', () => {
    const health = new Health('dst_1', 4, null, at());
    const hour = 3_600_000;
    health.note(ended('bad_status', 429), { endedAt: 2 * hour, heldUntil: 2 * hour + 5_000 }, at(2 * hour));
    const later = (ms: number): Instant => ({ now: hour + ms, monotonic: 2 * hour + ms });
    assert.deepEqual([health.heldMs(later(1_000)), health.heldMs(later(5_000))], [4_000, 0]);
    assert.equal(health.note(ended('bad_status', 500), event, later(5_000))?.heldUntil, null);
    assert.equal(
      health.note(ended('bad_status', 429), { ...event, heldUntil: hour + 9_000 }, later(6_000))?.heldUntil,
      hour + 9_000,
    );
    assert.equal(health.heldMs(later(6_000)), 3_000);
  });

  test('an attempt that was cancelled says nothing', () => {
    const health = new Health('dst_1', 4, null, at());
    assert.equal(health.note(ended('cancelled'), event, at()), null);
    assert.equal(health.isNeutral(at()), true);
  });
});
