// What is told of destinations: of everything that happens what, how often, and what becomes of the rest.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createBacklogWatch } from '../../src/notices/backlogs.ts';
import { Notices, type Notice } from '../../src/notices/notices.ts';
import { Watcher } from '../../src/notices/watcher.ts';
import type { AttemptResult } from '../../src/model/attempt.ts';
import type { FailureStreak } from '../../src/model/destination.ts';
import { ApiError } from '../../src/model/error.ts';
import type { DestinationId } from '../../src/model/id.ts';
import type { FinishedAttempt } from '../../src/model/observer.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { openDelivery } from '../support/deliveries.ts';
import { destinationWith } from '../support/destinations.ts';

const MINUTE = 60_000;

function start() {
  const clock = new VirtualClock();
  const told: string[] = [];
  const keys: string[] = [];
  const faults: unknown[] = [];
  let post = async (_notice: Notice, _key: string): Promise<void> => undefined;
  const notices = new Notices({
    clock,
    onError: (error) => faults.push(error),
    post: async (notice, key) => {
      await post(notice, key);
      const { type, destinationId, data } = notice;
      const what = 'count' in data ? ` ${data.count} ${data.delivery_id}` : 'after' in data ? ` ${data.after}` : '';
      told.push(`${destinationId} ${type.slice('postrider.'.length)}${what}`);
      keys.push(key);
    },
  });
  const watcher = new Watcher(notices, clock);
  watcher.observer.destinationChanged!(destinationWith({ id: 'dst_paused', status: 'paused', pausedReason: 'gone' }));
  watcher.start();
  notices.loop.start();
  return {
    clock,
    watcher,
    faults,
    keys,
    onPost: (next: typeof post) => (post = next),
    /** What is told within a second. */
    told: async (): Promise<string[]> => {
      await clock.run(1_000);
      return told.splice(0);
    },
    /** Into the next minute, and what is told at its beginning. */
    toldInNextMinute: async (): Promise<string[]> => {
      await clock.run(MINUTE - (clock.now() % MINUTE) + 6_000);
      return told.splice(0);
    },
    set: (id: DestinationId, status: 'active' | 'paused'): void => {
      const pausedReason = status === 'paused' ? 'manual' : null;
      watcher.observer.destinationChanged!(destinationWith({ id, status, pausedReason, updatedAt: clock.now() }));
    },
    die: (n: number, fields: Partial<FinishedAttempt> = {}) => watcher.observer.attempted!(attempt({ n, ...fields })),
    succeed: (recoveredFrom: FailureStreak | null = null, destinationId: DestinationId = 'dst_1') =>
      watcher.observer.attempted!({ ...attempt({ n: 0, destinationId }), result: RESULT('succeeded'), recoveredFrom }),
  };
}

const RESULT = (outcome: 'succeeded' | 'reset'): AttemptResult => ({
  outcome,
  startedAt: 0,
  durationMs: 1,
  responseCode: null,
  responseHeaders: null,
  responseBody: null,
  responseBodyTruncated: false,
  error: null,
  retryAfterAt: null,
});

function attempt({
  n,
  destinationId = 'dst_1',
  ...fields
}: { n: number; destinationId?: DestinationId } & Partial<FinishedAttempt>): FinishedAttempt {
  return {
    delivery: openDelivery({ id: `dlv_${n}`, eventId: 'evt_1', destinationId, dueAt: 0 }),
    eventType: 'order.paid',
    traceparent: null,
    trigger: 'schedule',
    result: RESULT('reset'),
    decision: { status: 'dead', deadReason: 'exhausted', dueAt: null } as FinishedAttempt['decision'],
    ...fields,
  };
}

describe('deliveries that die', () => {
  test('are told of at once, the rest of the minute’s together in the next', async () => {
    const { die, told, toldInNextMinute, keys } = start();
    die(1);
    assert.deepEqual(await told(), ['dst_1 delivery.dead 1 dlv_1']);
    for (let n = 2; n <= 11; n++) die(n);
    assert.deepEqual(await told(), []);
    assert.deepEqual(await toldInNextMinute(), ['dst_1 delivery.dead 10 dlv_11']);
    die(12);
    assert.deepEqual(await told(), [], 'this minute has been told');
    assert.deepEqual(await toldInNextMinute(), ['dst_1 delivery.dead 1 dlv_12']);
    assert.deepEqual(await toldInNextMinute(), []);
    assert.deepEqual(keys, [
      'postrider.delivery.dead:dst_1:2026-01-01T00:00',
      'postrider.delivery.dead:dst_1:2026-01-01T00:01',
      'postrider.delivery.dead:dst_1:2026-01-01T00:02',
    ]);
  });

  test('of the service’s own events are not', async () => {
    const { die, watcher, told } = start();
    die(1, { eventType: 'postrider.delivery.dead' });
    const event = {
      id: 'evt_1',
      environment: 1,
      type: 'postrider.x',
      idempotencyKey: null,
      occurredAt: 0,
      createdAt: 0,
      traceparent: null,
    };
    const made = [{ id: 'dlv_2', destinationId: 'dst_1', subscriptionId: 'sub_1' }] as const;
    const scheduled = { origin: 'event', body: Buffer.from(''), deliveries: made, dueAt: 0 } as const;
    watcher.observer.scheduled!({ ...scheduled, event: { ...event, id: 'evt_1' }, backlogFull: new Set(['dlv_2']) });
    assert.deepEqual(await told(), []);
    watcher.observer.scheduled!({
      ...scheduled,
      event: { ...event, id: 'evt_1', type: 'a.b' },
      backlogFull: new Set(),
    });
    assert.deepEqual(await told(), []);
    watcher.observer.scheduled!({
      ...scheduled,
      event: { ...event, id: 'evt_1', type: 'a.b' },
      backlogFull: new Set(['dlv_2']),
    });
    assert.deepEqual(await told(), ['dst_1 delivery.dead 1 dlv_2'], 'dead from the beginning');
  });

  test('are not told of again when a forced attempt leaves them dead', async () => {
    const { die, told } = start();
    const forced = { dueAt: 0, eventId: 'evt_1', destinationId: 'dst_1', fallbackStatus: 'dead' } as const;
    die(1, { trigger: 'manual', delivery: openDelivery({ ...forced, id: 'dlv_1' }) });
    assert.deepEqual(await told(), []);
    die(2, { trigger: 'manual', delivery: openDelivery({ ...forced, id: 'dlv_2', fallbackStatus: 'retrying' }) });
    assert.deepEqual(await told(), ['dst_1 delivery.dead 1 dlv_2']);
  });

  test('lose no count where another node has told in this minute, or the store is away', async () => {
    const { die, told, toldInNextMinute, onPost, faults, clock } = start();
    onPost(() => Promise.reject(new ApiError('idempotency_key_conflict', '')));
    die(1);
    die(2);
    assert.deepEqual(await told(), []);
    onPost(() => Promise.reject(new Error('away')));
    die(3);
    assert.deepEqual(await toldInNextMinute(), []);
    assert.equal(faults.length, 2, 'tried again, and logged');
    onPost(() => Promise.resolve());
    await clock.run(10_000);
    assert.deepEqual(await told(), ['dst_1 delivery.dead 3 dlv_3']);
  });
});

describe('a destination', () => {
  test('that becomes paused is told of once, whatever else changes; one that was paused before is not', async () => {
    const { set, told, keys } = start();
    set('dst_1', 'paused');
    set('dst_1', 'paused');
    set('dst_paused', 'paused');
    set('dst_2', 'active');
    assert.deepEqual(await told(), ['dst_1 destination.paused']);
    assert.deepEqual(keys, ['postrider.destination.paused:dst_1:2026-01-01T00:00']);
  });

  test('that is paused again within the minute is told of in the next, if it still is', async () => {
    const { set, told, toldInNextMinute } = start();
    for (const id of ['dst_1', 'dst_2'] as const) set(id, 'paused');
    await told();
    for (const id of ['dst_1', 'dst_2'] as const) set(id, 'active');
    for (const id of ['dst_1', 'dst_2'] as const) set(id, 'paused');
    set('dst_2', 'active');
    assert.deepEqual(await told(), []);
    assert.deepEqual(await toldInNextMinute(), ['dst_1 destination.paused']);
  });

  test('that is paused again within the minute is told of though the first has the minute’s key', async () => {
    const { set, told, toldInNextMinute, onPost, keys, clock } = start();
    const bodies = new Map<string, string>();
    onPost(async ({ data }, key) => {
      const body = JSON.stringify(data);
      if (bodies.has(key) && bodies.get(key) !== body) throw new ApiError('idempotency_key_conflict', '');
      bodies.set(key, body);
    });
    set('dst_1', 'paused');
    assert.deepEqual(await told(), ['dst_1 destination.paused']);
    set('dst_1', 'active');
    await clock.run(1_000);
    set('dst_1', 'paused');
    assert.deepEqual(await told(), []);
    assert.deepEqual(await toldInNextMinute(), ['dst_1 destination.paused']);
    assert.deepEqual(keys, [
      'postrider.destination.paused:dst_1:2026-01-01T00:00',
      'postrider.destination.paused:dst_1:2026-01-01T00:01',
    ]);
  });

  test('that is active again while its pause is being told, and could not be, is not told of', async () => {
    const { set, told, toldInNextMinute, onPost } = start();
    onPost(async () => {
      set('dst_1', 'active');
      throw new Error('away');
    });
    set('dst_1', 'paused');
    assert.deepEqual(await told(), []);
    onPost(() => Promise.resolve());
    assert.deepEqual(await toldInNextMinute(), []);
  });

  test('whose pause another node has told of is not told of again', async () => {
    const { set, told, toldInNextMinute, onPost } = start();
    onPost(() => Promise.reject(new ApiError('idempotency_key_conflict', '')));
    set('dst_1', 'paused');
    assert.deepEqual(await told(), []);
    onPost(() => Promise.resolve());
    assert.deepEqual(await toldInNextMinute(), []);
  });

  test('recovers with the first success after a pause or after failing, and not from a single failure', async () => {
    const { set, succeed, told, toldInNextMinute, clock } = start();
    succeed();
    succeed({ failingSince: clock.now(), failureCount: 2 });
    assert.deepEqual(await told(), []);
    succeed({ failingSince: clock.now(), failureCount: 3 });
    succeed();
    assert.deepEqual(await told(), ['dst_1 destination.recovered failing']);
    set('dst_1', 'paused');
    succeed({ failingSince: 0, failureCount: 100 });
    assert.deepEqual(await told(), ['dst_1 destination.paused'], 'a retry by hand while it is paused');
    await toldInNextMinute();
    set('dst_1', 'active');
    succeed(null, 'dst_2');
    assert.deepEqual(await told(), []);
    succeed();
    succeed();
    assert.deepEqual(await told(), ['dst_1 destination.recovered paused']);
    assert.deepEqual(await toldInNextMinute(), []);
    succeed({ failingSince: clock.now() - 10_000, failureCount: 1 });
    assert.deepEqual(await told(), ['dst_1 destination.recovered failing']);
  });
});

test('a backlog is told of when it grows from look to look, and again when it has doubled', async () => {
  const clock = new VirtualClock();
  const told: [unfinished: number, grownBy: number, seconds: number][] = [];
  let unfinished = 0;
  const loop = createBacklogWatch({
    clock,
    ownedShards: () => [3],
    onError: (error) => assert.fail(String(error)),
    store: {
      findBacklogs: async ({ min, shards }) => {
        assert.deepEqual(shards, [3]);
        return unfinished < min ? [] : [{ destinationId: 'dst_1', environment: 1, unfinished }];
      },
    },
    notices: {
      add: ({ data }) => {
        assert.ok('grown_by' in data);
        told.push([data.unfinished, data.grown_by, data.within_seconds]);
      },
    },
  });
  loop.start();
  const looksAt = async (...counts: number[]) => {
    for (unfinished of counts) await clock.run(MINUTE);
    return told.splice(0);
  };
  assert.deepEqual(await looksAt(900, 999, 5, 998), [], 'too small');
  assert.deepEqual(await looksAt(2_000, 2_100, 2_050, 2_060), [], 'up and down');
  assert.deepEqual(await looksAt(3_000, 3_500), [[3_000, 950, 120]]);
  assert.deepEqual(await looksAt(4_000, 5_900, 6_100), [[6_100, 4_050, 360]]);
  assert.deepEqual(await looksAt(6_000, 6_100, 6_200, 7_000), [], 'it has been told');
  assert.deepEqual(await looksAt(2_000, 2_100, 2_200), [[2_200, 200, 120]], 'it was nearly gone, and grows again');
  await loop.stop();
});
