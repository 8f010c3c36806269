// Where a service must not be made to send: into its own network, to itself, in the clear with live data, or wherever
// a receiver's redirect points.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Api } from './api.ts';
import { startReceiver } from './receiver.ts';
import { runCommand, Service, startService } from './service.ts';

const ONCE = { retry_policy: { schedule_seconds: [] } };
/** In no range that is a machine's own. */
const ELSEWHERE = '10.99.0.0/16';

describe('without subnets that are let through', () => {
  const service = new Service({ TEST_SUBNETS: '' });
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('no private host may be registered, however it is written', async () => {
    for (const host of PRIVATE_HOSTS) {
      for (const url of [`http://${host}/`, `https://${host}/`, `https://${host}:8443/hook`]) {
        const { status, body } = await api.send('POST', '/v1/destinations', { url });
        assert.equal(status, 400, `${url}: ${JSON.stringify(body)}`);
        assert.deepEqual([body.error.code, body.error.param], ['invalid_url', '/url'], url);
      }
    }
  });

  test('live mode needs HTTPS', async () => {
    const live = await liveApi(service);
    for (const url of ['http://example.com/', 'http://example.com:443/', 'http://93.184.215.14/']) {
      const { status, body } = await live.send('POST', '/v1/destinations', { url });
      assert.deepEqual([status, body.error.code], [400, 'invalid_url'], url);
      assert.match(body.error.message, /https/i);
    }
  });

  test('what does not resolve is not reachable', async () => {
    const { status, body } = await api.send('POST', '/v1/destinations', { url: 'https://receiver.invalid/' });
    assert.deepEqual([status, body.error.code], [422, 'url_not_reachable']);
  });
});

test('a name is judged by where it leads, with the answer of a name that leads nowhere', async (t) => {
  const service = await startService(t, { TEST_SUBNETS: ELSEWHERE });
  const api = new Api(service);
  const receiver = await startReceiver(t);
  const url = receiver.url.replace('127.0.0.1', 'localhost');
  const inside = await api.send('POST', '/v1/destinations', { url });
  const nowhere = await api.send('POST', '/v1/destinations', { url: 'http://receiver.invalid:9000/' });
  for (const { status, body } of [inside, nowhere]) {
    assert.deepEqual([status, body.error.code], [422, 'url_not_reachable']);
  }
  assert.equal(inside.body.error.message, nowhere.body.error.message);
  assert.doesNotMatch(inside.text, /127\.|::1/);
});

describe('with loopback let through', () => {
  const service = new Service({ ALLOW_SUBNETS: '127.0.0.0/8,::1/128' });
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('its own address is refused all the same', async () => {
    const { port } = new URL(service.url);
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0.0.0.0', '[::]']) {
      const { status, body } = await api.send('POST', '/v1/destinations', { url: `http://${host}:${port}/v1/events` });
      assert.deepEqual([status, body.error.code], [400, 'invalid_url'], host);
    }
    const { status, body } = await api.send('POST', '/v1/destinations', { url: `http://localhost:${port}/` });
    assert.deepEqual([status, body.error.code], [422, 'url_not_reachable']);
  });

  test('a change of the URL is judged like a new one', async (t) => {
    const receiver = await startReceiver(t);
    const destination = await api.destination(receiver.url);
    for (const url of [`${service.url}/`, 'http://10.0.0.1/', 'http://169.254.169.254/latest']) {
      const { status, body } = await api.send('PATCH', `/v1/destinations/${destination.id}`, { url });
      assert.deepEqual([status, body.error.code], [400, 'invalid_url'], url);
    }
    assert.equal((await api.readDestination(destination.id)).url, receiver.url);
  });

  test('live mode still needs HTTPS, and a failure tells nothing by its time', async (t) => {
    const receiver = await startReceiver(t);
    const live = await liveApi(service);
    const plain = await live.send('POST', '/v1/destinations', { url: receiver.url });
    assert.deepEqual([plain.status, plain.body.error.code], [400, 'invalid_url']);
    const askedAt = performance.now();
    const noTls = await live.send('POST', '/v1/destinations', { url: receiver.url.replace('http:', 'https:') });
    assert.deepEqual([noTls.status, noTls.body.error.code], [422, 'url_not_reachable']);
    assert.ok(performance.now() - askedAt >= 990, 'a second at the earliest');
    assert.equal(receiver.requests.length, 0);
  });

  test('a redirect is a failure and never followed', async (t) => {
    const other = await startReceiver(t);
    for (const code of [301, 302, 303, 307, 308]) {
      const receiver = await startReceiver(t, (request) =>
        request.answer(code, { headers: { location: `${other.url}${service.key}` } }),
      );
      await api.subscribed(receiver.url, `redirect.to-${code}`, ONCE);
      const { status, retries } = await api.deliveryEnds(await api.publishToOne(`redirect.to-${code}`));
      assert.equal(status, 'dead');
      assert.deepEqual(
        retries.map(({ outcome, response_code: received }) => [outcome, received]),
        [['bad_status', code]],
      );
      assert.equal(receiver.requests.length, 1);
    }
    assert.equal(other.requests.length, 0);
  });
});

test('a destination that the settings let through no longer gets nothing', async (t) => {
  const open = await startService(t);
  const api = new Api(open);
  const receiver = await startReceiver(t);
  const literal = await api.destination(receiver.url, ONCE);
  const name = await api.destination(receiver.url.replace('127.0.0.1', 'localhost'), ONCE);
  for (const destination of [literal, name]) await api.subscribe(destination, 'guard.closed');
  await open.stop();

  const closed = new Service({ TEST_SUBNETS: '' });
  closed.dataDir = open.dataDir;
  t.after(() => closed.end());
  await closed.start();
  const later = new Api(closed, open.key);
  const { deliveries } = await later.publish('guard.closed');
  assert.equal(deliveries.length, 2);
  for (const { id } of deliveries) {
    const { status, retries } = await later.deliveryEnds(id);
    assert.deepEqual([status, retries.map(({ outcome }) => outcome)], ['dead', ['blocked']]);
    assert.doesNotMatch(retries[0]!.error ?? '', /127\.0|::1/);
  }
  assert.equal(receiver.requests.length, 0);
});

async function liveApi(service: Service): Promise<Api> {
  const { stdout } = await runCommand(['keys', 'create', '--mode', 'live'], service.environment());
  return new Api(service, stdout.trim());
}

const PRIVATE_HOSTS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '169.254.169.254',
  '168.63.129.16',
  '172.31.255.255',
  '192.168.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[fe80::1]',
  '[fd00::1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  'localhost',
  'LOCALHOST.',
  'api.localhost',
  'printer.local',
  'metadata.google.internal',
  'router.home.arpa',
  'hidden.onion',
  'intranet',
];
