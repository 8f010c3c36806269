// What callers can make the service hold: descriptors that must come back, and memory that must stay bounded. A real
// process is looked at from outside, through /proc.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RING_BYTES_MAX } from '../../src/stream/ring.ts';
import { requestStream } from '../support/stream-reader.ts';
import { Api } from './api.ts';
import { startService, type Scope, type Service } from './service.ts';

const ON_LINUX = { skip: process.platform !== 'linux' && 'there is no /proc', timeout: 300_000 };
/** Of each kind. Far more than what a service may have opened by itself meanwhile. */
const CONNECTIONS = 200;
/** Of one process, as docs/guides/follow-live.md has it. */
const STREAMS_MAX = 200;
const MEGABYTE = 1024 * 1024;
const RSS_BYTES_MAX = 500 * MEGABYTE;
/** The longest rule is 30 s; the rest is for a machine that is busy. */
const RETURN_MS_MAX = 120_000;

/** What the service opens by itself meanwhile, such as a file of its store. */
const FEW = 5;

const JUNK = 'x'.repeat(100_000);

/** What each of them sends. `ends`: it closes its side then; the others stay, and none reads. */
type Caller = { sends: (service: Service, eventId: string) => string; ends?: boolean };

const TUNNEL = 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n';
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: a\r\n';

const TUNNELS: Record<string, Caller> = {
  'a CONNECT with much behind it': { sends: () => `${TUNNEL}\r\n${JUNK}`, ends: true },
  'a CONNECT that stays': { sends: () => `${TUNNEL}\r\n` },
  'a CONNECT whose body never comes': { sends: () => `${TUNNEL}content-length: 9\r\n\r\nx` },
  'a CONNECT behind answers that nobody reads': {
    sends: (service, id) => `${read(service, id).repeat(3)}${TUNNEL}\r\n`,
  },
  'an Upgrade that stays': { sends: () => `${HEALTH}connection: upgrade\r\nupgrade: websocket\r\n\r\n` },
};
const REFUSED: Record<string, Caller> = {
  'headers that are too long': { sends: () => `${HEALTH}x: ${JUNK}\r\n\r\n` },
  'what is no HTTP': { sends: () => `hello\r\n\r\n${JUNK}` },
  'no HTTP behind requests': { sends: () => `${HEALTH}\r\n`.repeat(20) + JUNK },
  'headers that never end': { sends: () => HEALTH },
  silence: { sends: () => '' },
};

// Most of the time of each is waiting until its service gives its callers up.
describe('of hostile callers', { concurrency: true }, () => {
  for (const [what, callers] of Object.entries({ tunnels: TUNNELS, refusals: REFUSED })) {
    test(`${what}: ${CONNECTIONS} connections of each kind leave no descriptor behind`, ON_LINUX, async (t) => {
      const service = await startService(t);
      const eventId = await publishLarge(service);
      const before = await countDescriptors(service);
      const startedAt = performance.now();
      for (const { sends, ends = false } of Object.values(callers)) {
        const bytes = sends(service, eventId);
        await Promise.all(Array.from({ length: CONNECTIONS }, () => call(t, service, bytes, ends)));
      }
      await allTaken(t, service);
      await until(async () => (await countDescriptors(service)) <= before + FEW, `the ${before} descriptors of before`);
      t.diagnostic(`as before after ${Math.round((performance.now() - startedAt) / 1000)} s`);
      assert.equal((await new Api(service).send('GET', '/v1/events')).status, 200);
    });
  }

  test('answers that nobody reads cost little memory, and their connections', ON_LINUX, async (t) => {
    const service = await startService(t);
    const eventId = await publishLarge(service);
    const before = await countDescriptors(service);
    const requests = read(service, eventId).repeat(480);
    await Promise.all(Array.from({ length: 10 }, () => call(t, service, requests, false)));
    await new Api(service).publish('hostile.other');
    await allTaken(t, service);
    await until(async () => (await countDescriptors(service)) <= before + FEW, 'the end of those connections');
    await assertSmall(t, service);
  });

  test('more unread answers than there is memory for cost nobody else an answer', ON_LINUX, async (t) => {
    const service = await startService(t, { REQUEST_BUFFER: '16MB' });
    const eventId = await publishLarge(service);
    const before = await countDescriptors(service);
    const requests = read(service, eventId).repeat(16);
    await Promise.all(Array.from({ length: 200 }, () => call(t, service, requests, false)));
    await until(async () => {
      const { status } = await new Api(service).send('POST', '/v1/events', { type: 'hostile.other', body: {} });
      return status === 202;
    }, 'an event that is accepted');
    await allTaken(t, service);
    await until(async () => (await countDescriptors(service)) < before + 200, 'the end of those that held the most');
    await assertSmall(t, service);
  });

  test('a REQUEST_BUFFER of 8MB takes the longest batch, and the smallest an event of the largest size', async (t) => {
    const service = await startService(t, { REQUEST_BUFFER: '8MB' });
    const events = Array.from({ length: 1_000 }, () => ({ type: 'hostile.batch', body: { text: 'x'.repeat(5_000) } }));
    const batch = JSON.stringify({ events }).padEnd(5 * MEGABYTE);
    const { status, text } = await new Api(service).send('POST', '/v1/events/batch', batch);
    assert.equal(status, 200, text.slice(0, 200));
    const small = await startService(t, { REQUEST_BUFFER: '1MB' });
    const event = { type: 'hostile.large', body: { text: 'x'.repeat(250_000) } };
    assert.equal((await new Api(small).send('POST', '/v1/events', event)).status, 202);
  });

  test('bodies in chunks of one byte cost little memory', ON_LINUX, async (t) => {
    const service = await startService(t);
    const head = headOf(
      service,
      'POST /v1/events/batch',
      'content-type: application/json\r\ntransfer-encoding: chunked',
    );
    const chunks = Buffer.from('1\r\nx\r\n'.repeat(10_000));
    // Almost all that is allowed, and then the end of the chunks.
    const upload = async (): Promise<string> => {
      const socket = await call(t, service, head, false);
      let answer: string | null = null;
      const answered = firstLine(socket).then((line) => (answer = line));
      for (let sent = 0; sent < 5 * MEGABYTE - 20_000 && answer === null; sent += 10_000) {
        if (!socket.write(chunks)) await Promise.race([once(socket, 'drain'), answered]);
      }
      socket.write('0\r\n\r\n');
      return answered;
    };
    // Whole it is no JSON; on a busy machine its 30 s may be over before.
    assert.match(await upload(), / (400|408) /);
    await assertSmall(t, service);
  });

  test('streams that nobody reads cost little memory, and no more than there may be', ON_LINUX, async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const before = await countDescriptors(service);
    const opening = headOf(service, 'GET /v1/stream?bodies=true', 'accept: text/event-stream');
    const sockets = await Promise.all(Array.from({ length: STREAMS_MAX }, () => call(t, service, opening, false)));
    const statusOfOneMore = async (): Promise<number> => {
      const response = await requestStream({ baseUrl: service.url, key: service.key });
      response.destroy();
      return response.statusCode!;
    };
    await until(async () => (await statusOfOneMore()) === 429, 'the refusal of one more');
    // More than is kept for who comes back, and far more than a connection takes.
    const body = { text: 'x'.repeat(60_000) };
    const events = Array.from({ length: 60 }, () => ({ type: 'hostile.streamed', body }));
    for (let sent = 0; sent < RING_BYTES_MAX * 1.5; sent += events.length * body.text.length) {
      await api.expect(200, 'POST', '/v1/events/batch', { events });
    }
    assert.equal(await statusOfOneMore(), 429, 'they are open still');
    await assertSmall(t, service);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await statusOfOneMore()) === 200, 'room for another');
    await until(async () => (await countDescriptors(service)) <= before + FEW, 'the end of those connections');
  });
});

function headOf(service: Service, line: string, headers: string): string {
  return `${line} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${service.key}\r\n${headers}\r\n\r\n`;
}

function read(service: Service, eventId: string): string {
  return headOf(service, `GET /v1/events/${eventId}`, 'accept: */*');
}

async function publishLarge(service: Service): Promise<string> {
  const { event_id: id } = await new Api(service).publish('hostile.large', { text: 'x'.repeat(262_000) });
  return id;
}

/** A connection that has sent this and does not read. The service may have cut it off by then. */
async function call(scope: Scope, service: Service, bytes: string, ends: boolean): Promise<Socket> {
  const socket = connect({ port: Number(new URL(service.url).port), host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  scope.after(async () => void socket.destroy());
  await once(socket, 'connect');
  if (bytes !== '') socket.write(bytes);
  if (ends) socket.end();
  return socket;
}

/** Resolves when the service has taken every connection so far: it takes them in their order. */
async function allTaken(scope: Scope, service: Service): Promise<void> {
  const socket = await call(scope, service, `${HEALTH}connection: close\r\n\r\n`, false);
  assert.match(await firstLine(socket), / 200 /);
  socket.destroy();
}

async function firstLine(socket: Socket): Promise<string> {
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes.toString('latin1').split('\r\n')[0]!;
}

async function countDescriptors({ pid }: Service): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** Of the most memory that the process has had. */
async function assertSmall(t: { diagnostic(message: string): void }, { pid }: Service): Promise<void> {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))!;
  const bytes = Number(kilobytes) * 1024;
  t.diagnostic(`at most ${Math.round(bytes / MEGABYTE)} MB`);
  assert.ok(bytes < RSS_BYTES_MAX, `${bytes} bytes`);
}

/** What is waited for happens in another process and is told by nobody: it is looked at again and again. */
async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + RETURN_MS_MAX;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `still waiting for ${what}`);
    await sleep(100);
  }
}
