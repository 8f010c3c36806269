import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createCursors, EMPTY_PAGE } from '../../src/api/input/cursor.ts';
import { ApiError } from '../../src/model/error.ts';
import type { EventId } from '../../src/model/id.ts';

const ID: EventId = 'evt_01kg9qz3xefa3vqtdw5f0bz7ra';
type Filter = string | number | null;
const filters: readonly Filter[] = ['a.b', null, 17];
const SCOPE = { endpoint: 'events', prefix: 'evt' as const, environments: [1], filters };
const cursors = createCursors(Buffer.alloc(32, 7));

const cursorTo = (scope: typeof SCOPE = SCOPE): string =>
  cursors.close(scope, { rows: ['row'], next: ID }).next_cursor!;

const isInvalid = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'invalid_cursor' && error.param === 'cursor';

test('a cursor opens where the page before ended', () => {
  assert.deepEqual(cursors.open(SCOPE, { cursor: cursorTo(), limit: 7 }), { before: ID, limit: 7 });
});

test('without a cursor a list begins at the newest, 25 at a time', () => {
  assert.deepEqual(cursors.open(SCOPE, {}), { before: null, limit: 25 });
});

test('the last page has no cursor', () => {
  assert.deepEqual(cursors.close(SCOPE, { rows: [], next: null }), EMPTY_PAGE);
});

test('a cursor fits no other endpoint, kind, environment or filter', () => {
  const others: Partial<typeof SCOPE>[] = [
    { endpoint: 'dlq' },
    { environments: [2] },
    { environments: [1, 2] },
    { filters: ['a.b', 17, null] },
    { filters: ['a.b', null, '17'] },
    { filters: ['a.b', null] },
  ];
  for (const other of others) {
    assert.throws(() => cursors.open({ ...SCOPE, ...other }, { cursor: cursorTo() }), isInvalid, JSON.stringify(other));
  }
  assert.throws(() => cursors.open({ ...SCOPE, prefix: 'dlv' }, { cursor: cursorTo() }), isInvalid);
});

test('a cursor of another key is invalid', () => {
  const foreign = createCursors(Buffer.alloc(32, 8));
  assert.throws(() => foreign.open(SCOPE, { cursor: cursorTo() }), isInvalid);
});

test('only one text stands for a cursor', () => {
  const cursor = cursorTo();
  const others = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.replace(cursor.at(-1)!, '');
  for (const last of others.split('')) {
    assert.throws(() => cursors.open(SCOPE, { cursor: cursor.slice(0, -1) + last }), isInvalid);
  }
});

test('nothing but what was made is a cursor', () => {
  const cursor = cursorTo();
  const changed = fc.oneof(
    fc.string(),
    fc.string({ minLength: 43, maxLength: 43 }),
    fc
      .tuple(fc.nat(42), fc.constantFrom(...'ABCabc019-_+/=. é'.split('')))
      .map(([at, character]) => cursor.slice(0, at) + character + cursor.slice(at + 1)),
    fc.constantFrom(`${cursor}=`, ` ${cursor}`, cursor.slice(1), cursor + cursor, 'A'.repeat(1_000_000)),
  );
  fc.assert(
    fc.property(changed, (text) => {
      fc.pre(text !== cursor);
      assert.throws(() => cursors.open(SCOPE, { cursor: text }), isInvalid);
    }),
    { numRuns: 1_000 },
  );
});
