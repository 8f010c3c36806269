// Which rows go next: in their order, of a group one at a time, in batches that are bounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from '../../src/relay/outbox-table.ts';
import { WaitingRows } from '../../src/relay/waiting-rows.ts';

const ANY = { rowsMax: 10, bytesMax: 1_000, isFullOnly: false };

/** `a1` is a row of group a, `-1` one of none. */
function row(name: string, bytes = 10): Row {
  const groupKey = name.startsWith('-') ? null : name[0]!;
  return { id: name, type: 'a.b', groupKey, createdAt: '', occurredAt: null, bytes, body: '{}' };
}

function waitingOf(...names: string[]): WaitingRows {
  const waiting = new WaitingRows();
  waiting.add(names.map((name) => row(name)));
  return waiting;
}

function namesOf(rows: readonly Row[]): string[] {
  return rows.map(({ id }) => id);
}

test('of a group one row is out at a time, and the next is the one after it', () => {
  const waiting = waitingOf('a1', 'a2', '-1', 'b1', 'a3', '-2');
  const first = waiting.take(ANY);
  assert.deepEqual(namesOf(first), ['a1', '-1', 'b1', '-2']);
  assert.deepEqual(waiting.take(ANY), []);
  waiting.release(first[0]!);
  assert.deepEqual(namesOf(waiting.take(ANY)), ['a2']);
  assert.deepEqual(waiting.ids(), ['a3']);
});

test('what comes back goes before what came after it', () => {
  const waiting = waitingOf('a1', '-1', 'a2');
  waiting.giveBack(waiting.take({ ...ANY, rowsMax: 1 }));
  assert.deepEqual(namesOf(waiting.take(ANY)), ['a1', '-1']);
  assert.equal(waiting.count, 1);
});

test('a batch has so many rows and bytes at most, one row if that is longer', () => {
  const waiting = waitingOf('-1', '-2', '-3');
  waiting.add([row('-4', 2_000), row('-5')]);
  assert.equal(waiting.bytes, 2_040);
  assert.deepEqual(namesOf(waiting.take({ ...ANY, rowsMax: 2 })), ['-1', '-2']);
  assert.deepEqual(namesOf(waiting.take(ANY)), ['-3']);
  assert.deepEqual(namesOf(waiting.take(ANY)), ['-4']);
  assert.equal(waiting.bytes, 10);
});

test('less than a full batch is left where only full ones may go', () => {
  const waiting = waitingOf('-1', '-2', 'a1', 'a2');
  assert.deepEqual(waiting.take({ ...ANY, rowsMax: 4, isFullOnly: true }), []);
  assert.deepEqual(namesOf(waiting.take({ ...ANY, rowsMax: 3, isFullOnly: true })), ['-1', '-2', 'a1']);
});

test('a group that has many rows leaves room for others', () => {
  const waiting = new WaitingRows();
  const rows = Array.from({ length: 50 }, (_, n) => row(`a${n}`));
  const { dropped } = waiting.add([...rows, row('b1')]);
  assert.equal(dropped, 51 - waiting.count);
  assert.deepEqual(waiting.fullGroups(), ['a']);
  assert.deepEqual(namesOf(waiting.take(ANY)), ['a0', 'b1']);
  assert.deepEqual(waiting.fullGroups(), []);
});
