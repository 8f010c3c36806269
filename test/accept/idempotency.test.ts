// When two requests under one idempotency key are the same request.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { fingerprintOf } from '../../src/accept/incoming-event.ts';
import { canonicalJson as canonicalJsonOf } from '../../src/json/canonical.ts';

const canonicalJson = (text: string): string => canonicalJsonOf(Buffer.from(text));

const same: readonly (readonly [string, string, string])[] = [
  ['order of keys', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
  ['white space', '{"a":[1,2]}', ' {\n"a" : [ 1 , 2 ]\t}'],
  ['escapes', '{"é":"A\\/"}', '{"\\u00e9":"\\u0041/"}'],
  ['the last of duplicate keys counts', '{"a":1,"a":2}', '{"a":2}'],
];

const different: readonly (readonly [string, string, string])[] = [
  ['a number’s text', '{"a":1}', '{"a":1.0}'],
  ['digits that a double cannot hold', '{"a":9007199254740993}', '{"a":9007199254740992}'],
  ['a number and its string', '{"a":1}', '{"a":"1"}'],
  ['order in an array', '{"a":[1,2]}', '{"a":[2,1]}'],
  ['null and absence', '{"a":null}', '{}'],
  ['one lone surrogate and another', '{"a":"\\ud800"}', '{"a":"\\ud801"}'],
  ['__proto__ and nothing', '{"__proto__":{"a":1}}', '{}'],
];

describe('bodies that are the same', () => {
  for (const [name, a, b] of same) test(name, () => assert.equal(canonicalJson(a), canonicalJson(b)));
});

describe('bodies that differ', () => {
  for (const [name, a, b] of different) test(name, () => assert.notEqual(canonicalJson(a), canonicalJson(b)));
});

test('a key written with an escape is read as it is, whatever was read before', () => {
  canonicalJson('{"a":1,"\\\\":2}');
  assert.notEqual(canonicalJson('{"a":1,"\\n":2}'), canonicalJson('{"a":1,"\\\\":2}'));
});

test('the canonical text means the same value, whatever the value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(JSON.parse(canonicalJson(text)), JSON.parse(text));
      assert.equal(canonicalJson(canonicalJson(text)), canonicalJson(text));
    }),
  );
});

function fingerprint(overrides: { type?: string; occurredAt?: string | null; body?: string }): string {
  const { type = 'order.paid', occurredAt = null, body = '{}' } = overrides;
  const bytes = new TextEncoder().encode(body);
  return Buffer.from(
    fingerprintOf({
      environment: 2,
      type,
      idempotencyKey: 'k',
      occurredAt: occurredAt === null ? null : { text: occurredAt, time: 0 },
      traceparent: null,
      body: { bytes, parse: () => null },
    }),
  ).toString('hex');
}

test('type, occurred_at as sent, and body all count', () => {
  const all = [
    fingerprint({}),
    fingerprint({ type: 'order.sent' }),
    fingerprint({ occurredAt: '2026-01-01' }),
    fingerprint({ occurredAt: '2026-01-01T00:00:00Z' }),
    fingerprint({ body: '{"a":1}' }),
  ];
  assert.equal(new Set(all).size, all.length);
  assert.equal(fingerprint({ body: '{"a":1,"b":2}' }), fingerprint({ body: '{ "b": 2, "a": 1 }' }));
});

test('a body has the fingerprint for ever: those of earlier versions are stored', () => {
  const body =
    '{"b":[1.0,-0,12345678901234567890,1E5,null,true],"é😀":"\\u00e9\\/\\ud800",' +
    '"__proto__":{"10":1,"9":{}},"a\\n":"\u2028"}';
  assert.equal(fingerprint({ body }), 'de9f627b7372b67fccd1c87e6c0a445ec36c82eac5c2b990331cc42d7d674f66');
});
