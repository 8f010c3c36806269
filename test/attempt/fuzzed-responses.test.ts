// Responses that are damaged at random, in pieces of any size: the result is always an outcome, and never a fault.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Outcome } from '../../src/model/attempt.ts';
import { startAttempting } from './attempting.ts';
import { chunked, head, OK } from './receiver.ts';

test('whatever bytes come, in whatever pieces, the result is one of four and comes at once', async (t) => {
  let script: Script = { pieces: [], isReset: false, isIntact: true };
  const { attempt, faults } = await startAttempting(t, { reply: (socket) => play(socket, script) });
  const outcomes = new Set<Outcome>();
  await fc.assert(
    fc.asyncProperty(scripts, async (next) => {
      script = next;
      const { outcome } = await attempt();
      const possible = ['succeeded', 'bad_status', 'reset', ...(next.isIntact ? [] : ['invalid_response'])];
      assert.ok(possible.includes(outcome), outcome);
      outcomes.add(outcome);
    }),
    // One of each, whatever chance brings besides.
    { numRuns: 500, examples: ONE_OF_EACH.map((example) => [example]) },
  );
  assert.equal(outcomes.size, 4);
  assert.deepEqual(faults, []);
});

type Script = { pieces: Buffer[]; isReset: boolean; isIntact: boolean };

const ONE_OF_EACH: readonly Script[] = [
  { pieces: [Buffer.from(OK)], isReset: false, isIntact: true },
  { pieces: [Buffer.from(head(500, 'content-length: 0'))], isReset: false, isIntact: true },
  { pieces: [Buffer.from(OK.slice(0, 12))], isReset: true, isIntact: true },
  { pieces: [Buffer.from(`\0${OK}`)], isReset: false, isIntact: false },
];

function play(socket: Socket, { pieces, isReset }: Script): void {
  for (const piece of pieces) socket.write(piece);
  if (isReset) socket.resetAndDestroy();
  else socket.end();
}

const fraction = fc.nat(999).map((n) => n / 1_000);

/** Valid responses, most of them damaged in a few places, cut into pieces. */
const scripts: fc.Arbitrary<Script> = fc
  .record({
    text: fc.constantFrom(
      OK,
      head(500, 'content-length: 4', 'x: y') + 'oops',
      head(103) + head(204),
      head(200, 'transfer-encoding: chunked', 'trailer: a') + chunked('abc', 'd') + '0\r\na: b\r\n\r\n',
      head(301, 'location: /', 'connection: close') + 'moved',
    ),
    damages: fc.array(
      fc.record({
        at: fraction,
        cut: fc.nat(3),
        insert: fc.uint8Array({ maxLength: 3 }),
      }),
      { maxLength: 3 },
    ),
    cutAt: fc.array(fraction, { maxLength: 3 }),
    isReset: fc.boolean(),
  })
  .map(({ text, damages, cutAt, isReset }) => {
    let bytes = Buffer.from(text, 'latin1');
    for (const { at, cut, insert } of damages) {
      const place = Math.floor(at * bytes.length);
      bytes = Buffer.concat([bytes.subarray(0, place), insert, bytes.subarray(place + cut)]);
    }
    const cuts = [0, ...cutAt.map((at) => Math.floor(at * bytes.length)).toSorted((a, b) => a - b), bytes.length];
    return {
      pieces: cuts.slice(1).map((cut, i) => bytes.subarray(cuts[i], cut)),
      isReset,
      isIntact: damages.length === 0,
    };
  });
