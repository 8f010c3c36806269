// Every payload of @octokit/webhooks-examples, for every version of GitHub in it, through the running service:
// routed by exact and wildcard patterns, byte-identical, and signed as two published libraries verify it.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import packageJson from '../../package.json' with { type: 'json' };
import { Api, type Destination, type Event } from './api.ts';
import { startReceiver, type Received, type Receiver } from './receiver.ts';
import { Service } from './service.ts';
import { writeOddly } from './odd-json.ts';

type Example = { type: string; body: Buffer<ArrayBuffer>; envelope: Buffer<ArrayBuffer>; occurredAt: string | null };

const POSTING_AT_ONCE = 16;
const examples = readExamples();
const count = (holds: (type: string) => boolean): number => examples.filter(({ type }) => holds(type)).length;

describe('the payloads that GitHub sends', () => {
  const service = new Service();
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('each arrives byte-identical, once at each destination that wants it', async (t) => {
    const places = await Promise.all([
      place(t, ['github.**'], () => true),
      place(t, ['github.*'], () => false),
      place(t, ['github.pull_request.*'], (type) => type.startsWith('github.pull_request.')),
      place(t, ['github.push.none', 'github.issues.*'], (type) => /^github\.(push\.none$|issues\.)/.test(type)),
    ]);
    const events = await postAll();
    t.diagnostic(`${events.length} payloads of ${new Set(examples.map(({ type }) => type)).size} event types`);
    for (const { receiver, wants } of places) await receiver.arrived(count(wants));

    const examplesById = new Map(events.map((event, index) => [event.event_id, { event, example: examples[index]! }]));
    for (const { receiver, destination, wants } of places) {
      assert.equal(receiver.requests.length, count(wants), 'each once');
      for (const request of receiver.requests) {
        const { event, example } = examplesById.get(request.eventId)!;
        assert.ok(wants(example.type), `${example.type} is not wanted here`);
        checkBody(request, event, example);
        checkHeaders(request, event, destination);
        checkSignature(request, destination);
      }
    }
  });

  test('each is read back byte for byte', async () => {
    const left = new Set(examples);
    for (const { event_id: id, type } of await api.all<Event>('/v1/events')) {
      const { text } = await api.send('GET', `/v1/events/${id}`);
      const body = Buffer.from(text.slice(text.indexOf(',"body":') + 8, -1));
      const example = [...left].find((candidate) => candidate.type === type && candidate.body.equals(body));
      assert.ok(example !== undefined, `the body of ${id} is none that was posted`);
      left.delete(example);
    }
    assert.equal(left.size, 0);
  });

  async function place(t: Parameters<typeof startReceiver>[0], patterns: string[], wants: (type: string) => boolean) {
    const receiver: Receiver = await startReceiver(t);
    const destination = await api.destination(receiver.url);
    for (const pattern of patterns) await api.subscribe(destination, pattern);
    return { receiver, destination, wants };
  }

  /** The events in the order of the examples. */
  async function postAll(): Promise<Event[]> {
    const events: Event[] = [];
    let next = 0;
    const post = async (): Promise<void> => {
      while (next < examples.length) {
        const index = next++;
        events[index] = await api.expect<Event>(202, 'POST', '/v1/events', examples[index]!.envelope);
      }
    };
    await Promise.all(Array.from({ length: POSTING_AT_ONCE }, post));
    return events;
  }
});

function checkBody(request: Received, event: Event, { type, body, occurredAt }: Example): void {
  const head = `{"id":"${event.event_id}","type":"${type}","timestamp":"${event.occurred_at}","data":`;
  assert.ok(
    request.body.equals(Buffer.concat([Buffer.from(head), body, Buffer.from('}')])),
    `${type} arrived as ${request.body.toString().slice(0, 400)}`,
  );
  assert.equal(event.occurred_at, occurredAt ?? event.created_at);
}

function checkHeaders(request: Received, event: Event, destination: Destination): void {
  const { headers, rawHeaders } = request;
  assert.equal(`${request.method} ${request.path}`, 'POST /');
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  assert.deepEqual(names.toSorted(), HEADER_NAMES);
  assert.equal(headers['host'], new URL(destination.url).host);
  assert.equal(headers['content-length'], String(request.body.length));
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['user-agent'], `Postrider/${packageJson.version}`);
  assert.equal(headers['webhook-id'], event.event_id);
  assert.match(headers['webhook-timestamp']!, /^\d{10}$/);
  assert.ok(Math.abs(Number(headers['webhook-timestamp']) * 1_000 - request.at) < 30_000, 'it is the time of sending');
  assert.match(headers['webhook-signature']!, /^v1,[A-Za-z0-9+/]{43}=$/);
  const delivery = event.deliveries.find(({ id }) => id === request.deliveryId);
  assert.equal(delivery?.destination_id, destination.id);
  assert.equal(headers['postrider-attempt'], '1');
}

const HEADER_NAMES = [
  'connection',
  'content-length',
  'content-type',
  'host',
  'postrider-attempt',
  'postrider-delivery-id',
  'user-agent',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
];

function checkSignature({ body, headers }: Received, { signing_secret: secret }: Destination): void {
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const text = body.toString();
  new StandardWebhook(secret).verify(text, headers);
  new SvixWebhook(secret).verify(text, headers);
  const forged = text.replace('"data":', '"data" :');
  assert.throws(() => new StandardWebhook(secret).verify(forged, headers));
}

/** `github.<event>.<action>` or `github.<event>.none`, written in turn plainly and in odd but equal ways. */
function readExamples(): Example[] {
  const folder = dirname(dirname(fileURLToPath(import.meta.resolve('@octokit/webhooks-examples'))));
  const versions = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const definitions = versions.flatMap(({ name }) => {
    const text = readFileSync(join(folder, name, 'index.json'), 'utf8');
    return JSON.parse(text) as { name: string; examples: Record<string, unknown>[] }[];
  });
  return definitions.flatMap(({ name, examples: bodies }) =>
    bodies.map((body, index) => {
      const type = `github.${name}.${typeof body['action'] === 'string' ? body['action'] : 'none'}`;
      return toExample(type, index, body);
    }),
  );
}

function toExample(type: string, index: number, value: Record<string, unknown>): Example {
  const body = Buffer.from(writeOddly(value, index));
  const occurredAt = index % 3 === 0 ? '2024-02-29T23:59:59.120Z' : null;
  const rest = occurredAt === null ? '' : `"occurred_at":"2024-03-01T01:59:59.12+02:00", `;
  const head = `{\t${rest}"body":`;
  return {
    type,
    body,
    envelope: Buffer.concat([Buffer.from(head), body, Buffer.from(`,"type" : "${type}"}\n`)]),
    occurredAt,
  };
}
