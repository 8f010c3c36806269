// Retry-After in all its forms, and what is none of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseRetryAfter } from '../../src/attempt/retry-after.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

test('seconds count from now; what is over is now', () => {
  assert.equal(parseRetryAfter('120', NOW), NOW + 120_000);
  assert.equal(parseRetryAfter(' 7 ', NOW), NOW + 7_000);
  assert.equal(parseRetryAfter('007', NOW), NOW + 7_000);
  for (const past of ['0', '-0', '-5', '-99999999999999999999']) assert.equal(parseRetryAfter(past, NOW), NOW, past);
  assert.equal(parseRetryAfter('9'.repeat(400), NOW), 8.64e15);
});

test('dates come in three forms', () => {
  const at = Date.UTC(2030, 0, 6, 8, 49, 37);
  for (const form of ['Sun, 06 Jan 2030 08:49:37 GMT', 'Sunday, 06-Jan-30 08:49:37 GMT', 'Sun Jan  6 08:49:37 2030']) {
    assert.equal(parseRetryAfter(form, NOW), at, form);
  }
  assert.equal(parseRetryAfter('Sun Dec 26 08:49:37 2027', NOW), Date.UTC(2027, 11, 26, 8, 49, 37));
  assert.equal(parseRetryAfter('Sun, 06 Nov 1994 08:49:37 GMT', NOW), NOW);
  assert.equal(parseRetryAfter('Fri, 31 Dec 2027 23:59:60 GMT', NOW), Date.UTC(2028, 0, 1));
});

test('universal time has other names in Python’s and Go’s libraries', () => {
  for (const zone of ['UTC', '-0000', '+0000']) {
    assert.equal(parseRetryAfter(`Sun, 06 Jan 2030 08:49:37 ${zone}`, NOW), Date.UTC(2030, 0, 6, 8, 49, 37), zone);
  }
});

test('two digits of a year are at most 50 years ahead', () => {
  assert.equal(parseRetryAfter('Saturday, 21-Nov-76 00:00:00 GMT', NOW), Date.UTC(2076, 10, 21));
  assert.equal(parseRetryAfter('Sunday, 21-Nov-77 00:00:00 GMT', NOW), NOW);
});

test('anything else is ignored', () => {
  for (const value of [
    '',
    '1.5',
    '1e3',
    '+5',
    '0x10',
    '5 s',
    '5, 6',
    'soon',
    '2030-01-06T08:49:37Z',
    '06 Jan 2030 08:49:37 GMT',
    'Sun, 6 Jan 2030 08:49:37 GMT',
    'Sun, 06 Jan 2030 08:49:37 +0100',
    'Sun, 06 Jan 2030 08:49:37 CET',
    'Sun, 06 Foo 2030 08:49:37 GMT',
    'Sun, 31 Feb 2030 08:49:37 GMT',
    'Sun, 00 Jan 2030 08:49:37 GMT',
    'Sun, 06 Jan 2030 24:00:00 GMT',
    'Sun, 06 Jan 2030 08:60:00 GMT',
    'Sun, 06 Jan 2030 08:49:61 GMT',
    'sun, 06 jan 2030 08:49:37 gmt',
  ]) {
    assert.equal(parseRetryAfter(value, NOW), null, value);
  }
});

test('whatever it says, the answer is null or not before now, and a date of ours is read back', () => {
  const text = fc.oneof(fc.string(), fc.integer().map(String), fc.stringMatching(/^[A-Z][a-z]{2}, [\d: A-Za-z]+ GMT$/));
  fc.assert(
    fc.property(text, (value) => {
      const at = parseRetryAfter(value, NOW);
      assert.ok(at === null || (at >= NOW && at <= 8.64e15));
    }),
  );
  const future = fc.date({ min: new Date(NOW), max: new Date(Date.UTC(9999, 11, 31)), noInvalidDate: true });
  fc.assert(
    fc.property(future, (date) => {
      const seconds = Math.floor(date.getTime() / 1000) * 1000;
      assert.equal(parseRetryAfter(date.toUTCString(), NOW), Math.max(NOW, seconds));
    }),
  );
});
