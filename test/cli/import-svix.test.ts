// `import svix` from a server with the shapes of Svix's API into a real service: everything that has a counterpart
// comes over, once, whatever cuts the import off; what arrives then is verified by the libraries that Svix publishes.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Svix, Webhook } from 'svix';
import { Api, type Subscription } from '../e2e/api.ts';
import { ok, Receiver, type Received } from '../e2e/receiver.ts';
import { environmentOf, runCommand, Service } from '../e2e/service.ts';
import { ROOT } from '../docs/blocks.ts';
import { runLines } from './lines.ts';
import { startSvix, SVIX_TOKEN, type SvixServer } from '../support/svix-server.ts';

type Json = Record<string, unknown>;
type Destination = {
  id: string;
  url: string;
  name: string | null;
  status: string;
  rate_per_second: number | null;
  headers: Record<string, string>;
  signature_style: string;
  metadata: { svix?: Json } & Json;
};

const run = promisify(execFile);
const service = new Service();
const api = new Api(service);
const receiver = new Receiver(ok);
before(() => Promise.all([service.start(), receiver.listen()]));
after(() => Promise.all([service.end(), receiver.close()]));

const hook = (path: string): string => `${receiver.url}${path}`;

const connection = (svix: SvixServer, url = service.url): string[] => [
  ...['--from', svix.url, '--token', SVIX_TOKEN],
  ...['--url', url, '--key', service.key],
];

/** What `--json` prints: a line for each thing, and the summary. `gone`: what other tests imported, among others. */
async function importAll(svix: SvixServer, { flags = [], url, code = 0 }: Options = {}) {
  const argv = ['import', 'svix', ...connection(svix, url), '--json', ...flags];
  const done = await runCommand(argv, environmentOf({}));
  assert.equal(done.code, code, done.stdout + done.stderr);
  const lines = done.stdout.trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as Json);
  const summary = rows.pop() as Summary;
  assert.equal(summary.event, 'summary');
  const notes = rows.flatMap((row) => (row.not_carried_over as { what: string }[]).map(({ what }) => what));
  const [gone, others] = [rows.filter(({ event }) => event === 'gone'), rows.filter(({ event }) => event !== 'gone')];
  return { rows: others, gone, summary, notes, stderr: done.stderr };
}
type Summary = Json & { endpoints: Record<string, number>; applications_mixed: boolean };
type Options = { flags?: string[]; url?: string; code?: number };

/** Those that came from this server, in the order in which they were made. */
async function imported(svix: SvixServer): Promise<Destination[]> {
  const all = await api.all<Destination>('/v1/destinations');
  return all.filter(({ metadata }) => String(metadata.svix?.app_name).includes(svix.url)).reverse();
}

const subscriptionsOf = ({ id }: Destination) =>
  api.all<Subscription & { filter: Json | null }>(`/v1/subscriptions?destination_id=${id}`);

const typesOf = async (destination: Destination): Promise<string[]> =>
  (await subscriptionsOf(destination)).map(({ event_type }) => event_type).sort();

const secretOf = (bytes: Buffer): string => `whsec_${bytes.toString('base64')}`;

test('the server has the shapes that Svix publishes a client for', async (t) => {
  const server = await startSvix(t);
  server.pageRowsMax = 1;
  const application = server.addApplication({ uid: 'acme' });
  server.addApplication();
  const endpoint = server.addEndpoint(application, { eventTypes: ['a.b'] }, { transformation: { enabled: true } });
  const client = new Svix(SVIX_TOKEN, { serverUrl: server.url });
  const first = await client.application.list();
  assert.deepEqual([first.data[0]!.uid, first.done], ['acme', false]);
  assert.equal((await client.application.list({ iterator: first.iterator })).done, true);
  const [listed] = (await client.endpoint.list(application.id)).data;
  assert.deepEqual([listed!.id, listed!.eventTypes], [endpoint.id, ['a.b']]);
  assert.match((await client.endpoint.getSecret(application.id, endpoint.id)).key, /^whsec_/);
  assert.deepEqual((await client.endpoint.getHeaders(application.id, endpoint.id)).sensitive, []);
  assert.equal((await client.endpoint.transformation.get(application.id, endpoint.id)).enabled, true);
});

describe('an import', () => {
  test('carries over all that has a counterpart, names what has none, and doubles nothing', async (t) => {
    const svix = await startSvix(t);
    svix.pageRowsMax = 2;
    // As a busy API does: each third request is one too many, and now and then a connection breaks.
    svix.interfere = ({ count }) =>
      count % 3 === 0 ? { status: 429, headers: { 'retry-after': '0' } } : count === 20 ? 'hang_up' : null;
    const acme = svix.addApplication({ uid: 'acme', name: `ACME ${svix.url}`, throttleRate: 9 }, [{ id: 'sink_1' }]);
    const other = svix.addApplication({ name: `Other ${svix.url}` });
    svix.addApplication({ name: 'Without endpoints' });
    const whole = svix.addEndpoint(
      acme,
      {
        url: hook('whole'),
        uid: 'main',
        description: 'Orders 😀',
        eventTypes: ['order.paid', 'order.sent'],
        throttleRate: 20,
        metadata: { plan: 'gold' },
      },
      { headers: { headers: { 'X-Tenant': 'acme' }, sensitive: [] } },
    );
    svix.addEndpoint(acme, { url: hook('off'), disabled: true });
    const odd = svix.addEndpoint(
      acme,
      { url: hook('odd'), eventTypes: ['invoice', 'order.paid'], channels: ['eu'], throttleRate: 20_000 },
      {
        headers: { headers: { 'User-Agent': 'x', 'X-Ok': '1' }, sensitive: ['X-Token'] },
        transformation: { code: 'function handler() {}', enabled: true },
        oauth: { tokenUrl: 'https://example.com/token' },
      },
    );
    svix.addEndpoint(
      other,
      { url: hook('asymmetric') },
      { secret: { key: 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N' } },
    );
    svix.addEndpoint(other, { url: hook('unpadded') }, { secret: { key: Buffer.alloc(25, 250).toString('base64') } });

    const dry = await importAll(svix, { flags: ['--dry-run'] });
    assert.deepEqual(dry.summary.endpoints, { created: 4, updated: 0, unchanged: 0, left_out: 1, failed: 0 });
    assert.deepEqual(await imported(svix), []);
    const made = await importAll(svix, { code: 1 });
    assert.deepEqual({ ...made.summary, dry_run: true }, dry.summary);
    const expected = 'headers sensitive_headers event_types channels transformation oauth throttle_rate';
    for (const what of [...expected.split(' '), 'secret', 'application_throttle_rate', 'other_destinations']) {
      assert.ok(made.notes.includes(what) && dry.notes.includes(what), what);
    }
    assert.equal(made.summary.applications_mixed, true);

    const destinations = await imported(svix);
    assert.deepEqual(
      destinations.map(({ url, status, signature_style: style }) => [url, status, style]),
      [
        [hook('whole'), 'active', 'svix'],
        [hook('off'), 'paused', 'svix'],
        [hook('odd'), 'active', 'svix'],
        [hook('unpadded'), 'active', 'svix'],
      ],
    );
    const [first, off, third] = destinations as [Destination, Destination, Destination];
    assert.deepEqual([first.name, first.rate_per_second, first.headers], ['Orders 😀', 20, { 'X-Tenant': '***' }]);
    assert.deepEqual(first.metadata, {
      plan: 'gold',
      svix: {
        endpoint_id: whole.id,
        endpoint_uid: 'main',
        app_id: acme.id,
        app_uid: 'acme',
        app_name: acme.name,
        updated_at: whole.updatedAt,
        disabled: false,
      },
    });
    assert.deepEqual([third.rate_per_second, third.headers], [10_000, { 'X-Ok': '***' }]);
    assert.equal(third.metadata.svix!.endpoint_id, odd.id);
    assert.deepEqual(await Promise.all(destinations.map(typesOf)), [
      ['order.paid', 'order.sent'],
      ['**'],
      ['order.paid'],
      ['**'],
    ]);
    assert.equal(off.metadata.svix!.disabled, true);

    const again = await importAll(svix, { code: 1 });
    assert.deepEqual(again.summary.endpoints, { created: 0, updated: 0, unchanged: 4, left_out: 1, failed: 0 });
    assert.deepEqual([...again.notes].sort(), [...made.notes].sort());
    assert.equal(again.summary.subscriptions_created, 0);
    assert.deepEqual(await imported(svix), destinations);
  });

  test('gives customers who are told apart by a path only their own events', async (t) => {
    const svix = await startSvix(t);
    for (const uid of ['anna', 'bert']) {
      const application = svix.addApplication({ uid, name: `${uid} ${svix.url}` });
      svix.addEndpoint(application, { url: hook(uid), eventTypes: ['path.told'] });
    }
    await importAll(svix);
    const narrowed = await importAll(svix, { flags: ['--app-path', '$.customer'] });
    assert.deepEqual([narrowed.summary.endpoints.updated, narrowed.summary.applications_mixed], [2, false]);
    const filters = await Promise.all((await imported(svix)).map(subscriptionsOf));
    assert.deepEqual(
      filters.map((all) => all.map(({ filter }) => filter)),
      [[{ '$.customer': 'anna' }], [{ '$.customer': 'bert' }]],
    );
    // Nor does an import that forgets the path, or a filter that somebody has made narrower, widen them again.
    assert.deepEqual((await importAll(svix)).summary.endpoints.unchanged, 2);
    const [anna, bert] = await imported(svix);
    const [wide] = await subscriptionsOf(anna!);
    await api.subscribe(anna as never, 'path.told', { '$.customer': 'anna', '$.channel': 'eu' });
    await api.expect(204, 'DELETE', `/v1/subscriptions/${wide!.id}`);
    const later = await importAll(svix, { flags: ['--app-path', '$.customer'] });
    assert.deepEqual(later.summary.endpoints.unchanged, 2);
    const { deliveries } = await api.publish('path.told', { customer: 'bert' });
    const reached = new Set(deliveries.map(({ destination_id: id }) => id));
    assert.deepEqual([reached.has(anna!.id), reached.has(bert!.id)], [false, true]);
    await receiver.arrival(({ path }) => path === '/bert');
  });

  test('that is cut off in the middle goes on where it was', async (t) => {
    const svix = await startSvix(t);
    svix.pageRowsMax = 1;
    svix.wantsSlash = true;
    const application = svix.addApplication({ uid: 'cut', name: svix.url });
    for (const nth of [1, 2, 3, 4]) svix.addEndpoint(application, { url: hook(`cut${nth}`), disabled: nth % 2 === 0 });
    const secrets = /\/secret\/$/;
    let left = 3;
    // Killed while it reads the third.
    svix.interfere = ({ path }) => (secrets.test(path) && (left -= 1) === 0 ? 'hold' : null);
    const argv = ['import', 'svix', ...connection(svix)];
    const child = spawn(join(ROOT, 'bin/postrider'), argv, { env: environmentOf({}), stdio: 'ignore' });
    while (left > 0) await svix.asked(secrets);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal((await imported(svix)).length, 2);
    // Refused while it reads the fourth: the token was withdrawn, say.
    left = 4;
    svix.interfere = ({ path }) => (secrets.test(path) && (left -= 1) === 0 ? { status: 401 } : null);
    const refused = await importAll(svix, { code: 1 });
    assert.match(refused.stderr, /Svix answers 401[^]*Run it again|Svix answers 401[^]*--token/);
    assert.deepEqual(refused.summary.endpoints, { created: 1, updated: 0, unchanged: 2, left_out: 0, failed: 0 });
    svix.interfere = () => null;
    const last = await importAll(svix);
    assert.deepEqual(last.summary.endpoints, { created: 1, updated: 0, unchanged: 3, left_out: 0, failed: 0 });
    assert.deepEqual(
      (await imported(svix)).map(({ url, status }) => [url, status]),
      [1, 2, 3, 4].map((nth) => [hook(`cut${nth}`), nth % 2 === 0 ? 'paused' : 'active']),
    );
  });

  test('makes one destination where the answer to its creation is lost', async (t) => {
    const svix = await startSvix(t);
    svix.addEndpoint(svix.addApplication({ name: svix.url }), { url: hook('lost'), disabled: true });
    const lossy = await startLossyProxy(t);
    const { summary } = await importAll(svix, { url: lossy.url });
    assert.deepEqual([summary.endpoints.created, lossy.lost()], [1, 3]);
    const destinations = await imported(svix);
    assert.deepEqual(
      destinations.map(({ status }) => status),
      ['paused'],
    );
    assert.deepEqual(await typesOf(destinations[0]!), ['**']);
  });

  test('follows what changes at Svix, and keeps what only this side knows', async (t) => {
    const svix = await startSvix(t);
    const application = svix.addApplication({ name: svix.url });
    const endpoint = svix.addEndpoint(
      application,
      { url: hook('before'), eventTypes: ['one.two', 'three.four'] },
      { headers: { headers: {}, sensitive: ['X-Token'] } },
    );
    await importAll(svix);
    const [first] = await imported(svix);
    await api.change(first!.id, { headers: { 'x-token': 's3cret' }, name: 'by hand' });
    assert.equal((await importAll(svix)).summary.endpoints.unchanged, 1);
    assert.equal((await imported(svix))[0]!.name, 'by hand');
    Object.assign(endpoint, {
      url: hook('after'),
      disabled: true,
      eventTypes: ['one.two', 'five.six'],
      updatedAt: '2026-02-01T00:00:00Z',
    });
    const { summary, notes } = await importAll(svix);
    assert.deepEqual([summary.endpoints.updated, summary.subscriptions_created], [1, 1]);
    assert.ok(notes.includes('left_over_subscriptions'));
    const [now] = await imported(svix);
    assert.deepEqual(
      [now!.id, now!.url, now!.status, now!.headers],
      [first!.id, hook('after'), 'paused', { 'x-token': '***' }],
    );
    assert.deepEqual(await typesOf(now!), ['five.six', 'one.two', 'three.four']);
  });

  test('names what is gone at Svix, and leaves it to people', async (t) => {
    const svix = await startSvix(t);
    const application = svix.addApplication({ name: svix.url });
    const [kept, removed] = [
      svix.addEndpoint(application, { url: hook('kept') }),
      svix.addEndpoint(application, { url: hook('gone') }),
    ];
    const isOurs = ({ endpoint_id: id }: Json): boolean => id === kept.id || id === removed.id;
    assert.deepEqual((await importAll(svix)).gone.filter(isOurs), []);
    const destinations = await imported(svix);
    svix.removeEndpoint(removed);
    const { gone, notes } = await importAll(svix);
    const { id } = destinations.find(({ url }) => url === hook('gone'))!;
    assert.deepEqual(
      gone.filter(isOurs).map(({ endpoint_id, destination_id, url }) => [endpoint_id, destination_id, url]),
      [[removed.id, id, hook('gone')]],
    );
    assert.ok(notes.includes('gone_at_svix'));
    assert.deepEqual(await imported(svix), destinations);
  });

  test('goes on after an endpoint that is refused here, and says which and why', async (t) => {
    const svix = await startSvix(t);
    const application = svix.addApplication({ name: svix.url });
    svix.addEndpoint(application, { url: 'http://127.0.0.1:1/nobody' });
    svix.addEndpoint(application, { url: 'ftp://example.com/' });
    svix.addEndpoint(application, { url: hook('fine') });
    const { summary, rows } = await importAll(svix, { code: 1 });
    assert.deepEqual(summary.endpoints, { created: 1, updated: 0, unchanged: 0, left_out: 0, failed: 2 });
    assert.deepEqual(
      rows.map(({ error }) => (error as Json | null)?.code ?? null),
      ['url_not_reachable', 'invalid_url', null],
    );
  });
});

test('a server that is not Svix, or answers nonsense, is told as that', async (t) => {
  const svix = await startSvix(t);
  const page = (body: string) => ({ status: 200, body });
  const redirect = { status: 302, headers: { location: 'http://127.0.0.1:9/' } };
  const same = page('{"data":[],"iterator":"a","done":false}');
  const answers: [faults: ReturnType<SvixServer['interfere']>[], message: RegExp][] = [
    [[page('<html>')], /not JSON; is http:\S+ the address of its API\?/],
    [[page('[]')], /no list at \/api\/v1\/app/],
    [[page('{"data":[{}],"done":true}')], /a row without an id/],
    [[same, same], /the same page of \/api\/v1\/app again/],
    [[redirect, redirect], /Svix answers 302: a redirect/],
  ];
  const faults = answers.flatMap(([each]) => each);
  svix.interfere = ({ count }) => faults[count - 1] ?? null;
  const line = ['import', 'svix', ...connection(svix), '--dry-run'].join(' ');
  const runs = await runLines(
    answers.map(() => line),
    environmentOf({}),
  );
  for (const [nth, [, message]] of answers.entries()) {
    assert.deepEqual([runs[nth]!.code, runs[nth]!.stdout], [1, ''], 'nothing was read, so there is no summary');
    assert.match(runs[nth]!.stderr, message);
  }
});

test('flags that are missing or wrong are named, exit code 2', async () => {
  const from = 'import svix --from https://svix.example';
  const mistakes: [line: string, message: RegExp][] = [
    ['import svix', /--from https:/],
    ['import svix --from svix.com --token x', /--from: "svix\.com" is not where a service is/],
    [from, /--token sk_…, or set SVIX_TOKEN/],
    [`${from} --token x`, /give --key, set POSTRIDER_API_KEY/],
    [`${from} --token x --key pr_test_x --url 127.0.0.1:8383`, /--url: "127\.0\.0\.1:8383" is not where a service is/],
    [`${from} --token x --app-path customer`, /--app-path: "customer" is not a path/],
  ];
  const runs = await runLines(
    mistakes.map(([line]) => line),
    environmentOf({}),
  );
  for (const [nth, [line, message]] of mistakes.entries()) {
    const { code, stdout, stderr } = runs[nth]!;
    assert.deepEqual([code, stdout], [2, ''], line);
    assert.match(stderr, message);
  }
});

describe('a receiver that verifies with a library of Svix need not change', () => {
  const secret = secretOf(Buffer.alloc(24, 251));
  const names = ['svix-id', 'svix-timestamp', 'svix-signature'];
  let received: Received;
  let headers: Record<string, string>;

  before(async () => {
    const scope = { after };
    const svix = await startSvix(scope);
    const endpoint = { url: hook('verified'), eventTypes: ['verified.sent'] };
    svix.addEndpoint(svix.addApplication({ name: svix.url }), endpoint, { secret: { key: secret } });
    await importAll(svix);
    await api.publish('verified.sent', { note: 'é😀', amount: 1.5 });
    received = await receiver.arrival(({ path }) => path === '/verified');
    headers = Object.fromEntries(names.map((name) => [name, received.headers[name]!]));
  });

  test('in JavaScript', () => {
    new Webhook(secret).verify(received.body.toString(), headers);
    assert.throws(() => new Webhook(secret).verify(`${received.body.toString()} `, headers), /signature/i);
  });

  test('in Python', async (t) => {
    const python = await findPython(t);
    if (python === null) return t.skip('Python, or its package svix, is not to be had on this machine');
    const file = join(python.folder, 'request.json');
    writeFileSync(file, JSON.stringify({ secret, headers, body: received.body.toString() }));
    const program = `import json, sys
from svix.webhooks import Webhook, WebhookVerificationError
case = json.load(open(sys.argv[1]))
webhook = Webhook(case["secret"])
webhook.verify(case["body"].encode(), case["headers"])
try:
    webhook.verify(case["body"].encode() + b" ", case["headers"])
    sys.exit("a forged body was accepted")
except WebhookVerificationError:
    print("verified")`;
    const { stdout } = await run('python3', ['-c', program, file], { env: python.env });
    assert.equal(stdout.trim(), 'verified');
  });
});

/**
 * With the package, installed for this test alone where it is not there; null: it cannot be had. Its API client, which
 * is most of it and needs a minute of other packages, is left out: only the package's own __init__.py would load that.
 */
async function findPython(t: TestContext): Promise<{ folder: string; env: NodeJS.ProcessEnv } | null> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-python-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { ...process.env, PYTHONPATH: folder };
  const isThere = (): Promise<boolean> =>
    run('python3', ['-c', 'import svix.webhooks'], { env }).then(
      () => true,
      () => false,
    );
  if (await isThere()) return { folder, env };
  const install = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, 'svix', 'standardwebhooks'];
  await run('python3', install, { timeout: 60_000 }).catch(() => undefined);
  const init = join(folder, 'svix/__init__.py');
  if (existsSync(init)) writeFileSync(init, '');
  return (await isThere()) ? { folder, env } : null;
}

/** In front of the service: of each kind of change the first answer is lost after the change was made. */
async function startLossyProxy(t: TestContext): Promise<{ url: string; lost: () => number }> {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = '', url = '' } = request;
      const answer = await fetch(`${service.url}${url}`, {
        method,
        headers: { authorization: request.headers.authorization!, 'content-type': 'application/json' },
        body: chunks.length === 0 ? null : Buffer.concat(chunks),
      });
      const body = await answer.text();
      const kind = `${method} ${url.split('/')[2]}`;
      if (method === 'GET' || seen.has(kind)) return response.writeHead(answer.status).end(body);
      seen.add(kind);
      return request.socket.destroy();
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lost: () => seen.size };
}
