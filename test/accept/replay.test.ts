// Replaying an event: new deliveries for what subscribes now, all or nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../src/model/error.ts';
import { formatId } from '../../src/model/id.ts';
import { settle } from '../sim/virtual-clock.ts';
import { RETENTION_MS, setUp } from './setup.ts';

/** Two destinations that subscribe, one that does not, and an event that came before all of them. */
async function setUpReplay(options: { maxFanout?: number } = {}, override?: Parameters<typeof setUp>[0]) {
  const world = setUp(override, options);
  const { event } = await world.post();
  const [a, b, other] = [
    await world.createDestination(),
    await world.createDestination(),
    await world.createDestination(),
  ];
  for (const id of [a, b]) await world.subscribe(id);
  const replay = async (destinationIds: string[] | null) =>
    Array.from(await world.acceptor.replay({ environment: 1, eventId: event.id, destinationIds }));
  return { ...world, event, a, b, other, replay };
}

function isApiError(code: string, param?: string) {
  return (error: unknown): boolean => error instanceof ApiError && error.code === code && error.param === param;
}

test('without ids it goes to all that subscribe now; the answer is what is stored', async () => {
  const { replay, event, a, b, scheduled, replayed, store } = await setUpReplay();
  const rows = await replay(null);
  assert.deepEqual(replayed, [rows.length]);
  assert.deepEqual(rows.map(({ destinationId }) => destinationId).sort(), [a, b].sort());
  assert.deepEqual(
    scheduled[0]!.map(({ id }) => id),
    rows.map(({ id }) => id),
  );
  const filter = { eventId: event.id, destinationId: null, status: null, since: null, until: null };
  const page = await store.listDeliveries({ environment: 1, filter, before: null, limit: 10 });
  const byId = (x: { id: string }, y: { id: string }): number => (x.id < y.id ? -1 : 1);
  assert.deepEqual(page.rows.sort(byId), rows.sort(byId));
});

test('with ids it goes to those only', async () => {
  const { replay, b } = await setUpReplay();
  assert.deepEqual(
    (await replay([b])).map(({ destinationId }) => destinationId),
    [b],
  );
});

test('an id that does not subscribe spoils all, and is named', async () => {
  const { replay, a, other, scheduled, replayed } = await setUpReplay();
  await assert.rejects(replay([a, other]), isApiError('destination_not_subscribed', '/destination_ids/1'));
  await assert.rejects(replay(['nonsense']), isApiError('destination_not_subscribed', '/destination_ids/0'));
  assert.deepEqual(replayed, []);
  assert.deepEqual(scheduled, []);
});

test('to more than one event may have is refused, and goes to those that are named', async () => {
  const { replay, scheduled, a, b } = await setUpReplay({ maxFanout: 1 });
  await assert.rejects(replay(null), isApiError('over_fanout_limit', '/destination_ids'));
  await assert.rejects(replay([a, b]), isApiError('over_fanout_limit', '/destination_ids'));
  assert.deepEqual(scheduled, []);
  for (const id of [a, b]) assert.equal((await replay([id])).length, 1);
});

test('takes its turn: those that come together are stored one after the other', async () => {
  const underWay: (() => void)[] = [];
  const { replay } = await setUpReplay({}, (store) => ({
    replayEvent: async (request) => {
      await new Promise<void>((resolve) => underWay.push(resolve));
      return store.replayEvent(request);
    },
  }));
  const replays = Promise.all(Array.from({ length: 3 }, () => replay(null)));
  await settle();
  for (let left = 3; left > 0; left--) {
    assert.equal(underWay.length, 1, 'a transaction at a time');
    underWay.shift()!();
    await settle();
  }
  assert.deepEqual(
    (await replays).map(({ length }) => length),
    [2, 2, 2],
  );
});

test('it is matched again when the configuration changed meanwhile', async () => {
  const { replay, a, subscribeUnnoticed } = await setUpReplay();
  await subscribeUnnoticed(a, 'order.*');
  assert.equal((await replay(null)).length, 3);
});

test('a subscription that another node has made counts for destinations that are named', async () => {
  const { replay, other, subscribeUnnoticed } = await setUpReplay();
  await subscribeUnnoticed(other);
  const [row] = await replay([other]);
  assert.equal(row?.destinationId, other);
});

test('to a paused destination it is held, and says so', async () => {
  const { replay, a, store, clock } = await setUpReplay();
  await store.updateDestination({ environment: 1, id: a, change: { status: 'paused' }, now: clock.now() });
  const [row] = await replay([a]);
  assert.deepEqual([row!.status, row!.nextAttemptAt], ['pending', null]);
});

test('an event of no such id, or of another environment, is not found', async () => {
  const { acceptor, event } = await setUpReplay();
  const eventId = formatId('evt', new Uint8Array(16));
  await assert.rejects(
    acceptor.replay({ environment: 1, eventId, destinationIds: null }),
    isApiError('event_not_found'),
  );
  const foreign = { environment: 2, eventId: event.id, destinationIds: null };
  await assert.rejects(acceptor.replay(foreign), isApiError('event_not_found'));
});

test('an event past its retention is too old, erased or not', async () => {
  const { replay, clock, store, scheduled, other } = await setUpReplay();
  await clock.run(RETENTION_MS + 1);
  await assert.rejects(replay(null), isApiError('event_too_old'));
  await assert.rejects(replay([other]), isApiError('event_too_old'), 'whoever subscribes');
  await store.eraseBodies({ cutoff: clock.now() - RETENTION_MS, now: clock.now(), budgetMs: 1_000 });
  await assert.rejects(replay(null), isApiError('event_too_old'));
  assert.deepEqual(scheduled, []);
});
