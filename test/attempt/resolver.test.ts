// The resolver against a real name server on loopback, on a clock that the tests move.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { NoDescriptors, areNoneLeft } from '../../src/attempt/descriptors.ts';
import { createResolver, DnsError, type Resolver } from '../../src/attempt/resolver.ts';
import { startDnsServer, type Answer, type DnsServer, type RecordType } from './dns-server.ts';
import { turn, until } from './event-loop.ts';
import { ManualClock } from '../support/manual-clock.ts';

type Setup = { resolver: Resolver; clock: ManualClock; dns: DnsServer; hostsPath: string };

async function setUp(t: TestContext, answer: (name: string, type: RecordType) => Answer, hosts = ''): Promise<Setup> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-hosts-'));
  const hostsPath = join(folder, 'hosts');
  await writeFile(hostsPath, hosts);
  const dns = await startDnsServer(answer);
  t.after(async () => {
    dns.close();
    await rm(folder, { recursive: true });
  });
  const clock = new ManualClock();
  return { resolver: createResolver({ clock, readServers: () => dns.servers, hostsPath }), clock, dns, hostsPath };
}

const both = (ipv4: string[], ipv6: string[], ttl?: number) => (): Answer =>
  ttl === undefined
    ? { kind: 'addresses', addresses: [...ipv4, ...ipv6] }
    : { kind: 'addresses', addresses: [...ipv4, ...ipv6], ttl };

async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof DnsError);
    return error.failure;
  }
  return 'none';
}

describe('answers', () => {
  test('both families are asked for and come in turn, IPv4 first', async (t) => {
    const { resolver, dns } = await setUp(t, both(['192.0.2.1', '192.0.2.2', '192.0.2.3'], ['2001:db8::1']));
    const addresses = await resolver.resolve('a.test');
    assert.deepEqual(dns.questions.toSorted(), ['A a.test', 'AAAA a.test']);
    assert.deepEqual(addresses.toSorted(), ['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1']);
    assert.equal(addresses[1], '2001:db8::1');
  });

  test('every use begins with another address, so that all of them are used', async (t) => {
    const { resolver, dns } = await setUp(t, both(['192.0.2.1', '192.0.2.2'], []));
    const firsts: string[] = [];
    for (let i = 0; i < 4; i++) firsts.push((await resolver.resolve('a.test'))[0]!);
    assert.deepEqual(firsts.toSorted(), ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2']);
    assert.equal(dns.questions.length, 2);
  });

  test('an alias is followed', async (t) => {
    const { resolver } = await setUp(t, () => ({
      kind: 'addresses',
      addresses: ['192.0.2.1'],
      alias: 'edge.example.net',
    }));
    assert.deepEqual(await resolver.resolve('a.test'), ['192.0.2.1']);
  });

  test('an absurd number of addresses is cut', async (t) => {
    const many = Array.from({ length: 25 }, (_, i) => `192.0.2.${i}`);
    const { resolver } = await setUp(t, both(many, []));
    assert.equal((await resolver.resolve('a.test')).length, 16);
  });

  for (const broken of ['failure', 'empty', 'no_such_name'] as const) {
    test(`one family's ${broken} does not take the other with it`, async (t) => {
      const { resolver } = await setUp(t, (name, type) =>
        (type === 'A') === (name === 'four.test')
          ? { kind: broken }
          : { kind: 'addresses', addresses: ['192.0.2.1', '2001:db8::1'] },
      );
      assert.deepEqual(await resolver.resolve('four.test'), ['2001:db8::1']);
      assert.deepEqual(await resolver.resolve('six.test'), ['192.0.2.1']);
    });
  }

  test('a family that hangs is waited for 50 ms after the other', async (t) => {
    const { resolver, clock } = await setUp(t, (_, type) =>
      type === 'AAAA' ? { kind: 'silence' } : { kind: 'addresses', addresses: ['192.0.2.1'] },
    );
    const answer = resolver.resolve('a.test');
    await until(() => clock.delaysMs.length === 2);
    assert.deepEqual(clock.delaysMs, [4_000, 50]);
    clock.advance(49);
    assert.equal(await settled(answer), false);
    clock.advance(1);
    assert.deepEqual(await answer, ['192.0.2.1']);
  });
});

describe('failures', () => {
  test('a name that does not exist or has no address is not found', async (t) => {
    for (const kind of ['no_such_name', 'empty'] as const) {
      const { resolver } = await setUp(t, () => ({ kind }));
      assert.equal(await failureOf(resolver.resolve('a.test')), 'not_found');
    }
  });

  test('names that cannot be names are not found', async (t) => {
    const { resolver } = await setUp(t, () => ({ kind: 'empty' }));
    for (const name of ['a..test', `${'a'.repeat(64)}.test`, `${'a.'.repeat(127)}test`]) {
      assert.equal(await failureOf(resolver.resolve(name)), 'not_found', name);
    }
  });

  test('a name server that fails leaves it open', async (t) => {
    const { resolver } = await setUp(t, () => ({ kind: 'failure' }));
    assert.equal(await failureOf(resolver.resolve('a.test')), 'unavailable');
  });

  test('a name server that is quick with others is waited for all the same', async (t) => {
    let asked = 0;
    const { resolver } = await setUp(t, (name) =>
      name === 'slow.test' && ++asked <= 5 ? { kind: 'silence' } : { kind: 'addresses', addresses: ['192.0.2.1'] },
    );
    for (let i = 0; i < 10; i++) await resolver.resolve(`quick-${i}.test`);
    assert.deepEqual(await resolver.resolve('slow.test'), ['192.0.2.1']);
  });

  test('a name server that says nothing is given up after 4 s', async (t) => {
    const { resolver, clock } = await setUp(t, () => ({ kind: 'silence' }));
    const failure = failureOf(resolver.resolve('a.test'));
    await until(() => clock.timerCount === 1);
    clock.advance(3_999);
    assert.equal(await settled(failure), false);
    clock.advance(1);
    assert.equal(await failure, 'unavailable');
  });

  test('the name servers are read anew after one that says nothing, and then those are asked', async (t) => {
    const silent = await startDnsServer(() => ({ kind: 'silence' }));
    const well = await startDnsServer(both(['192.0.2.1'], []));
    t.after(() => [silent, well].forEach((dns) => dns.close()));
    const clock = new ManualClock();
    let { servers } = silent;
    const resolver = createResolver({ clock, readServers: () => servers });
    const failure = failureOf(resolver.resolve('a.test'));
    await until(() => clock.timerCount === 1);
    ({ servers } = well);
    clock.advance(4_000);
    assert.equal(await failure, 'unavailable');
    clock.advance(1_000);
    assert.deepEqual(await resolver.resolve('a.test'), ['192.0.2.1']);
  });
});

describe('the cache', () => {
  test('lasts as long as the answer says, within 1 s and 60 s', async (t) => {
    for (const [ttl, lastsMs] of [
      [0, 1_000],
      [7, 7_000],
      [86_400, 60_000],
    ] as const) {
      const { resolver, clock, dns } = await setUp(t, both(['192.0.2.1'], [], ttl));
      await resolver.resolve('a.test');
      clock.advance(lastsMs - 1);
      await resolver.resolve('a.test');
      assert.equal(dns.questions.length, 2, `still known, TTL ${ttl}`);
      clock.advance(1);
      await resolver.resolve('a.test');
      assert.equal(dns.questions.length, 4, `asked again, TTL ${ttl}`);
    }
  });

  test('keeps failures shortly', async (t) => {
    for (const [kind, lastsMs] of [
      ['no_such_name', 5_000],
      ['failure', 1_000],
    ] as const) {
      const { resolver, clock, dns } = await setUp(t, () => ({ kind }));
      await failureOf(resolver.resolve('a.test'));
      const asked = dns.questions.length;
      clock.advance(lastsMs - 1);
      await failureOf(resolver.resolve('a.test'));
      assert.equal(dns.questions.length, asked, `${kind} still known`);
      clock.advance(1);
      await failureOf(resolver.resolve('a.test'));
      assert.ok(dns.questions.length > asked, `${kind} asked again`);
    }
  });

  test('asks once for many who ask at the same time, with or without the last dot', async (t) => {
    const { resolver, dns } = await setUp(t, both(['192.0.2.1'], []));
    const names = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? 'a.test' : 'a.test.'));
    await Promise.all(names.map((name) => resolver.resolve(name)));
    assert.equal(dns.questions.length, 2);
  });

  test('holds 10,000 names and drops the oldest', async (t) => {
    const names = Array.from({ length: 10_000 }, (_, i) => `n${i}.test`);
    const { resolver, dns } = await setUp(t, both(['192.0.2.1'], []), `192.0.2.9 ${names.join(' ')}`);
    await resolver.resolve('first.test');
    for (const name of names.slice(1)) await resolver.resolve(name);
    await resolver.resolve('first.test');
    assert.equal(dns.questions.length, 2);
    await resolver.resolve(names[0]!);
    await resolver.resolve('first.test');
    assert.equal(dns.questions.length, 4);
  });
});

describe('local names', () => {
  test('localhost and what ends in it are loopback, without asking anyone', async (t) => {
    const { resolver, dns } = await setUp(t, both(['192.0.2.1'], []), '192.0.2.9 localhost');
    for (const name of ['localhost', 'localhost.', 'api.localhost']) {
      assert.deepEqual(await resolver.resolve(name), ['127.0.0.1', '::1'], name);
    }
    assert.deepEqual(dns.questions, []);
  });

  test('the hosts file comes before the name servers', async (t) => {
    const hosts =
      '# comment\n192.0.2.7\tReceiver receiver.test # more.test\n\n2001:db8::7 receiver\n999.1.1.1 bad.test\n';
    const { resolver, dns } = await setUp(t, both(['192.0.2.1'], []), hosts);
    assert.deepEqual(await resolver.resolve('receiver'), ['192.0.2.7', '2001:db8::7']);
    assert.deepEqual(await resolver.resolve('receiver.test'), ['192.0.2.7']);
    assert.deepEqual(dns.questions, []);
    assert.deepEqual(await resolver.resolve('bad.test'), ['192.0.2.1']);
    assert.deepEqual(await resolver.resolve('more.test'), ['192.0.2.1']);
  });

  test('a change of the hosts file is noticed', async (t) => {
    const { resolver, clock, hostsPath } = await setUp(t, both(['192.0.2.1'], []), '192.0.2.7 receiver\n');
    assert.deepEqual(await resolver.resolve('receiver'), ['192.0.2.7']);
    await writeFile(hostsPath, '192.0.2.8 receiver # moved\n');
    clock.advance(5_000);
    assert.deepEqual(await resolver.resolve('receiver'), ['192.0.2.8']);
    await rm(hostsPath);
    clock.advance(5_000);
    assert.deepEqual(await resolver.resolve('receiver'), ['192.0.2.1']);
  });

  test('a machine without a hosts file has no local names', async (t) => {
    const { dns, clock } = await setUp(t, both(['192.0.2.1'], []));
    const resolver = createResolver({
      clock,
      readServers: () => dns.servers,
      hostsPath: join(tmpdir(), 'no', 'such', 'file'),
    });
    assert.deepEqual(await resolver.resolve('a.test'), ['192.0.2.1']);
  });
});

test('what nobody could be asked for want of a file descriptor is asked as soon as there is one', async (t) => {
  const { resolver } = await setUp(t, both(['192.0.2.1'], []), '192.0.2.7 receiver.test\n');
  const giveBack = takeAllDescriptors();
  if (giveBack === null) return t.skip('there is no prlimit here');
  try {
    for (const name of ['a.test', 'receiver.test']) await assert.rejects(resolver.resolve(name), NoDescriptors);
  } finally {
    giveBack();
  }
  assert.deepEqual(await resolver.resolve('a.test'), ['192.0.2.1']);
  assert.deepEqual(await resolver.resolve('receiver.test'), ['192.0.2.7']);
});

/** Null: this process may have more than can be taken. Returns how to give them back. */
function takeAllDescriptors(): (() => void) | null {
  const prlimit = (...options: string[]): string =>
    execFileSync('prlimit', ['--pid', String(process.pid), ...options], { encoding: 'utf8' });
  const taken: number[] = [];
  let most: string;
  try {
    most = prlimit('--nofile', '-o', 'SOFT', '--noheadings').trim();
    prlimit('--nofile=200:');
  } catch {
    return null;
  }
  while (!areNoneLeft()) taken.push(openSync(devNull, 'r'));
  return () => {
    for (const descriptor of taken) closeSync(descriptor);
    prlimit(`--nofile=${most}:`);
  };
}

/** Whether a promise has settled by the end of this turn of the event loop. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settle = (): void => void (isSettled = true);
  promise.then(settle, settle);
  await turn();
  return isSettled;
}
