// Attempts against receivers that answer well, badly, slowly, half or never.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import type { AttemptRequest } from '../../src/attempt/perform.ts';
import { KEY, PAYLOAD, startAttempting, verify } from './attempting.ts';
import { arrival } from './event-loop.ts';
import { certificate, hasIPv6, testCa, type Reply } from './receiver.ts';
import { watchSockets } from './watch-sockets.ts';

setDefaultCACertificates([testCa()]);

describe('the request', () => {
  test('is what Standard Webhooks and the decisions say, to the byte', async (t) => {
    const { attempt, receiver, url } = await startAttempting(t);
    const before = Math.floor(Date.now() / 1000);
    const result = await attempt({
      url: url('/in/%C3%A9?a=1&b=%20'),
      headers: { 'X-Token': 'a b\tc', authorization: 'Bearer x' },
      attempt: 3,
    });
    assert.equal(result.outcome, 'succeeded');
    const [request] = receiver.requests;
    assert.equal(request!.line, 'POST /in/%C3%A9?a=1&b=%20 HTTP/1.1');
    const { 'webhook-timestamp': timestamp, 'webhook-signature': signature, ...rest } = request!.headers;
    assert.deepEqual(rest, {
      host: `localhost:${receiver.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(PAYLOAD.length),
      'user-agent': 'Postrider/1.2.3',
      'webhook-id': 'evt_01h455vb4pex5vsknk084sn02q',
      'postrider-delivery-id': 'dlv_01h455vb4pex5vsknk084sn02r',
      'postrider-attempt': '3',
      'x-token': 'a b\tc',
      authorization: 'Bearer x',
    });
    assert.match(signature!, /^v1,[A-Za-z0-9+/]{43}=$/);
    assert.ok(Number(timestamp) >= before && Number(timestamp) <= Date.now() / 1000);
    assert.equal(Number(timestamp), Math.floor(result.startedAt / 1000));
    assert.deepEqual(request!.body, Buffer.from(PAYLOAD));
  });

  test('carries bodies of every size', async (t) => {
    const { attempt, receiver } = await startAttempting(t);
    for (const size of [2, 1_000, 65_536, 262_144 + 300]) {
      const payload = Buffer.from(`{${' '.repeat(size - 2)}}`);
      assert.equal((await attempt({ payload })).outcome, 'succeeded');
      assert.deepEqual(receiver.requests.at(-1)!.body, payload);
    }
  });

  test('goes over TLS the same way', async (t) => {
    const { attempt, receiver } = await startAttempting(t, { receiver: { tls: certificate('good') } });
    assert.equal((await attempt()).outcome, 'succeeded');
    assert.equal((await attempt()).outcome, 'succeeded');
    assert.equal(receiver.sockets.length, 1);
  });

  test('is signed with every key in force', async (t) => {
    const other = new Uint8Array(32).fill(9);
    const { attempt, receiver } = await startAttempting(t);
    await attempt({ keys: [other, KEY] });
    // The receiver's requests are all verified with KEY in the end.
    verify(receiver.requests[0]!, other);
    assert.equal(receiver.requests[0]!.headers['webhook-signature']!.split(' ').length, 2);
  });

  test('has the headers of Svix beside those of the standard where the destination asks for them', async (t) => {
    const { attempt, receiver } = await startAttempting(t);
    const other = new Uint8Array(24).fill(9);
    await attempt({ keys: [other, KEY], signatureStyle: 'svix' });
    await attempt();
    const [styled, standard] = receiver.requests.map(({ headers }) => headers);
    for (const part of ['id', 'timestamp', 'signature']) {
      assert.equal(styled![`svix-${part}`], styled![`webhook-${part}`]);
      assert.equal(standard![`svix-${part}`], undefined);
    }
    assert.equal(styled!['svix-signature']!.split(' ').length, 2);
  });

  test('reads its host from the URL', async (t) => {
    const { attempt, receiver } = await startAttempting(t);
    await attempt({ url: `http://127.0.0.1:${receiver.port}/` });
    await attempt({ url: `http://API.localhost.:${receiver.port}/` });
    const hosts = receiver.requests.map(({ headers }) => headers['host']);
    assert.deepEqual(hosts, [`127.0.0.1:${receiver.port}`, `api.localhost.:${receiver.port}`]);
  });

  test('reaches an IPv6 literal', { skip: !hasIPv6() }, async (t) => {
    const { attempt, receiver } = await startAttempting(t, { receiver: { host: '::1' } });
    assert.equal((await attempt({ url: `http://[::1]:${receiver.port}/` })).outcome, 'succeeded');
    assert.equal(receiver.requests[0]!.headers['host'], `[::1]:${receiver.port}`);
  });
});

describe('the result', () => {
  test('has the headers as they came, names in lower case', async (t) => {
    const fields = ['X-B: 1', 'x-a: \t two\t  words \t ', 'X-B: 3', 'Empty:', 'Blank:  \t', 'Content-Length: 0'];
    const reply: Reply = (socket) => socket.write(`HTTP/1.1 200 OK\r\n${fields.join('\r\n')}\r\n\r\n`);
    const { attempt } = await startAttempting(t, { reply });
    const { responseHeaders } = await attempt();
    assert.deepEqual(responseHeaders, [
      ['x-b', '1'],
      ['x-a', 'two\t  words'],
      ['x-b', '3'],
      ['empty', ''],
      ['blank', ''],
      ['content-length', '0'],
    ]);
  });

  test('keeps every byte of a header value', async (t) => {
    const value = Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join('');
    const reply: Reply = (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nx-bytes: ${value}\r\ncontent-length: 0\r\n\r\n`, 'latin1');
    const { attempt } = await startAttempting(t, { reply });
    assert.deepEqual((await attempt()).responseHeaders![0], ['x-bytes', value]);
  });

  test('says when to come again on 429 and 503 only', async (t) => {
    let code = 0;
    const reply: Reply = (socket) => socket.write(`HTTP/1.1 ${code} X\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n`);
    const { attempt } = await startAttempting(t, { reply });
    for (code of [429, 503, 500, 200, 301]) {
      const { retryAfterAt, startedAt } = await attempt();
      if (code === 429 || code === 503)
        assert.ok(retryAfterAt! >= startedAt + 7_000 && retryAfterAt! < startedAt + 9_000);
      else assert.equal(retryAfterAt, null, String(code));
    }
  });

  test('of a destination that cannot be reached has no response', async (t) => {
    const { attempt, receiver } = await startAttempting(t);
    receiver.onConnection((socket) => socket.destroy());
    for (const [url, outcome] of [
      ['http://10.0.0.1/', 'blocked'],
      ['ftp://example.com/', 'blocked'],
      [`http://${'a'.repeat(64)}.example/`, 'dns_failed'],
      [`https://localhost:${receiver.port}/`, 'tls_failed'],
    ] as const) {
      const result = await attempt({ url });
      assert.equal(result.outcome, outcome, url);
      assert.equal(result.responseCode, null);
      assert.equal(result.retryAfterAt, null);
    }
    await receiver.close();
    assert.equal((await attempt()).outcome, 'connect_failed');
  });

  test('of a connection whose TLS breaks is tls_failed, as when a client certificate is demanded', async (t) => {
    const clients: Socket[] = [];
    const reply: Reply = () => clients[0]!.write('this is no TLS record');
    const { attempt, receiver } = await startAttempting(t, { reply, receiver: { tls: certificate('good') } });
    const relay = createServer((client) => {
      clients.push(client.on('error', () => {}));
      client.pipe(connect(receiver.port, '127.0.0.1').on('error', () => {})).pipe(client);
    });
    await once(relay.listen(0, '127.0.0.1'), 'listening');
    t.after(() => relay.close());
    const result = await attempt({ url: `https://localhost:${(relay.address() as AddressInfo).port}/` });
    assert.equal(result.outcome, 'tls_failed');
    assert.match(result.error!, /^TLS failed: /);
  });
});

describe('an abort', () => {
  test('ends an attempt that waits for its response, and the connection', async (t) => {
    const abort = new AbortController();
    const { attempt, receiver } = await startAttempting(t, { reply: () => abort.abort() });
    const result = await attempt({}, abort.signal);
    assert.equal(result.outcome, 'cancelled');
    assert.equal(result.responseCode, null);
    await receiver.allClosed();
  });

  test('in the middle of a body leaves what had come', async (t) => {
    const abort = new AbortController();
    const reply: Reply = async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab');
      await arrival();
      abort.abort();
    };
    const { attempt } = await startAttempting(t, { reply });
    const result = await attempt({}, abort.signal);
    assert.equal(result.outcome, 'cancelled');
    assert.equal(result.responseCode, 200);
    assert.equal(Buffer.from(result.responseBody!).toString(), 'ab');
    assert.equal(result.responseBodyTruncated, true);
  });

  test('before it begins lets nothing out, over a fresh connection or a kept one', async (t) => {
    const { attempt, receiver } = await startAttempting(t);
    assert.equal((await attempt({}, AbortSignal.abort())).outcome, 'cancelled');
    await attempt();
    assert.equal((await attempt({}, AbortSignal.abort())).outcome, 'cancelled');
    assert.equal(receiver.requests.length, 1);
  });

  test('in whatever way it is called off while its connection is made, nothing is written', async (t) => {
    const { attempt, receiver } = await startAttempting(t);
    assert.equal((await attempt({}, undefined, () => false)).outcome, 'cancelled');
    assert.equal(receiver.requests.length, 0);
    assert.equal((await attempt({}, undefined, () => true)).outcome, 'succeeded');
    assert.equal(receiver.requests.length, 1);
  });

  test('over a kept connection it is asked as the request is written, not a turn before', async (t) => {
    const { attempt, receiver, faults } = await startAttempting(t);
    const sockets = watchSockets(t);
    await Promise.all([attempt(), attempt(), attempt()]);
    for (const mayWrite of [false, true]) {
      const written = sockets.map(({ bytesWritten }) => bytesWritten);
      let asked = 0;
      const ask = (): boolean => ++asked > 0 && mayWrite;
      const attempts = Array.from({ length: 3 }, () => attempt({}, undefined, ask));
      assert.equal(asked, 3);
      for (const [n, { bytesWritten }] of sockets.entries()) assert.equal(bytesWritten > written[n]!, mayWrite);
      for (const { outcome } of await Promise.all(attempts))
        assert.equal(outcome, mayWrite ? 'succeeded' : 'cancelled');
      assert.equal(receiver.requests.length, mayWrite ? 6 : 3);
    }
    assert.deepEqual([receiver.sockets.length, faults], [3, []]);
  });

  test('that never comes leaves no listener, and too late changes nothing', async (t) => {
    const { attempt } = await startAttempting(t);
    const listeners = new Set<() => void>();
    const abort = {
      aborted: false,
      addEventListener: (_: 'abort', listener: () => void) => void listeners.add(listener),
      removeEventListener: (_: 'abort', listener: () => void) => void listeners.delete(listener),
    };
    for (let i = 0; i < 2; i++) assert.equal((await attempt({}, abort)).outcome, 'succeeded');
    assert.equal(listeners.size, 0);
  });
});

describe('a fault of ours', () => {
  test('is a failed attempt, not an exception, and is told', async (t) => {
    const { attempt, faults, receiver } = await startAttempting(t);
    const faulty: Partial<AttemptRequest>[] = [
      { headers: { 'x-a': 'b\r\nc: d' } },
      { headers: { 'x y': 'z' } },
      { url: 'no URL' },
    ];
    for (const changes of faulty) {
      const result = await attempt(changes);
      assert.equal(result.outcome, 'connect_failed');
    }
    assert.equal(faults.length, 3);
    assert.equal(receiver.requests.length, 0);
    assert.equal((await attempt()).outcome, 'succeeded');
  });
});
