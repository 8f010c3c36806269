// Accepting: what is stored is what was matched against the configuration as it is, and each key is one event.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../src/model/error.ts';
import type { Event } from '../../src/model/event.ts';
import { idShard, idTime, type DestinationId } from '../../src/model/id.ts';
import { StoreError } from '../../src/store/store.ts';
import { settle } from '../sim/virtual-clock.ts';
import { Allowance } from '../../src/accept/deliveries.ts';
import { setUp, toIncoming, type Post } from './setup.ts';

const HOUR_MS = 3_600_000;

function isApiError(code: string) {
  return (error: unknown): boolean => error instanceof ApiError && error.code === code;
}

describe('an event', () => {
  test('gets one delivery for each subscription that wants it, and those are handed on after the commit', async () => {
    const { createDestination, subscribe, post, scheduled, store } = setUp();
    const [a, b] = [await createDestination(), await createDestination()];
    const wanting = [await subscribe(a), await subscribe(b, 'order.*', '{"$.total":5}'), await subscribe(b, '**')];
    await subscribe(a, 'user.*');
    await subscribe(a, 'order.paid', '{"$.total":{"$gt":5}}');
    const { event, deliveries, isRepeat } = await post();
    assert.equal(isRepeat, false);
    assert.deepEqual(deliveries.map(({ subscriptionId }) => subscriptionId).sort(), wanting.sort());
    for (const { id, destinationId, status } of deliveries) {
      assert.equal(status, 'pending');
      assert.equal(idShard(id), idShard(destinationId), 'the delivery lies in its destination’s shard');
    }
    assert.deepEqual(
      scheduled[0]!.map(({ id }) => id),
      deliveries.map(({ id }) => id),
    );
    const stored = await store.readEvent({ environment: 1, id: event.id });
    assert.equal(Buffer.from(stored!.body!).toString(), '{"total":5}');
    assert.equal(event.occurredAt, idTime(event.id));
  });

  test('that may have been stored a while ago is looked for in the store: it may have been sent since', async () => {
    const { createDestination, subscribe, post, scheduled, storedBefore } = setUp((store) => ({
      acceptEvents: async (events) => {
        const results = await store.acceptEvents(events);
        return results.map((one) => (one.result === 'accepted' ? { ...one, mayBeUnderWay: true } : one));
      },
    }));
    await subscribe(await createDestination());
    const { deliveries } = await post();
    assert.deepEqual(scheduled, []);
    assert.deepEqual(
      storedBefore.map(({ id }) => id),
      deliveries.map(({ id }) => id),
    );
  });

  test('that nobody wants is kept', async () => {
    const { post, scheduled, store } = setUp();
    const { event, deliveries } = await post({ occurredAt: '2025-12-31T23:00:00+01:00' });
    assert.deepEqual([deliveries, scheduled], [[], []]);
    const stored = await store.readEvent({ environment: 1, id: event.id });
    assert.equal(stored!.event.occurredAt, Date.UTC(2025, 11, 31, 22));
  });

  test('for a destination with too much waiting is accepted dead, and not handed on', async () => {
    const { createDestination, subscribe, post, scheduled } = setUp();
    await subscribe(await createDestination());
    for (let i = 0; i < 5; i++) await post();
    const { deliveries } = await post();
    assert.deepEqual(
      deliveries.map(({ status }) => status),
      ['dead'],
    );
    assert.equal(scheduled.length, 5);
  });
});

describe('a configuration that changed since the match', () => {
  test('is loaded, and the event matched again, the others of its batch being stored meanwhile', async () => {
    const { createDestination, subscribe, subscribeUnnoticed, post } = setUp();
    const id = await createDestination();
    const known = await subscribe(id);
    const added = await subscribeUnnoticed(id);
    const { deliveries } = await post();
    assert.deepEqual(
      deliveries.map(({ subscriptionId }) => subscriptionId),
      [known, added],
    );
  });

  test('counts for a subscription that was deleted too', async () => {
    const { createDestination, subscribe, post, store } = setUp();
    const subscription = await subscribe(await createDestination());
    await store.deleteSubscription({ environment: 1, id: subscription });
    assert.deepEqual((await post()).deliveries, []);
  });

  test('again and again is answered 503 in the end, with nothing stored', async () => {
    let destination: DestinationId | null = null;
    const world = setUp((store) => ({
      acceptEvents: async (events) => {
        if (destination !== null) await world.subscribeUnnoticed(destination);
        return store.acceptEvents(events);
      },
    }));
    destination = await world.createDestination();
    await assert.rejects(world.post(), isApiError('unavailable'));
    assert.equal(
      (await world.store.listEvents({ environment: 1, type: null, since: null, until: null, before: null, limit: 1 }))
        .rows.length,
      0,
    );
  });
});

describe('an event that more subscriptions want than one may have deliveries', () => {
  test('is refused, and neither stored nor holds its key', async () => {
    const { createDestination, subscribe, post, store, scheduled } = setUp(undefined, { maxFanout: 2 });
    const destination = await createDestination();
    const subscriptions = [await subscribe(destination), await subscribe(destination, 'order.*')];
    assert.equal((await post()).deliveries.length, 2);
    subscriptions.push(await subscribe(destination, '**'));
    await assert.rejects(post({ key: 'k' }), isApiError('over_fanout_limit'));
    assert.equal(scheduled.length, 1);
    // Deleted where nobody here has heard of it yet.
    await store.deleteSubscription({ environment: 1, id: subscriptions[0]! });
    const accepted = await post({ key: 'k' });
    assert.deepEqual([accepted.isRepeat, accepted.deliveries.length], [false, 2]);
  });

  test('is answered as the first time if it was accepted before', async () => {
    const { createDestination, subscribe, post } = setUp(undefined, { maxFanout: 1 });
    const destination = await createDestination();
    await subscribe(destination);
    const first = await post({ key: 'k' });
    await subscribe(destination, '**');
    const again = await post({ key: 'k' });
    assert.deepEqual([again.isRepeat, again.event.id], [true, first.event.id]);
    assert.deepEqual(again.deliveries, first.deliveries);
    await assert.rejects(post({ key: 'k', body: '{}' }), isApiError('idempotency_key_conflict'));
    await assert.rejects(post({ key: 'K' }), isApiError('over_fanout_limit'));
  });
});

describe('the deliveries of a request', () => {
  test('are bounded: the first event that does not fit ends it, whatever comes after', async () => {
    const { createDestination, subscribe, acceptor } = setUp();
    const destination = await createDestination();
    await subscribe(destination);
    await subscribe(destination, 'order.*');
    const allowance = new Allowance(3);
    const begin = async (input: Post) => acceptor.begin(toIncoming(input), allowance);
    assert.equal((await (await begin({})).stored).isRepeat, false);
    await assert.rejects(begin({}), isApiError('unavailable'));
    await assert.rejects(begin({ type: 'order.made' }), isApiError('unavailable'));
  });

  test('are those that are stored: a repeat takes none', async () => {
    const { createDestination, subscribe, acceptor } = setUp();
    await subscribe(await createDestination());
    const allowance = new Allowance(2);
    const accept = async () => (await acceptor.begin(toIncoming({ key: 'k' }), allowance)).stored;
    const repeats = [];
    for (let i = 0; i < 5; i++) repeats.push((await accept()).isRepeat);
    assert.deepEqual(repeats, [false, true, true, true, true]);
  });
});

describe('environments', () => {
  test('take turns: what one has waiting delays another by what is being written', async () => {
    const written: string[] = [];
    const releases: (() => void)[] = [];
    const world = setUp((store) => ({
      acceptEvents: async (events) => {
        written.push(events.map(({ environment }) => environment).join(''));
        await new Promise<void>((resolve) => releases.push(resolve));
        return store.acceptEvents(events);
      },
    }));
    const { acceptor } = world;
    const body = JSON.stringify({ pad: 'x'.repeat(250_000) });
    const many = Array.from({ length: 40 }, () => world.post({ body }));
    await settle();
    const other = acceptor.accept(toIncoming({ environment: 2 }));
    await settle();
    releases.shift()!();
    await settle();
    // Two transactions are there ahead. 8 of 250 kB are one; shared it has half.
    assert.deepEqual(written, ['1'.repeat(8), '1'.repeat(8), `2${'1'.repeat(4)}`]);
    while (releases.length > 0) {
      releases.shift()!();
      await settle();
    }
    await Promise.all([...many, other]);
  });

  test('leave room for one another: no one of them fills what may wait', async () => {
    const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
    const world = setUp(() => ({
      acceptEvents: async (events) => {
        await isFree;
        return events.map(() => ({ result: 'accepted', backlogFull: [] }));
      },
    }));
    const body = JSON.stringify({ pad: 'x'.repeat(250_000) });
    const fill = () => Promise.allSettled(Array.from({ length: 300 }, () => world.post({ body })));
    const posts = [fill()];
    // Some of the first are being written: until nothing more is taken.
    await settle();
    posts.push(fill());
    await settle();
    assert.ok(world.refused.length > 0);
    const other = world.acceptor.accept(toIncoming({ environment: 2, body }));
    free();
    assert.equal((await other).isRepeat, false);
    await Promise.all(posts);
  });
});

describe('an idempotency key', () => {
  test('gives the first event again, with its statuses as they are now, and nothing is sent twice', async () => {
    const { createDestination, subscribe, post, scheduled, store } = setUp();
    const destination = await createDestination();
    await subscribe(destination);
    const first = await post({ key: 'k', body: '{"a":1,"b":2}' });
    await store.deleteDestination({ environment: 1, id: destination, now: 0 });
    const again = await post({ key: 'k', body: ' { "b":2, "a":1 } ' });
    assert.equal(again.isRepeat, true);
    for (const [name, value] of Object.entries(again.event))
      assert.equal(first.event[name as keyof Event], value, name);
    assert.deepEqual(
      again.deliveries,
      first.deliveries.map((delivery) => ({ ...delivery, status: 'dead' })),
    );
    assert.equal(scheduled.length, 1);
  });

  const others = [
    ['another body', { body: '{"total":6}' }],
    ['a number written otherwise', { body: '{"total":5.0}' }],
    ['another type', { type: 'order.made' }],
    ['another occurred_at', { occurredAt: '2026-01-01T00:00:00Z' }],
  ] as const;
  for (const [what, other] of others) {
    test(`with ${what} is a conflict`, async () => {
      const { post } = setUp();
      await post({ key: 'k' });
      await assert.rejects(post({ key: 'k', ...other }), isApiError('idempotency_key_conflict'));
    });
  }

  test('of many at the same moment is one event', async () => {
    const { post, store } = setUp();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post({ key: 'k' })));
    assert.equal(new Set(answers.map(({ event }) => event.id)).size, 1);
    assert.equal(answers.filter(({ isRepeat }) => !isRepeat).length, 1);
    const page = await store.listEvents({
      environment: 1,
      type: null,
      since: null,
      until: null,
      before: null,
      limit: 10,
    });
    assert.equal(page.rows.length, 1);
  });

  test('is free again after 24 hours', async () => {
    const { clock, post } = setUp();
    const first = await post({ key: 'k' });
    await clock.run(24 * HOUR_MS - 1);
    assert.equal((await post({ key: 'k' })).isRepeat, true);
    await clock.run(1);
    const second = await post({ key: 'k', body: '{}' });
    assert.equal(second.isRepeat, false);
    assert.notEqual(second.event.id, first.event.id);
  });
});

describe('a store that cannot', () => {
  test('passes its error on to every event of the batch, and counts them', async () => {
    const world = setUp(() => ({ acceptEvents: () => Promise.reject(new StoreError('disk_full', 'full')) }));
    const results = await Promise.allSettled([world.post(), world.post()]);
    for (const result of results) assert.ok(result.status === 'rejected' && result.reason instanceof StoreError);
    assert.deepEqual(world.refused, ['store', 'store']);
    await world.acceptor.idle();
  });

  test('keep up is met with 503 when too many wait, and those that wait are stored', async () => {
    const { promise: isFree, resolve: free } = Promise.withResolvers<void>();
    let stored = 0;
    const world = setUp(() => ({
      acceptEvents: async (events) => {
        await isFree;
        stored += events.length;
        return events.map(() => ({ result: 'accepted', backlogFull: [] }));
      },
    }));
    const posts = Array.from({ length: 20_501 }, () => world.post({ body: '{}' }));
    const outcomes = Promise.allSettled(posts);
    await settle();
    // All came in one turn: two batches of 24 were taken out of the 20,000 that may wait, and none was written.
    assert.equal(world.refused.length, 501 - 48);
    await assert.rejects(posts.at(-1)!, isApiError('unavailable'));
    free();
    await world.acceptor.idle();
    assert.equal(stored, 20_048);
    assert.equal((await outcomes).filter(({ status }) => status === 'fulfilled').length, 20_048);
  });
});
