// Which patterns match which event types.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { listPatternsFor } from '../../src/match/pattern-index.ts';
import { patternMatches } from './plainly.ts';

describe('a pattern', () => {
  const cases: [pattern: string, type: string, matches: boolean][] = [
    ['order.paid', 'order.paid', true],
    ['order.paid', 'order.Paid', false],
    ['order.paid', 'order.paid.late', false],
    ['order.*', 'order.paid', true],
    ['order.*', 'order.paid.late', false],
    ['order.*', 'orders.paid', false],
    ['order.paid.*', 'order.paid', false],
    ['order.paid.*', 'order.paid.late', true],
    ['order.**', 'order.paid', true],
    ['order.**', 'order.paid.late', true],
    ['order.**', 'orders.paid', false],
    ['order.paid.**', 'order.paid', false],
    ['**', 'order.paid', true],
    ['**', 'a.b.c.d.e.f.g.h.i.j', true],
  ];
  for (const [pattern, type, matches] of cases) {
    test(`${pattern} ${matches ? 'matches' : 'does not match'} ${type}`, () => {
      assert.equal(patternMatches(pattern, type), matches);
      assert.equal(listPatternsFor(type).includes(pattern), matches);
    });
  }
});

test('an event type has at most 12 patterns, none of them twice', () => {
  const patterns = listPatternsFor('a.b.c.d.e.f.g.h.i.j');
  assert.equal(patterns.length, 12);
  assert.equal(new Set(patterns).size, 12);
});

test('the listed patterns are those that match', () => {
  // Few letters, so that prefixes coincide often.
  const segment = fc.constantFrom('a', 'b', 'aa', '__proto__');
  const type = fc.array(segment, { minLength: 2, maxLength: 5 }).map((segments) => segments.join('.'));
  const prefix = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join('.'));
  const wildcard = fc.tuple(prefix, fc.constantFrom('.*', '.**')).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.oneof(type, wildcard, fc.constant('**')), type, (pattern, eventType) => {
      assert.equal(listPatternsFor(eventType).includes(pattern), patternMatches(pattern, eventType));
    }),
    { numRuns: 2_000 },
  );
});
