// Event types and patterns: what is one, and what the refusal says.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { findPatternFault, isEventType } from '../../src/model/event-type.ts';

const segments = (count: number): string => Array.from({ length: count }, (_, n) => `s${n}`).join('.');
const s64 = 's'.repeat(64);
/** 256 characters: the longest that there is. */
const longest = `${s64}.${s64}.${s64}.${'s'.repeat(61)}`;

describe('an event type', () => {
  for (const type of [
    'order.paid',
    'A-Z_9.x',
    'a.b.c',
    segments(10),
    `${s64}.a`,
    longest,
    '0.-',
    '__proto__.toString',
  ]) {
    test(`may be ${type}`, () => assert.equal(isEventType(type), true));
  }

  const wrong = ['', 'order', '.', 'order.', '.paid', 'order..paid', 'order.paid ', 'order.päid', 'order.paid\n'];
  for (const type of [...wrong, 'order.*', 'a.**', '**', 'a/b.c', segments(11), `${s64}s.a`, `${longest}s`]) {
    test(`may not be ${JSON.stringify(type)}`, () => assert.equal(isEventType(type), false));
  }
});

describe('a pattern', () => {
  const right = [
    'order.paid',
    'order.*',
    'order.**',
    '**',
    'a.b.c.*',
    segments(10),
    `${segments(9)}.*`,
    `${segments(9)}.**`,
  ];
  for (const pattern of [...right, longest, `${longest.slice(0, -2)}.*`.slice(-256)]) {
    test(`may be ${pattern}`, () => assert.equal(findPatternFault(pattern), null));
  }

  const alone =
    'a wildcard ends a pattern and follows a prefix, as in order.* or order.**; ** alone is every event type';
  const last = 'a wildcard is all of the last segment: order.* is exactly one more, order.** is one or more';
  const segment = 'a segment is 1-64 characters of A-Z, a-z, 0-9, _ and -, and segments are joined by "."';
  const wrong: [pattern: string, message: string][] = [
    ['', 'give an event type such as order.paid, or a pattern: order.*, order.** or **'],
    ['*', alone],
    ['***', alone],
    ['*.paid', alone],
    ['**.paid', alone],
    ['order.*.paid', last],
    ['order.**.paid', last],
    ['order.***', last],
    ['order.*.*', last],
    ['order*', last],
    ['order**', last],
    ['order.pa*', last.replaceAll('order', 'order.pa')],
    ['order.*x', last],
    ['.*', segment],
    ['or der.*', segment],
    ['order..*', segment],
    ['order..paid', segment],
    ['order.paid.', segment],
    ['order.päid', segment],
    [`${s64}s.*`, segment],
    ['order', 'an event type has at least 2 segments; for those that begin with order write order.* or order.**'],
    [segments(11), 'an event type has at most 10 segments'],
    [`${segments(10)}.*`, 'before a wildcard there are at most 9 segments'],
    [`${segments(10)}.**`, 'before a wildcard there are at most 9 segments'],
    [`${longest}s`, 'a pattern has at most 256 characters'],
    [`${longest}.*`, 'a pattern has at most 256 characters'],
  ];
  for (const [pattern, message] of wrong) {
    test(`may not be ${JSON.stringify(pattern)}`, () => assert.equal(findPatternFault(pattern), message));
  }

  test('is any event type, and any prefix of one with a wildcard', () => {
    const one = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);
    fc.assert(
      fc.property(fc.array(one, { minLength: 2, maxLength: 10 }), fc.nat(), (all, n) => {
        const prefix = all.slice(0, 1 + (n % (all.length - 1))).join('.');
        assert.equal(isEventType(all.join('.')), true);
        for (const pattern of [all.join('.'), `${prefix}.*`, `${prefix}.**`]) {
          assert.equal(findPatternFault(pattern), null);
        }
      }),
    );
  });

  test('is refused with a sentence, whatever the text', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '.', '*', ' ', 'é', 'order.'), maxLength: 20 });
    const shape = /^(\*\*|[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,8}(\.[A-Za-z0-9_-]{1,64}|\.\*{1,2}))$/;
    fc.assert(
      fc.property(text, (pattern) => {
        assert.equal(findPatternFault(pattern) === null, shape.test(pattern));
      }),
    );
  });
});
