// What a replay of many events makes of each: by the subscriptions as they are, on whichever node that is asked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventWork } from '../../src/operate/event-work.ts';
import { taskOf } from '../../src/operate/operations.ts';
import { Pace } from '../../src/operate/pace.ts';
import { START } from '../../src/operate/work.ts';
import { RETENTION_MS, setUp } from '../accept/setup.ts';

const PER_SECOND = 100;

/** One event that nobody subscribed to when it came. */
async function setUpWork() {
  const world = setUp();
  const { clock, ids, store, follower } = world;
  await world.post();
  const destinationId = await world.createDestination();
  const work = createEventWork({
    store,
    clock,
    ids,
    configurationOf: follower.configurationOf,
    catchUp: follower.catchUp,
    bodyRetentionMs: RETENTION_MS,
    maxFanout: 10,
    onScheduled: () => undefined,
    observer: { scheduled: () => undefined },
  });
  const task = taskOf({
    id: ids.next('op'),
    environment: 1,
    request: {
      kind: 'event_replay',
      eventType: null,
      since: 0,
      until: null,
      destinationIds: null,
      missingOnly: false,
      perSecond: PER_SECOND,
    },
    createdAt: clock.now(),
  });
  return { ...world, destinationId, work, task };
}

test('a subscription that another node has made is counted, and gets the events', async () => {
  const { work, task, destinationId, subscribeUnnoticed } = await setUpWork();
  await subscribeUnnoticed(destinationId);
  const { found } = await work.count(task, START);
  assert.equal(found.count, 1);
  await subscribeUnnoticed(destinationId, 'order.*');
  const { step } = await work.take(task, START, new Pace(PER_SECOND, () => false));
  assert.equal(step?.replays?.events[0]?.deliveries.length, 2);
});

test('one that another node has deleted is not counted', async () => {
  const { work, task, store, destinationId, subscribe } = await setUpWork();
  const id = await subscribe(destinationId);
  await store.deleteSubscription({ environment: 1, id });
  const { found } = await work.count(task, START);
  assert.equal(found.count, 0);
});
