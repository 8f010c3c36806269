// Operations on a service that crashes: each delivery is met once, and the counts are exact.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { OperationId } from '../../src/model/id.ts';
import type { Operation } from '../../src/model/operation.ts';
import { BEHAVIOURS } from './receivers.ts';
import { situation, type Stage } from './situation.ts';

const MINUTE_MS = 60_000;
const ONCE = { schedule_seconds: [], timeout_seconds: 60 };
const RANGE = { since: 0, until: null, perSecond: 200 };
const EVERYTHING_DEAD = {
  kind: 'dlq_replay',
  destinationId: null,
  eventType: null,
  deadReason: null,
  ...RANGE,
} as const;

async function ended(stage: Stage, id: OperationId): Promise<unknown[]> {
  for (let seconds = 0; seconds < 600; seconds++) {
    await stage.clock.run(1_000);
    const operation = await stage.do(stage.clients.readOperation(id));
    if (operation !== null && operation.finishedAt !== null) return countsOf(operation);
  }
  return assert.fail('it does not end');
}

const countsOf = ({ status, total, done, failed, skipped }: Operation) => [status, total, done, failed, skipped];

const attemptsOf = (stage: Stage, ids: Awaited<ReturnType<Stage['post']>>): Set<number> =>
  new Set(ids.map((id) => stage.world.view.delivery(id)!.attemptCount));

describe('an operation', () => {
  for (const [where, settings] of [
    ['', {}],
    [' on a shared store', { DATABASE_URL: 'shared' }],
  ] as const) {
    situation(`on the dead meets each once, whatever crashes${where}`, settings, async (stage) => {
      await stage.destination(BEHAVIOURS.dislikes, { retryPolicy: ONCE, maxInFlight: 100 });
      await stage.destination(BEHAVIOURS.dislikes, { retryPolicy: ONCE, maxInFlight: 100 });
      const deliveries = await stage.post(1_000);
      await stage.clock.run(MINUTE_MS);
      assert.deepEqual(stage.tally(deliveries), { 'dead: exhausted': 2_000 });
      const begun = await stage.do(stage.clients.operate(1, EVERYTHING_DEAD));
      assert.equal(begun!.total, 2_000);
      for (let i = 0; i < 6; i++) {
        await stage.clock.run(700);
        await stage.world.crash();
      }
      assert.deepEqual(await ended(stage, begun!.id), ['done', 2_000, 2_000, 0, 0]);
      await stage.clock.run(MINUTE_MS);
      assert.deepEqual(stage.tally(deliveries), { 'dead: exhausted': 2_000 });
      assert.deepEqual(attemptsOf(stage, deliveries), new Set([2]));
    });
  }

  situation('that recovers a destination sends what is dead, and what waits, now', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.dislikes, { retryPolicy: ONCE });
    const dead = await stage.post(300);
    await stage.clock.run(MINUTE_MS);
    const later = { schedule_seconds: [3_600], jitter: 0 };
    await stage.do(stage.clients.patchDestination(id, { retryPolicy: later }));
    const waiting = await stage.post(300);
    await stage.clock.run(MINUTE_MS);
    stage.setBehaviour(id, BEHAVIOURS.ok);
    const request = { kind: 'destination_recovery', destinationId: id, ...RANGE } as const;
    const begun = await stage.do(stage.clients.operate(1, request));
    assert.deepEqual(countsOf(begun!), ['running', 600, 0, 0, 0]);
    await stage.clock.run(1_000);
    await stage.world.crash();
    assert.deepEqual(await ended(stage, begun!.id), ['done', 600, 600, 0, 0]);
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally([...dead, ...waiting]), { succeeded: 600 });
    assert.deepEqual(attemptsOf(stage, [...dead, ...waiting]), new Set([2]));
  });

  situation('leaves alone what died after it was asked for', {}, async (stage) => {
    const paused = { retryPolicy: ONCE, status: 'paused' } as const;
    const late = await stage.destination(BEHAVIOURS.dislikes, paused, 'order.late');
    // The oldest, which the operation would come to last.
    const after = await stage.post(50, 'order.late');
    await stage.destination(BEHAVIOURS.dislikes, { retryPolicy: ONCE, maxInFlight: 100 });
    const before = await stage.post(200);
    await stage.clock.run(MINUTE_MS);
    const begun = await stage.do(stage.clients.operate(1, { ...EVERYTHING_DEAD, perSecond: 20 }));
    await stage.do(stage.clients.patchDestination(late, { status: 'active' }));
    const since = await stage.post(50);
    assert.deepEqual(await ended(stage, begun!.id), ['done', 200, 200, 0, 0]);
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(attemptsOf(stage, before), new Set([2]));
    assert.deepEqual(stage.tally([...after, ...since]), { 'dead: exhausted': 100 });
    assert.deepEqual(attemptsOf(stage, [...after, ...since]), new Set([1]));
  });

  situation('counts for skipped what somebody else has sent again', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.dislikes, { retryPolicy: ONCE });
    const deliveries = await stage.post(100);
    await stage.clock.run(MINUTE_MS);
    stage.setBehaviour(id, BEHAVIOURS.ok);
    const begun = await stage.do(stage.clients.operate(1, { ...EVERYTHING_DEAD, perSecond: 10 }));
    // The oldest, which the operation comes to last.
    for (const delivery of deliveries.slice(0, 30)) await stage.do(stage.clients.replayDead(delivery));
    assert.deepEqual(await ended(stage, begun!.id), ['done', 100, 70, 0, 30]);
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 100 });
    assert.equal(stage.received(id).length, 200);
  });

  situation('gives a destination no more than its share of each second', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.dislikes, { retryPolicy: ONCE, maxInFlight: 500 });
    await stage.post(400);
    await stage.clock.run(MINUTE_MS);
    const startedAt = stage.clock.monotonic();
    const before = stage.received(id).length;
    await stage.do(stage.clients.operate(1, { ...EVERYTHING_DEAD, perSecond: 40 }));
    for (let seconds = 1; seconds <= 8; seconds++) {
      await stage.clock.run(startedAt + seconds * 1_000 - stage.clock.monotonic());
      const sent = stage.received(id).length - before;
      assert.ok(sent <= 10 + 40 * seconds, `${sent} in ${seconds} s`);
      assert.ok(sent >= 40 * (seconds - 2), `${sent} in ${seconds} s`);
    }
  });

  situation('on old events makes each delivery once, whatever crashes', {}, async (stage) => {
    const first = await stage.destination(BEHAVIOURS.ok);
    await stage.post(300);
    await stage.clock.run(MINUTE_MS);
    const second = await stage.destination(BEHAVIOURS.ok, { maxInFlight: 100 });
    const events = { kind: 'event_replay', eventType: 'order.*', destinationIds: null, ...RANGE } as const;
    const begun = await stage.do(stage.clients.operate(1, { ...events, missingOnly: true }));
    assert.equal(begun!.total, 300);
    for (let i = 0; i < 3; i++) {
      await stage.clock.run(400);
      await stage.world.crash();
    }
    assert.deepEqual(await ended(stage, begun!.id), ['done', 300, 300, 0, 0]);
    await stage.clock.run(MINUTE_MS);
    assert.equal(stage.received(first).length, 300);
    assert.equal(new Set(stage.received(second).map(({ deliveryId }) => deliveryId)).size, 300);
    assert.equal(new Set(stage.received(second).map(({ eventId }) => eventId)).size, 300);
  });
});
