// Responses, good and bad, and what becomes of them: every limit, every way to break off, everything but HTTP.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import type { AttemptResult, Outcome } from '../../src/model/attempt.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { startAttempting } from './attempting.ts';
import { arrival } from './event-loop.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { certificate, chunked, head, OK, testCa, type Reply } from './receiver.ts';
import { watchSockets } from './watch-sockets.ts';

const KIB = 1_024;

type Case = {
  name: string;
  /** What the receiver does with the request; a string is written as it is. */
  reply: string | Reply;
  outcome: Outcome;
  code?: number | null;
  body?: string | number;
  truncated?: boolean;
  error?: RegExp;
};

/** One after the other: what a later step does is never in the same packet as what an earlier one did. */
const then =
  (...steps: ((socket: Socket) => void)[]): Reply =>
  async (socket) => {
    for (const step of steps) {
      step(socket);
      await arrival();
    }
  };
const write =
  (text: string) =>
  (socket: Socket): void =>
    void socket.write(text, 'latin1');
const end = (socket: Socket): void => void socket.end();
const reset = (socket: Socket): void => void socket.resetAndDestroy();
/** Writes for as long as the other side reads. */
const flood =
  (start: string, more: string): Reply =>
  (socket) => {
    socket.write(start);
    const go = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('drain', go);
    go();
  };
const drip =
  (start: string): Reply =>
  (socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write('x'), 5);
    socket.on('close', () => clearInterval(timer));
  };

const CASES: Case[] = [
  // Answers.
  { name: '200', reply: OK, outcome: 'succeeded', code: 200, body: 'ok' },
  { name: '204 without a body', reply: head(204), outcome: 'succeeded', code: 204, body: '' },
  {
    name: '202 in chunks',
    reply: head(202, 'transfer-encoding: chunked') + chunked('o', 'k', ''),
    outcome: 'succeeded',
    code: 202,
    body: 'ok',
  },
  {
    name: '200 that ends with the connection',
    reply: then(write(head(200) + 'o'), write('k'), end),
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  {
    name: 'HTTP/1.0',
    reply: then(write('HTTP/1.0 200 OK\r\n\r\nok'), end),
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  {
    name: 'in no hurry',
    reply: then(write('HTTP/1.1 2'), write('00 OK\r\ncontent-le'), write('ngth: 2\r\n\r'), write('\no'), write('k')),
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  {
    name: 'line feeds alone',
    reply: then(write('HTTP/1.1 200 OK\ncontent-length: 2\n'), write('\no'), write('k')),
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  {
    name: 'the same length twice',
    reply: head(200, 'content-length: 2', 'content-length: 2') + 'ok',
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  {
    name: 'a length and chunks',
    reply: head(200, 'content-length: 5', 'transfer-encoding: chunked') + chunked('ok', ''),
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  {
    name: 'an upgrade that is only offered',
    reply: head(200, 'connection: upgrade', 'upgrade: h2', 'content-length: 0'),
    outcome: 'succeeded',
    code: 200,
    body: '',
  },
  {
    name: 'compressed bytes are left alone',
    reply: head(200, 'content-encoding: gzip', 'content-length: 3') + '\x1f\x8b\xff',
    outcome: 'succeeded',
    code: 200,
    body: '\x1f\x8b\xff',
  },
  { name: '304', reply: head(304), outcome: 'bad_status', code: 304, body: '', error: /304; success is 2xx/ },
  {
    name: '301',
    reply: head(301, 'location: http://localhost/', 'content-length: 0'),
    outcome: 'bad_status',
    code: 301,
    error: /redirects are not followed/,
  },
  {
    name: '404',
    reply: head(404, 'content-length: 3') + 'no!',
    outcome: 'bad_status',
    code: 404,
    body: 'no!',
    error: /answered 404; success is 2xx/,
  },
  { name: '410', reply: head(410, 'content-length: 0'), outcome: 'bad_status', code: 410, error: /gone/ },
  { name: '500', reply: head(500, 'content-length: 0'), outcome: 'bad_status', code: 500 },
  { name: '999', reply: head(999, 'content-length: 0'), outcome: 'bad_status', code: 999 },
  {
    name: 'an interim response before the final one',
    reply: head(103, 'link: </a>') + head(102) + OK,
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  { name: 'a 100 that nobody asked for', reply: head(100) + OK, outcome: 'succeeded', code: 200, body: 'ok' },
  {
    name: 'a few of them, with headers, before other interim responses',
    reply: then(write(head(100) + head(100, 'a: b')), write(head(100) + head(103) + head(500, 'content-length: 0'))),
    outcome: 'bad_status',
    code: 500,
  },
  {
    name: 'a 100 in pieces, behind an interim response',
    reply: then(write(head(103) + 'HTTP/1.1 1'), write('0'), write('0 Continue\r'), write('\n\r\n' + OK)),
    outcome: 'succeeded',
    code: 200,
    body: 'ok',
  },
  { name: 'a 100 that is all', reply: head(100), outcome: 'timed_out', code: null },
  { name: 'a 100 and then the end', reply: then(write(head(100)), end), outcome: 'reset', code: null },
  {
    name: 'a body that looks like a 100',
    reply: then(write(head(200, 'content-length: 25')), write('HTTP/1.1 100 Continue\r\n\r\n')),
    outcome: 'succeeded',
    code: 200,
    body: 'HTTP/1.1 100 Continue\r\n\r\n',
  },
  // Size.
  {
    name: 'a 2xx body of 1 KiB is kept whole',
    reply: head(200, 'content-length: 1024') + 'x'.repeat(KIB),
    outcome: 'succeeded',
    code: 200,
    body: KIB,
    truncated: false,
  },
  {
    name: 'a 2xx body of more is cut',
    reply: head(200, 'content-length: 1025') + 'x'.repeat(KIB + 1),
    outcome: 'succeeded',
    code: 200,
    body: KIB,
    truncated: true,
  },
  {
    name: 'another body of 16 KiB is kept whole',
    reply: head(500, 'content-length: 16384') + 'x'.repeat(16 * KIB),
    outcome: 'bad_status',
    code: 500,
    body: 16 * KIB,
    truncated: false,
  },
  {
    name: 'another body of more is cut',
    reply: head(500, 'content-length: 16385') + 'x'.repeat(16 * KIB + 1),
    outcome: 'bad_status',
    code: 500,
    body: 16 * KIB,
    truncated: true,
  },
  {
    name: 'an endless 2xx body is a success',
    reply: flood(head(200), 'x'.repeat(KIB)),
    outcome: 'succeeded',
    code: 200,
    body: KIB,
    truncated: true,
  },
  {
    name: 'an endless body in chunks of one byte',
    reply: flood(head(500, 'transfer-encoding: chunked'), chunked('x').repeat(KIB)),
    outcome: 'bad_status',
    code: 500,
    body: 16 * KIB,
    truncated: true,
  },
  {
    name: 'headers of nearly 16 KiB',
    reply: head(200, `a: ${'x'.repeat(16_000)}`, 'content-length: 0'),
    outcome: 'succeeded',
    code: 200,
  },
  {
    name: 'a header of 16 KiB',
    reply: head(200, `a: ${'x'.repeat(16 * KIB)}`, 'content-length: 0'),
    outcome: 'invalid_response',
    code: null,
    error: /more than 16 KiB of headers/,
  },
  {
    name: 'many small headers of more than 16 KiB together',
    reply: head(200, ...Array.from({ length: 3_000 }, () => 'a: b')),
    outcome: 'invalid_response',
    code: null,
    error: /more than 16 KiB of headers/,
  },
  {
    name: 'endless headers',
    reply: flood('HTTP/1.1 200 OK\r\n', 'a: b\r\n'.repeat(100)),
    outcome: 'invalid_response',
    code: null,
    error: /more than 16 KiB of headers/,
  },
  {
    name: 'one endless header',
    reply: flood('HTTP/1.1 200 OK\r\na: ', 'x'.repeat(KIB)),
    outcome: 'invalid_response',
    code: null,
    error: /more than 16 KiB of headers/,
  },
  {
    name: 'endless trailers',
    reply: flood(head(200, 'transfer-encoding: chunked') + '0\r\n', 'a: b\r\n'.repeat(100)),
    outcome: 'invalid_response',
    code: 200,
    body: '',
  },
  {
    name: 'endless interim responses',
    reply: flood('', head(103, 'link: </a>')),
    outcome: 'invalid_response',
    code: null,
    error: /1xx/,
  },
  {
    name: 'an endless reason phrase',
    reply: flood('HTTP/1.1 200 ', 'x'.repeat(KIB)),
    outcome: 'invalid_response',
    code: null,
    error: /more than 32 KiB that is neither header nor body/,
  },
  // Time.
  {
    name: 'silence',
    reply: () => {},
    outcome: 'timed_out',
    code: null,
    error: /no response within 10 s/,
  },
  { name: 'headers that drip', reply: drip('HTTP/1.1 200 OK\r\na: '), outcome: 'timed_out', code: null },
  {
    name: 'a body that drips',
    reply: drip(head(200, 'content-length: 1000')),
    outcome: 'timed_out',
    code: 200,
    truncated: true,
    error: /did not end within 10 s/,
  },
  {
    name: 'an error body that stops short',
    reply: head(500, 'content-length: 5') + 'oops',
    outcome: 'timed_out',
    code: 500,
    body: 'oops',
    truncated: true,
  },
  { name: 'only interim responses', reply: head(103), outcome: 'timed_out', code: null },
  // Broken off.
  { name: 'closed before a byte', reply: end, outcome: 'reset', code: null, error: /closed before a response came/ },
  { name: 'reset before a byte', reply: reset, outcome: 'reset', code: null },
  {
    name: 'closed in the headers',
    reply: then(write('HTTP/1.1 200 OK\r\na: b\r\n'), end),
    outcome: 'reset',
    code: null,
  },
  {
    name: 'reset in the headers',
    reply: then(write('HTTP/1.1 200 OK\r\na: b\r\n'), reset),
    outcome: 'reset',
    code: null,
  },
  {
    name: 'closed in the body',
    reply: then(write(head(200, 'content-length: 5') + 'abc'), end),
    outcome: 'reset',
    code: 200,
    body: 'abc',
    truncated: true,
    error: /closed before the response ended/,
  },
  {
    name: 'reset in the body',
    reply: then(write(head(200, 'content-length: 5') + 'abc'), reset),
    outcome: 'reset',
    code: 200,
    body: 'abc',
    truncated: true,
  },
  {
    name: 'closed between chunks',
    reply: then(write(head(200, 'transfer-encoding: chunked') + chunked('abc')), end),
    outcome: 'reset',
    code: 200,
    body: 'abc',
    truncated: true,
  },
  {
    name: 'closed in the body of a connection that was to close',
    reply: then(write(head(500, 'connection: close', 'content-length: 5') + 'abc'), end),
    outcome: 'reset',
    code: 500,
    body: 'abc',
    truncated: true,
  },
  // Not HTTP, or HTTP that was not asked for.
  { name: 'garbage', reply: 'hello there\r\n\r\n', outcome: 'invalid_response', code: null, error: /not HTTP\/1\.1/ },
  { name: 'bytes', reply: '\x00\xff\x16\x03\x01', outcome: 'invalid_response', code: null },
  { name: 'an HTTP/2 preface', reply: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', outcome: 'invalid_response', code: null },
  { name: 'HTTP/2.0', reply: OK.replace('1.1', '2.0'), outcome: 'invalid_response', code: null, error: /not HTTP/ },
  { name: 'HTTP/0.9', reply: OK.replace('1.1', '0.9'), outcome: 'invalid_response', code: null },
  { name: 'HTTP/1.2', reply: OK.replace('1.1', '1.2'), outcome: 'invalid_response', code: null },
  {
    name: 'HTTP/2.0 behind an interim response, in pieces',
    reply: then(write(head(103) + 'HTTP/'), write('2.0 200 OK\r\n\r\n')),
    outcome: 'invalid_response',
    code: null,
  },
  { name: 'a status that is none', reply: 'HTTP/1.1 20 OK\r\n\r\n', outcome: 'invalid_response', code: null },
  {
    name: 'a status below 100',
    reply: 'HTTP/1.1 099 X\r\n\r\n' + OK,
    outcome: 'invalid_response',
    code: null,
  },
  {
    name: 'a header without a colon',
    reply: 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n',
    outcome: 'invalid_response',
    code: null,
  },
  {
    name: 'a NUL in a header',
    reply: head(200, 'a: b\0c', 'content-length: 0'),
    outcome: 'invalid_response',
    code: null,
  },
  {
    name: 'two lengths',
    reply: head(200, 'content-length: 2', 'content-length: 3') + 'ok',
    outcome: 'invalid_response',
    code: null,
  },
  {
    name: 'a chunk size that is none',
    reply: head(200, 'transfer-encoding: chunked') + 'zz\r\nok\r\n',
    outcome: 'invalid_response',
    code: 200,
    body: '',
  },
  {
    name: '101 to WebSocket',
    reply: head(101, 'connection: upgrade', 'upgrade: websocket'),
    outcome: 'invalid_response',
    code: null,
    error: /1xx/,
  },
  { name: '101 to nothing', reply: head(101), outcome: 'invalid_response', code: null, error: /1xx/ },
  { name: 'too many 100s', reply: head(100).repeat(17) + OK, outcome: 'invalid_response', code: null, error: /1xx/ },
  { name: 'endless 100s', reply: flood('', head(100)), outcome: 'invalid_response', code: null, error: /1xx/ },
];

describe('the response', () => {
  for (const { name, reply, outcome, ...expected } of CASES) {
    test(`${name}: ${outcome}`, async (t) => {
      const clock = new ManualClock();
      const how: Reply = typeof reply === 'string' ? write(reply) : reply;
      const { attempt, attempter, receiver, faults } = await startAttempting(t, {
        clock,
        async reply(socket, request) {
          await how(socket, request);
          await arrival();
          if (outcome === 'timed_out') clock.advance(10_000);
        },
      });
      const result = await attempt({ timeoutMs: 10_000 });
      assert.equal(result.outcome, outcome, String(result.error));
      assertShows(result, expected);
      assert.deepEqual(faults, []);
      attempter.close();
      assert.equal(clock.timerCount, 0);
      assert.equal(receiver.sockets.length, 1);
      const isComplete = result.outcome === 'bad_status' || result.outcome === 'succeeded';
      // Anything but a complete response costs the connection.
      if (!isComplete) await receiver.allClosed();
    });
  }
});

describe('a long response over TLS with the end of the connection right behind it', () => {
  setDefaultCACertificates([testCa()]);
  const body = 'x'.repeat(10 * KIB);
  for (const [name, text] of [
    ['a length', head(500, `content-length: ${body.length}`) + body],
    ['chunks', head(500, 'transfer-encoding: chunked') + chunked(body, '')],
    ['nothing but that end', head(500) + body],
  ] as const) {
    test(`is read whole: ${name}`, async (t) => {
      const reply: Reply = (socket) => socket.end(text);
      const { attempt, attempter, receiver } = await startAttempting(t, {
        reply,
        receiver: { tls: certificate('good') },
      });
      const result = await attempt();
      assert.equal(result.outcome, 'bad_status', String(result.error));
      assertShows(result, { code: 500, body, truncated: false });
      await receiver.allClosed();
      assert.deepEqual(attempter.stats(), { idleConnections: 0 });
    });
  }
});

describe('a long response is read whole though the rest of the request meets a closed connection', () => {
  for (const tls of [undefined, certificate('good')]) {
    // As on a busy node: there is no time to read before the connection has failed, or is gone.
    for (const event of ['error', 'close']) {
      test(`${tls === undefined ? 'http' : 'https'}, ${event}`, async (t) => {
        const sockets = watchSockets(t);
        let isAnswered = false;
        const afterTurn = (callback: () => void): void => {
          if (isAnswered && !sockets[0]!.destroyed) sockets[0]!.once(event, callback);
          else setImmediate(callback);
        };
        const options = { clock: { ...systemClock, afterTurn }, receiver: tls && { tls } };
        const { attempt, receiver } = await startAttempting(t, options);
        const body = 'x'.repeat(10 * KIB);
        const answer = async (socket: Socket): Promise<void> => {
          socket.pause();
          // Until no more of the request goes out.
          await arrival();
          isAnswered = true;
          socket.write(head(413, `content-length: ${body.length}`) + body, () => socket.destroy());
        };
        receiver.onConnection((socket) => socket.once('data', () => void answer(socket)));
        // More than all buffers on the way hold.
        const result = await attempt({ payload: new Uint8Array(16 * KIB * KIB) });
        assert.equal(result.outcome, 'bad_status', String(result.error));
        assertShows(result, { code: 413, body, truncated: false });
      });
    }
  }
});

function assertShows(result: AttemptResult, expected: Omit<Case, 'name' | 'reply' | 'outcome'>): void {
  const { code, body, truncated, error } = expected;
  if (code !== undefined) assert.equal(result.responseCode, code);
  if (typeof body === 'string') assert.equal(Buffer.from(result.responseBody!).toString('latin1'), body);
  if (typeof body === 'number') assert.equal(result.responseBody!.length, body);
  if (truncated !== undefined) assert.equal(result.responseBodyTruncated, truncated);
  if (error !== undefined) assert.match(result.error!, error);
}
