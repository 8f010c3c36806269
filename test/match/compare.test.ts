// How values of a filter and of a body compare.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { compareByCodePoint, containsText, isEqual } from '../../src/match/filter/compare.ts';
import { readFilterJson } from '../../src/match/filter/json.ts';
import { WideNumber } from '../../src/json/wide-number.ts';
import { unlimitedWork } from './unlimited-work.ts';

const WORK = unlimitedWork();

describe('strings are ordered by code point', () => {
  const ascending = [
    '',
    'A',
    'a',
    'a\u0000',
    'aa',
    'é',
    '\ud7ff',
    '\ud83d',
    '\ud83d\ud83d',
    '\ue000',
    '\uffff',
    '😀',
    '😀a',
  ];
  for (const [index, text] of ascending.slice(1).entries()) {
    test(`${JSON.stringify(ascending[index])} before ${JSON.stringify(text)}`, () => {
      assert.ok(compareByCodePoint(ascending[index]!, text) < 0);
      assert.ok(compareByCodePoint(text, ascending[index]!) > 0);
      assert.equal(compareByCodePoint(text, text), 0);
    });
  }

  test('as the lists of their code points are', () => {
    const unit = fc.constantFrom('a', 'b', '\ud83d', '\ude00', '\ud800', '\udfff', '\ue000', '\uffff', '😀');
    const text = fc.string({ unit, maxLength: 6 });
    const codePoints = (string: string): number[] => Array.from(string, (point) => point.codePointAt(0)!);
    fc.assert(
      fc.property(text, text, (a, b) => {
        const [as, bs] = [codePoints(a), codePoints(b)];
        const differing = as.findIndex((point, index) => point !== bs[index]);
        const expected = differing === -1 ? as.length - bs.length : as[differing]! - (bs[differing] ?? -1);
        assert.equal(Math.sign(compareByCodePoint(a, b)), Math.sign(expected));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a text contains another exactly if the built-in search finds it', () => {
  const unit = fc.constantFrom('a', 'a', 'a', 'b', '😀');

  test('whatever the texts', () => {
    const text = fc.string({ unit, maxLength: 30 });
    fc.assert(
      fc.property(text, text, (whole, part) => {
        assert.equal(containsText(whole, part, WORK), whole.includes(part));
      }),
    );
  });

  test('and a long one that comes close to itself many times', () => {
    const repeated = fc.tuple(fc.string({ unit, minLength: 1, maxLength: 4 }), fc.string({ unit, maxLength: 2 }));
    const part = fc
      .array(repeated, { minLength: 1, maxLength: 3 })
      .map((runs) => runs.map(([run, end]) => run.repeat(70 / run.length) + end).join(''));
    const slices = fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 250 })), { maxLength: 6 });
    let found = 0;
    fc.assert(
      fc.property(part, slices, (sought, cuts) => {
        const whole = cuts.map(([start, end]) => sought.slice(start, end)).join('');
        if (whole.includes(sought)) found++;
        assert.equal(containsText(whole, sought, WORK), whole.includes(sought));
      }),
      { numRuns: 3_000 },
    );
    assert.ok(found > 300 && found < 2_700, `found in ${found} of 3,000: one answer is hardly tried`);
  });
});

test('a part that nearly repeats itself is found at its only place', () => {
  const part = `${'ab'.repeat(40)}c${'ab'.repeat(40)}d`;
  const text = `${`${'ab'.repeat(40)}c`.repeat(50)}${part}`;
  assert.equal(containsText(text, part, WORK), true);
  assert.equal(containsText(text.slice(0, -1), part, WORK), false);
});

describe('deep equality', () => {
  const cases: [literal: string, value: unknown, equal: boolean][] = [
    ['1', 1, true],
    ['0', -0, true],
    ['1', '1', false],
    ['1', true, false],
    ['null', null, true],
    ['null', undefined, false],
    ['[]', [], true],
    ['{}', {}, true],
    ['{}', [], false],
    ['[]', {}, false],
    ['{}', null, false],
    ['[1,2]', [1, 2], true],
    ['[1,2]', [2, 1], false],
    ['[1]', [1, 2], false],
    ['{"a":1,"b":[{"c":null}]}', { b: [{ c: null }], a: 1 }, true],
    ['{"a":1}', { a: 1, b: 2 }, false],
    ['{"a":1,"b":2}', { a: 1 }, false],
    ['{"a":null}', { b: null }, false],
    ['{"toString":1}', {}, false],
    ['{"__proto__":1}', JSON.parse('{"__proto__":1}'), true],
    ['{"__proto__":1}', { a: 1 }, false],
    ['{}', new WideNumber('1'), false],
    ['{"value":1}', new WideNumber('1'), false],
    ['1', new WideNumber('1'), false],
    ['[1]', [new WideNumber('1')], false],
  ];
  for (const [literal, value, equal] of cases) {
    test(`${literal} ${equal ? 'equals' : 'does not equal'} ${JSON.stringify(value)}`, () => {
      assert.equal(isEqual(readFilterJson(literal), value, WORK), equal);
    });
  }

  test('agrees with the assertion library', () => {
    const leaf = fc.constantFrom(0, 1, 'a', '', true, null);
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 2, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
        assert.equal(isEqual(readFilterJson(left), JSON.parse(left), WORK), true);
        assert.equal(
          isEqual(readFilterJson(left), JSON.parse(right), WORK),
          isDeepStrictEqual(JSON.parse(left), JSON.parse(right)),
        );
      }),
      { numRuns: 3_000 },
    );
  });
});
