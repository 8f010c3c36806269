// The scanner accepts exactly what JSON.parse accepts, whatever is done to a text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonScanner, JsonSyntaxError } from '../../src/json/scanner.ts';

function faultPosition(text: string): number | null {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner(bytes);
  try {
    scanner.skipValue(0);
    scanner.peek();
    return scanner.position === bytes.length ? null : scanner.position;
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError);
    return error.position;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const ACCEPTED = [
  '0',
  '-0',
  '-0.0e+00',
  '1E400',
  '123456789012345678901234567890',
  'true',
  'false',
  'null',
  '""',
  '"\\u0000"',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t\\uD83D\\ude00"',
  '"\u2028\u2029\u007f😀"',
  '[]',
  '{}',
  ' [ 1 , [ ] , { } ] ',
  '{"":0,"":1}',
  '\t\r\n1 ',
  '[[[[[[]]]]]]',
  '{"a":{"b":[{"c":null}]}}',
];

const REFUSED = [
  '',
  ' ',
  '01',
  '-',
  '+1',
  '.5',
  '1.',
  '1e',
  '1e+',
  '--1',
  '0x10',
  'NaN',
  'Infinity',
  'tru',
  'nulll',
  'True',
  '"',
  '"\\',
  '"\\x"',
  '"\\u12g4"',
  '"\\u123',
  '"a\nb"',
  '"a\u0000b"',
  "'a'",
  '[',
  '[1',
  '[1,',
  '[1,]',
  '[,1]',
  '[1 2]',
  '{',
  '{a:1}',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{"a":1 "b":2}',
  '{,}',
  '{1:2}',
  '[}',
  '{]',
  '{"a":1]',
  '1 2',
  '[]]',
  '// c\n1',
  '/**/1',
  '\ufeff1',
  '\u00a01',
  '1\u0000',
];

test('accepts JSON', () => {
  for (const text of ACCEPTED) assert.equal(faultPosition(text), null, text);
});

test('refuses every control character in a string', () => {
  for (let code = 0; code < 0x20; code++) assert.equal(faultPosition(`"${String.fromCharCode(code)}"`), 1);
});

test('refuses what is no JSON', () => {
  for (const text of REFUSED) assert.notEqual(faultPosition(text), null, text);
});

test('says where a text stops being JSON', () => {
  assert.equal(faultPosition('{"a": tru}'), 9);
  assert.equal(faultPosition('{"a": 1,}'), 8);
  assert.equal(faultPosition('["é", x]'), 7);
  assert.equal(faultPosition('[1, 2'), 5);
});

test('nesting is limited by nothing but the text', () => {
  const depth = 100_000;
  assert.equal(faultPosition('['.repeat(depth) + ']'.repeat(depth)), null);
  assert.equal(faultPosition('['.repeat(depth)), depth);
});

test('agrees with JSON.parse on texts that are nearly JSON', () => {
  const edit = fc.tuple(
    fc.nat(),
    fc.nat(2),
    fc.constantFrom(...'{}[]":,\\u0e.-+ \n\t1a/x'.split(''), '\u0000', 'é', '\\ud800', '"', '00', 'true'),
  );
  const nearlyJson = fc.tuple(fc.json({ maxDepth: 4 }), fc.array(edit, { maxLength: 3 })).map(([text, edits]) =>
    edits.reduce((edited, [at, removed, added]) => {
      const start = at % (edited.length + 1);
      return edited.slice(0, start) + added + edited.slice(start + removed);
    }, text),
  );
  fc.assert(
    fc.property(nearlyJson, (text) => {
      // A half of a surrogate pair cannot be written in UTF-8, and so never reaches the scanner.
      fc.pre(text.isWellFormed());
      assert.equal(faultPosition(text) === null, isJson(text), text);
    }),
    { numRuns: 5_000 },
  );
});
