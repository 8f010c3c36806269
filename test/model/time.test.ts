import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseBound, parseTime, TIME_PATTERN } from '../../src/model/time.ts';

const ACCEPTED: [text: string, time: string][] = [
  ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31t09:30:00z', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T09:30:00.5Z', '2026-01-31T09:30:00.500Z'],
  ['2026-01-31T09:30:00.123999999Z', '2026-01-31T09:30:00.123Z'],
  ['2026-01-31T09:30:00+02:00', '2026-01-31T07:30:00.000Z'],
  ['2026-01-31T09:30:00-11:45', '2026-01-31T21:15:00.000Z'],
  ['2026-01-31T09:30:00-00:00', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T09:30Z', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T09:30+05:30', '2026-01-31T04:00:00.000Z'],
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2000-02-29', '2000-02-29T00:00:00.000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000Z'],
  ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
];

const REFUSED = [
  '',
  'now',
  '1769851800',
  '2026-01-31T09:30:00',
  '2026-01-31T09:30',
  '2026-01-31 09:30:00Z',
  '2026-1-31',
  '2026-02-29',
  '1900-02-29',
  '2026-04-31',
  '2026-00-10',
  '2026-13-01',
  '2026-01-00',
  '2026-01-32',
  '2026-01-31T24:00:00Z',
  '2026-01-31T09:60:00Z',
  '2026-12-31T23:59:60Z',
  '2026-01-31T09Z',
  '2026-01-31Z',
  '2026-01-31T09:30:00.Z',
  '2026-01-31T09:30:00+0200',
  '2026-01-31T09:30:00+02',
  '2026-01-31T09:30:00+24:00',
  '2026-01-31T09:30:00+02:60',
  '2026-01-31T09:30:00Z ',
  ' 2026-01-31',
  '2026-01',
  '2026',
  '20260131',
  '12026-01-31',
  '+2026-01-31',
  '2026-W05-6',
  '2026-01-31T09:30:00,5Z',
  '0000-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  `2026-01-31T09:30:00.${'1'.repeat(100)}Z`,
  '٢٠٢٦-01-31',
];

test('reads RFC 3339 with any offset, a date alone, and minutes without seconds', () => {
  for (const [text, time] of ACCEPTED) assert.equal(parseTime(text), Date.parse(time), text);
});

test('refuses times without an offset, of another form, or that do not exist', () => {
  for (const text of REFUSED) assert.equal(parseTime(text), null, text);
});

test('the pattern that is documented takes no month, day, hour or minute that never is', () => {
  const pattern = new RegExp(TIME_PATTERN, 'u');
  for (const text of ['2026-65-01', '2026-01-32', '2026-01-31T24:00Z', '2026-01-31T09:60Z', '2026-01-31T09:30+24:00'])
    assert.doesNotMatch(text, pattern);
  for (const [text] of ACCEPTED) assert.match(text, pattern);
});

test('reads back every time that the service writes', () => {
  const range = { min: new Date('0000-01-01T00:00:00.000Z'), max: new Date('9999-12-31T23:59:59.999Z') };
  fc.assert(
    fc.property(fc.date({ ...range, noInvalidDate: true }), (date) => {
      assert.equal(parseTime(date.toISOString()), date.getTime());
    }),
  );
});

test('an end of a range between two milliseconds is the later: no stored time lies between', () => {
  const at = Date.parse('2026-01-31T09:30:00.250Z');
  const bounds = ['.25Z', '.250Z', '.250000Z', '.2500001Z', '.250456+00:00', '.250999999Z', '.251Z'];
  assert.deepEqual(
    bounds.map((end) => parseBound(`2026-01-31T09:30:00${end}`)! - at),
    [0, 0, 0, 1, 1, 1, 1],
  );
  assert.equal(parseBound('2026-01-31T09:30:60Z'), null);
});
