// Connections between attempts: kept, kept apart, given up, and the moment when both ends use or close one at once.
import assert from 'node:assert/strict';
import { connect as connectTcp, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { Connection, type Link } from '../../src/attempt/connection.ts';
import { Intake, TcpSocket } from '../../src/attempt/intake.ts';
import { createPools, IDLE_CONNECTIONS_MAX } from '../../src/attempt/pools.ts';
import { ReadingTime } from '../../src/attempt/reading-time.ts';
import { send } from '../../src/attempt/send.ts';
import { parseTarget } from '../../src/attempt/target.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startAttempting } from './attempting.ts';
import { turn, until } from './event-loop.ts';
import { certificate, chunked, OK, startReceiver, testCa, type ReceivedRequest, type Reply } from './receiver.ts';

setDefaultCACertificates([testCa()]);

const connectionsOf = (requests: readonly ReceivedRequest[]): number[] => requests.map(({ connection }) => connection);

const linkOf = (socket: TcpSocket): Link => {
  return { socket, intake: new Intake(socket, new ReadingTime(systemClock)), tls: null };
};

/** Whether a TLS client's first record has the extension pre_shared_key, which is its last (RFC 8446, 4.2.11). */
function offersSession(hello: Buffer): boolean {
  const sessionIdAt = 5 + 4 + 2 + 32;
  const suitesAt = sessionIdAt + 1 + hello[sessionIdAt]!;
  const compressionAt = suitesAt + 2 + hello.readUInt16BE(suitesAt);
  let at = compressionAt + 1 + hello[compressionAt]! + 2;
  let last = 0;
  for (; at < hello.length; at += 4 + hello.readUInt16BE(at + 2)) last = hello.readUInt16BE(at);
  return last === 41;
}

describe('a connection', () => {
  test('carries one attempt after the other', async (t) => {
    const { attempt, receiver, attempter } = await startAttempting(t);
    for (let i = 0; i < 5; i++) assert.equal((await attempt()).outcome, 'succeeded');
    assert.deepEqual(connectionsOf(receiver.requests), [1, 1, 1, 1, 1]);
    assert.deepEqual(attempter.stats(), { idleConnections: 1 });
  });

  test('is kept after an error status, too', async (t) => {
    const reply: Reply = (socket) => socket.write('HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n');
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 3; i++) await attempt();
    assert.deepEqual(connectionsOf(receiver.requests), [1, 1, 1]);
  });

  test('is kept though the receiver says 100 Continue each time', async (t) => {
    const reply: Reply = (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`);
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 20; i++) assert.equal((await attempt()).outcome, 'succeeded');
    assert.equal(receiver.sockets.length, 1);
  });

  test('never serves two environments', async (t) => {
    const { attempt, receiver } = await startAttempting(t);
    for (const environment of [1, 2, 1, 2]) await attempt({ environment });
    assert.deepEqual(connectionsOf(receiver.requests), [1, 2, 1, 2]);
  });

  test('never serves two attempts at once, nor keeps one waiting for another', async (t) => {
    const hanging: (() => void)[] = [];
    const reply: Reply = (socket, request) => {
      if (request.line.includes('/slow')) hanging.push(() => void socket.write(OK));
      else socket.write(OK);
    };
    const { attempt, receiver, url } = await startAttempting(t, { reply });
    const slow = Array.from({ length: 60 }, () => attempt({ url: url('/slow') }));
    assert.equal((await attempt({ url: url('/quick') })).outcome, 'succeeded');
    await receiver.connected(61);
    await until(() => hanging.length === 60);
    for (const answer of hanging) answer();
    for (const result of await Promise.all(slow)) assert.equal(result.outcome, 'succeeded');
  });

  test('is given up when the receiver says so', async (t) => {
    const reply: Reply = (socket) => socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    const { attempt, receiver, attempter } = await startAttempting(t, { reply });
    for (let i = 0; i < 3; i++) assert.equal((await attempt()).outcome, 'succeeded');
    assert.deepEqual(connectionsOf(receiver.requests), [1, 2, 3]);
    assert.deepEqual(attempter.stats(), { idleConnections: 0 });
  });

  for (const [says, keptMs] of [
    ['', 30_000],
    ['keep-alive: timeout=5, max=100\r\n', 4_000],
    ['keep-alive: max=100, timeout=600\r\n', 30_000],
    ['keep-alive: timeout = 5\r\n', 4_000],
    ['keep-alive: timeout=2\r\n', 1_000],
    ['keep-alive: timeout=1\r\n', 500],
  ] as const) {
    test(`is closed by us after ${keptMs} ms without use (${JSON.stringify(says)})`, async (t) => {
      const clock = new ManualClock();
      const reply: Reply = (socket) => socket.write(`HTTP/1.1 200 OK\r\n${says}content-length: 0\r\n\r\n`);
      const { attempt, attempter, receiver } = await startAttempting(t, { clock, reply });
      await attempt();
      clock.advance(keptMs - 1);
      assert.deepEqual(attempter.stats(), { idleConnections: 1 });
      await attempt();
      assert.deepEqual(connectionsOf(receiver.requests), [1, 1]);
      clock.advance(keptMs);
      await attempt();
      assert.deepEqual(connectionsOf(receiver.requests), [1, 1, 2]);
      // Also where nobody asks for it again, soon after.
      clock.advance(keptMs + 1_000);
      assert.deepEqual(attempter.stats(), { idleConnections: 0 });
      await receiver.allClosed();
      assert.equal(clock.timerCount, 0);
    });
  }

  test('is not kept where the receiver says that it closes it at once', async (t) => {
    const reply: Reply = (socket) =>
      socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=0\r\ncontent-length: 0\r\n\r\n');
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 2; i++) await attempt();
    assert.deepEqual(connectionsOf(receiver.requests), [1, 2]);
    await receiver.allClosed();
  });

  for (const [status, fields] of [
    [304, ''],
    [204, 'content-length: 0\r\n'],
    [204, ''],
  ] as const) {
    test(`is kept after a ${status} (${JSON.stringify(fields)}), which has no body`, async (t) => {
      const reply: Reply = (socket) => socket.write(`HTTP/1.1 ${status} X\r\n${fields}\r\n`);
      const { attempt, receiver } = await startAttempting(t, { reply });
      for (let i = 0; i < 2; i++) assert.equal((await attempt()).responseCode, status);
      assert.deepEqual(connectionsOf(receiver.requests), [1, 1]);
    });
  }

  for (const [status, fields, body] of [
    [204, 'content-length: 5\r\n', 'hello'],
    [204, 'transfer-encoding: chunked\r\n', chunked('hello', '')],
    [304, 'content-length: 5\r\n', 'hello'],
  ] as const) {
    test(`is given up after a ${status} that announces a body (${JSON.stringify(fields)})`, async (t) => {
      const reply: Reply = (socket, { connection }) => {
        // The body comes as late as can be: when the next request is there.
        const isFirst = connectionsOf(receiver.requests).filter((other) => other === connection).length === 1;
        socket.write(isFirst ? `HTTP/1.1 ${status} X\r\n${fields}\r\n` : body + OK);
      };
      const { attempt, receiver } = await startAttempting(t, { reply });
      for (let i = 0; i < 2; i++) {
        const { responseCode, outcome } = await attempt();
        assert.deepEqual([responseCode, outcome], [status, status === 204 ? 'succeeded' : 'bad_status']);
      }
      assert.deepEqual(connectionsOf(receiver.requests), [1, 2]);
    });
  }

  test('of HTTP/1.0 is kept only where the receiver offers it', async (t) => {
    const reply: Reply = (socket, { connection }) =>
      socket.write(
        `HTTP/1.0 200 OK\r\n${connection === 2 ? 'Connection: Keep-Alive\r\n' : ''}content-length: 0\r\n\r\n`,
      );
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 3; i++) assert.equal((await attempt()).outcome, 'succeeded');
    assert.deepEqual(connectionsOf(receiver.requests), [1, 2, 2]);
  });

  test('of HTTP/1.0 is given up after a transfer coding, whatever the receiver offers', async (t) => {
    const fields = 'connection: keep-alive\r\ntransfer-encoding: chunked\r\n';
    const reply: Reply = (socket) => socket.write(`HTTP/1.0 200 OK\r\n${fields}\r\n0\r\n\r\n`);
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 2; i++) assert.equal((await attempt()).outcome, 'succeeded');
    assert.deepEqual(connectionsOf(receiver.requests), [1, 2]);
  });

  test('is given up after a length beside a transfer coding', async (t) => {
    const reply: Reply = (socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n');
    const { attempt, receiver } = await startAttempting(t, { reply });
    for (let i = 0; i < 2; i++) assert.equal((await attempt()).outcome, 'succeeded');
    assert.deepEqual(connectionsOf(receiver.requests), [1, 2]);
  });

  test('is given up when the receiver closes it while idle', async (t) => {
    const { attempt, receiver, attempter } = await startAttempting(t);
    await attempt();
    receiver.sockets[0]!.end();
    await until(() => attempter.stats().idleConnections === 0);
    assert.equal((await attempt()).outcome, 'succeeded');
    assert.deepEqual(connectionsOf(receiver.requests), [1, 2]);
  });

  test('is given up when more comes than was asked for: it is no answer to the next attempt', async (t) => {
    const reply: Reply = (socket, { connection }) =>
      socket.write(connection === 1 ? OK + OK : 'HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n');
    const { attempt } = await startAttempting(t, { reply });
    assert.equal((await attempt()).responseCode, 200);
    assert.equal((await attempt()).responseCode, 500);
  });

  test('is given up when the receiver answers without reading the whole request', async (t) => {
    const { attempt, receiver, attempter } = await startAttempting(t);
    receiver.onConnection((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 413 X\r\ncontent-length: 0\r\n\r\n');
      });
    });
    // More than the buffers of both ends hold, however large they are.
    const result = await attempt({ payload: Buffer.alloc(64 * 1024 * 1024, ' ') });
    assert.equal(result.responseCode, 413);
    assert.deepEqual(attempter.stats(), { idleConnections: 0 });
  });

  test('is resumed rather than made anew where TLS allows, within its environment', async (t) => {
    const isResumed: boolean[] = [];
    const reply: Reply = (socket) => {
      isResumed.push((socket as TLSSocket).isSessionReused());
      socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    };
    const { attempt } = await startAttempting(t, { reply, receiver: { tls: certificate('good') } });
    for (const environment of [1, 1, 2]) assert.equal((await attempt({ environment })).outcome, 'succeeded');
    assert.deepEqual(isResumed, [false, true, false]);
  });

  test('is made without the TLS session with which the one before failed', async (t) => {
    const reply: Reply = (socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    const { attempt, receiver } = await startAttempting(t, { reply, receiver: { tls: certificate('good') } });
    const front = await startReceiver();
    t.after(() => front.close());
    front.onConnection((socket) => {
      socket.once('data', (hello: Buffer) => {
        if (offersSession(hello)) return void socket.resetAndDestroy();
        const behind = connectTcp(receiver.port, '127.0.0.1');
        behind.write(hello);
        socket.pipe(behind).pipe(socket);
      });
    });
    const url = `https://localhost:${front.port}/`;
    const outcomes: string[] = [];
    for (let i = 0; i < 3; i++) outcomes.push((await attempt({ url })).outcome);
    assert.deepEqual(outcomes, ['succeeded', 'tls_failed', 'succeeded']);
  });

  test('is closed at the end', async (t) => {
    const { attempt, receiver, attempter } = await startAttempting(t);
    await Promise.all([attempt(), attempt({ environment: 2 })]);
    attempter.close();
    await receiver.allClosed();
    // What is still on the wire then ends as it would have, but leaves no connection behind.
    assert.equal((await attempt()).outcome, 'succeeded');
    await receiver.allClosed();
  });
});

describe('when the receiver closes a connection just as it is used again', () => {
  /** Breaks the second request of the first connection, and answers the others. */
  const breaking =
    (how: (socket: Socket) => void, others: Reply = (socket) => socket.write(OK)): Reply =>
    (socket, request) => {
      if (isSecond(socket)) how(socket);
      else others(socket, request);
    };
  const seen = new WeakSet<Socket>();
  const isSecond = (socket: Socket): boolean => seen.has(socket) || !seen.add(socket);

  for (const [name, how] of [
    ['closing', (socket: Socket) => void socket.end()],
    ['resetting', (socket: Socket) => void socket.resetAndDestroy()],
  ] as const) {
    test(`the attempt is made once more on a fresh one (${name})`, async (t) => {
      const { attempt, receiver } = await startAttempting(t, { reply: breaking(how) });
      assert.equal((await attempt()).outcome, 'succeeded');
      assert.equal((await attempt({ attempt: 2 })).outcome, 'succeeded');
      assert.deepEqual(connectionsOf(receiver.requests), [1, 1, 2]);
      assert.deepEqual(receiver.requests[1]!.raw, receiver.requests[2]!.raw);
    });
  }

  for (const [name, how] of [
    ['closed', (socket: Socket) => void socket.destroy()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ] as const) {
    test(`one that is ${name} already, which nobody has heard yet, costs no attempt`, async (t) => {
      const { attempt, receiver } = await startAttempting(t);
      await attempt();
      await turn();
      how(receiver.sockets[0]!);
      assert.equal((await attempt()).outcome, 'succeeded');
      assert.deepEqual(connectionsOf(receiver.requests), [1, 2]);
    });
  }

  test('the fresh one decides, whatever it says', async (t) => {
    const others: Reply = (socket, { connection }) => (connection === 1 ? socket.write(OK) : socket.destroy());
    const { attempt, receiver } = await startAttempting(t, { reply: breaking((socket) => socket.destroy(), others) });
    await attempt();
    assert.equal((await attempt()).outcome, 'reset');
    assert.deepEqual(connectionsOf(receiver.requests), [1, 1, 2]);
  });

  test('a fresh one it is, though others are idle', async (t) => {
    const { attempt, receiver } = await startAttempting(t, { reply: breaking((socket) => socket.destroy()) });
    await Promise.all([attempt(), attempt(), attempt()]);
    assert.equal((await attempt()).outcome, 'succeeded');
    assert.equal(receiver.requests.length, 5);
    assert.equal(receiver.requests[4]!.connection, 4);
  });

  test('both share one deadline', async (t) => {
    const delaysMs: number[] = [];
    let lateMs = 0;
    const clock: Clock = {
      ...systemClock,
      monotonic: () => systemClock.monotonic() + lateMs,
      setTimer(callback, delayMs) {
        delaysMs.push(delayMs);
        return systemClock.setTimer(callback, delayMs);
      },
    };
    const breakLate = (socket: Socket): void => {
      lateMs = 7_000;
      socket.destroy();
    };
    const { attempt } = await startAttempting(t, { reply: breaking(breakLate), clock });
    await attempt();
    delaysMs.length = 0;
    assert.equal((await attempt({ timeoutMs: 10_000 })).outcome, 'succeeded');
    const [first, ...afterBreak] = delaysMs;
    assert.ok(first! > 9_000);
    assert.ok(afterBreak.length >= 2 && afterBreak.every((delayMs) => delayMs <= 3_000), afterBreak.join());
  });

  test('but not once anything of a response has come', async (t) => {
    for (const beginning of ['H', 'HTTP/1.1 2', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 X\r\n\r\n']) {
      const how = (socket: Socket): void => void socket.end(beginning);
      const { attempt, receiver } = await startAttempting(t, { reply: breaking(how) });
      await attempt();
      assert.equal((await attempt()).outcome, 'reset', beginning);
      assert.deepEqual(connectionsOf(receiver.requests), [1, 1], beginning);
    }
  });

  test('a connection that closed in the very turn in which it is used again counts as gone', async () => {
    const socket = new TcpSocket();
    const connection = new Connection(linkOf(socket), { environment: 1, origin: '' });
    connection.isReused = true;
    socket.destroy();
    const request = { head: '', payload: new Uint8Array() };
    assert.equal((await send({ clock: systemClock, connection, request, timeoutMs: 1_000 })).end, 'stale');
  });
});

test('a connection is kept if what was written has gone out a turn later, as with TLS, and otherwise not', async () => {
  let unsentBytes = 0;
  const socket = new TcpSocket();
  Object.defineProperty(socket, 'writableLength', { get: () => unsentBytes });
  const pools = createPools({ clock: systemClock, connect: async () => linkOf(socket) });
  const target = parseTarget(new URL('https://example.com/'));
  const connection = await pools.open({ environment: 1, mode: 'test', target, budgetMs: 1 });
  unsentBytes = 100;
  pools.release(connection);
  unsentBytes = 0;
  await turn();
  assert.equal(pools.takeIdle(1, target), connection);
  unsentBytes = 100;
  pools.release(connection);
  await turn();
  assert.equal(pools.stats().idle, 0);
  assert.ok(socket.destroyed);
});

test('of a TLS session up to 16 KiB are kept', async () => {
  const offered: (number | undefined)[] = [];
  const tickets = [16_384, 16_385, 100].map((bytes) => Buffer.alloc(bytes));
  const pools = createPools({
    clock: systemClock,
    connect: async ({ session, onSession }) => {
      offered.push(session?.length);
      onSession!(tickets.shift() ?? Buffer.alloc(0));
      return linkOf(new TcpSocket());
    },
  });
  const target = parseTarget(new URL('https://example.com/'));
  for (let n = 0; n < 4; n++) await pools.open({ environment: 1, mode: 'test', target, budgetMs: 1 });
  assert.deepEqual(offered, [undefined, 16_384, undefined, 100]);
});

test('1,000 idle connections are kept; then the one that was idle longest goes', async () => {
  const sockets: TcpSocket[] = [];
  const pools = createPools({
    clock: systemClock,
    connect: async () => {
      sockets.push(new TcpSocket());
      return linkOf(sockets.at(-1)!);
    },
  });
  const open = (n: number): ReturnType<typeof pools.open> => {
    const target = parseTarget(new URL(`http://n${n % 7}.example.com/`));
    return pools.open({ environment: 1, mode: 'test', target, budgetMs: 1 });
  };
  const connections = await Promise.all(Array.from({ length: IDLE_CONNECTIONS_MAX + 2 }, (_, n) => open(n)));
  for (const connection of connections) pools.release(connection);
  assert.equal(pools.stats().idle, IDLE_CONNECTIONS_MAX);
  assert.deepEqual(
    sockets.map(({ destroyed }) => destroyed),
    sockets.map((_, n) => n < 2),
  );
  const target = parseTarget(new URL('http://n3.example.com/'));
  const taken = pools.takeIdle(1, target);
  assert.equal(
    taken,
    connections.findLast(({ place }) => place.origin === 'http://n3.example.com'),
  );
  assert.equal(pools.takeIdle(2, target), null);
  assert.equal(pools.stats().idle, IDLE_CONNECTIONS_MAX - 1);
  pools.close();
  assert.equal(pools.stats().idle, 0);
  assert.equal(sockets.filter(({ destroyed }) => !destroyed).length, 1);
});
