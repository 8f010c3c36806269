// Why subscriptions want an event: the explanation held against what the matcher does, over generated filters and
// bodies; what it shows of long values; its limits.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseBody } from '../../src/json/body.ts';
import { BoundedMatcher } from '../../src/match/bounded.ts';
import { IndexedMatcher } from '../../src/match/indexed.ts';
import type { Filter } from '../../src/match/filter/filter.ts';
import { isFilterFault, parseStoredFilter } from '../../src/match/filter/parse.ts';
import { TooMuchWork, Work, type MatchEntry } from '../../src/match/matcher.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { LinearMatcher, matchWith } from './linear.ts';
import { unlimitedWork } from './unlimited-work.ts';

type Condition = { path: string; operator: string; expected: unknown; found: unknown; holds: boolean };
type Explained = {
  subscription_id: string;
  destination_id: string;
  matches: boolean;
  pattern_matches: boolean;
  filter: Condition[];
};

function filterOf(json: unknown): Filter | null {
  if (json === null) return null;
  const filter = parseStoredFilter(JSON.stringify(json));
  return isFilterFault(filter) ? assert.fail(JSON.stringify([json, filter])) : filter;
}

function entryOf(id: string, pattern: string, filter: unknown = null): MatchEntry {
  return { id: `sub_${id}`, destinationId: `dst_${id}`, pattern, filter: filterOf(filter) };
}

function readSubscriptions(json: string): Explained[] {
  return (JSON.parse(json) as { subscriptions: Explained[] }).subscriptions;
}

function explain(entries: readonly MatchEntry[], type: string, body: string, work = unlimitedWork()): Explained[] {
  const matcher = new IndexedMatcher();
  for (const entry of entries) matcher.add(entry);
  return readSubscriptions(matcher.explain(work, type, { parse: () => parseBody(body) }));
}

/** What a filter comes to if its conditions hold as they are said to, in their order. */
function combine(filter: Filter, said: Condition[]): boolean {
  switch (filter.operator) {
    case '$and':
      return filter.parts.map((part) => combine(part, said)).every(Boolean);
    case '$or':
      return filter.parts.map((part) => combine(part, said)).some(Boolean);
    case '$not':
      return !combine(filter.part, said);
    default: {
      const condition = said.shift()!;
      assert.equal(condition.operator, filter.operator);
      return condition.holds;
    }
  }
}

const segment = fc.constantFrom('a', 'a', 'a', '__proto__');
const type = fc.array(segment, { minLength: 2, maxLength: 4 }).map((segments) => segments.join('.'));
const prefix = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('.'));
const pattern = fc.oneof(
  { arbitrary: type, weight: 3 },
  prefix.map((text) => `${text}.*`),
  prefix.map((text) => `${text}.**`),
  fc.constant('**'),
);
const name = fc.constantFrom('a', 'b', '__proto__', 'odd name');
const scalar = fc.constantFrom<unknown>(0, 1, '0', 'a', true, null, 1e21);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    { arbitrary: scalar, weight: 3 },
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 4 }).map((all) => Object.fromEntries(all) as unknown),
  ),
}));
const body = fc
  .array(fc.tuple(name, json), { maxLength: 4 })
  .map((all) => JSON.stringify(Object.fromEntries(all)).replaceAll('1e+21', '9007199254740993'));
const path = fc
  .tuple(name, fc.constantFrom('', '', '[*]', '[0]', "['a']", '[*].b'))
  .map(([first, rest]) => `$['${first}']${rest}`);
const condition = fc.oneof(
  fc.tuple(fc.constantFrom('$eq', '$ne', '$contains'), json),
  fc.tuple(fc.constantFrom('$gt', '$lte'), fc.constantFrom<unknown>(0, 'a')),
  fc.tuple(fc.constantFrom('$in', '$nin'), fc.array(scalar, { minLength: 1, maxLength: 4 })),
  fc.tuple(fc.constant('$exists'), fc.boolean()),
);
const plain = fc.tuple(path, condition).map(([key, [operator, operand]]) => ({ [key]: { [operator]: operand } }));
const filter = fc.oneof(
  { arbitrary: plain, weight: 3 },
  fc.constant(null),
  fc.array(plain, { minLength: 1, maxLength: 3 }).map((parts) => ({ $or: parts })),
  fc.array(plain, { minLength: 1, maxLength: 3 }).map((parts) => ({ $and: parts })),
  plain.map((part) => ({ $not: part })),
);

describe('an explanation', () => {
  test('says what the matcher does, of every subscription that is near, in its order', async () => {
    let matching = 0;
    let near = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(pattern, filter), { minLength: 20, maxLength: 60, size: 'max' }),
        type,
        body,
        async (given, event, text) => {
          const entries = given.map(([one, wanted], n) => entryOf(String(n).padStart(2, '0'), one, wanted));
          const linear = new LinearMatcher();
          for (const entry of entries) linear.add(entry);
          const explained = explain(entries, event, text);
          const less = explained.map(({ filter: _, ...rest }) => rest);
          const expected = Buffer.from(await linear.explain(event, Buffer.from(text))).toString();
          assert.deepEqual(less, readSubscriptions(expected));
          for (const { subscription_id: id, matches, pattern_matches: isPatternMatching, filter: said } of explained) {
            const entry = entries.find((one) => one.id === id)!;
            const rest = [...said];
            const isAccepted = entry.filter === null || combine(entry.filter, rest);
            assert.equal(matches, isPatternMatching && isAccepted);
            assert.deepEqual(rest, []);
            if (matches) matching++;
            if (!isPatternMatching) near++;
          }
        },
      ),
      { numRuns: 150 },
    );
    assert.ok(matching > 300 && near > 300, `${matching} match, ${near} are near`);
  });

  test('shows each condition of a filter, and what was found', () => {
    const wanted = {
      '$.total': { $gte: 100 },
      "$['odd name'][0]": 'x',
      '$.items[*].sku': { $in: ['b', 'a'] },
      $not: { '$.test': { $exists: true } },
      '$.none': { $ne: null },
      '$.wide': { $gt: 1 },
    };
    const [{ filter: said } = assert.fail()] = explain(
      [entryOf('1', 'order.paid', wanted)],
      'order.paid',
      '{"total":50,"odd name":["x"],"items":[{"sku":"a"},{},{"sku":"c"}],"wide":9007199254740993.50}',
    );
    assert.deepEqual(said, [
      { path: '$.total', operator: '$gte', expected: 100, found: 50, holds: false },
      { path: "$['odd name'][0]", operator: '$eq', expected: 'x', found: 'x', holds: true },
      { path: '$.items[*].sku', operator: '$in', expected: ['b', 'a'], found: ['a', 'c'], holds: true },
      { path: '$.test', operator: '$exists', expected: true, found: null, holds: false },
      { path: '$.none', operator: '$ne', expected: null, found: null, holds: true },
      { path: '$.wide', operator: '$gt', expected: 1, found: Number('9007199254740993.5'), holds: true },
    ]);
  });

  test('shows the beginning of what is long, however long it is', () => {
    const long = { text: 'x'.repeat(100_000), list: Array.from({ length: 50_000 }, (_, n) => n), deep: { a: [[1]] } };
    const wanted = { '$.text': { $exists: true }, '$.list': { $exists: true }, '$.list[*]': 1, '$.deep': { $ne: 1 } };
    const [{ filter: said } = assert.fail()] = explain([entryOf('1', 'a.b', wanted)], 'a.b', JSON.stringify(long));
    const [text, list, members, deep] = said.map(({ found }) => found);
    assert.match(text as string, /^"x{255}…$/);
    assert.match(list as string, /^\[0,1,2,.*…$/);
    assert.equal(members, list);
    assert.equal((list as string).length, 257);
    assert.deepEqual(deep, { a: [[1]] });
  });

  test('names a thousand subscriptions at most, those that match first', () => {
    const others = Array.from({ length: 3_000 }, (_, n) => entryOf(`a${n}`, 'a.b', { '$.n': { $in: [n, n + 1] } }));
    const explained = explain([...others, entryOf('z1', 'a.*'), entryOf('z2', 'a.b.c')], 'a.b', '{"n":2000}');
    assert.equal(explained.length, 1_000);
    assert.equal(new Set(explained.map(({ subscription_id: id }) => id)).size, 1_000);
    const matching = explained.filter(({ matches }) => matches).map(({ subscription_id: id }) => id);
    assert.deepEqual(matching, ['sub_a1999', 'sub_a2000', 'sub_z1']);
    assert.deepEqual(
      explained.slice(0, 3).map(({ subscription_id: id }) => id),
      matching,
    );
  });

  test('finds near patterns as they come and go', () => {
    const matcher = new IndexedMatcher();
    const idsOf = (): string[] =>
      readSubscriptions(matcher.explain(unlimitedWork(), 'a.b', { parse: () => ({}) })).map(
        (one) => one.destination_id,
      );
    for (const [id, near] of [
      ['1', 'a.b.c'],
      ['2', 'a.b.d'],
      ['3', 'a.b.c'],
      ['4', 'a.b.c.d'],
      ['5', 'a.c'],
    ] as const) {
      matcher.add(entryOf(id, near));
    }
    assert.deepEqual(idsOf(), ['dst_1', 'dst_2', 'dst_3']);
    matcher.remove('sub_1');
    assert.deepEqual(idsOf(), ['dst_2', 'dst_3']);
    matcher.remove('sub_3');
    assert.deepEqual(idsOf(), ['dst_2']);
    matcher.remove('sub_2');
    assert.deepEqual(idsOf(), []);
  });

  test('ends when it takes more steps than it may', () => {
    const wanted = { '$.list[*]': { $contains: 'x' }, '$.text': { $contains: 'x'.repeat(100) } };
    const text = JSON.stringify({ list: Array.from({ length: 1_000 }, () => 'y'.repeat(50)), text: 'x'.repeat(99) });
    const entries = Array.from({ length: 100 }, (_, n) => entryOf(String(n), 'a.b', wanted));
    assert.throws(() => explain(entries, 'a.b', text, new Work(10_000)), TooMuchWork);
    assert.equal(explain(entries, 'a.b', text).length, 100);
  });
});

test('the service’s own events go where they are asked for by name, and not to the destination they are about', () => {
  const entries = [entryOf('1', '**'), entryOf('2', 'postrider.**'), entryOf('3', 'postrider.destination.paused')];
  const about = { parse: () => ({ destination_id: 'dst_2' }) };
  for (const matcher of [new IndexedMatcher(), new LinearMatcher()]) {
    for (const entry of entries) matcher.add(entry);
    const found = matchWith(matcher, 'postrider.destination.paused', about);
    assert.deepEqual(
      found.map(({ id }) => id),
      ['sub_3'],
    );
    assert.deepEqual(
      matchWith(matcher, 'order.paid', about).map(({ id }) => id),
      ['sub_1'],
    );
  }
  const explained = explain(entries, 'postrider.destination.paused', '{"destination_id":"dst_2"}');
  const said = explained.map(({ subscription_id: id, matches, pattern_matches: is }) => [id, matches, is]);
  assert.deepEqual(said, [
    ['sub_3', true, true],
    ['sub_2', false, true],
  ]);
});

describe('asked of the service’s matcher', () => {
  test('it is written on the thread, as subscriptions come and go, between events that take long', async (t) => {
    const matcher = new BoundedMatcher({ clock: systemClock, onFault: (error) => assert.fail(String(error)) });
    t.after(() => matcher.close());
    matcher.add(entryOf('1', 'a.b', { '$.n': 1 }));
    matcher.add(entryOf('2', 'a.b.c'));
    const ask = async (): Promise<unknown[]> => {
      const answer = Buffer.from(await matcher.explain('a.b', Buffer.from('{"n":1}'))).toString();
      return readSubscriptions(answer).map(({ subscription_id: id, matches }) => [id, matches]);
    };
    const [first, second] = await Promise.all([ask(), ask()]);
    assert.deepEqual(first, [
      ['sub_1', true],
      ['sub_2', false],
    ]);
    assert.deepEqual(second, first);
    matcher.remove('sub_1');
    matcher.add(entryOf('3', 'a.*', { '$.n': 2 }));
    assert.deepEqual(await ask(), [
      ['sub_3', false],
      ['sub_2', false],
    ]);
  });

  test('so many at once and no more', async (t) => {
    const matcher = new BoundedMatcher({ clock: systemClock, onFault: () => undefined });
    const asked = Array.from({ length: 40 }, () =>
      matcher.explain('a.b', Buffer.from('{}')).catch((error) => error.code),
    );
    t.after(() => matcher.close());
    const answers = await Promise.all(asked);
    assert.equal(answers.filter((answer) => answer === 'rate_limited').length, 40 - 17);
  });
});
