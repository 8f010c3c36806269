// What goes on until Ctrl-C: `listen` and `tail`, through a restart of the service, in terminals of 80 and 120 columns.
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { Api, type Destination, type Event } from '../e2e/api.ts';
import { Receiver } from '../e2e/receiver.ts';
import { environmentOf, Service } from '../e2e/service.ts';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const WAIT_MS_MAX = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'postrider-live-'));
const service = new Service();
const api = new Api(service);
let status = 200;
const receiver = new Receiver((request) => request.answer(status));

before(async () => {
  await Promise.all([service.start(), receiver.listen()]);
});
after(async () => {
  await Promise.all([service.end(), receiver.close()]);
  rmSync(folder, { recursive: true, force: true });
});

function environment(url: string): NodeJS.ProcessEnv {
  const others = { XDG_CONFIG_HOME: folder, POSTRIDER_URL: url, POSTRIDER_API_KEY: service.key };
  return { ...environmentOf({}), ...others };
}

/** A command that runs; what it prints is waited for. */
class Running {
  output = '';
  readonly #child: ChildProcess;
  readonly #printed = new EventEmitter();

  constructor(t: TestContext, argv: readonly string[], url: string = service.url) {
    this.#child = spawn(PROGRAM, argv, { env: environment(url), stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
        this.#printed.emit('printed');
      });
    }
    t.after(() => this.#child.kill('SIGKILL'));
  }

  async until(pattern: RegExp): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(WAIT_MS_MAX);
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      await once(this.#printed, 'printed', { signal }).catch(() => assert.fail(`no ${pattern} in:\n${this.output}`));
    }
  }

  async interrupt(): Promise<number | null> {
    const exited = once(this.#child, 'exit') as Promise<[number | null]>;
    this.#child.kill('SIGINT');
    return (await exited)[0];
  }
}

function publish(type: string, body: string): Promise<Event> {
  return api.expect<Event>(202, 'POST', '/v1/events', `{"type":"${type}","body":${body}}`);
}

test('listen posts what is accepted, signed, byte for byte, and changes nothing on the server', async (t) => {
  const listen = new Running(t, ['listen', '--forward-to', receiver.url, '--types', 'order.**', '--print-bodies']);
  const [, secret] = await listen.until(/(whsec_\S+)\n/);
  await publish('customer.created', '{}');
  const body = '{"total":120.00000000000000000001,"b":1,"a":2}';
  const event = await publish('order.paid', body);
  const request = await receiver.arrival(({ eventId }) => eventId === event.event_id);
  assert.equal(
    request.body.toString(),
    `{"id":"${event.event_id}","type":"order.paid","timestamp":"${event.occurred_at}","data":${body}}`,
  );
  new Webhook(secret!).verify(request.body, request.headers);
  assert.match(request.headers['user-agent']!, /^Postrider\/\d/);
  assert.equal(request.headers['content-type'], 'application/json');
  await listen.until(new RegExp(`\\d\\dZ  order\\.paid  ${event.event_id}  → 200  \\d+ ms\n  \\{"total":120\\.0000`));
  const long = `{"text":"${'x'.repeat(100_000)}","n":1.0}`;
  const longEvent = await publish('order.noted', long);
  const longRequest = await receiver.arrival(({ eventId }) => eventId === longEvent.event_id);
  assert.ok(longRequest.body.toString().endsWith(`,"data":${long}}`), 'too long for the stream');
  status = 500;
  const failed = await publish('order.failed', '{}');
  await listen.until(new RegExp(`${failed.event_id}  → 500 `));
  status = 200;
  assert.doesNotMatch(listen.output, /customer\.created/);
  assert.deepEqual((await api.expect<{ data: unknown[] }>(200, 'GET', '/v1/deliveries')).data, []);
  assert.equal(await listen.interrupt(), 0);
});

test('listen finds what another event overtook on its way into the store while nobody listened', async (t) => {
  // A real service lets one event overtake another only now and then: this one says that it has.
  const eventOf = (letter: string, createdAt: string) => {
    return { event_id: `evt_${letter.repeat(26)}`, type: 'a.b', occurred_at: createdAt, created_at: createdAt };
  };
  const first = eventOf('a', '2026-01-01T00:00:00.000Z');
  const overtaken = eventOf('b', '2026-01-01T00:00:04.000Z');
  const newest = eventOf('c', '2026-01-01T00:00:05.000Z');
  const stored = [newest, overtaken, first];
  const message = (event: string, data: object): string =>
    `id: ${event}-1\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  const told = [first, newest].map((event) => message('event', { ...event, body: {} }).replace('-1', event.event_id));
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    if (url.pathname === '/v1/stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(told.join('') + message('gap', { missed: null }));
      return;
    }
    const since = url.searchParams.get('since');
    const page = { data: stored.filter((one) => one.created_at >= since!), has_more: false, next_cursor: null };
    const answer = url.pathname === '/v1/events' ? page : { ...overtaken, deliveries: [], body: {} };
    response.end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close().closeAllConnections());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const listen = new Running(t, ['listen', '--forward-to', receiver.url, '--json'], `http://127.0.0.1:${port}`);
  await listen.until(/"event":"missed","count":1,"has_more":false/);
  await listen.until(new RegExp(`"event_id":"${overtaken.event_id}"`));
  assert.equal(listen.output.match(/"event":"forwarded"/g)?.length, 3);
  assert.equal(await listen.interrupt(), 0);
});

test('both outlive a restart of the service: what was missed is said, and posted once', async (t) => {
  const listen = new Running(t, ['listen', '--forward-to', receiver.url, '--json']);
  const tail = new Running(t, ['tail']);
  await listen.until(/"event":"listening"/);
  const first = await publish('order.first', '{"n":1}');
  await listen.until(new RegExp(`"event_id":"${first.event_id}","response_code":200`));
  // Until it shows something it may not be there yet.
  while (!tail.output.includes('order.first')) {
    await publish('order.first', '{"n":1}');
    await service.activity();
  }
  const port = new URL(service.url).port;
  await service.kill();
  await Promise.all([listen.until(/trying again until Ctrl-C/), tail.until(/trying again until Ctrl-C/)]);
  await service.start(['--port', port]);
  const meanwhile = await publish('order.meanwhile', '{"n":2.00}');
  const arrived = await receiver.arrival(({ eventId }) => eventId === meanwhile.event_id);
  assert.ok(arrived.body.toString().endsWith('"data":{"n":2.00}}'));
  await listen.until(/"event":"missed","count":\d+,"has_more":false/);
  await listen.until(/connected again after \d+ s/);
  await tail.until(/— messages may be missing since \S+Z: bin\/postrider deliveries list --since 20\S+Z/);
  const last = await publish('order.last', '{}');
  await tail.until(new RegExp(`accepted +order\\.last +${last.event_id}`));
  await receiver.arrival(({ eventId }) => eventId === last.event_id);
  await listen.until(new RegExp(`"event_id":"${last.event_id}"`));
  for (const { event_id: id } of [first, meanwhile, last]) {
    assert.equal(receiver.requests.filter(({ eventId }) => eventId === id).length, 1, id);
  }
  assert.deepEqual([await listen.interrupt(), await tail.interrupt()], [0, 0]);
});

test('--watch prints what is new or has changed, over a restart too, until Ctrl-C', async (t) => {
  const watch = new Running(t, ['destinations', 'list', '--watch', '--json']);
  const table = new Running(t, ['destinations', 'list', '--watch']);
  const first = await api.expect<Destination>(201, 'POST', '/v1/destinations', { url: receiver.url });
  await Promise.all([watch.until(new RegExp(`"id":"${first.id}"`)), table.until(new RegExp(`^${first.id}`, 'm'))]);
  const port = new URL(service.url).port;
  await service.kill();
  await watch.until(/no answer from .*; trying again/);
  await service.start(['--port', port]);
  await api.expect(200, 'PATCH', `/v1/destinations/${first.id}`, { status: 'paused' });
  await watch.until(new RegExp(`"id":"${first.id}".*"status":"paused"`));
  await table.until(new RegExp(`^${first.id} +paused`, 'm'));
  assert.equal(table.output.split(/^ID +STATUS/m).length - 1, 1, 'the header once');
  assert.equal(watch.output.split(`"id":"${first.id}"`).length - 1, 2, 'once as it was, once as it is');
  assert.equal(await watch.interrupt(), 0);
  await api.expect(204, 'DELETE', `/v1/destinations/${first.id}`);
});

test('each line fits a terminal of 80 and of 120 columns', async (t) => {
  const isThere = await run('tmux', ['-V']).catch(() => null);
  if (isThere === null) return t.skip('tmux is not on this machine');
  const destination = await api.expect<Destination>(201, 'POST', '/v1/destinations', { url: receiver.url });
  await api.expect(201, 'POST', '/v1/subscriptions', { destination_id: destination.id, event_type: 'screen.**' });
  const socket = `postrider-${process.pid}`;
  const tmux = async (...argv: string[]): Promise<string> => {
    return (await run('tmux', ['-L', socket, ...argv], { env: environment(service.url) })).stdout;
  };
  t.after(() => tmux('kill-server').catch(() => undefined));
  const listening = `exec ${PROGRAM} listen --forward-to ${receiver.url} --print-bodies`;
  for (const columns of [80, 120]) {
    const size = ['-x', String(columns), '-y', '30'];
    await tmux('new-session', '-d', '-s', `listen-${columns}`, ...size, listening);
    await tmux('new-session', '-d', '-s', `tail-${columns}`, ...size, `exec ${PROGRAM} tail`);
  }
  const screens = ['listen-80', 'listen-120', 'tail-80', 'tail-120'];
  const see = (name: string): Promise<string> => tmux('capture-pane', '-p', '-t', name);
  const texts = new Map<string, string>();
  // While nothing happens, it says at least that it is there.
  for (const name of ['tail-80', 'tail-120']) {
    while (!(await see(name)).startsWith(`Following ${service.url}; Ctrl-C ends it.`)) await service.activity();
  }
  const type = 'screen.shown.with.a.type.that.is.long';
  while (texts.size < screens.length) {
    await publish(type, '{"order":"A-1001","note":"0123456789012345678901234567890123456789012345678901234"}');
    await service.activity();
    for (const name of screens) {
      const text = await see(name);
      if (/→ 200/.test(text) || /succeeded +200/.test(text)) texts.set(name, text);
    }
  }
  // A line that was too long would have been broken by the terminal.
  assert.match(texts.get('listen-80')!, /^\d\d:\d\d:\d\dZ  screen\.\S*…  evt_\w{26}  → 200  \d+ ms$/m);
  assert.match(
    texts.get('listen-120')!,
    /^\d\d:\d\d:\d\dZ  screen\.shown\.with\.a\.type\.that\.is\.long +evt_\w{26}  → 200/m,
  );
  assert.match(texts.get('tail-80')!, /^\d\d:\d\d:\d\dZ  succeeded  200  screen\.\S*…  dlv_\w{26}$/m);
  assert.match(texts.get('tail-120')!, /^\d\d:\d\d:\d\dZ  succeeded  200  screen\.\S*…  dlv_\w{26}  → dst_\w{26}$/m);
});
