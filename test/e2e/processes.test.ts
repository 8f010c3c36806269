// serve --processes: several processes on one port. What they share besides (who sends what) is the database's matter
// and tested there.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { sharedDatabases } from '../store/postgres/databases.ts';
import { Api } from './api.ts';
import { hold, ok, startReceiver } from './receiver.ts';
import { environmentOf, runCommand, startService, type Service } from './service.ts';

const MASTER_KEY = '7'.repeat(64);
const COUNT = 2;
const END_MS_MAX = 30_000;
/** What the parent logs of each. */
const SERVES = 'a process serves';

describe('serve --processes', () => {
  const databases = sharedDatabases();

  const start = async (t: TestContext, settings: Record<string, string> = {}): Promise<Service> => {
    const own = { DATABASE_URL: await databases.makeEmpty(t), MASTER_KEY, PROCESSES: String(COUNT) };
    return startService(t, { ...own, ...settings });
  };

  test('is refused on the embedded store, with what to do', async () => {
    const { code, stderr } = await runCommand(['serve', '--processes', '2'], environmentOf({ PORT: '0' }));
    assert.equal(code, 2);
    assert.match(stderr, /one process owns it\. Set it \("bin\/postrider copy" moves what there is/);
    assert.match(stderr, /2 processes need POSTRIDER_DATABASE_URL:/);
  });

  test('shares one port, says so once, and makes the first keys once', async (t) => {
    const service = await start(t);
    const pids = await serving(service, COUNT);
    const started = service.output.split('\n').filter((line) => line.startsWith('{"event":"started"'));
    assert.equal(started.length, 1);
    assert.notEqual(service.key, '');
    const listening = () => service.logEntries().filter(({ msg }) => msg === 'listening');
    await until(service, () => listening().length === COUNT);
    for (const { url } of listening()) assert.equal(url, service.url);
    await assertAnswers(service);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    for (const pid of pids) assert.ok(!isRunning(pid), `${pid} has ended`);
  });

  test('ends when told, also when its output is not read', async (t) => {
    const service = await start(t, { LOG_LEVEL: 'debug' });
    const pids = await serving(service, COUNT);
    const api = new Api(service);
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, 'group.unread');
    const readAgain = service.leaveUnread();
    const events = Array.from({ length: 1_000 }, () => ({ type: 'group.unread', body: {} }));
    for (let batch = 0; batch < 3; batch++) await api.send('POST', '/v1/events/batch', { events });
    // A line for each is more than fits between two processes.
    await receiver.arrived(3_000);
    const exit = service.stop();
    const endsBy = performance.now() + END_MS_MAX;
    while (pids.some(isRunning) && performance.now() < endsBy) await setImmediate();
    assert.ok(!pids.some(isRunning), 'all have ended');
    readAgain();
    assert.deepEqual(await exit, { code: 0, signal: null });
  });

  test('puts another in the place of one that dies, and answers meanwhile', async (t) => {
    const service = await start(t);
    const [victim] = await serving(service, COUNT);
    process.kill(victim!, 'SIGKILL');
    const deaths = () => service.logEntries().filter(({ process: pid, msg }) => pid === victim && msg !== SERVES);
    await until(service, () => deaths().length > 0);
    assert.equal(deaths()[0]!['signal'], 'SIGKILL');
    await assertAnswers(service);
    const pids = await serving(service, COUNT + 1);
    assert.equal(pids.filter(isRunning).length, COUNT);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    assert.ok(!pids.some(isRunning));
  });

  test('sends what a dead process has left, long before its lease would have run out', async (t) => {
    const service = await start(t, { NODE_LEASE: '10m' });
    const [first] = await serving(service, COUNT);
    const api = new Api(service);
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'processes.left');
    await api.publish('processes.left');
    const [held] = await receiver.arrived(1);
    receiver.respond = ok;
    // The first has all shards yet: they move by and by, when nobody has come or gone for a while.
    process.kill(first!, 'SIGKILL');
    const [, again] = await receiver.arrived(2);
    assert.deepEqual([again!.deliveryId, again!.attempt], [held!.deliveryId, 1]);
    await serving(service, COUNT + 1);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
  });

  test('comes back on the same port when all have died', async (t) => {
    const service = await start(t);
    for (const pid of await serving(service, COUNT)) process.kill(pid, 'SIGKILL');
    await serving(service, 2 * COUNT);
    await assertAnswers(service);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
  });

  test('drains at the first SIGTERM, however many get it, and ends at once at the second', async (t) => {
    const service = await start(t);
    const pids = await serving(service, COUNT);
    const api = new Api(service);
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'processes.drain');
    await api.publish('processes.drain');
    await receiver.arrived(1);
    const exit = service.stop();
    for (const pid of pids) process.kill(pid, 'SIGTERM');
    const isStopping = () =>
      service.logEntries().filter(({ msg }) => String(msg).startsWith('stopping')).length >= COUNT;
    await until(service, isStopping);
    assert.ok(pids.some(isRunning), 'what is on the wire is waited for');
    assert.deepEqual(await service.stop(), { code: 1, signal: null });
    assert.deepEqual(await exit, { code: 1, signal: null });
    assert.ok(!pids.some(isRunning));
  });

  test('ends with what keeps the first one from starting', async (t) => {
    const url = await databases.makeEmpty(t);
    await databases.server.query('CREATE TABLE environments (name text)', new URL(url).pathname.slice(1));
    const settings = { DATABASE_URL: url, MASTER_KEY, PORT: '0', PROCESSES: '2' };
    const { code, stderr, stdout } = await runCommand(['serve', '--json'], environmentOf(settings));
    assert.equal(code, 1);
    assert.match(stderr, /something else/);
    assert.doesNotMatch(stdout, /"started"/);
  });
});

/** The processes that have served so far, once there are so many. */
async function serving(service: Service, count: number): Promise<number[]> {
  const pids = (): number[] =>
    service.logEntries().flatMap(({ msg, process: pid }) => (msg === SERVES ? [pid as number] : []));
  await until(service, () => pids().length >= count);
  return pids();
}

async function until(service: Service, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!holds()) {
    assert.ok(performance.now() < deadline, service.output.slice(-2_000));
    await service.activity();
  }
}

/** Over many connections, so that every process has some. */
async function assertAnswers(service: Service): Promise<void> {
  const request = { headers: { connection: 'close' }, signal: AbortSignal.timeout(20_000) };
  const answers = await Promise.all(Array.from({ length: 30 }, () => fetch(`${service.url}/healthz`, request)));
  for (const { status } of answers) assert.equal(status, 200);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
