// Reads take turns, and a turn comes back however a read ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { ReadsAtOnce } from '../../src/api/http/reads-at-once.ts';

function enter(count: number) {
  const afterTurn: (() => void)[] = [];
  const reads = new ReadsAtOnce({ afterTurn: (callback) => void afterTurn.push(callback) });
  const begun: ServerResponse[] = [];
  const responses = Array.from({ length: count }, () => new ServerResponse(new IncomingMessage(new Socket())));
  for (const response of responses) reads.enter(response, () => begun.push(response));
  const nextTurn = (): void => {
    for (const callback of afterTurn.splice(0)) callback();
  };
  return { reads, begun, responses, nextTurn };
}

test('32 reads are worked on at once, in their order', () => {
  const { reads, begun, responses, nextTurn } = enter(100);
  for (let answered = 0; answered < 100; answered++) {
    assert.deepEqual(begun, responses.slice(0, Math.min(100, answered + 32)));
    reads.leave(responses[answered]!);
    reads.leave(responses[answered]!);
    nextTurn();
  }
});

test('of reads that are answered at once, 32 begin in a turn', () => {
  const { reads, begun, responses, nextTurn } = enter(100);
  for (let turn = 0; turn < 4; turn++) {
    for (let at = turn * 32; at < begun.length; at++) reads.leave(responses[at]!);
    assert.deepEqual(begun, responses.slice(0, Math.min(100, (turn + 1) * 32)));
    nextTurn();
  }
});

test('a caller that has left makes way for the next', async () => {
  const { begun, responses, nextTurn } = enter(34);
  // One that waits, and one that is worked on.
  for (const left of [responses[32]!, responses[0]!]) {
    const closed = once(left, 'close');
    left.destroy();
    await closed;
  }
  nextTurn();
  assert.deepEqual(begun, [...responses.slice(0, 32), responses[33]]);
});
