// The state table of a delivery, row by row: what an attempt's result makes of it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { AttemptResult } from '../../src/model/attempt.ts';
import type { DeliveryState, DeliveryStatus, OpenDelivery } from '../../src/model/delivery.ts';
import { boundRetryAfter, nextAttemptAt, resolveSchedule } from '../../src/model/retry-policy.ts';
import { afterResult, endByDeletion, expire, mayRevive, sendAgain, triggerOf } from '../../src/model/transitions.ts';
import { openDelivery } from '../support/deliveries.ts';

const STARTED_AT = 1_800_000_000_000;
const ENDED_AT = STARTED_AT + 40;
const SCHEDULE = resolveSchedule({ schedule_seconds: [10, 60], jitter: 0.5 });

function delivery(overrides: Partial<OpenDelivery> = {}): OpenDelivery {
  return openDelivery({ dueAt: STARTED_AT - 5, ...overrides });
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

type Input = Omit<Parameters<typeof afterResult>[1], 'result'>;

const decide = (of: OpenDelivery, ended: AttemptResult, input: Input) => afterResult(of, { ...input, result: ended });

const scheduled = { trigger: 'schedule', schedule: SCHEDULE, fraction: 0 } as const;
const manual = { ...scheduled, trigger: 'manual' } as const;

/** As it stood before somebody forced an attempt of it. */
function before(status: DeliveryStatus, dueAt: number | null = null): DeliveryState {
  const completedAt = dueAt === null ? STARTED_AT - 60_000 : null;
  const deadReason = status === 'dead' ? 'exhausted' : null;
  return { ...delivery(), status, deadReason, completedAt, dueAt, schedulePosition: 1 };
}

function forced(status: DeliveryStatus, dueAt: number | null = null): OpenDelivery {
  const state = sendAgain('retry', before(status, dueAt), { isDestinationDeleted: false, isTooOld: false, now: 0 });
  assert.ok(typeof state === 'object');
  return { ...delivery(), ...state };
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

  test('answered 410 at a url that the destination has no more goes to the new one, by the schedule', () => {
    const decision = decide(delivery(), result({ responseCode: 410 }), { ...scheduled, isOfFormerUrl: true });
    const other = decide(delivery(), result({ responseCode: 404 }), scheduled);
    assert.equal(other.status, 'retrying');
    assert.deepEqual(decision, other);
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
      const { pauseDestination: _, ...state } = decide(forced(status), result(), manual);
      const {
        id: _id,
        environment: _e,
        eventId: _v,
        destinationId: _d,
        rev: _r,
        attemptCount: _a,
        ...was
      } = {
        ...delivery(),
        ...before(status),
      };
      assert.deepEqual(state, was);
    });
  }

  test('of a delivery that had succeeded leaves it succeeded even with 410, which pauses the destination', () => {
    const decision = decide(forced('succeeded'), result({ responseCode: 410 }), manual);
    const { completedAt } = before('succeeded');
    const { status, pauseDestination } = decision;
    assert.deepEqual([status, decision.completedAt, pauseDestination], ['succeeded', completedAt, 'gone']);
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
  assert.equal(triggerOf(forced('dead')), 'manual');
  assert.equal(triggerOf(delivery()), 'schedule');
});

describe('sending again', () => {
  const facts = { isDestinationDeleted: false, isTooOld: false, now: ENDED_AT };

  test('is refused in one order: the destination is gone, not in the DLQ, too old', () => {
    const all = { ...facts, isDestinationDeleted: true, isTooOld: true };
    assert.equal(sendAgain('retry', before('dead'), all), 'destination_deleted');
    assert.equal(sendAgain('replay_dead', before('succeeded'), all), 'destination_deleted');
    const old = { ...facts, isTooOld: true };
    assert.equal(sendAgain('replay_dead', before('succeeded'), old), 'not_found');
    assert.equal(sendAgain('replay_dead', before('dead'), old), 'too_old');
    assert.equal(sendAgain('retry', before('succeeded'), old), 'too_old');
  });

  test('a delivery that waits forced stays as it is', () => {
    assert.equal(sendAgain('retry', forced('dead'), facts), 'unchanged');
  });

  test('a dead one begins its schedule anew, with nothing left of its end', () => {
    const fresh = sendAgain('replay_dead', before('dead'), facts);
    assert.deepEqual(fresh, {
      status: 'pending',
      deadReason: null,
      completedAt: null,
      dueAt: ENDED_AT,
      scheduledAt: null,
      fallbackStatus: null,
      schedulePosition: 0,
    });
  });
});

test('without an attempt a delivery ends dead, with its reason, and waits for nothing', () => {
  const endings = (waiting: DeliveryState) => [
    expire(waiting, ENDED_AT),
    endByDeletion({ ...waiting, updatedAt: STARTED_AT }, ENDED_AT),
  ];
  const wasDead = { fallbackStatus: 'dead', deadReason: 'exhausted', completedAt: STARTED_AT } as const;
  for (const waiting of [delivery(), delivery({ status: 'retrying' }), delivery({ status: 'retrying', ...wasDead })]) {
    for (const ended of endings(waiting)) {
      assert.deepEqual([ended.status, ended.dueAt, ended.completedAt], ['dead', null, ENDED_AT]);
      assert.deepEqual([ended.scheduledAt, ended.fallbackStatus, ended.updatedAt], [null, null, ENDED_AT]);
    }
    assert.deepEqual(
      endings(waiting).map(({ deadReason }) => deadReason),
      ['expired', 'destination_deleted'],
    );
  }
  assert.equal(endByDeletion({ ...delivery(), updatedAt: ENDED_AT + 5 }, ENDED_AT).updatedAt, ENDED_AT + 5);
  const arrived = delivery({ status: 'retrying', fallbackStatus: 'succeeded', completedAt: STARTED_AT - 9 });
  for (const ended of endings(arrived)) {
    assert.deepEqual([ended.status, ended.deadReason, ended.completedAt], ['succeeded', null, STARTED_AT - 9]);
    assert.deepEqual([ended.dueAt, ended.fallbackStatus, ended.updatedAt], [null, null, ENDED_AT]);
  }
});

test('what was on the wire when its event expired, and arrived, has succeeded; nothing else is revived', () => {
  const decisionOn = (outcome: Partial<AttemptResult>) =>
    afterResult(delivery(), { result: result(outcome), trigger: 'schedule', schedule: SCHEDULE, fraction: 0 });
  const [arrived, failed] = [decisionOn({ outcome: 'succeeded', responseCode: 200 }), decisionOn({})];
  const ended = (deadReason: DeliveryState['deadReason']) => ({ status: 'dead', deadReason }) as const;
  assert.equal(mayRevive(ended('expired'), arrived), true);
  assert.equal(mayRevive(ended('expired'), failed), false);
  for (const reason of ['exhausted', 'gone', 'destination_deleted', 'backlog_full'] as const) {
    assert.equal(mayRevive(ended(reason), arrived), false, reason);
  }
  assert.equal(mayRevive({ status: 'succeeded', deadReason: null }, arrived), false);
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
    const day = 24 * 3_600_000;
    assert.equal(boundRetryAfter(ENDED_AT + 2 * day, ENDED_AT), ENDED_AT + day);
    assert.equal(boundRetryAfter(ENDED_AT + 5, ENDED_AT), ENDED_AT + 5);
    assert.equal(boundRetryAfter(null, ENDED_AT), 0);
  });
});
