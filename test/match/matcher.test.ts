// Both matchers: the same suite, and the fast one held against the obvious one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseBody } from '../../src/json/body.ts';
import type { Filter } from '../../src/match/filter/filter.ts';
import { isFilterFault, parseFilter } from '../../src/match/filter/parse.ts';
import { IndexedMatcher } from '../../src/match/indexed.ts';
import { LinearMatcher, matchWith } from './linear.ts';
import type { MatchEntry } from '../../src/match/matcher.ts';

type SyncMatcher = LinearMatcher | IndexedMatcher;

function filterOf(text: string): Filter {
  const filter = parseFilter(text);
  if (isFilterFault(filter)) assert.fail(`${text}: ${JSON.stringify(filter)}`);
  return filter;
}

function entryOf(id: string, pattern: string, filter: string | null = null): MatchEntry {
  return { id: `sub_${id}`, destinationId: 'dst_1', pattern, filter: filter === null ? null : filterOf(filter) };
}

/** The ids of the subscriptions that want an event, less their prefix. */
function idsOf(matcher: SyncMatcher, type: string, body = '{}'): string[] {
  return matchWith(matcher, type, textOf(body)).map(({ id }) => id.slice('sub_'.length));
}

const sizeOf = (matcher: SyncMatcher): number => [...matcher.entries()].length;

const unread = { parse: (): never => assert.fail('the body was read') };
const valueOf = (value: unknown) => ({ parse: () => value });
const textOf = (text: string) => ({ parse: () => parseBody(text) });

for (const [name, createMatcher] of [
  ['the linear matcher', () => new LinearMatcher()],
  ['the indexed matcher', () => new IndexedMatcher()],
] as const) {
  describe(name, () => {
    test('finds subscriptions by pattern, by id ascending', () => {
      const matcher = createMatcher();
      for (const [id, pattern] of [
        ['5', 'order.paid'],
        ['3', 'order.*'],
        ['4', 'order.**'],
        ['1', '**'],
        ['2', 'order.paid'],
        ['6', 'order.paid.*'],
      ] as const) {
        matcher.add(entryOf(id, pattern));
      }
      assert.deepEqual(idsOf(matcher, 'order.paid'), ['1', '2', '3', '4', '5']);
      assert.deepEqual(idsOf(matcher, 'order.paid.late'), ['1', '4', '6']);
      assert.deepEqual(idsOf(matcher, 'user.made'), ['1']);
      assert.equal(sizeOf(matcher), 6);
    });

    test('returns what was added', () => {
      const matcher = createMatcher();
      const entry = entryOf('1', 'order.*', '{"$.a":1}');
      matcher.add(entry);
      assert.deepEqual(matchWith(matcher, 'order.paid', valueOf({ a: 1 })), [entry]);
      assert.deepEqual(matcher.remove('sub_1'), entry);
    });

    test('finds subscriptions by the values that their filters demand', () => {
      const matcher = createMatcher();
      matcher.add(entryOf('1', 'order.paid', '{"$.customer":"c1"}'));
      matcher.add(entryOf('2', 'order.paid', '{"$.customer":"c2"}'));
      matcher.add(entryOf('3', 'order.paid', '{"$.customer":{"$in":["c1","c2"]}}'));
      matcher.add(entryOf('4', 'order.paid', '{"$.customer":{"$ne":"c1"}}'));
      matcher.add(entryOf('5', 'order.paid', '{"$.items[*].sku":{"$in":["a","b"]}}'));
      matcher.add(entryOf('6', 'order.paid'));
      matcher.add(entryOf('7', 'order.paid', '{"$.customer":"c1","$.amount":{"$gt":10}}'));
      assert.deepEqual(idsOf(matcher, 'order.paid', '{"customer":"c1"}'), ['1', '3', '6']);
      assert.deepEqual(idsOf(matcher, 'order.paid', '{"customer":"c2","amount":20}'), ['2', '3', '4', '6']);
      assert.deepEqual(idsOf(matcher, 'order.paid', '{"customer":"c1","amount":20}'), ['1', '3', '6', '7']);
      assert.deepEqual(idsOf(matcher, 'order.paid', '{"items":[{"sku":"b"},{"sku":"a"},{"sku":"a"}]}'), [
        '4',
        '5',
        '6',
      ]);
    });

    test('tells scalars of different types apart', () => {
      const matcher = createMatcher();
      for (const [id, value] of [
        ['1', '1'],
        ['2', '"1"'],
        ['3', 'true'],
        ['4', '"true"'],
        ['5', 'null'],
        ['6', '""'],
        ['7', '0'],
        ['8', '9007199254740992'],
      ] as const) {
        matcher.add(entryOf(id, 'a.b', `{"$.v":${value}}`));
      }
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":1}'), ['1']);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":"1"}'), ['2']);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":true}'), ['3']);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":null}'), ['5']);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":-0}'), ['7']);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":9007199254740993}'), []);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":[1]}'), []);
      assert.deepEqual(idsOf(matcher, 'a.b', '{}'), []);
    });

    test('forgets what is removed, and is none the worse for what is not there', () => {
      const matcher = createMatcher();
      matcher.add(entryOf('1', 'a.b', '{"$.v":1}'));
      matcher.add(entryOf('2', 'a.b', '{"$.v":1}'));
      matcher.add(entryOf('3', 'a.b'));
      assert.equal(matcher.remove('sub_9'), undefined);
      assert.equal(matcher.remove('sub_1')?.id, 'sub_1');
      assert.equal(matcher.remove('sub_1'), undefined);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":1}'), ['2', '3']);
      matcher.remove('sub_2');
      matcher.remove('sub_3');
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":1}'), []);
      assert.equal(sizeOf(matcher), 0);
      assert.deepEqual(matchWith(matcher, 'a.b', unread), []);
    });

    test('replaces a subscription that is added again', () => {
      const matcher = createMatcher();
      matcher.add(entryOf('1', 'a.b', '{"$.v":1}'));
      matcher.add(entryOf('1', 'c.*', '{"$.v":2}'));
      assert.equal(sizeOf(matcher), 1);
      assert.deepEqual(idsOf(matcher, 'a.b', '{"v":1}'), []);
      assert.deepEqual(idsOf(matcher, 'c.d', '{"v":2}'), ['1']);
    });

    test('reads the body only if a filter needs it, and once', () => {
      const matcher = createMatcher();
      matcher.add(entryOf('1', 'a.b'));
      matcher.add(entryOf('2', 'a.*', '{"$.v":1}'));
      matcher.add(entryOf('3', 'c.**'));
      matcher.add(entryOf('4', 'a.*', '{"$.w":{"$exists":false}}'));
      assert.deepEqual(
        matchWith(matcher, 'c.d', unread).map(({ id }) => id),
        ['sub_3'],
      );
      assert.deepEqual(matchWith(matcher, 'x.y', unread), []);
      let reads = 0;
      const found = matchWith(matcher, 'a.b', {
        parse() {
          reads++;
          return { v: 1 };
        },
      });
      assert.equal(found.length, 3);
      assert.equal(reads, 1);
    });

    test('lets a body be anything that JSON can be', () => {
      const matcher = createMatcher();
      matcher.add(entryOf('1', 'a.b', '{"$.v":1}'));
      matcher.add(entryOf('2', 'a.b', '{"$[*]":1}'));
      matcher.add(entryOf('3', 'a.b', '{"$":1}'));
      for (const body of [null, 1, 'text', [1], true]) {
        const ids = matchWith(matcher, 'a.b', valueOf(body)).map(({ id }) => id);
        assert.deepEqual(ids, Array.isArray(body) ? ['sub_2'] : body === 1 ? ['sub_3'] : []);
      }
    });
  });
}

test('the indexed matcher never tries subscriptions that demand another value', () => {
  const matcher = new IndexedMatcher();
  const filters = Array.from({ length: 1_000 }, (_, n) => filterOf(`{"$.status":"paid","$.customer":"c${n}"}`));
  // A part that counts how often the filter is tried. The first few lie under the status, which came first.
  let tries = 0;
  for (const [n, filter] of filters.entries()) {
    assert.ok(filter.operator === '$and');
    const counted = new Proxy(filter.parts, {
      get: (parts, key) => (key === 'every' && tries++, Reflect.get(parts, key)),
    });
    matcher.add({ ...entryOf(`${n}`, 'a.b'), filter: { operator: '$and', parts: counted } });
  }
  tries = 0;
  assert.deepEqual(idsOf(matcher, 'a.b', '{"status":"paid","customer":"c500"}'), ['500']);
  assert.ok(tries >= 1 && tries <= 10, `${tries} filters were tried`);
});

// Few names and values, so that subscriptions and events meet; hostile ones, so that no look-up falls for them.
const segment = fc.constantFrom('a', 'b', '__proto__', 'constructor');
const type = fc.array(segment, { minLength: 2, maxLength: 4 }).map((segments) => segments.join('.'));
const prefix = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('.'));
const pattern = fc.oneof(
  type,
  prefix.map((text) => `${text}.*`),
  prefix.map((text) => `${text}.**`),
  fc.constant('**'),
);
const name = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString');
const scalar = fc.constantFrom<unknown>(0, 1, '0', 'a', '__proto__', 'constructor', true, null);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.array(fc.tuple(name, scalar), { maxLength: 2 }).map((members) => Object.fromEntries(members) as unknown),
);
const body = fc
  .array(fc.tuple(name, value), { maxLength: 4 })
  .map((members) => JSON.stringify(Object.fromEntries(members)).replaceAll('"0"', '9007199254740993'));
const path = fc.tuple(name, fc.constantFrom('', '', '[*]', '[0]', '.a')).map(([first, rest]) => `$.${first}${rest}`);
const condition = fc.oneof(
  { arbitrary: scalar, weight: 4 },
  scalar.map((operand) => ({ $eq: operand })),
  fc.array(scalar, { minLength: 1, maxLength: 3 }).map((operand) => ({ $in: operand })),
  scalar.map((operand) => ({ $ne: operand })),
  fc.boolean().map((operand) => ({ $exists: operand })),
);
const plain = fc.array(fc.tuple(path, condition), { minLength: 1, maxLength: 2 }).map((all) => Object.fromEntries(all));
const filter = fc.oneof(
  { arbitrary: plain, weight: 6 },
  fc.array(plain, { minLength: 1, maxLength: 2 }).map((parts) => ({ $and: parts })),
  fc.array(plain, { minLength: 1, maxLength: 2 }).map((parts) => ({ $or: parts })),
  plain.map((part) => ({ $not: part })),
);
const id = fc.nat({ max: 30 }).map((n) => String(n).padStart(2, '0'));
type Step =
  | { do: 'add'; entry: MatchEntry }
  | { do: 'remove'; id: string }
  | { do: 'match'; type: string; body: string };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.tuple(id, pattern, fc.option(filter, { freq: 4 })).map(([sub, text, sample]): Step => {
      return { do: 'add', entry: entryOf(sub, text, sample === null ? null : JSON.stringify(sample)) };
    }),
    weight: 5,
  },
  { arbitrary: fc.record({ do: fc.constant('remove' as const), id }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('match' as const), type, body }), weight: 5 },
);

test('the indexed matcher does what the linear one does, whatever happens', () => {
  let found = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const linear = new LinearMatcher();
      const indexed = new IndexedMatcher();
      for (const one of steps) {
        if (one.do === 'add') for (const matcher of [linear, indexed]) matcher.add(one.entry);
        else if (one.do === 'remove') assert.deepEqual(indexed.remove(`sub_${one.id}`), linear.remove(`sub_${one.id}`));
        else {
          const expected = linear.match(one.type, textOf(one.body));
          found += expected.length;
          assert.deepEqual(matchWith(indexed, one.type, textOf(one.body)), expected);
        }
        assert.equal(sizeOf(indexed), sizeOf(linear));
      }
    }),
    { numRuns: 500 },
  );
  assert.ok(found > 1_000, `only ${found} subscriptions were found: hardly anything is tried`);
});
