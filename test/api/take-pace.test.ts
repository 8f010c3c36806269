// Who reads too slowly: a caller that takes nothing, or only drips; not one on a slow line.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OF_ENDLESS_ANSWERS, TakePace } from '../../src/api/http/take-pace.ts';

const MEGABYTE = 1024 * 1024;

/** For how many seconds a caller that takes so much a second is waited for. `answers`: it asks for more at once. */
function readSlowly({ bytesPerSecond, answerBytes, answers = 1 }: Record<string, number>): {
  seconds: number;
  all: boolean;
} {
  const total = answerBytes! * answers;
  const socket = { writableLength: total, bytesWritten: total };
  const pace = new TakePace(socket);
  for (let seconds = 0; ; seconds++) {
    const judged = pace.judge(seconds * 1_000);
    if (judged === 'too slow') return { seconds, all: false };
    if (judged === 'nothing waits') return { seconds, all: true };
    socket.writableLength = Math.max(0, socket.writableLength - bytesPerSecond!);
  }
}

test('who reads nothing is waited for 30 s', () => {
  assert.deepEqual(readSlowly({ bytesPerSecond: 0, answerBytes: 1_000 }), { seconds: 30, all: false });
});

test('who drips is waited for 30 s', () => {
  assert.deepEqual(readSlowly({ bytesPerSecond: 1_000, answerBytes: 5 * MEGABYTE }), { seconds: 30, all: false });
});

test('a slow line gets a long answer to its end', () => {
  const { seconds, all } = readSlowly({ bytesPerSecond: 10_000, answerBytes: 5 * MEGABYTE });
  assert.deepEqual([seconds > 500, all], [true, true]);
});

test('who read fast and then stops is waited for 30 s from then on', () => {
  const socket = { writableLength: MEGABYTE, bytesWritten: MEGABYTE };
  const pace = new TakePace(socket);
  for (let at = 0; at <= 60_000; at += 1_000) {
    socket.bytesWritten += MEGABYTE;
    assert.equal(pace.judge(at), 'took enough');
  }
  for (let at = 61_000; at < 90_000; at += 1_000) assert.equal(pace.judge(at), 'may go on');
  assert.equal(pace.judge(90_000), 'too slow');
});

test('what is taken between two answers counts anew for the next', () => {
  const socket = { writableLength: 1_000, bytesWritten: 1_000 };
  const pace = new TakePace(socket);
  pace.judge(0);
  socket.writableLength = 0;
  assert.equal(pace.judge(29_000), 'nothing waits');
  socket.writableLength = 1_000;
  socket.bytesWritten += 1_000;
  assert.equal(pace.judge(31_000), 'took enough');
  assert.equal(pace.judge(60_000), 'may go on');
});

test('who reads any of an answer without end keeps its connection, who reads none has a minute', () => {
  const socket = { writableLength: MEGABYTE, bytesWritten: MEGABYTE };
  const pace = new TakePace(socket, OF_ENDLESS_ANSWERS);
  for (let at = 0; at < 300_000; at += 1_000) {
    assert.notEqual(pace.judge(at), 'too slow');
    if (at % 50_000 === 0) socket.bytesWritten += 10;
  }
  assert.equal(pace.judge(310_000), 'may go on');
  assert.equal(pace.judge(312_000), 'too slow');
});
