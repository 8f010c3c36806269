// Counting in memory, storing what was counted, and reading both as one: nothing twice, nothing lost, however often the
// store is away, the clock set back, or more counted than there is room for.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Outcome } from '../../src/model/attempt.ts';
import type { DestinationId } from '../../src/model/id.ts';
import type { FinishedAttempt, Scheduled } from '../../src/model/observer.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { Activity } from '../../src/stats/activity.ts';
import { Counter, HOUR_MS, MINUTE_MS, OTHER_TYPES } from '../../src/stats/counter.ts';
import type { Counts } from '../../src/stats/counts.ts';
import { createCountsReader, type CountsReader } from '../../src/stats/reader.ts';
import { createStatsWriter } from '../../src/stats/writer.ts';
import { StoreError, type Store } from '../../src/store/store.ts';
import { openDelivery } from '../support/deliveries.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { retryAt, succeed } from '../store/scene.ts';

const LIVE = 1;
/** The busiest, as docs/concepts.md has it. */
const TYPES_KEPT = 200;
const ALL = { environment: LIVE, kind: 'environment', subject: '' } as const;

/** A process that counts; several may share a store. */
class Process {
  readonly counter: Counter;
  readonly reader: CountsReader;
  readonly write: () => Promise<void>;

  constructor(store: Store, clock: ManualClock) {
    this.counter = new Counter(clock, systemRandom);
    this.reader = createCountsReader(store, this.counter, clock);
    this.write = createStatsWriter({
      store,
      clock,
      environments: [LIVE],
      counter: this.counter,
      activity: new Activity(),
      pulseOf: () => ({ events: 0, attempts: 0, succeeded: 0, inFlight: 0, oldestDueAt: null }),
      onWire: () => [],
    });
  }
}

let clock: ManualClock;
let store: Store;
let isAway: boolean;
let one: Process;
let ids: ReturnType<typeof createIds>;
let destination: DestinationId;

beforeEach(() => {
  clock = new ManualClock();
  // From the beginning of an hour.
  clock.advance(HOUR_MS - (clock.now() % HOUR_MS));
  ids = createIds(clock, systemRandom);
  destination = ids.next('dst');
  const opened = openInThreadStore({
    path: ':memory:',
    masterKey: new Uint8Array(32),
    clock,
    random: systemRandom,
    diskReserveBytes: 0,
    maxBacklogPerDestination: 100,
  });
  isAway = false;
  store = {
    ...opened,
    // Holds back what the store would answer while it is away.
    writeCounts: async (rows) => {
      if (isAway) throw new StoreError('unavailable', 'away');
      await opened.writeCounts(rows);
    },
  };
  one = new Process(store, clock);
});

function accept(process: Process, type = 'order.paid', to: readonly DestinationId[] = [destination]): void {
  const event = {
    id: ids.next('evt'),
    environment: LIVE,
    type,
    idempotencyKey: null,
    occurredAt: 0,
    createdAt: 0,
    traceparent: null,
  };
  const deliveries = to.map((destinationId) => {
    return { id: ids.next('dlv'), destinationId, subscriptionId: ids.next('sub') };
  });
  const scheduled: Scheduled = {
    origin: 'event',
    event,
    body: new Uint8Array(),
    deliveries,
    backlogFull: new Set(),
    dueAt: clock.now(),
  };
  process.counter.scheduled(scheduled);
}

function attempted(outcome: Outcome, parts: Partial<FinishedAttempt> = {}): FinishedAttempt {
  const times = { startedAt: clock.now() + 2_000, durationMs: 500 };
  const response = { responseCode: null, responseHeaders: null, responseBody: null, responseBodyTruncated: false };
  const eventId = ids.next('evt');
  return {
    delivery: openDelivery({ id: ids.next('dlv'), eventId, destinationId: destination, dueAt: clock.now() }),
    eventType: 'order.paid',
    traceparent: null,
    trigger: 'schedule',
    result: { outcome, ...times, ...response, error: null, retryAfterAt: null },
    decision: outcome === 'succeeded' ? succeed() : retryAt(clock.now()),
    ...parts,
  };
}

const total = (
  process: Process,
  subject: { kind: 'environment' | 'destination' | 'event_type'; subject: string } = ALL,
) => process.reader.total({ environment: LIVE, ...subject }, { since: 0, until: clock.now() + 1 });
const accepted = async (process: Process, type?: string): Promise<number> =>
  (await total(process, type === undefined ? ALL : { kind: 'event_type', subject: type })).eventsAccepted;

async function minutes(process: Process): Promise<[number, number][]> {
  const found = new Map<number, number>();
  const add = (at: number, { eventsAccepted }: Counts): void => {
    found.set(at, (found.get(at) ?? 0) + eventsAccepted);
  };
  await process.reader.each({ ...ALL, span: 'minute' }, { since: 0, until: clock.now() + 1 }, add);
  return [...found].toSorted(([a], [b]) => a - b);
}

describe('what is counted', () => {
  test('is there at once, and once, before, while and after it is stored', async () => {
    accept(one);
    assert.equal(await accepted(one), 1);
    await one.write();
    await one.write();
    assert.equal(await accepted(one), 1);
    accept(one);
    assert.equal(await accepted(one), 2);
    clock.advance(2 * HOUR_MS);
    await one.write();
    assert.equal(await accepted(one), 2);
    assert.equal(await accepted(new Process(store, clock)), 2, 'who has counted nothing reads what is stored');
  });

  test('is added up over processes, of which each knows of the others what they have stored', async () => {
    const other = new Process(store, clock);
    accept(one);
    accept(other);
    accept(other);
    await other.write();
    assert.deepEqual([await accepted(one), await accepted(other)], [3, 2]);
    await one.write();
    assert.deepEqual([await accepted(one), await accepted(other)], [3, 3]);
  });

  test('are attempts by outcome, ends, and both durations', async () => {
    one.counter.attempted(attempted('succeeded'));
    one.counter.attempted(attempted('reset'));
    // A second attempt tells nothing of how long the first took to start.
    const second = attempted('timed_out');
    one.counter.attempted({ ...second, delivery: { ...second.delivery, attemptCount: 1 } });
    one.counter.ended([{ environment: LIVE, destinationId: destination, deadReason: 'expired', count: 7 }]);
    await one.write();
    for (const subject of [ALL, { kind: 'destination', subject: destination } as const]) {
      const counts = await total(new Process(store, clock), subject);
      assert.equal(counts.attemptCount(), 3);
      assert.equal(counts.successRate(), 1 / 3);
      assert.deepEqual([counts.deliveriesSucceeded, counts.deliveriesDead], [1, 7]);
      assert.deepEqual([counts.attempt.total, counts.firstAttempt.total], [3, 2]);
      assert.ok(Math.abs(counts.attempt.quantile(0.5)! - 0.5) < 0.025);
      assert.ok(Math.abs(counts.firstAttempt.quantile(0.5)! - 2) < 0.1);
    }
    assert.equal((await total(one, { kind: 'event_type', subject: 'order.paid' })).attemptCount(), 3);
  });

  test('does not end a delivery again that a forced attempt leaves as it was', async () => {
    const forced = attempted('reset');
    const delivery = { ...forced.delivery, fallbackStatus: 'dead' } as const;
    const decision = { ...succeed(), status: 'dead', deadReason: 'exhausted' } as const;
    one.counter.attempted({ ...forced, delivery, decision });
    assert.equal((await total(one)).deliveriesDead, 0);
    one.counter.attempted({ ...forced, decision });
    assert.equal((await total(one)).deliveriesDead, 1);
  });
});

describe('time', () => {
  test('puts counts into their minute', async () => {
    const start = clock.now();
    accept(one);
    clock.advance(MINUTE_MS);
    accept(one);
    accept(one);
    await one.write();
    clock.advance(59 * MINUTE_MS);
    accept(one);
    assert.deepEqual(await minutes(one), [
      [start, 1],
      [start + MINUTE_MS, 2],
      [start + HOUR_MS, 1],
    ]);
  });

  test('that is set back makes nothing count twice or not at all', async () => {
    let aheadMs = 0;
    const now = clock.now.bind(clock);
    clock.now = () => now() + aheadMs;
    one = new Process(store, clock);
    accept(one);
    await one.write();
    clock.advance(3 * MINUTE_MS);
    accept(one);
    await one.write();
    aheadMs = -4 * MINUTE_MS;
    accept(one);
    await one.write();
    clock.advance(MINUTE_MS);
    accept(one);
    await one.write();
    clock.advance(HOUR_MS);
    assert.equal(await accepted(one), 4);
    assert.equal(await accepted(new Process(store, clock)), 4);
  });
});

describe('while the store is away', () => {
  test('counts wait in memory, and are stored when it is back', async () => {
    isAway = true;
    for (let minute = 0; minute < 130; minute++) {
      accept(one);
      await assert.rejects(one.write());
      clock.advance(MINUTE_MS);
    }
    isAway = false;
    await one.write();
    const other = new Process(store, clock);
    assert.equal(await accepted(other), 130);
    assert.equal((await total(other, { kind: 'destination', subject: destination })).deliveriesScheduled, 130);
    assert.equal((await minutes(other)).length, 130);
  });

  test('no more is kept apart than there is room for, and sums stay right', async () => {
    isAway = true;
    const many = Array.from({ length: 30_000 }, () => ids.next('dst'));
    for (let hour = 0; hour < 3; hour++) {
      for (let i = 0; i < many.length; i += 10_000) accept(one, 'order.paid', many.slice(i, i + 10_000));
      clock.advance(HOUR_MS);
    }
    assert.ok(one.counter.subjectCount <= 100_100);
    isAway = false;
    await one.write();
    assert.equal((await total(new Process(store, clock))).deliveriesScheduled, 3 * many.length);
  });
});

describe('event types', () => {
  test('are kept apart when they are the busiest, and the rest counts together, as ranks change', async () => {
    const types = Array.from({ length: TYPES_KEPT + 10 }, (_, n) => `kind.t${n}`);
    const expected = new Map<string, number>();
    const count = (type: string): void => {
      accept(one, type);
      expected.set(type, (expected.get(type) ?? 0) + 1);
    };
    for (const type of types) count(type);
    await one.write();
    // Those that were among the others rise, and as many of the first fall.
    for (const type of types.slice(10)) count(type);
    await one.write();
    const check = async (process: Process): Promise<void> => {
      assert.equal(await accepted(process, OTHER_TYPES), 10);
      for (const type of types) {
        const isKept = expected.get(type) === 2;
        assert.equal(await accepted(process, type), isKept ? 2 : 0, type);
      }
    };
    await check(one);
    await check(new Process(store, clock));
  });

  test('count once though the store is away as one falls among the others', async () => {
    const types = Array.from({ length: TYPES_KEPT + 1 }, (_, n) => `kind.t${n}`);
    for (const type of types) accept(one, type);
    await one.write();
    // The last of those that were kept apart falls, and its row is to be emptied.
    accept(one, types.at(-1));
    isAway = true;
    await assert.rejects(one.write());
    isAway = false;
    await one.write();
    const other = new Process(store, clock);
    assert.equal(await accepted(other, OTHER_TYPES), 1);
    assert.equal(await accepted(other, types.at(-2)), 0);
  });
});
