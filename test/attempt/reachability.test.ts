// Probes: what they find out, what they give away, and how many there may be.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { ConnectError, type Connect } from '../../src/attempt/connect.ts';
import type { Link } from '../../src/attempt/connection.ts';
import { NoDescriptors } from '../../src/attempt/descriptors.ts';
import { createProbe } from '../../src/attempt/reachability.ts';
import { startAttempting } from './attempting.ts';
import { turn } from './event-loop.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { certificate, testCa } from './receiver.ts';

setDefaultCACertificates([testCa()]);

const LIVE = { environment: 1, mode: 'live', url: new URL('https://example.com/') } as const;
const TEST = { environment: 2, mode: 'test' } as const;
const refuse: Connect = () => Promise.reject(new ConnectError('connect_failed', 'connection refused'));

describe('a probe', () => {
  test('connects and shakes hands, and sends no request', async (t) => {
    for (const receiverOptions of [{}, { tls: certificate('good') }]) {
      const { attempter, receiver, url } = await startAttempting(t, { receiver: receiverOptions });
      const received: Buffer[] = [];
      receiver.onConnection((socket) => socket.on('data', (chunk: Buffer) => received.push(chunk)));
      assert.equal(await attempter.probe({ ...TEST, url: new URL(url()) }), 'reachable');
      await receiver.connected(1);
      await receiver.allClosed();
      assert.deepEqual(received, []);
      assert.deepEqual(attempter.stats(), { idleConnections: 0 });
    }
  });

  test('fails in one and the same way', async (t) => {
    const { attempter, receiver } = await startAttempting(t, { receiver: { tls: certificate('expired') } });
    for (const url of [
      `https://localhost:${receiver.port}/`, // bad certificate
      'https://localhost:1/', // nothing listens
      'https://10.0.0.1/', // blocked
      'https://no-such-name.localhost.invalid../', // no name
      'ftp://localhost/',
    ]) {
      assert.equal(await attempter.probe({ ...TEST, url: new URL(url) }), 'unreachable', url);
    }
  });

  test('takes a second at least to fail in live mode, and no longer than it must in test mode', async () => {
    const clock = new ManualClock();
    const probe = createProbe({ connect: refuse, clock, perMinute: 60 });
    let verdict = 'none yet';
    void probe(LIVE).then((result) => (verdict = result));
    clock.advance(999);
    await turn();
    assert.equal(verdict, 'none yet');
    clock.advance(1);
    await turn();
    assert.equal(verdict, 'unreachable');
    assert.equal(await probe({ ...LIVE, mode: 'test' }), 'unreachable');
  });

  test('says nothing of a receiver where no socket could be opened', async () => {
    const probe = createProbe({
      connect: () => Promise.reject(new NoDescriptors()),
      clock: new ManualClock(),
      perMinute: 60,
    });
    assert.equal(await probe(LIVE), 'no_descriptors');
  });

  test('that was slow to fail is not made slower', async () => {
    const clock = new ManualClock();
    let fail = (): void => {};
    const connect: Connect = () =>
      new Promise<Link>((_, reject) => (fail = () => reject(new ConnectError('timed_out', 'too long'))));
    const verdict = createProbe({ connect, clock, perMinute: 60 })(LIVE);
    clock.advance(5_000);
    fail();
    assert.equal(await verdict, 'unreachable');
  });
});

describe('the limits', () => {
  test('are so many a minute for each environment', async () => {
    const clock = new ManualClock();
    const probe = createProbe({ connect: refuse, clock, perMinute: 3 });
    const granted = async (environment: number): Promise<number> => {
      const results = await Promise.all(Array.from({ length: 9 }, () => probe({ ...LIVE, mode: 'test', environment })));
      return results.filter((result) => result !== 'rate_limited').length;
    };
    assert.equal(await granted(1), 3);
    assert.equal(await granted(2), 3);
    clock.advance(59_999);
    assert.equal(await granted(1), 0);
    clock.advance(1);
    assert.equal(await granted(1), 3);
  });

  test('are 20 at once for all', async () => {
    const clock = new ManualClock();
    const rejects: ((error: Error) => void)[] = [];
    const connect: Connect = () => new Promise((_, reject) => rejects.push(reject));
    const probe = createProbe({ connect, clock, perMinute: 60 });
    for (let i = 0; i < 20; i++) void probe({ ...LIVE, environment: i % 2 });
    assert.equal(rejects.length, 20);
    assert.equal(await probe(LIVE), 'rate_limited');
    rejects[0]!(new ConnectError('timed_out', 'too long'));
    await turn();
    // The place is free again, though that probe still waits for its second to pass.
    void probe({ ...LIVE, environment: 3 });
    assert.equal(rejects.length, 21);
    assert.equal(await probe({ ...LIVE, environment: 3 }), 'rate_limited');
  });
});
