// What the parser gets of a connection between two turns of the event loop.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Turns } from '../../src/api/http/turns.ts';

const SENT = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at % 251));

test('a connection has a share of each turn, also if Node resumes its socket, and nothing is lost', async () => {
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const parsed: Buffer[] = [];
  let inTurn = 0;
  socket.on('data', (piece: Buffer) => {
    parsed.push(piece);
    inTurn += piece.length;
    // As a request's reader does when it has taken what there is.
    process.nextTick(() => socket.resume());
  });
  let charged = 0;
  const reader = {
    socket: socket as Socket,
    isShut: false,
    mayRead: true,
    charge: (bytes: number) => void (charged += bytes),
    refund: (bytes: number) => void (charged -= bytes),
  };
  const turns = new Turns(reader, { afterTurn: (callback) => void globalThis.setImmediate(callback) });
  turns.begin();
  for (let from = 0; from < SENT.length; from += 65_536) socket.push(SENT.subarray(from, from + 65_536));

  for (let left = SENT.length; left > 0; left -= inTurn, inTurn = 0) {
    await setImmediate();
    // The end of one read, and the beginning of the next.
    assert.ok(inTurn > 0 && inTurn <= 2 * 16_384, `${inTurn} bytes in one turn`);
  }

  assert.deepEqual(Buffer.concat(parsed), SENT);
  assert.equal(charged, 0);
});
