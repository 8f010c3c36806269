// Receivers that keep TLS busy instead of answering: little of it is read, and nobody waits.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { createServer, setDefaultCACertificates, type TLSSocket, type TlsOptions } from 'node:tls';
import { ManualClock } from '../support/manual-clock.ts';
import { startAttempting } from './attempting.ts';
import { until } from './event-loop.ts';
import { certificate, head, OK, testCa } from './receiver.ts';
import { TlsRecords } from './tls-records.ts';
import { watchSockets } from './watch-sockets.ts';

setDefaultCACertificates([testCa()]);

const KIB = 1_024;
const REFUSED = 'TLS failed: the host sends far more than a handshake or a response takes';
/** What TLS may be given besides a response, and what the socket has read ahead by then. */
const READ_BYTES_MAX = (32 + 2 * 64) * KIB;
/** What TlsRecords makes. */
const BY_HAND: TlsOptions = { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' };

type Host = {
  url: string;
  /** The TCP connections, below TLS. */
  transports: Socket[];
  /** To be sent on the first connection. */
  records: () => TlsRecords;
};

/** Calls `serve` with each connection once a request has come on it. */
async function startHost(t: TestContext, options: TlsOptions, serve: (socket: TLSSocket) => void): Promise<Host> {
  const server = createServer({ ...certificate('good'), ...options }, (socket) => {
    socket.on('error', () => {});
    // Not at once: with its end of the handshake the server has yet to send its tickets.
    socket.on('data', () => setImmediate(() => serve(socket)));
  });
  const transports: Socket[] = [];
  const secrets: string[] = [];
  server.on('connection', (socket) => void transports.push(socket));
  server.on('keylog', (line) => {
    const [label, , secret] = line.toString().trim().split(' ');
    if (label === 'SERVER_TRAFFIC_SECRET_0') secrets.push(secret!);
  });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of transports) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://localhost:${port}/`,
    transports,
    records: () => new TlsRecords(Buffer.from(secrets[0]!, 'hex')),
  };
}

describe('TLS without end is cut early, not at the deadline', () => {
  test('a handshake with hundreds of certificates', async (t) => {
    const sockets = watchSockets(t);
    const { cert, key } = certificate('good');
    const host = await startHost(t, { key, cert: cert.toString() + testCa().repeat(200) }, () => {});
    const { attempt } = await startAttempting(t, { clock: new ManualClock() });
    const { outcome, error } = await attempt({ url: host.url });
    assert.deepEqual([outcome, error], ['tls_failed', REFUSED]);
    assert.ok(sockets[0]!.bytesRead <= READ_BYTES_MAX, `${sockets[0]!.bytesRead} bytes read`);
  });

  test('changes of keys instead of a response', async (t) => {
    const sockets = watchSockets(t);
    const host = await startHost(t, BY_HAND, () => host.transports[0]!.write(host.records().keyUpdates(10_000)));
    const { attempt } = await startAttempting(t, { clock: new ManualClock() });
    const { outcome, error } = await attempt({ url: host.url });
    assert.deepEqual([outcome, error], ['tls_failed', REFUSED]);
    assert.ok(sockets[0]!.bytesRead <= READ_BYTES_MAX, `${sockets[0]!.bytesRead} bytes read`);
  });

  test('changes of keys behind a response', async (t) => {
    const sockets = watchSockets(t);
    const host = await startHost(t, BY_HAND, () => {
      const records = host.records();
      host.transports[0]!.write(Buffer.concat([records.data(OK), records.keyUpdates(10_000)]));
    });
    const { attempt } = await startAttempting(t, { clock: new ManualClock() });
    assert.equal((await attempt({ url: host.url })).outcome, 'succeeded');
    await until(() => sockets[0]!.destroyed);
    assert.ok(sockets[0]!.bytesRead <= READ_BYTES_MAX, `${sockets[0]!.bytesRead} bytes read`);
  });

  test('requests for other handshakes, thousands in one record of TLS 1.2', async (t) => {
    const host = await startHost(t, { maxVersion: 'TLSv1.2' }, () => {
      // It need not be encrypted: its head says enough.
      host.transports[0]!.write(Buffer.concat([Buffer.from([22, 3, 3, 0x3e, 0x80]), Buffer.alloc(16_000)]));
    });
    const { attempt } = await startAttempting(t, { clock: new ManualClock() });
    const { outcome, error } = await attempt({ url: host.url });
    assert.deepEqual([outcome, error], ['tls_failed', REFUSED]);
  });
});

describe('what is no flood', () => {
  test('twenty certificates', async (t) => {
    const { cert, key } = certificate('good');
    const host = await startHost(t, { key, cert: cert.toString() + testCa().repeat(20) }, (socket) => socket.write(OK));
    const { attempt } = await startAttempting(t);
    assert.equal((await attempt({ url: host.url })).outcome, 'succeeded');
  });

  test('some changes of keys before a response, and the connection is kept', async (t) => {
    let records: TlsRecords | null = null;
    const host = await startHost(t, BY_HAND, () => {
      records ??= host.records();
      host.transports[0]!.write(Buffer.concat([records.keyUpdates(100), records.data(OK)]));
    });
    const { attempt } = await startAttempting(t);
    for (let n = 0; n < 20; n++) assert.equal((await attempt({ url: host.url })).outcome, 'succeeded');
    assert.equal(host.transports.length, 1);
  });

  test('a long response in records of one byte, which is read whole and the connection kept', async (t) => {
    const body = 'x'.repeat(8_000);
    const host = await startHost(t, {}, (socket) => {
      for (const byte of head(500, `content-length: ${body.length}`) + body) socket.write(byte);
    });
    const { attempt } = await startAttempting(t);
    for (let n = 0; n < 2; n++) {
      const { outcome, responseBody } = await attempt({ url: host.url });
      assert.equal(outcome, 'bad_status');
      assert.equal(Buffer.from(responseBody!).toString(), body);
    }
    assert.equal(host.transports.length, 1);
  });
});
