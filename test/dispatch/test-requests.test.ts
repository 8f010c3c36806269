// Requests that try out a destination: what a stop, and a node without sockets, mean for them. The rest is in
// test/api/test-requests.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Abort } from '../../src/attempt/connection.ts';
import { NoDescriptors } from '../../src/attempt/descriptors.ts';
import { TestRequests } from '../../src/dispatch/test-requests.ts';
import type { AttemptResult } from '../../src/model/attempt.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { destinationWith } from '../support/destinations.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('a stop ends those under way, and none begins any more', async () => {
  const clock = new ManualClock();
  const ids = createIds(clock, systemRandom);
  const destinationId = ids.next('dst');
  const begun: Abort[] = [];
  const tests = new TestRequests({
    clock,
    ids,
    modeOf: () => 'live',
    reserve: null,
    perform: (_, abort) =>
      new Promise<AttemptResult>((resolve) => {
        begun.push(abort!);
        abort!.addEventListener('abort', () => resolve({ ...CANCELLED, startedAt: clock.now(), durationMs: 0 }));
      }),
  });
  const event = { type: 'a.b', body: Buffer.from('{}') };
  const asked = tests.send(destinationWith({ id: destinationId }), event);
  assert.equal(begun.length, 1);
  tests.stop();
  assert.equal((await asked).outcome, 'cancelled');
  await assert.rejects(tests.send(destinationWith({ id: destinationId }), event), { code: 'unavailable' });
  assert.equal(begun.length, 1);
});

test('where this node can open no connection the caller is told, and when to ask again', async () => {
  const clock = new ManualClock();
  const ids = createIds(clock, systemRandom);
  const perform = (): Promise<AttemptResult> => Promise.reject(new NoDescriptors());
  const tests = new TestRequests({ clock, ids, modeOf: () => 'live', reserve: null, perform });
  const asked = tests.send(destinationWith({ id: ids.next('dst') }), { type: 'a.b', body: Buffer.from('{}') });
  await assert.rejects(asked, { code: 'unavailable', retryAfterSeconds: 1 });
});

const CANCELLED = {
  outcome: 'cancelled',
  responseCode: null,
  responseHeaders: null,
  responseBody: null,
  responseBodyTruncated: false,
  error: null,
  retryAfterAt: null,
} as const;
