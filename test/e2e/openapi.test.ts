// What a running service tells about itself without a key, and what it must not tell.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { OUTCOMES } from '../../src/model/attempt.ts';
import { Api, type Delivery, type Page } from './api.ts';
import { startReceiver } from './receiver.ts';
import { Service } from './service.ts';

const TOKEN = 'metrics-token-of-this-test';

describe('without a key', () => {
  const service = new Service({ METRICS_TOKEN: TOKEN });
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('/openapi.json is a whole OpenAPI 3.1 document', async () => {
    const response = await fetch(`${service.url}/openapi.json`);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type')!, /^application\/json/);
    const document = (await response.json()) as Document;
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.equal(document.info.version, packageJson.version);
    for (const path of PATHS) assert.ok(document.paths[path] !== undefined, `${path} is missing`);
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId);
    assert.equal(new Set(ids).size, ids.length);
    const text = JSON.stringify(document);
    for (const [, pointer] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = pointer!.split('/').reduce<unknown>((node, name) => (node as never)?.[name], document);
      assert.ok(target !== undefined, `#/${pointer} leads nowhere`);
    }
  });

  test('/metrics has every counter from the start, at 0 for each value of its label', async () => {
    const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const text = await response.text();
    const lines = new Set(text.split('\n'));
    for (const [series, values] of Object.entries(CLOSED)) {
      for (const value of values) assert.ok(lines.has(`postrider_${series}="${value}"} 0`), `${series}="${value}"`);
    }
    const deletion = 'method="DELETE",route="/v1/subscriptions/{id}",status="204"';
    assert.ok(lines.has(`postrider_http_requests_total{${deletion}} 0`));
    const version = packageJson.version.replaceAll('.', '\\.');
    assert.match(text, new RegExp(`^postrider_build_info\\{version="${version}",node="[^"]+"\\} 1$`, 'm'));
    const read = (name: string) => Number(new RegExp(`^process_${name} (\\S+)$`, 'm').exec(text)![1]);
    assert.ok(read('cpu_seconds_total') > 0 && read('resident_memory_bytes') > 1e7 && read('open_fds') > 3);
    assert.ok(Math.abs(read('start_time_seconds') - Date.now() / 1000) < 600);
  });

  test('/metrics counts and names nothing; METRICS_TOKEN closes it', async (t) => {
    const receiver = await startReceiver(t, (request) => request.answer(request.attempt === 1 ? 500 : 200));
    const options = { name: 'metrics-name', retry_policy: { schedule_seconds: [1], jitter: 0 } };
    const destination = await api.subscribed(receiver.url, 'metrics.seen', options);
    const { event_id: event, deliveries } = await api.publish('metrics.seen');
    const id = deliveries[0]!.id;
    await api.deliveryEnds(id);
    const replay = await api.expect<Page<Delivery>>(202, 'POST', `/v1/events/${event}/replay`, {});
    await api.deliveryEnds(replay.data[0]!.id);
    await api.send('GET', '/v1/metrics-unknown-path');
    // Answered before it is read to its end, past Fastify's own reply.
    await api.send('POST', '/v1/destinations', `{"url":"${'x'.repeat(1_000_000)}"}`);

    for (const authorization of [undefined, 'Bearer wrong', `Bearer ${service.key}`]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const refused = await fetch(`${service.url}/metrics`, { headers });
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer/);
      assert.doesNotMatch(await refused.text(), /postrider_/);
    }
    const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type')!, /^text\/plain/);
    const text = await response.text();
    assert.match(text, /^postrider_events_accepted_total 1$/m);
    assert.match(text, /^postrider_deliveries_scheduled_total 2$/m, 'one for the event, one for its replay');
    assert.match(text, /^postrider_attempts_total\{outcome="succeeded"\} 2$/m);
    assert.match(text, /^postrider_attempts_total\{outcome="bad_status"\} 2$/m);
    const answered = (labels: string) => new RegExp(`^postrider_http_requests_total\\{${labels}\\} [1-9]`, 'm');
    assert.match(text, answered('method="POST",route="/v1/events",status="202"'));
    assert.match(text, answered('method="GET",route="/v1/deliveries/\\{id\\}",status="200"'));
    assert.match(text, answered('method="GET",route="none",status="404"'));
    assert.match(text, answered('method="POST",route="/v1/destinations",status="413"'));
    assert.match(text, answered('method="GET",route="/metrics",status="401"'));
    assert.doesNotMatch(text, /\b(?:dst|sub|evt|dlv|att|sgk|key|req)_[0-9a-z]{26}\b/);
    const { host, port } = new URL(receiver.url);
    for (const word of [
      host,
      `:${port}`,
      'http:',
      'metrics.seen',
      'metrics-name',
      'unknown-path',
      destination.id,
      id,
    ]) {
      assert.ok(!text.includes(word), `${word} is in the metrics`);
    }
  });

  test('/healthz and /readyz answer', async () => {
    for (const path of ['/healthz', '/readyz']) assert.equal((await fetch(`${service.url}${path}`)).status, 200);
  });
});

const CLOSED = {
  'accepts_refused_total{reason': ['queue_full', 'store'],
  'attempts_total{outcome': OUTCOMES,
  'deliveries_finished_total{status': ['succeeded', 'dead'],
  'destinations_paused_total{reason': ['failing', 'gone'],
  'loop_failures_total{loop': ['follow', 'sweep', 'prune-rows', 'attempt'],
};

type Document = {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, { operationId: string }>>;
};

const PATHS = [
  '/v1/destinations',
  '/v1/destinations/{id}',
  '/v1/destinations/{id}/signing-keys/rotate',
  '/v1/subscriptions',
  '/v1/events',
  '/v1/events/batch',
  '/v1/events/{id}/replay',
  '/v1/deliveries',
  '/v1/deliveries/{id}',
  '/v1/deliveries/{id}/retry',
  '/v1/dlq',
  '/v1/dlq/{delivery_id}/replay',
  '/v1/api-keys',
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
];
