// The numbers that stand for names on disk: a database written by any version must be read the same by every later one.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { OUTCOMES } from '../../src/model/attempt.ts';
import { DEAD_REASONS, DELIVERY_STATUSES } from '../../src/model/delivery.ts';
import { PAUSED_REASONS } from '../../src/model/destination.ts';
import * as codec from '../../src/store/rows/codec.ts';

it('names keep their numbers for ever', () => {
  const numbersOf = <Name extends string>(code: { numberOf(name: Name): number }, names: readonly Name[]) =>
    Object.fromEntries(names.map((name) => [name, code.numberOf(name)]));
  assert.deepEqual(numbersOf(codec.modeCode, ['live', 'test']), { live: 0, test: 1 });
  assert.deepEqual(numbersOf(codec.destinationStatusCode, ['active', 'paused']), { active: 0, paused: 1 });
  assert.deepEqual(numbersOf(codec.originCode, ['event', 'replay']), { event: 0, replay: 1 });
  assert.deepEqual(numbersOf(codec.triggerCode, ['schedule', 'manual']), { schedule: 0, manual: 1 });
  assert.deepEqual(numbersOf(codec.pausedReasonCode, PAUSED_REASONS), { manual: 0, failing: 1, gone: 2 });
  assert.deepEqual(numbersOf(codec.deliveryStatusCode, DELIVERY_STATUSES), {
    pending: codec.PENDING,
    retrying: codec.RETRYING,
    succeeded: codec.SUCCEEDED,
    dead: codec.DEAD,
  });
  assert.deepEqual([codec.PENDING, codec.RETRYING, codec.SUCCEEDED, codec.DEAD], [0, 1, 2, 3]);
  assert.deepEqual(numbersOf(codec.deadReasonCode, DEAD_REASONS), {
    exhausted: 0,
    gone: 1,
    destination_deleted: 2,
    expired: 3,
    backlog_full: 4,
  });
  assert.deepEqual(numbersOf(codec.outcomeCode, OUTCOMES), {
    succeeded: 0,
    bad_status: 1,
    timed_out: 2,
    connect_failed: 3,
    dns_failed: 4,
    tls_failed: 5,
    blocked: 6,
    reset: 7,
    invalid_response: 8,
    cancelled: 9,
  });
});
