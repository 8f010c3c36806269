// How a message of the stream reads in a terminal's line.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMessage } from '../../src/cli/live/message-line.ts';

type Shown = Parameters<typeof formatMessage>[0];

const AT = '2026-01-31T09:30:00.000Z';
const ID = `dst_${'0'.repeat(26)}`;

/** As far as a line needs it. */
const destination = (name: string | null) =>
  ({
    kind: 'destination',
    id: 'msg_1',
    data: { id: ID, updated_at: AT, status: 'active', name, url: 'http://a' },
  }) as unknown as Shown;

test('a destination is called by its name, and one without a name what it is', () => {
  for (const [name, said] of [
    ['Shop', 'Shop'],
    ['', 'destination'],
    [null, 'destination'],
  ] as const) {
    assert.match(formatMessage(destination(name), 120), new RegExp(`^09:30:00Z  active +${said} +${ID}  http://a$`));
  }
});

test('a line is no longer than the terminal, whatever a name has in it', () => {
  const name = `${'very '.repeat(40)}\u001B[31m long\n名前`;
  for (const width of [80, 120]) {
    const line = formatMessage(destination(name), width);
    assert.ok(line.length <= width, line);
    for (const control of ['\u001B', '\n']) assert.ok(!line.includes(control), line);
  }
});
