// Connecting: names through a name server of the tests' own, sockets and handshakes with real servers on loopback.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, Socket, type AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { ConnectError, createConnect, type Connect } from '../../src/attempt/connect.ts';
import { createGuard } from '../../src/attempt/guard.ts';
import { ReadingTime } from '../../src/attempt/reading-time.ts';
import { createResolver } from '../../src/attempt/resolver.ts';
import { parseTarget } from '../../src/attempt/target.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { startDeafServer } from './deaf-server.ts';
import { startDnsServer, type Answer, type DnsServer } from './dns-server.ts';
import { arrival, turn, until } from './event-loop.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { certificate, hasIPv6, startReceiver, testCa, type Certificate, type Receiver } from './receiver.ts';
import { watchSockets } from './watch-sockets.ts';

setDefaultCACertificates([testCa()]);

const ADDRESS = /\d+\.\d+\.\d+\.\d+|::/;

type Setup = {
  /** Connects to `url` in test mode, where `testSubnets` are reachable. */
  connect: (url: string, options?: Partial<Parameters<Connect>[0]>) => Promise<Socket>;
  dns: DnsServer;
  /** Lets the resolver's answers run out. */
  forgetNames: () => void;
};

type World = { names?: Record<string, string[] | Answer>; testSubnets?: string[]; clock?: Clock };

async function setUp(t: TestContext, world: World = {}): Promise<Setup> {
  const { names = {}, testSubnets = ['127.0.0.0/8', '::1'], clock = systemClock } = world;
  const dns = await startDnsServer((name) => {
    const answer = names[name] ?? { kind: 'no_such_name' };
    return Array.isArray(answer) ? { kind: 'addresses', addresses: answer } : answer;
  });
  t.after(() => dns.close());
  const resolverClock = new ManualClock();
  const resolver = createResolver({ clock: resolverClock, readServers: () => dns.servers });
  const guard = createGuard({ testSubnets, allowSubnets: [] });
  const connect = createConnect({ guard, resolver, clock, readingTime: new ReadingTime(clock) });
  return {
    dns,
    forgetNames: () => resolverClock.advance(60_000),
    connect: async (url, options = {}) => {
      const target = parseTarget(new URL(url));
      const { socket } = await connect({ target, mode: 'test', budgetMs: 5_000, ...options });
      t.after(() => socket.destroy());
      return socket;
    },
  };
}

async function start(t: TestContext, ...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...args);
  t.after(() => receiver.close());
  return receiver;
}

async function failureOf(promise: Promise<unknown>): Promise<{ outcome: string; message: string }> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof ConnectError, String(error));
    assert.doesNotMatch(error.message, ADDRESS);
    assert.ok(error.message.length > 0);
    return { outcome: error.outcome, message: error.message };
  }
  return assert.fail('it connected');
}

describe('where it connects', () => {
  test('to the address that the name leads to, once looked up', async (t) => {
    const receiver = await start(t);
    const { connect, dns } = await setUp(t, { names: { 'receiver.test': ['127.0.0.1'] } });
    const socket = await connect(`http://receiver.test:${receiver.port}/`);
    assert.equal(socket.remoteAddress, '127.0.0.1');
    assert.equal(socket.remotePort, receiver.port);
    assert.deepEqual(dns.questions.toSorted(), ['A receiver.test', 'AAAA receiver.test']);
  });

  test('to localhost and to literals without a name server', async (t) => {
    const receiver = await start(t);
    const { connect, dns } = await setUp(t);
    for (const host of ['localhost', 'api.localhost', '127.0.0.1', '[::ffff:127.0.0.1]', '2130706433']) {
      assert.equal((await connect(`http://${host}:${receiver.port}/`)).remoteAddress, '127.0.0.1', host);
    }
    assert.deepEqual(dns.questions, []);
  });

  test('not to an inner address that a name leads to the second time (rebinding)', async (t) => {
    const addresses = ['127.0.0.1'];
    const receiver = await start(t, undefined, { host: '0.0.0.0' });
    const { connect, forgetNames } = await setUp(t, {
      names: { 'rebind.test': addresses },
      testSubnets: ['127.0.0.1/32'],
    });
    const url = `http://rebind.test:${receiver.port}/`;
    await connect(url);
    addresses[0] = '127.0.0.2';
    forgetNames();
    assert.equal((await failureOf(connect(url))).outcome, 'blocked');
    assert.equal(receiver.sockets.length, 1);
  });

  test('only to the vetted ones of mixed answers', async (t) => {
    const receiver = await start(t, undefined, { host: '0.0.0.0' });
    const { connect } = await setUp(t, {
      names: { 'mixed.test': ['10.0.0.1', '127.0.0.2', '127.0.0.1', 'fd00::1'] },
      testSubnets: ['127.0.0.1/32'],
    });
    for (let i = 0; i < 4; i++) {
      assert.equal((await connect(`http://mixed.test:${receiver.port}/`)).remoteAddress, '127.0.0.1');
    }
  });

  test('an alias to an inner name is judged by its addresses', async (t) => {
    const { connect } = await setUp(t, {
      names: { 'alias.test': { kind: 'addresses', addresses: ['169.254.169.254'], alias: 'metadata.internal' } },
    });
    assert.equal((await failureOf(connect('https://alias.test/'))).outcome, 'blocked');
  });

  test('nowhere if the URL itself is refused', async (t) => {
    const { connect, dns } = await setUp(t);
    for (const url of ['http://10.0.0.1/', 'http://[fd00::1]/', 'http://0.0.0.0/', 'http://user@receiver.test/']) {
      assert.equal((await failureOf(connect(url))).outcome, 'blocked', url);
    }
    const live = await failureOf(connect('http://receiver.test/', { mode: 'live' }));
    assert.deepEqual(live, { outcome: 'blocked', message: 'the URL must begin with https://' });
    assert.deepEqual(dns.questions, []);
  });

  test('only where it was told: 0.0.0.0 is vetted here, but leads to loopback', async (t) => {
    const receiver = await start(t);
    const { connect } = await setUp(t, { testSubnets: ['0.0.0.0/8'] });
    assert.equal((await failureOf(connect(`http://0.0.0.0:${receiver.port}/`))).outcome, 'blocked');
  });

  test('to the next address when one refuses', { skip: !hasIPv6() }, async (t) => {
    const receiver = await start(t, undefined, { host: '::1' });
    const { connect } = await setUp(t, { names: { 'two.test': ['127.0.0.1', '::1'] } });
    assert.equal((await connect(`http://two.test:${receiver.port}/`)).remoteAddress, '::1');
  });

  test('not at all when every address refuses', async (t) => {
    const { connect } = await setUp(t, { names: { 'down.test': ['127.0.0.1', '::1'] } });
    const port = await freePort();
    const failure = await failureOf(connect(`http://down.test:${port}/`));
    assert.deepEqual(failure, {
      outcome: 'connect_failed',
      message: `connection refused: nothing listens on port ${port}`,
    });
  });

  test('not at all, and the reason is what the host did, not that one of its addresses has no route', async (t) => {
    // TCP does not go to a group; an IPv6 address where there is no IPv6 fails the same way.
    const { connect } = await setUp(t, {
      names: { 'down.test': ['127.0.0.1', '224.0.0.1'], 'far.test': ['224.0.0.1'] },
      testSubnets: ['127.0.0.1/32', '224.0.0.1/32'],
    });
    const port = await freePort();
    // Each time the other address is the first.
    for (let n = 0; n < 2; n++) {
      const { message } = await failureOf(connect(`http://down.test:${port}/`));
      assert.equal(message, `connection refused: nothing listens on port ${port}`);
    }
    assert.equal((await failureOf(connect(`http://far.test:${port}/`))).message, 'no network route to the host');
  });

  test('not to a name that does not resolve', async (t) => {
    const { connect } = await setUp(t, { names: { 'broken.test': { kind: 'failure' } } });
    assert.deepEqual(await failureOf(connect('https://nowhere.test/')), {
      outcome: 'dns_failed',
      message: 'the host name does not exist or has no address',
    });
    assert.deepEqual(await failureOf(connect('https://broken.test/')), {
      outcome: 'dns_failed',
      message: 'the host name could not be resolved: its name servers failed or did not answer',
    });
  });
});

const tls = (name: Certificate): { tls: object } => ({
  tls: { ...certificate(name), ALPNProtocols: ['h2', 'http/1.1'] },
});

describe('TLS', () => {
  const names = {
    'receiver.test': ['127.0.0.1'],
    'a.receiver.test': ['127.0.0.1'],
    'a.b.receiver.test': ['127.0.0.1'],
  };

  test('asks for the host by name, and for HTTP/1.1', async (t) => {
    const receiver = await start(t, undefined, tls('good'));
    const { connect } = await setUp(t, { names });
    const hosts = ['receiver.test', 'receiver.test.', 'a.receiver.test', 'localhost'];
    for (const [i, host] of hosts.entries()) {
      const client = (await connect(`https://${host}:${receiver.port}/`)) as TLSSocket;
      await receiver.connected(i + 1);
      const server = receiver.sockets[i] as TLSSocket;
      assert.equal(client.authorized, true);
      assert.equal(server.servername, host.replace(/\.$/, ''));
      assert.equal(client.alpnProtocol, 'http/1.1');
    }
  });

  test('checks an address against the certificate and sends no name for it', async (t) => {
    const receiver = await start(t, undefined, tls('good'));
    const { connect } = await setUp(t);
    const client = (await connect(`https://127.0.0.1:${receiver.port}/`)) as TLSSocket;
    assert.equal(client.authorized, true);
    await receiver.connected(1);
    assert.equal((receiver.sockets[0] as TLSSocket).servername, false);
  });

  for (const [name, host, reason] of [
    ['expired', 'receiver.test', 'the certificate has expired'],
    ['self-signed', 'receiver.test', 'the certificate is self-signed'],
    ['other-host', 'receiver.test', 'the certificate is for another host name'],
    ['other-host', '127.0.0.1', 'the certificate is for another host name'],
    // It is for localhost and 127.0.0.1, but not for this spelling.
    ['good', '[::ffff:127.0.0.1]', 'the certificate is for another host name'],
    ['good', 'a.b.receiver.test', 'the certificate is for another host name'],
  ] as const) {
    test(`the ${name} certificate is refused for ${host}`, async (t) => {
      const receiver = await start(t, undefined, tls(name));
      const { connect } = await setUp(t, { names });
      const failure = await failureOf(connect(`https://${host}:${receiver.port}/`));
      assert.deepEqual(failure, { outcome: 'tls_failed', message: `TLS failed: ${reason}` });
      await receiver.allClosed();
    });
  }

  test('a certificate is verified though Node is told not to verify any', async (t) => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
    const receiver = await start(t, undefined, tls('self-signed'));
    const { connect } = await setUp(t);
    assert.equal((await failureOf(connect(`https://localhost:${receiver.port}/`))).outcome, 'tls_failed');
  });

  test('a port that does not speak TLS says so', async (t) => {
    const receiver = await start(t);
    receiver.onConnection((socket) => socket.write('220 mail.example.com ESMTP ready for duty\r\n'));
    const { connect } = await setUp(t);
    const failure = await failureOf(connect(`https://localhost:${receiver.port}/`));
    assert.deepEqual(failure, { outcome: 'tls_failed', message: 'TLS failed: the port does not speak TLS' });
  });

  for (const [alert, reason] of [
    [70, 'the host speaks neither TLS 1.2 nor 1.3'],
    [112, 'the host has no certificate for this name'],
    [120, 'the host does not speak HTTP/1.1'],
  ] as const) {
    test(`a host that refuses the handshake by alert ${alert}: ${reason}`, async (t) => {
      const receiver = await start(t);
      receiver.onConnection((socket) => socket.write(Buffer.from([21, 3, 3, 0, 2, 2, alert])));
      const { connect } = await setUp(t);
      const failure = await failureOf(connect(`https://localhost:${receiver.port}/`));
      assert.deepEqual(failure, { outcome: 'tls_failed', message: `TLS failed: ${reason}` });
    });
  }

  test('a host that hangs up in the handshake', async (t) => {
    const receiver = await start(t);
    const { connect } = await setUp(t);
    const expected = { outcome: 'tls_failed', message: 'TLS failed: the connection was closed during the handshake' };
    for (const hangUp of [(socket: Socket) => void socket.end(), (socket: Socket) => void socket.resetAndDestroy()]) {
      receiver.onConnection((socket) => socket.once('data', () => hangUp(socket)));
      assert.deepEqual(await failureOf(connect(`https://localhost:${receiver.port}/`)), expected);
    }
  });

  test('a host that is gone, or floods, while its handshake waits for its turn', async (t) => {
    const receiver = await start(t);
    const hungUp = 'TLS failed: the connection was closed during the handshake';
    const flooded = 'TLS failed: the host sends far more than a handshake or a response takes';
    receiver.onConnection(() => {});
    const troubles = [
      [(socket: Socket) => void socket.resetAndDestroy(), hungUp],
      [(socket: Socket) => void socket.destroy(), hungUp],
      [(socket: Socket) => void socket.write(Buffer.alloc(1_000_000)), flooded],
    ] as const;
    for (const [i, [trouble, message]] of troubles.entries()) {
      const sockets = watchSockets(t);
      // The socket's turn comes first, then the handshake's.
      const turns: (() => void)[] = [];
      const afterTurn: Clock['afterTurn'] = (callback) => {
        if (turns.push(callback) !== 2) systemClock.afterTurn(callback);
      };
      const { connect } = await setUp(t, { clock: { ...systemClock, afterTurn } });
      const failure = failureOf(connect(`https://127.0.0.1:${receiver.port}/`));
      await receiver.connected(i + 1);
      await until(() => turns.length === 2);
      const closed = new Promise((resolve) => sockets[0]!.once('close', resolve));
      trouble(receiver.sockets[i]!);
      await closed;
      turns[1]!();
      assert.deepEqual(await failure, { outcome: 'tls_failed', message });
    }
  });

  test('a session is handed out and resumed', async (t) => {
    const receiver = await start(t, undefined, tls('good'));
    const { connect } = await setUp(t);
    const url = `https://localhost:${receiver.port}/`;
    const session = await new Promise<Buffer>((resolve, reject) => {
      connect(url, { onSession: resolve }).then((socket) => socket.resume(), reject);
    });
    const again = (await connect(url, { session })) as TLSSocket;
    assert.equal(again.isSessionReused(), true);
  });
});

/** The cipher suites that a TLS client offers, by their numbers (RFC 8446, 4.1.2; its first record). */
function offeredSuites(hello: Buffer): number[] {
  const sessionIdAt = 5 + 4 + 2 + 32;
  const at = sessionIdAt + 1 + hello[sessionIdAt]!;
  return Array.from({ length: hello.readUInt16BE(at) / 2 }, (_, i) => hello.readUInt16BE(at + 2 + 2 * i));
}

describe('a host that would keep us busy with TLS', () => {
  test('cannot choose a prime for DHE, with which a handshake would take a second', async (t) => {
    const receiver = await start(t);
    const { connect } = await setUp(t);
    const hello = new Promise<Buffer>((resolve) => {
      receiver.onConnection((socket) =>
        socket.once('data', (bytes: Buffer) => {
          resolve(bytes);
          socket.destroy();
        }),
      );
    });
    assert.equal((await failureOf(connect(`https://localhost:${receiver.port}/`))).outcome, 'tls_failed');
    const suites = offeredSuites(await hello);
    const ecdhe = 0xc02f;
    const dhe = [0x009e, 0x009f, 0xccaa, 0x0033, 0x0039, 0x0067, 0x006b, 0xc09e, 0xc09f];
    assert.ok(suites.includes(ecdhe));
    assert.deepEqual(
      dhe.filter((suite) => suites.includes(suite)),
      [],
    );
  });

  test('is given no second handshake on a connection', async (t) => {
    const receiver = await start(t, undefined, { tls: { ...certificate('good'), maxVersion: 'TLSv1.2' } });
    const { connect } = await setUp(t);
    const client = (await connect(`https://localhost:${receiver.port}/`)) as TLSSocket;
    client.resume();
    await receiver.connected(1);
    const server = receiver.sockets[0] as TLSSocket;
    const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
      server.on('error', resolve).renegotiate({}, resolve);
    });
    assert.equal(error?.code, 'ERR_SSL_NO_RENEGOTIATION');
  });

  test('cannot send session tickets without end', async (t) => {
    const receiver = await start(t, undefined, tls('good'));
    const { connect } = await setUp(t);
    const tickets: Buffer[] = [];
    const onSession = (ticket: Buffer): void => void tickets.push(ticket);
    const client = (await connect(`https://localhost:${receiver.port}/`, { onSession })) as TLSSocket;
    await receiver.connected(1);
    // No server that Node can make sends more than two.
    for (let n = 0; !client.destroyed; n++) client.emit('session', Buffer.of(n));
    assert.ok(tickets.length >= 16 && tickets.length <= 18, `${tickets.length} tickets`);
    await receiver.allClosed();
  });
});

describe('time and abort', () => {
  test('of hundreds at once a few begin in each turn of the event loop', async (t) => {
    const receiver = await start(t);
    const { connect } = await setUp(t);
    const begun = t.mock.method(Socket.prototype, 'connect').mock;
    const opened = Promise.all(Array.from({ length: 100 }, () => connect(`http://127.0.0.1:${receiver.port}/`)));
    const perTurn: number[] = [];
    for (let before = 0; before < 100; before = begun.callCount()) {
      await turn();
      perTurn.push(begun.callCount() - before);
    }
    assert.ok(Math.max(...perTurn) <= 16, perTurn.join(' '));
    await opened;
  });

  test('a handshake that hangs ends with the budget, and its socket with it', async (t) => {
    const receiver = await start(t);
    const clock = new ManualClock();
    const { connect } = await setUp(t, { clock });
    const failure = failureOf(connect(`https://localhost:${receiver.port}/`));
    await receiver.connected(1);
    await arrival();
    clock.advance(5_000);
    assert.deepEqual(await failure, { outcome: 'timed_out', message: 'the TLS handshake took longer than 5 s' });
    await receiver.allClosed();
  });

  test('a look-up that hangs ends with the budget', async (t) => {
    const clock = new ManualClock();
    const { connect, dns } = await setUp(t, { names: { 'slow.test': { kind: 'silence' } }, clock });
    const failure = failureOf(connect('https://slow.test/', { budgetMs: 1_500 }));
    await until(() => dns.questions.length > 0);
    clock.advance(1_500);
    assert.deepEqual(await failure, {
      outcome: 'timed_out',
      message: 'resolving the host name took longer than 1.5 s',
    });
  });

  test('what is left of a deadline is told in seconds that can be read', async (t) => {
    const clock = new ManualClock();
    const { connect, dns } = await setUp(t, { names: { 'slow.test': { kind: 'silence' } }, clock });
    const failure = failureOf(connect('https://slow.test/', { budgetMs: 2_999.922_31 }));
    await until(() => dns.questions.length > 0);
    clock.advance(3_000);
    assert.equal((await failure).message, 'resolving the host name took longer than 3 s');
  });

  test('an address that does not answer ends with the budget', async (t) => {
    const deaf = await startDeafServer();
    if (deaf === null) return t.skip('this system takes every connection');
    t.after(() => deaf.close());
    const clock = new ManualClock();
    const { connect } = await setUp(t, { clock });
    const failure = failureOf(connect(`http://127.0.0.1:${deaf.port}/`));
    await arrival();
    clock.advance(5_000);
    assert.deepEqual(await failure, { outcome: 'timed_out', message: 'connecting took longer than 5 s' });
  });

  test('an address that does not answer is not waited for when there is another', { skip: !hasIPv6() }, async (t) => {
    const deaf = await startDeafServer();
    if (deaf === null) return t.skip('this system takes every connection');
    t.after(() => deaf.close());
    await start(t, undefined, { host: '::1', port: deaf.port });
    const { connect } = await setUp(t, { names: { 'two.test': ['127.0.0.1', '::1'] } });
    assert.equal((await connect(`http://two.test:${deaf.port}/`)).remoteAddress, '::1');
  });

  test('the next address is not tried when time is up', { skip: !hasIPv6() }, async (t) => {
    const deaf = await startDeafServer();
    if (deaf === null) return t.skip('this system takes every connection');
    t.after(() => deaf.close());
    const receiver = await start(t, undefined, { host: '::1', port: deaf.port });
    const clock = new ManualClock();
    const { connect } = await setUp(t, { names: { 'two.test': ['127.0.0.1', '::1'] }, clock });
    const failure = failureOf(connect(`http://two.test:${deaf.port}/`, { budgetMs: 200 }));
    await until(() => clock.delaysMs.length === 2);
    clock.advance(200);
    assert.equal((await failure).outcome, 'timed_out');
    clock.advance(200);
    await arrival();
    assert.equal(receiver.sockets.length, 0);
  });

  test('an abort ends it at any step, and its sockets with it', async (t) => {
    const receiver = await start(t);
    const { connect } = await setUp(t, { names: { 'slow.test': { kind: 'silence' } } });
    for (const host of ['slow.test', 'localhost']) {
      const abort = new AbortController();
      const failure = failureOf(connect(`https://${host}:${receiver.port}/`, { abort: abort.signal }));
      if (host === 'localhost') await receiver.connected(1);
      abort.abort();
      assert.equal((await failure).outcome, 'cancelled');
    }
    await receiver.allClosed();
    const failure = await failureOf(connect(`http://localhost:${receiver.port}/`, { abort: AbortSignal.abort() }));
    assert.equal(failure.outcome, 'cancelled');
  });

  test('nothing is left behind by an abort that was not used', async (t) => {
    const receiver = await start(t);
    const { connect } = await setUp(t);
    let listeners = 0;
    const abort = {
      aborted: false,
      addEventListener: () => void listeners++,
      removeEventListener: () => void listeners--,
    };
    await connect(`http://localhost:${receiver.port}/`, { abort });
    await failureOf(connect('https://nowhere.test/', { abort }));
    assert.equal(listeners, 0);
  });
});

/** A port on loopback where nothing listens (any more). */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
