// Receivers that never stop sending: whatever they hide their bytes in, few of those bytes are read, and nobody waits.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ReadingTime } from '../../src/attempt/reading-time.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { startAttempting } from './attempting.ts';
import { arrival, until } from './event-loop.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { OK, type Reply } from './receiver.ts';
import { watchSockets } from './watch-sockets.ts';

const KIB = 1_024;
/** A receiver gives up by itself after so much; far more than may be read. */
const FLOOD_BYTES = 16 * KIB * KIB;
/** The limit of one response, and what the socket has read ahead by then. */
const READ_BYTES_MAX = (16 + 64 + 32 + 2 * 64) * KIB;
const FLOODS = 50;

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

type Flood = { name: string; start: string; more: string; code: number | null; error: RegExp };

const PADDED = /more than 32 KiB that is neither header nor body/;
const KINDS: Flood[] = [
  { name: 'a reason phrase', start: 'HTTP/1.1 200 ', more: 'x'.repeat(KIB), code: null, error: PADDED },
  { name: 'empty lines before the response', start: '', more: '\r\n'.repeat(512), code: null, error: PADDED },
  {
    name: 'white space before the value of a header',
    start: 'HTTP/1.1 200 OK\r\na:',
    more: ' '.repeat(KIB),
    code: null,
    error: /more than 16 KiB of headers/,
  },
  {
    name: 'headers without a value',
    start: 'HTTP/1.1 200 OK\r\n',
    more: 'a:\r\n'.repeat(256),
    code: null,
    error: /more than 16 KiB of headers/,
  },
  {
    name: 'interim responses with long headers',
    start: '',
    more: `HTTP/1.1 103 X\r\na: ${'x'.repeat(8 * KIB)}\r\n\r\n`,
    code: null,
    error: PADDED,
  },
  { name: 'one extension of a chunk', start: `${CHUNKED}1;`, more: 'x'.repeat(KIB), code: 200, error: PADDED },
  {
    name: 'an extension of each chunk',
    start: CHUNKED,
    more: `1;${'x'.repeat(KIB)}\r\nx\r\n`,
    code: 200,
    error: PADDED,
  },
  { name: 'zeros of the size of a chunk', start: CHUNKED, more: '0'.repeat(KIB), code: 200, error: PADDED },
  { name: 'trailers', start: `${CHUNKED}0\r\n`, more: 'a:\r\n'.repeat(256), code: 200, error: PADDED },
  { name: 'a trailer', start: `${CHUNKED}0\r\na: `, more: 'x'.repeat(KIB), code: 200, error: PADDED },
  {
    name: 'white space before the value of a trailer',
    start: `${CHUNKED}0\r\na:`,
    more: ' '.repeat(KIB),
    code: 200,
    error: PADDED,
  },
];

/** Writes for as long as the other side reads. */
const flood =
  (start: string, more: string): Reply =>
  (socket) => {
    const piece = Buffer.from(more.repeat(Math.ceil((64 * KIB) / more.length)), 'latin1');
    socket.write(start);
    const go = (): void => {
      while (!socket.destroyed && socket.bytesWritten < FLOOD_BYTES && socket.write(piece));
      if (socket.bytesWritten >= FLOOD_BYTES) socket.end();
    };
    socket.on('drain', go);
    go();
  };

describe('an endless response is cut early, not at the deadline', () => {
  for (const { name, start, more, code, error } of KINDS) {
    test(name, async (t) => {
      const sockets = watchSockets(t);
      const clock = new ManualClock();
      const { attempt, receiver } = await startAttempting(t, { clock, reply: flood(start, more) });
      const result = await attempt();
      assert.equal(result.outcome, 'invalid_response', String(result.error));
      assert.equal(result.responseCode, code);
      assert.match(result.error!, error);
      await receiver.allClosed();
      assert.equal(sockets.length, 1);
      assert.ok(sockets[0]!.bytesRead <= READ_BYTES_MAX, `${sockets[0]!.bytesRead} bytes read`);
    });
  }

  test('what goes on behind a complete response changes nothing, and costs the connection', async (t) => {
    const sockets = watchSockets(t);
    const { attempt, receiver } = await startAttempting(t, { reply: flood(OK, '\r\n'.repeat(512)) });
    assert.equal((await attempt()).outcome, 'succeeded');
    await receiver.allClosed();
    assert.ok(sockets[0]!.bytesRead <= READ_BYTES_MAX, `${sockets[0]!.bytesRead} bytes read`);
    assert.equal((await attempt()).outcome, 'succeeded');
    assert.equal(receiver.sockets.length, 2);
  });
});

describe('what is no flood', () => {
  const chunk = '1\r\nx\r\n';
  const body = (bytes: number): string => `${chunk.repeat(bytes)}0\r\n\r\n`;

  test('a body in chunks of one byte is read whole, and the connection kept', async (t) => {
    const reply: Reply = (socket) => socket.write(CHUNKED.replace('200', '500') + body(16_000));
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 2; i++) {
      const { outcome, responseBody, responseBodyTruncated } = await attempt();
      assert.equal(outcome, 'bad_status');
      assert.equal(Buffer.from(responseBody!).toString(), 'x'.repeat(16_000));
      assert.equal(responseBodyTruncated, false);
    }
    assert.equal(receiver.sockets.length, 1);
  });

  test('the status decides when so many such chunks come that reading ends before 64 KiB of body', async (t) => {
    const sockets = watchSockets(t);
    const { attempt, receiver } = await startAttempting(t, { reply: (socket) => socket.write(CHUNKED + body(65_000)) });
    const { outcome, responseBody, responseBodyTruncated } = await attempt();
    assert.equal(outcome, 'succeeded');
    assert.equal(responseBody!.length, KIB);
    assert.equal(responseBodyTruncated, true);
    await receiver.allClosed();
    assert.ok(sockets[0]!.bytesRead <= READ_BYTES_MAX, `${sockets[0]!.bytesRead} bytes read`);
  });

  for (const [bytes, outcome] of [
    [64 * KIB - 1, 'timed_out'],
    [64 * KIB, 'succeeded'],
  ] as const) {
    test(`of a longer body ${bytes} bytes come, and then nothing: ${outcome}`, async (t) => {
      const clock = new ManualClock();
      const reply: Reply = async (socket) => {
        await new Promise((resolve) =>
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 70000\r\n\r\n${'x'.repeat(bytes)}`, resolve),
        );
        await arrival();
        clock.advance(15_000);
      };
      const { attempt, receiver } = await startAttempting(t, { clock, reply });
      const result = await attempt({ timeoutMs: 15_000 });
      assert.equal(result.outcome, outcome);
      assert.deepEqual(
        [result.responseCode, result.responseBody!.length, result.responseBodyTruncated],
        [200, KIB, true],
      );
      await receiver.allClosed();
    });
  }

  test('each response of a connection is counted by itself', async (t) => {
    const reply: Reply = (socket) => socket.write(`HTTP/1.1 200 ${'x'.repeat(30 * KIB)}\r\ncontent-length: 0\r\n\r\n`);
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 8; i++) assert.equal((await attempt()).outcome, 'succeeded');
    assert.equal(receiver.sockets.length, 1);
  });

  test('long bodies arrive whole and in order, however they end', async (t) => {
    const sent = Buffer.from(Array.from({ length: 16 * KIB }, (_, i) => (i * 31 + (i >> 8)) & 0xff));
    const head = 'HTTP/1.1 500 X\r\n';
    const endings: Reply[] = [
      (socket) => socket.write(`${head}content-length: ${sent.length}\r\n\r\n`) && socket.write(sent),
      (socket) => socket.write(`${head}\r\n`) && socket.end(sent),
      (socket) => {
        socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
        for (let at = 0; at < sent.length; at += 1_000) {
          const part = sent.subarray(at, at + 1_000);
          socket.write(Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]));
        }
        socket.end('0\r\n\r\n');
      },
    ];
    for (const reply of endings) {
      const { attempt } = await startAttempting(t, { reply });
      const { outcome, responseBody, responseBodyTruncated } = await attempt();
      assert.equal(outcome, 'bad_status');
      assert.deepEqual(Buffer.from(responseBody!), sent);
      assert.equal(responseBodyTruncated, false);
    }
  });

  test('long bodies that come at the same time are not mixed up', async (t) => {
    const bodyOf = (connection: number): string => String.fromCharCode(64 + connection).repeat(16 * KIB);
    const head = `HTTP/1.1 500 X\r\ncontent-length: ${16 * KIB}\r\n\r\n`;
    const answers: (() => void)[] = [];
    const reply: Reply = (socket, { connection }) => {
      answers.push(() => void socket.write(head + bodyOf(connection)));
      if (answers.length === 20) for (const answer of answers) answer();
    };
    const { attempt, receiver } = await startAttempting(t, { reply });
    const results = await Promise.all(Array.from({ length: 20 }, () => attempt()));
    const bodies = results.map(({ responseBody }) => Buffer.from(responseBody!).toString());
    assert.deepEqual(bodies.toSorted(), Array.from({ length: 20 }, (_, i) => bodyOf(i + 1)).toSorted());
    assert.equal(receiver.sockets.length, 20);
  });

  test('but a second response behind a long one is no answer to the next attempt', async (t) => {
    const clock: Clock = { ...systemClock, afterTurn: (callback) => void arrival().then(callback) };
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 8000\r\na: ';
    // It ends where a piece ends: nothing else of what undici gets tells that there is more.
    const long = `${head.padEnd(8 * KIB - 8_000 - 4, 'a')}\r\n\r\n${'x'.repeat(8_000)}`;
    const reply: Reply = (socket, { connection }) =>
      socket.write(connection === 1 ? long + OK.repeat(100) : 'HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n');
    const { attempt } = await startAttempting(t, { clock, reply });
    assert.equal((await attempt()).responseCode, 200);
    assert.equal((await attempt()).responseCode, 500);
  });
});

test('fifty floods of each kind take nothing from a healthy destination', async (t) => {
  const sockets = watchSockets(t);
  for (const { name, start, more } of KINDS) {
    const flooding = await startAttempting(t, { reply: flood(start, more) });
    const healthy = await startAttempting(t);
    const before = sockets.length;
    let over = 0;
    const floods = Array.from({ length: FLOODS }, async () => {
      const { outcome } = await flooding.attempt();
      over++;
      return outcome;
    });
    await flooding.receiver.connected(1);
    for (let i = 0; i < 20 || over < FLOODS; i++) assert.equal((await healthy.attempt()).outcome, 'succeeded', name);
    for (const outcome of await Promise.all(floods)) assert.equal(outcome, 'invalid_response', name);
    const read = sockets.slice(before).reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    assert.ok(read < FLOODS * READ_BYTES_MAX, `${name}: ${read} bytes read`);
  }
});

test('fifty bodies in chunks of one byte take little memory', async (t) => {
  let held = 0;
  const reply: Reply = (socket) => {
    socket.write(CHUNKED.replace('200', '500') + '1\r\nx\r\n'.repeat(16_000), () => held++);
  };
  const clock = new ManualClock();
  const { attempt } = await startAttempting(t, { clock, reply });
  const sockets = watchSockets(t);
  const before = usedBytes();
  const results = Array.from({ length: FLOODS }, () => attempt());
  const isRead = (): boolean => sockets.every(({ bytesRead, readableLength }) => bytesRead > 96_000 && !readableLength);
  await until(() => held === FLOODS && sockets.length === FLOODS && isRead());
  const taken = (usedBytes() - before) / FLOODS;
  clock.advance(10_000);
  for (const { outcome, responseBody } of await Promise.all(results)) {
    assert.equal(outcome, 'timed_out');
    assert.equal(responseBody!.length, 16_000);
  }
  assert.ok(taken < 512 * KIB, `${taken} bytes each`);
});

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('long responses are read for 2 ms of a turn of the event loop, in the order in which they wait', () => {
  const clock = new ManualClock();
  const turns: (() => void)[] = [];
  const time = new ReadingTime({ monotonic: () => clock.monotonic(), afterTurn: (next) => void turns.push(next) });
  const read: number[] = [];
  let reads = 0;
  for (let n = 0; n < 5; n++) {
    const goOn = (): void => {
      read.push(n);
      clock.advance(1);
      // The first one has so much to read that its time runs out.
      if (n === 0 && reads++ < 5 && time.take(goOn)) goOn();
    };
    assert.equal(time.take(goOn), false);
  }
  const perTurn: number[][] = [];
  while (turns.length > 0) {
    assert.equal(turns.length, 1);
    turns.shift()!();
    perTurn.push(read.splice(0));
  }
  assert.deepEqual(perTurn, [
    [0, 0],
    [1, 2],
    [3, 4],
    [0, 0],
    [0, 0],
  ]);
});
