// Reads take turns, and a turn comes back however a read ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { ReadsAtOnce } from '../../src/api/http/reads-at-once.ts';

function enter(reads: ReadsAtOnce, count: number) {
  const begun: ServerResponse[] = [];
  const responses = Array.from({ length: count }, () => new ServerResponse(new IncomingMessage(new Socket())));
  for (const response of responses) reads.enter(response, () => begun.push(response));
  return { begun, responses };
}

test('32 reads are worked on at once, in their order', () => {
  const reads = new ReadsAtOnce();
  const { begun, responses } = enter(reads, 100);
  for (let answered = 0; answered < 100; answered++) {
    assert.deepEqual(begun, responses.slice(0, Math.min(100, answered + 32)));
    reads.leave(responses[answered]!);
    reads.leave(responses[answered]!);
  }
});

test('a caller that has left makes way for the next', async () => {
  const reads = new ReadsAtOnce();
  const { begun, responses } = enter(reads, 34);
  // One that waits, and one that is worked on.
  for (const left of [responses[32]!, responses[0]!]) {
    const closed = once(left, 'close');
    left.destroy();
    await closed;
  }
  assert.deepEqual(begun, [...responses.slice(0, 32), responses[33]]);
});
