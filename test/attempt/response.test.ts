// How a response is read from its bytes: the same in whatever pieces they come, and as Node's own client reads it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ResponseFault } from '../../src/attempt/response-fault.ts';
import { ResponseReader } from '../../src/attempt/response.ts';
import { chunked, head } from './receiver.ts';

/** Null: refused, or not all of one. */
type Answer = { code: number; headers: string[]; body: string } | null;

/** `strict`: the same as Node wants it, which is stricter. */
type Sent = { bytes: Buffer; strict: Buffer<ArrayBuffer> };

/** Some right, some wrong, some that two readers could take for different things. */
const responses = fc
  .record({
    before: fc.constantFrom('', '', '', '\r\n', ' ', head(103, 'link: </a>'), head(100)),
    version: fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'http/1.1', 'HTTP/1.'),
    status: fc.constantFrom(' 200 OK', ' 500 X', ' 204 X', ' 304', ' 404 \x80', ' 99 X', ' 2000 X', '  200 OK', ' 20x'),
    fields: fc.array(
      fc.constantFrom(
        'x-a: 1',
        'X-B:\t2 \t',
        'set-cookie: a=\xe9\xa0',
        'connection: close',
        'connection: keep-alive',
        'content-length: 2',
        'content-length:2',
        'content-length: 0',
        'content-length: 2, 2',
        'content-length: +2',
        'content-length:',
        'transfer-encoding: chunked',
        'Transfer-Encoding: gzip, Chunked',
        'transfer-encoding: chunked, gzip',
        'a b: c',
        'a : b',
        ': c',
        'none',
        'a: b\r\n folded',
        'a: b\x01',
        'a: b\x7f',
        'a: b\rc',
      ),
      { maxLength: 3 },
    ),
    lineEnd: fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r\r\n'),
    body: fc.constantFrom(
      '',
      'ok',
      'longer',
      chunked('ok', ''),
      `${chunked('o', 'k')}0\r\na: b\r\n\r\n`,
      '2;x=y\r\nok\r\n0;z\r\n\r\n',
      '2\nok\n0\n\n',
      '2\r\nokk0\r\n\r\n',
      '5\r\nok',
      'g\r\nok\r\n0\r\n\r\n',
      '0\r\n\r\n',
    ),
  })
  .map(({ before: first, version, status, fields, lineEnd, body }): Sent => {
    const bytesOf = (headers: readonly string[], end: string): Buffer<ArrayBuffer> => {
      const lines = [`${version}${status}`, ...headers].map((line) => line + end);
      return Buffer.from(`${first}${lines.join('')}${end}${body}`, 'latin1');
    };
    return {
      bytes: bytesOf(fields, lineEnd),
      strict: bytesOf(asNodeWants(fields), lineEnd === '\n' ? '\r\n' : lineEnd),
    };
  });

/** Without what goes on in the next line, and without a length that is there twice or beside a transfer coding. */
function asNodeWants(fields: readonly string[]): string[] {
  const lengthOf = (field: string): string | undefined => /^content-length: ?(.*)$/.exec(field)?.[1];
  const lengths = fields.flatMap((field) => lengthOf(field) ?? []);
  const isOne = new Set(lengths).size === 1;
  const isCoded = fields.some((field) => /^transfer-encoding:/i.test(field));
  const kept = fields.filter((field, i) => {
    const isAgain = fields.slice(0, i).some((one) => lengthOf(one) !== undefined);
    return lengthOf(field) === undefined || !isOne || !(isCoded || isAgain);
  });
  return kept.map((field) => field.replaceAll('\r\n folded', ' folded'));
}

/** What we make of them, if nothing comes after the last. */
function readPieces(pieces: readonly Buffer[]): Answer {
  const reader = new ResponseReader();
  try {
    for (const piece of pieces) {
      if (reader.isComplete) break;
      const bytes = Buffer.from(piece);
      reader.read(bytes);
      // The next bytes that are read, of whatever connection, come to where these were.
      bytes.fill('?');
    }
  } catch (error) {
    if (error instanceof ResponseFault) return null;
    throw error;
  }
  if (!reader.isComplete && !reader.end()) return null;
  const { code, headers } = reader.head!;
  return { code, headers: headers.flat(), body: Buffer.from(reader.body!).toString('latin1') };
}

test('a response says the same in whatever pieces it comes', () => {
  fc.assert(
    fc.property(responses, fc.array(fc.nat(200), { maxLength: 4 }), ({ bytes }, cuts) => {
      const whole = readPieces([bytes]);
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((place, i) => bytes.subarray(places[i], place));
      assert.deepEqual(readPieces(pieces), whole);
      assert.deepEqual(readPieces(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))), whole);
    }),
    { numRuns: 3_000 },
  );
});

test('a list of codings may have empty elements', () => {
  const text = head(200, 'transfer-encoding: gzip, chunked, ,') + chunked('ok', '');
  assert.equal(readPieces([Buffer.from(text)])?.body, 'ok');
});

test('what is not as Node wants it says what it would say so', () => {
  let differing = 0;
  fc.assert(
    fc.property(responses, ({ bytes, strict }) => {
      const [ours, asStrict] = [readPieces([bytes]), readPieces([strict])];
      if (!bytes.equals(strict) && ours !== null) differing++;
      const lengthless = (answer: Answer) => answer && { ...answer, headers: withoutLengths(answer.headers) };
      assert.deepEqual(lengthless(ours), lengthless(asStrict));
    }),
    { numRuns: 3_000 },
  );
  assert.ok(differing > 50, `${differing} responses`);
});

function withoutLengths(headers: readonly string[]): string[] {
  return headers.filter((_, i) => headers[i - (i % 2)] !== 'content-length');
}

describe('a header that goes on in the next line', () => {
  const read = (fields: string): Answer => readPieces([Buffer.from(`HTTP/1.1 200 OK\r\n${fields}\r\n\r\nok`)]);

  test('says what it says in one', () => {
    for (const [folded, headers] of [
      ["a: default-src 'self';\r\n  img-src *", { a: "default-src 'self'; img-src *" }],
      ['a:\r\n b\r\n\tc', { a: 'b c' }],
      ['a: b\r\n \t', { a: 'b' }],
      ['a: b\r\n c: d\r\ne: f', { a: 'b c: d', e: 'f' }],
    ] as const) {
      const expected = Object.entries({ ...headers, 'content-length': '2' }).flat();
      assert.deepEqual(read(`${folded}\r\ncontent-length:\r\n 2`), { code: 200, headers: expected, body: 'ok' });
    }
  });

  test('is obeyed', () => {
    const reader = new ResponseReader();
    reader.read(Buffer.from('HTTP/1.1 204 X\r\nkeep-alive: max=9,\r\n timeout=5\r\n\r\n'));
    assert.equal(reader.keptAliveMs, 5_000);
  });

  test('is none behind the status line, nor does it hide what is no text', () => {
    for (const fields of [' a: b\r\nc: d', ' ', 'a: b\r\n c\x01', 'content-length: 1\r\n 2', '\t: a']) {
      assert.equal(read(fields), null, JSON.stringify(fields));
    }
  });

  test('has no more bytes than others', () => {
    const fold = `a:${'\r\n b'.repeat(4_094)}\r\n`;
    assert.notEqual(read(fold.slice(0, -4)), null);
    assert.equal(read(`${fold}c: d`), null);
  });
});

describe('beside Node’s own client', () => {
  let sent = Buffer.alloc(0);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(sent));
  });
  before(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  after(() => server.close());

  const readByNode = async (): Promise<Answer> => {
    const { port } = server.address() as AddressInfo;
    const asked = request({ port, host: '127.0.0.1', method: 'POST', agent: false });
    // It also complains of what comes behind a response.
    asked.on('error', () => undefined).end();
    try {
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      const { statusCode: code, rawHeaders } = response;
      const body = (await response.setEncoding('latin1').toArray()).join('');
      const headers = rawHeaders.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text.replace(/[ \t]+$/, '')));
      return { code: code!, headers, body };
    } catch {
      return null;
    } finally {
      asked.destroy();
    }
  };

  test('what both take for a response says the same', async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(responses, async ({ strict }) => {
        sent = strict;
        const [ours, theirs] = [readPieces([strict]), await readByNode()];
        if (ours === null || theirs === null) return;
        taken++;
        assert.deepEqual(ours, theirs);
      }),
      { numRuns: 1_000 },
    );
    assert.ok(taken > 50, `${taken} responses`);
  });

  test('what Node refuses we refuse, but for lengths of a body that a status rules out', async () => {
    await fc.assert(
      fc.asyncProperty(responses, async ({ strict }) => {
        sent = strict;
        const ours = readPieces([strict]);
        const theirs = await readByNode();
        const isBodyless = ours !== null && (ours.code === 204 || ours.code === 304);
        assert.ok(ours === null || theirs !== null || isBodyless, JSON.stringify(strict.toString('latin1')));
      }),
      { numRuns: 1_000 },
    );
  });
});
