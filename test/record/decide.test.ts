// The state table of a delivery, row by row: what an attempt's result makes of it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { AttemptResult } from '../../src/model/attempt.ts';
import { FORCED_DUE_AT } from '../../src/model/delivery.ts';
import type { DeliveryStatus, OpenDelivery } from '../../src/model/delivery.ts';
import { resolveSchedule } from '../../src/model/retry-policy.ts';
import { boundRetryAfter, nextAttemptAt, RETRY_AFTER_MAX_MS } from '../../src/record/backoff.ts';
import { decide, isManualAttempt } from '../../src/record/decide.ts';

const STARTED_AT = 1_800_000_000_000;
const ENDED_AT = STARTED_AT + 40;
const SCHEDULE = resolveSchedule({ schedule_seconds: [10, 60], jitter: 0.5 });

function delivery(overrides: Partial<OpenDelivery> = {}): OpenDelivery {
  return {
    id: 'dlv_1',
    environment: 2,
    eventId: 'evt_1',
    destinationId: 'dst_1',
    rev: 3,
    status: 'pending',
    dueAt: STARTED_AT - 5,
    scheduledAt: null,
    fallbackStatus: null,
    schedulePosition: 0,
    attemptCount: 0,
    ...overrides,
  };
}

function result(overrides: Partial<AttemptResult> = {}) {
  const failed = {
    outcome: 'bad_status',
    startedAt: STARTED_AT,
    durationMs: 40,
    responseCode: 500,
    retryAfterAt: null,
  };
  return { ...failed, ...overrides } as AttemptResult;
}

const scheduled = { schedule: SCHEDULE, fraction: 0, isManual: false };
const manual = { ...scheduled, isManual: true };

function forced(fallbackStatus: DeliveryStatus, scheduledAt: number | null = null): OpenDelivery {
  return delivery({ status: 'retrying', dueAt: FORCED_DUE_AT, fallbackStatus, scheduledAt, schedulePosition: 1 });
}

describe('a scheduled attempt', () => {
  test('that succeeds ends its delivery', () => {
    const decision = decide(delivery(), result({ outcome: 'succeeded', responseCode: 204 }), scheduled);
    assert.equal(decision.status, 'succeeded');
    assert.equal(decision.dueAt, null);
    assert.equal(decision.completedAt, ENDED_AT);
  });

  test('that fails uses up one delay, counted from its end', () => {
    const decision = decide(delivery(), result(), scheduled);
    assert.equal(decision.status, 'retrying');
    assert.equal(decision.dueAt, ENDED_AT + 10_000);
    assert.equal(decision.schedulePosition, 1);
    assert.equal(decision.completedAt, null);
  });

  test('that fails with the schedule spent ends it as exhausted', () => {
    const decision = decide(delivery({ status: 'retrying', schedulePosition: 2 }), result(), scheduled);
    assert.deepEqual([decision.status, decision.deadReason, decision.dueAt], ['dead', 'exhausted', null]);
  });

  test('is the only one with an empty schedule', () => {
    const once = { ...scheduled, schedule: resolveSchedule({ schedule_seconds: [] }) };
    assert.equal(decide(delivery(), result(), once).status, 'dead');
  });

  test('answered 410 ends it at once and pauses the destination', () => {
    const decision = decide(delivery(), result({ responseCode: 410 }), scheduled);
    assert.deepEqual([decision.status, decision.deadReason, decision.pauseDestination], ['dead', 'gone', 'gone']);
  });

  test('waits for Retry-After when that is later than the schedule, and not when it is sooner', () => {
    const later = decide(delivery(), result({ responseCode: 503, retryAfterAt: ENDED_AT + 30_000 }), scheduled);
    assert.equal(later.dueAt, ENDED_AT + 30_000);
    const sooner = decide(delivery(), result({ responseCode: 503, retryAfterAt: ENDED_AT + 1_000 }), scheduled);
    assert.equal(sooner.dueAt, ENDED_AT + 10_000);
  });

  test('whose schedule is spent is dead, whatever Retry-After says', () => {
    const spent = delivery({ schedulePosition: 2 });
    assert.equal(decide(spent, result({ responseCode: 429, retryAfterAt: ENDED_AT + 1 }), scheduled).status, 'dead');
  });
});

describe('a forced attempt that fails', () => {
  test('leaves the schedule where it was', () => {
    const decision = decide(forced('retrying', ENDED_AT + 7_000), result(), manual);
    assert.deepEqual([decision.status, decision.dueAt, decision.schedulePosition], ['retrying', ENDED_AT + 7_000, 1]);
  });

  test('of a delivery that had its first attempt still to come keeps all of the schedule', () => {
    const decision = decide(forced('pending', STARTED_AT - 50), result(), manual);
    assert.deepEqual([decision.status, decision.dueAt, decision.schedulePosition], ['retrying', STARTED_AT - 50, 1]);
  });

  for (const status of ['succeeded', 'dead'] as const) {
    test(`of a ${status} delivery leaves it ${status}, since when it was`, () => {
      const decision = decide(forced(status), result(), manual);
      assert.deepEqual([decision.status, decision.deadReason, decision.completedAt], [status, null, null]);
    });
  }

  test('of a delivery that had succeeded leaves it succeeded even with 410, which pauses the destination', () => {
    const decision = decide(forced('succeeded'), result({ responseCode: 410 }), manual);
    assert.deepEqual([decision.status, decision.completedAt, decision.pauseDestination], ['succeeded', null, 'gone']);
  });

  test('of a dead delivery with 410 makes it dead as gone', () => {
    const decision = decide(forced('dead'), result({ responseCode: 410 }), manual);
    assert.deepEqual([decision.status, decision.deadReason, decision.completedAt], ['dead', 'gone', ENDED_AT]);
  });
});

test('a forced attempt that succeeds ends the delivery, whatever it was', () => {
  for (const status of ['pending', 'retrying', 'succeeded', 'dead'] as const) {
    const decision = decide(forced(status), result({ outcome: 'succeeded', responseCode: 200 }), manual);
    assert.deepEqual([decision.status, decision.completedAt], ['succeeded', ENDED_AT]);
  }
});

test('a result that was sent before somebody forced an attempt goes by the schedule, and the force is spent', () => {
  const decision = decide(forced('retrying', ENDED_AT + 7_000), result(), scheduled);
  assert.deepEqual([decision.status, decision.dueAt, decision.schedulePosition], ['retrying', ENDED_AT + 60_000, 2]);
});

test('only a forced delivery makes a manual attempt', () => {
  assert.equal(isManualAttempt(forced('dead')), true);
  assert.equal(isManualAttempt(delivery()), false);
});

describe('backoff', () => {
  test('jitter only adds, and never more than its share', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(1), (fraction, position) => {
        const at = nextAttemptAt(SCHEDULE, { position, endedAt: ENDED_AT, fraction, notBefore: 0 })!;
        const delayMs = SCHEDULE.delaysMs[position]!;
        assert.ok(at >= ENDED_AT + delayMs && at <= ENDED_AT + delayMs * 1.5 + 1);
        assert.ok(Number.isInteger(at));
      }),
    );
  });

  test('Retry-After is at most a day away', () => {
    assert.equal(boundRetryAfter(ENDED_AT + 2 * RETRY_AFTER_MAX_MS, ENDED_AT), ENDED_AT + RETRY_AFTER_MAX_MS);
    assert.equal(boundRetryAfter(ENDED_AT + 5, ENDED_AT), ENDED_AT + 5);
    assert.equal(boundRetryAfter(null, ENDED_AT), 0);
  });
});
