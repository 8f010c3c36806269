// The service's matcher: events that take long are matched on a thread, and keep nobody waiting but each other.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { BoundedMatcher } from '../../src/match/bounded.ts';
import { parseBody } from '../../src/json/body.ts';
import { isFilterFault, parseStoredFilter } from '../../src/match/filter/parse.ts';
import { LinearMatcher } from './linear.ts';
import { EVERYTHING, type MatchBody, type MatchEntry } from '../../src/match/matcher.ts';
import { ApiError } from '../../src/model/error.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { turn } from '../attempt/event-loop.ts';
import { ManualClock } from '../support/manual-clock.ts';

type Scope = { after(cleanup: () => Promise<void>): void };

function startMatcher(scope: Scope, clock: Clock = systemClock) {
  const faults: unknown[] = [];
  const matcher = new BoundedMatcher({ clock, onFault: (error) => faults.push(error) });
  scope.after(() => matcher.close());
  return { matcher, faults };
}

function entryOf(id: string, filter: object | null = null, pattern = 'order.paid'): MatchEntry {
  const parsed = filter === null ? null : parseStoredFilter(JSON.stringify(filter));
  if (parsed !== null && isFilterFault(parsed)) assert.fail(JSON.stringify(parsed));
  return { id: `sub_${id}`, destinationId: `dst_${id}`, pattern, filter: parsed };
}

function bodyOf(text: string): MatchBody {
  return { bytes: Buffer.from(text), parse: () => parseBody(text) };
}

const SMALL = bodyOf('{"customer":"c1","list":[[1,2],[3]]}');
const LARGE = bodyOf(`{"customer":"c1","list":[[${Array.from({ length: 50_000 }, () => 1).join(',')}]]}`);

/** As many conditions with [*] as a filter could once have; the last of them tells whether it wants LARGE. */
const heavy = (wanted: number): object => {
  const paths = ['$.list[*][*]', '$[*][*]', '$.list[*]', '$[*]'];
  const parts = Array.from({ length: 49 }, (_, n) => ({ [paths[n % 4]!]: { $eq: { n } } }));
  return { $or: [...parts, { '$.list[*][*]': { $gte: wanted } }] };
};

const idsOf = (entries: readonly MatchEntry[]): string[] => entries.map(({ id }) => id.slice('sub_'.length));

/** Lets go on what needs neither another thread nor the network. */
async function microtasks(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unavailable' && error.retryAfterSeconds !== null;
}

describe('an event that takes long to match', () => {
  test('keeps no other waiting, of its environment or another', async (t) => {
    const { matcher } = startMatcher(t);
    const { matcher: other } = startMatcher(t);
    for (const one of [matcher, other]) {
      one.add(entryOf('1', heavy(1)));
      one.add(entryOf('2', heavy(2)));
      one.add(entryOf('3', { '$.customer': 'c1' }));
      one.add(entryOf('4'));
    }
    const large = matcher.match('order.paid', LARGE);
    assert.ok(large instanceof Promise);
    for (let n = 0; n < 20; n++) {
      const elsewhere = other.match('order.paid', SMALL);
      assert.ok(!(elsewhere instanceof Promise), 'it is matched at once');
      await turn();
      const beside = matcher.match('order.paid', SMALL);
      assert.ok(!(beside instanceof Promise), 'it is matched at once');
      assert.deepEqual(idsOf(beside), ['1', '2', '3', '4']);
    }
    assert.deepEqual(idsOf(await large), ['1', '3', '4']);
  });

  test('goes where it would go by the plain rules', async (t) => {
    const { matcher, faults } = startMatcher(t);
    const linear = new LinearMatcher();
    const filters: (object | null)[] = [
      heavy(1),
      heavy(2),
      null,
      { '$.customer': { $in: ['c1', 'c2', null] } },
      { '$.list[*][*]': { $nin: [1, 'x'] } },
      { '$.list[0][-1]': 1, '$.list[*]': { $contains: 1 } },
      { $not: { '$.list': { $eq: [[1], { a: [null, { b: 1 }] }] } } },
      { '$.wide': { $gt: 9007199254740992 }, '$.none': { $exists: false } },
      { '$.wide': 9007199254740992 },
      { $or: [{ '$["customer"]': { $endsWith: '1' } }, { '$.customer': { $startsWith: 'x' } }] },
    ];
    for (const [index, filter] of filters.entries()) {
      // The oracle takes its time for the heavy ones.
      for (const pattern of index < 2 ? ['**'] : ['order.paid', 'order.*', 'order.**', '**', 'user.*']) {
        for (const one of [matcher, linear]) one.add(entryOf(`${index} ${pattern}`, filter, pattern));
      }
    }
    const text = Buffer.from(LARGE.bytes).toString().replace('{', '{"wide":9007199254740993,');
    const scopes = [
      EVERYTHING,
      { max: 3 },
      { max: 50, destinationIds: new Set(['dst_0 **', 'dst_1 **', 'dst_4 **', 'dst_5 **']) },
    ];
    for (const scope of scopes) {
      const found = matcher.match('order.paid', bodyOf(text), scope);
      assert.ok(found instanceof Promise);
      const expected = linear.match('order.paid', bodyOf(text), { ...scope, max: Infinity });
      if (scope.max === 3) assert.equal((await found).length, 4, 'one more than are wanted, and no more');
      else assert.deepEqual(await found, expected);
    }
    assert.deepEqual(faults, []);
  });

  test('is matched against the subscriptions of the moment that it is said to be', async (t) => {
    const { matcher } = startMatcher(t);
    let version = 1;
    const changes: [change: () => void, expected: string[]][] = [
      [() => matcher.add(entryOf('2')), ['1', '2']],
      [() => matcher.remove('sub_2'), ['1']],
      [() => matcher.add(entryOf('1', heavy(2))), []],
      [() => matcher.add(entryOf('1', heavy(1), 'order.*')), ['1']],
      [() => matcher.add(entryOf('5', null, 'user.*')), ['1']],
    ];
    matcher.add(entryOf('1', heavy(1)));
    for (const [change, expected] of changes) {
      let answeredBy = 0;
      const found = matcher.match('order.paid', LARGE, EVERYTHING, () => (answeredBy = version));
      assert.ok(found instanceof Promise);
      // It is with the thread now, which cannot answer before a turn of the event loop.
      await microtasks();
      change();
      version++;
      assert.deepEqual(idsOf(await found), expected);
      assert.equal(answeredBy, version);
    }
  });

  test('is refused for a while when its thread ends, and the next gets another', async (t) => {
    const { matcher, faults } = startMatcher(t);
    matcher.add(entryOf('1', heavy(1)));
    const started = new Promise<Worker>((resolve) => process.once('worker', resolve));
    const found = matcher.match('order.paid', LARGE);
    assert.ok(found instanceof Promise);
    const refused = assert.rejects(found, isUnavailable);
    await (await started).terminate();
    await refused;
    assert.equal(faults.length, 1);
    assert.deepEqual(idsOf(await matcher.match('order.paid', LARGE)), ['1']);
  });

  test('is refused when too many wait before it', async (t) => {
    const { matcher } = startMatcher(t);
    const { matcher: other } = startMatcher(t);
    for (const one of [matcher, other]) one.add(entryOf('1', heavy(1)));
    const waiting: Promise<unknown>[] = [];
    let refused = 0;
    const blanks = bodyOf(
      Buffer.from(LARGE.bytes)
        .toString()
        .padEnd(4 * 1024 * 1024),
    );
    for (let n = 0; n < 10; n++) {
      const found = matcher.match('order.paid', blanks);
      assert.ok(found instanceof Promise);
      waiting.push(
        found.catch((error: unknown) => {
          assert.ok(isUnavailable(error));
          refused++;
        }),
      );
    }
    while (refused === 0) await turn();
    assert.deepEqual(idsOf(await other.match('order.paid', LARGE)), ['1'], 'the other environment is not concerned');
    await matcher.close();
    await Promise.all(waiting);
  });

  test('is refused when those before it took too long', async (t) => {
    const clock = new ManualClock();
    const { matcher } = startMatcher(t, clock);
    matcher.add(entryOf('1', heavy(1)));
    const first = matcher.match('order.paid', LARGE);
    const second = matcher.match('order.paid', LARGE);
    await microtasks();
    clock.advance(10_001);
    const refused = assert.rejects(async () => second, isUnavailable);
    assert.deepEqual(idsOf(await first), ['1']);
    await refused;
    assert.deepEqual(idsOf(await matcher.match('order.paid', LARGE)), ['1']);
  });

  test('leaves the thread to end when there is nothing to do for long', async (t) => {
    const clock = new ManualClock();
    const { matcher, faults } = startMatcher(t, clock);
    matcher.add(entryOf('1', heavy(1)));
    const started = new Promise<Worker>((resolve) => process.once('worker', resolve));
    const found = matcher.match('order.paid', LARGE);
    assert.ok(found instanceof Promise);
    await found;
    const worker = await started;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    await microtasks();
    clock.advance(60_000);
    // Asked for in the very moment in which the thread is being ended.
    assert.deepEqual(idsOf(await matcher.match('order.paid', LARGE)), ['1']);
    await ended;
    assert.deepEqual(faults, []);
  });
});

test('many events that each take little are spread over turns, in order', async (t) => {
  const { matcher } = startMatcher(t);
  for (let n = 0; n < 2_000; n++) matcher.add(entryOf(`${n}`, { '$.customer': { $startsWith: `x${n}` } }));
  matcher.add(entryOf('wanted', { '$.customer': { $startsWith: 'c' } }));
  const order: number[] = [];
  let atOnce = 0;
  const all = Array.from({ length: 200 }, async (_, n) => {
    let isLate = false;
    const found = matcher.match('order.paid', SMALL, EVERYTHING, () => (isLate = true));
    const isPromise = found instanceof Promise;
    if (!isPromise) atOnce++;
    assert.deepEqual(idsOf(await found), ['wanted']);
    assert.equal(isLate, isPromise);
    order.push(n);
  });
  assert.ok(atOnce >= 5 && atOnce <= 50, `${atOnce} were matched in one turn`);
  await Promise.all(all);
  assert.deepEqual(
    order,
    [...order].toSorted((a, b) => a - b),
  );
});
