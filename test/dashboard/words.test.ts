// What the dashboard's pages say of times, figures, ids and numbers in bodies; pure functions, so no browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOut, parseExact } from '../../dashboard/src/words/exact-json.ts';
import { headersOf } from '../../dashboard/src/words/headers.ts';
import { parseId } from '../../dashboard/src/words/ids.ts';
import { percent, seconds } from '../../dashboard/src/words/numbers.ts';
import { explain } from '../../dashboard/src/words/outcomes.ts';
import { ratesOf } from '../../dashboard/src/words/rates.ts';
import { meaningOfNoDelays, policyWith, writtenDelaysOf } from '../../dashboard/src/words/retry-policy.ts';
import { countdown, momentOf, relative, SPAN_STEPS } from '../../dashboard/src/words/time.ts';
import { isMatchedBy, sayUntried } from '../../dashboard/src/words/trials.ts';
import { visible } from '../../dashboard/src/words/visible.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';

test('the beginning of an id is the span of time in which ids that begin so are made', () => {
  const before = Date.now();
  const id = createIds(systemClock, systemRandom).next('evt');
  const after = Date.now();
  const whole = parseId(` ${id.toUpperCase()} `)!;
  assert.equal(whole.text, id);
  assert.ok(whole.isWhole && whole.since === whole.until, 'ten characters are one millisecond');
  assert.ok(whole.since >= before && whole.since <= after);
  const beginning = parseId(id.slice(0, 10))!;
  assert.ok(!beginning.isWhole && beginning.since <= whole.since && beginning.until >= whole.since);
  assert.ok(beginning.until - beginning.since < 32 ** 4);
  for (const other of ['order.paid', 'evt_', `${id}0`, 'req_01kg9qz3', 'evt_01u']) assert.equal(parseId(other), null);
});

test('numbers of a body keep their digits', () => {
  const text = '{"a":12345678901234567890,"b":1.0,"c":[1e2,7],"d":"1.0"}';
  assert.equal(JSON.stringify(parseExact(text)), text);
});

test('what is not to be seen, or turns text around, is shown as its escape; a laid-out body stays the same', () => {
  const shown = {
    '\u202enimda': '\\u202enimda',
    '\u200b': '\\u200b',
    '\u200d': '\\u200d',
    '\u2066a\u2069': '\\u2066a\\u2069',
    'a\u001b[31m\u0000\u009b': 'a\\u001b[31m\\u0000\\u009b',
    '\ufe0f': '\\ufe0f',
    '\u{e0041}': '\\udb40\\udc41',
    'two\nlines\tand a tab': 'two\nlines\tand a tab',
    '👩‍🚀 ❤️ می‌خواهم नमस्ते 한글 1️⃣': '👩‍🚀 ❤️ می‌خواهم नमस्ते 한글 1️⃣',
  };
  assert.deepEqual(Object.keys(shown).map(visible), Object.values(shown));
  const body = { 'k\u202e': 'a\u202eb\u200b\ufeff\u0085', family: '👩‍🚀' };
  const text = layOut(JSON.stringify(body));
  assert.deepEqual(JSON.parse(text), body);
  assert.match(text, /"k\\u202e": "a\\u202eb\\u200b\\ufeff\\u0085"/);
});

test('what is no header is named, and not stored under another name', () => {
  assert.deepEqual(headersOf(' x-a : 1\n\nx-b: http://c\nx-c:'), { 'x-a': '1', 'x-b': 'http://c', 'x-c': '' });
  for (const line of ['authorization', ': secret']) {
    assert.throws(() => headersOf(`x-a: 1\n${line}`), { name: 'SyntaxError', message: new RegExp(line) });
  }
});

test('a subscription is tried on what it may get, and a service that is busy has erased no body', () => {
  const types = ['order.paid', 'postrider.delivery.dead'];
  const matched = (pattern: string) => types.filter((type) => isMatchedBy(pattern, type));
  assert.deepEqual([matched('**'), matched('postrider.**')], [types.slice(0, 1), types]);
  const said = [null, 'event_too_old', 'rate_limited', 'unavailable'].map(sayUntried);
  const busy = 'Could not be tried just now';
  assert.deepEqual(said, ['Not known', 'Its body is erased', busy, busy]);
});

test('a header that is there twice is named, in whatever case: only one of them would be sent', () => {
  assert.throws(() => headersOf('x-a: 1\nx-b: 2\nX-A : 3'), { name: 'SyntaxError', message: /“X-A” is there twice/ });
});

test('a retry policy is changed by the delays that are written, and kept where there are no words for it', () => {
  const once = { schedule_seconds: [], timeout_seconds: 30 };
  const formula = { max_attempts: 3, jitter: 0 };
  const slow = { timeout_seconds: 60 };
  const listed = { schedule_seconds: [5, 60], jitter: 0.1 };
  for (const policy of [null, once, formula, slow, listed]) {
    assert.equal(policyWith(writtenDelaysOf(policy), policy), policy);
  }
  assert.deepEqual(policyWith('1, 2 3', once), { schedule_seconds: [1, 2, 3], timeout_seconds: 30 });
  assert.deepEqual(policyWith('', listed), { jitter: 0.1 });
  assert.equal(policyWith(' ', { schedule_seconds: [5] }), null);
  const meanings = [null, slow, listed, once, formula].map(meaningOfNoDelays);
  const isDefault = meanings.map((meaning) => meaning === 'Empty: the default schedule.');
  assert.deepEqual(isDefault, [true, true, true, false, false]);
});

test('a failure among many is not rounded away', () => {
  assert.equal(percent(1), '100 %');
  assert.equal(percent(0.999999), '99.99 %');
  assert.equal(percent(0.5), '50.0 %');
});

test('a rate does not fall at its end because the last minute is not over', () => {
  const beginnings = [0, 60, 120];
  const at = (readAt: number) => ratesOf([60, 60, 30], { beginnings, seconds: 60, readAt });
  assert.deepEqual(at(150), [1, 1, 1]);
  assert.deepEqual(at(1_000), [1, 1, 0.5], 'of what is over, all of it counts');
  assert.deepEqual(at(121), [1, 1, null], 'a minute that has just begun has none yet');
});

test('a redirect is called one, and a 304 is none', () => {
  const causes = [301, 308, 304].map(
    (code) => explain({ outcome: 'bad_status', response_code: code, error: null }).cause,
  );
  assert.deepEqual(
    causes.map((cause) => cause.startsWith('Redirects')),
    [true, true, false],
  );
});

test('a figure of seconds is told as times are, and so is each tick of its scale', () => {
  const told = [0.0005, 0.34, 1.25, 59.9, 800, 7_200, 200_000].map(seconds);
  assert.deepEqual(told, ['< 1 ms', '340 ms', '1.3 s', '59 s', '13 min', '2 h', '2 d']);
  for (const step of SPAN_STEPS) {
    const ticks = [1, 2, 3, 4].map((times) => seconds(step * times));
    assert.equal(new Set(ticks).size, ticks.length, ticks.join());
  }
});

test('times are told in one unit', () => {
  const now = Date.UTC(2026, 0, 31);
  assert.equal(relative(now - 1_500, now), 'now');
  assert.equal(relative(now - 59_999, now), '59 s ago');
  assert.equal(relative(now + 4 * 60_000, now), 'in 4 min');
  assert.equal(relative(now - 49 * 3_600_000, now), '2 d ago');
  assert.equal(countdown(86_398_001), '23:59:59');
  assert.equal(momentOf('2026-01-31T09:30:00', true), '2026-01-31T09:30:00.000Z');
  for (const none of ['', '12026-01-31T09:30:00']) assert.equal(momentOf(none, true), null);
});
