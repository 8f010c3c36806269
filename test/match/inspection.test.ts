// Many filters on one body at once, held against the same filters one by one: long lists, so that members are sorted
// and tables asked, and values that are hard to tell apart.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseBody } from '../../src/json/body.ts';
import type { Filter } from '../../src/match/filter/filter.ts';
import { filterAccepts } from './plainly.ts';
import { isFilterFault, parseFilter, parseStoredFilter } from '../../src/match/filter/parse.ts';
import { Inspection } from '../../src/match/inspection.ts';
import { TooMuchWork, Work } from '../../src/match/matcher.ts';
import { unlimitedWork } from './unlimited-work.ts';

function filterOf(json: unknown): Filter {
  const filter = parseFilter(JSON.stringify(json));
  if (isFilterFault(filter)) assert.fail(JSON.stringify([json, filter]));
  return filter;
}

const texts = ['', 'a', 'ab', 'abc', 'b', 'ba', 'x\u0000y', '\ud83d\ude00', '\ude00\ud83d', '\uffff', '__proto__'];
const text = fc.constantFrom(...texts);
const scalar = fc.oneof(text, fc.constantFrom<unknown>(0, -1, 1, 1.5, 1e21, true, false, null));
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', '__proto__', 'length', '0');
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { arbitrary: scalar, weight: 3 },
    fc.array(tie('json'), { maxLength: 5 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 5 }).map((members) => Object.fromEntries(members) as unknown),
  ),
}));
/** Long lists of little, in an array or in an object; what says "1e21" becomes a number that no double holds. */
const list = fc.array(json, { minLength: 10, maxLength: 60 });
const body = fc
  .record({
    list,
    members: list.map((values) => Object.fromEntries(values.map((value, index) => [`k${index}`, value]))),
    rows: fc.array(list, { maxLength: 6 }),
    texts: fc.array(text, { minLength: 20, maxLength: 60 }),
    one: json,
  })
  .map((value) => JSON.stringify(value).replaceAll('1e+21', '9007199254740993'));

const step = fc.oneof(
  fc.constantFrom('[*]', '[0]', '[1]', '[-1]', '[2]', '[-2]', '[-3]', '[3]', '[4]'),
  name.map((key) => `['${key}']`),
);
const path = fc
  .tuple(fc.constantFrom('list', 'members', 'rows', 'texts', 'one'), fc.array(step, { maxLength: 3 }))
  .map(([first, rest]) => `$.${first}${rest.join('')}`)
  .filter((sample) => sample.split('[*]').length <= 3);
const ordered = fc.oneof(text, fc.constantFrom<unknown>(-2, 0, 0.5, 1, 9007199254740992));
const test1 = fc.oneof(
  fc.tuple(fc.constantFrom('$eq', '$ne', '$contains'), json),
  fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), ordered),
  fc.tuple(fc.constantFrom('$in', '$nin'), fc.array(scalar, { minLength: 1, maxLength: 8 })),
  fc.tuple(fc.constant('$exists'), fc.boolean()),
  fc.tuple(fc.constantFrom('$startsWith', '$endsWith', '$contains'), text),
);
const plain = fc.tuple(path, test1).map(([key, [operator, operand]]) => ({ [key]: { [operator]: operand } }));
const filter = fc.oneof(
  { arbitrary: plain, weight: 4 },
  plain.map((part) => ({ $not: part })),
  fc.array(plain, { minLength: 1, maxLength: 3 }).map((parts) => ({ $or: parts })),
  fc.array(plain, { minLength: 1, maxLength: 3 }).map((parts) => ({ $and: parts })),
);

describe('filters that look at one body together', () => {
  test('accept what each accepts by itself', () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(body, fc.array(filter, { minLength: 80, maxLength: 200, size: 'max' }), (sample, samples) => {
        const value = parseBody(sample);
        const together = new Inspection(value, unlimitedWork());
        for (const one of samples.map(filterOf)) {
          const expected = filterAccepts(one, value);
          if (expected) accepted++;
          else refused++;
          assert.equal(together.accepts(one), expected, JSON.stringify(one));
        }
      }),
      { numRuns: 40 },
    );
    assert.ok(accepted > 1_000 && refused > 1_000, `${accepted} accepted, ${refused} refused`);
  });

  test('that ask for the same path often enough ask tables', () => {
    // Each operator time and again over each list, with operands on both sides of every answer.
    const value = parseBody(
      `{"l":${JSON.stringify([...texts, ...texts, 1, 2.5, -3, true, null, [1, 'a'], { a: [1] }, ['ab'], {}])}}`,
    );
    const together = new Inspection(value, unlimitedWork());
    const operands: unknown[] = [
      ...texts,
      'bc',
      'c',
      0,
      1,
      2.5,
      3,
      -3,
      -4,
      true,
      null,
      [1, 'a'],
      ['a', 1],
      { a: [1] },
      {},
    ];
    for (let round = 0; round < 3; round++) {
      for (const operator of ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$startsWith', '$contains']) {
        for (const operand of operands) {
          const condition = { [operator]: operator.endsWith('in') ? [operand, 7] : operand };
          const one = parseFilter(JSON.stringify({ '$.l[*]': condition }));
          if (isFilterFault(one)) continue;
          assert.equal(together.accepts(one), filterAccepts(one, value), JSON.stringify(condition));
        }
      }
      for (const end of texts) {
        const one = filterOf({ '$.l[*]': { $endsWith: end } });
        assert.equal(together.accepts(one), filterAccepts(one, value), end);
      }
    }
  });

  test('that ask tables of values none of which is a text find no text in them', () => {
    const value = parseBody('{"l":[1,null,true,{"a":"a"},["a"]]}');
    const together = new Inspection(value, unlimitedWork());
    const operators = ['$startsWith', '$endsWith', '$contains', '$gte', '$lte', '$eq', '$in'];
    for (let round = 0; round < 60; round++) {
      for (const operator of operators) {
        const one = filterOf({ '$.l[*]': { [operator]: operator === '$in' ? [''] : '' } });
        assert.equal(together.accepts(one), false, `${operator} in round ${round}`);
      }
    }
  });
});

test('many members of many objects and arrays are told apart by name and index', () => {
  const row = (n: number): unknown =>
    n % 2 === 0
      ? Array.from({ length: n % 37 }, (_, index) => index * 100 + n)
      : Object.fromEntries(Array.from({ length: n % 37 }, (_, index) => [`${index - 18}`, index * 100 + n]));
  const value = parseBody(JSON.stringify({ rows: Array.from({ length: 100 }, (_, n) => row(n)) }));
  const together = new Inspection(value, unlimitedWork());
  for (let index = -40; index <= 40; index++) {
    for (const last of [`[${index}]`, `['${index}']`]) {
      const sought = `$.rows[*]${last}`;
      for (const one of [filterOf({ [sought]: { $exists: true } }), filterOf({ [sought]: { $lt: 200 } })]) {
        assert.equal(together.accepts(one), filterAccepts(one, value), sought);
      }
      for (const n of [10, 12, 36, 37, 99]) {
        const one = filterOf({ [sought]: { $in: [n, 100 + n, 500 + n, 1_000 + n, 3_500 + n] } });
        assert.equal(together.accepts(one), filterAccepts(one, value), sought);
      }
    }
  }
});

describe('the work of matching', () => {
  const BODY_BYTES = 262_000;
  const listed = (piece: (index: number) => string, bytes: number): string =>
    Array.from({ length: Math.floor(BODY_BYTES / bytes) }, (_, index) => piece(index)).join(',');
  const bodies = {
    numbers: `{"a":[[${listed(() => '1', 2)}]]}`,
    objects: `{"a":[${listed(() => '{}', 3)}]}`,
    members: `{"a":{${listed((index) => `"k${index.toString(36).padStart(4, '0')}":{}`, 11)}}}`,
    texts: `{"a":[${listed((index) => `"s${index.toString(36).padStart(4, '0')}"`, 8)}]}`,
  };
  const conditions: ((n: number) => object)[] = [
    (n) => ({ $eq: { z: n } }),
    (n) => ({ $ne: n }),
    (n) => ({ $gt: 1e9 + n }),
    (n) => ({ $in: [`x${n}`, n + 0.5] }),
    (n) => ({ $startsWith: `x${n}` }),
    (n) => ({ $endsWith: `x${n}` }),
    (n) => ({ $contains: n + 0.5 }),
  ];
  /** 10 subscriptions with 50 conditions each, more than may have [*] today. */
  const worst = (condition: (n: number) => object, keys: readonly string[]): Filter[] =>
    Array.from({ length: 10 }, (_none, subscription) => {
      const parts = Array.from({ length: 50 }, (_, n) => ({
        [keys[n % keys.length]!]: condition(subscription * 50 + n),
      }));
      const one = parseStoredFilter(JSON.stringify({ $or: parts }));
      return isFilterFault(one) ? assert.fail(JSON.stringify(one)) : one;
    });

  for (const [kind, sample] of Object.entries(bodies)) {
    test(`is that of a few looks at the whole body, however many conditions: ${kind}`, () => {
      const value = parseBody(sample);
      for (const condition of conditions) {
        const filters = worst(condition, ['$.a[*]', '$[*][*]', '$.a[*][*]', '$.a[*].b']);
        const work = new Work(80 * BODY_BYTES);
        const together = new Inspection(value, work);
        for (const one of filters) together.accepts(one);
      }
    });
  }

  test('lists the texts of a body once, also where the part that is looked for has a NUL', () => {
    const value = parseBody(`{"a":[${listed((index) => `${10_000 + index}`, 6)}]}`);
    const together = new Inspection(value, new Work(20 * BODY_BYTES));
    for (const one of worst((n) => ({ $contains: `\u0000${n}` }), ['$.a[*]'])) together.accepts(one);
  });

  test('ends where it may go no further', () => {
    const filters = worst((n) => ({ $gt: n + 10 }), ['$.a[*][*]']);
    const together = new Inspection(parseBody(bodies.numbers), new Work(1_000));
    assert.throws(() => filters.every((one) => together.accepts(one)), TooMuchWork);
  });
});
