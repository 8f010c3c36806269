// A client as a user would write one, on types that are generated from the document that the service gives out; they
// are beside this file when the test checks and runs it. It knows nothing of the service but those types: no cast, no
// type of its own. Prints what its receiver got.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import createClient from 'openapi-fetch';
import type { components, paths, webhooks } from './openapi.ts';

const READS_MAX = 1_000;

const [baseUrl = '', key = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

const receiver = createServer().listen(0, '127.0.0.1');
await once(receiver, 'listening');
const { port } = receiver.address() as AddressInfo;
const arrived = once(receiver, 'request') as Promise<[IncomingMessage, ServerResponse]>;

const destination = await create(`http://127.0.0.1:${port}/orders`);
const subscription = await subscribe(destination.id);
const event = await publish();
const [delivery] = event.deliveries;
if (delivery?.subscription_id !== subscription.id) throw new Error('it was not scheduled for this subscription');
const received = await receive();
const read = await readUntilEnded(delivery.id);
if (read.status !== 'succeeded' || read.dead_reason !== null) throw new Error(`it ended ${read.status}`);
await readPages();
await readError();
receiver.close();
process.stdout.write(JSON.stringify({ ...received, secret: destination.signing_secret }));

async function create(url: string) {
  const { data, error } = await client.POST('/v1/destinations', {
    body: {
      url,
      name: 'Orders',
      headers: { 'x-tenant': 'acme' },
      retry_policy: { schedule_seconds: [1, 5], jitter: 0 },
    },
  });
  if (error) throw new Error(explain(error));
  return data;
}

async function subscribe(destinationId: string) {
  const { data, error } = await client.POST('/v1/subscriptions', {
    body: { destination_id: destinationId, event_type: 'order.*', filter: { '$.total': { $gte: 100 } } },
  });
  if (error) throw new Error(explain(error));
  return data;
}

async function publish() {
  const { data, error, response } = await client.POST('/v1/events', {
    body: { type: 'order.paid', body: { order_id: 'A-1001', total: 129.9 }, idempotency_key: 'A-1001-paid' },
  });
  if (error) throw new Error(explain(error));
  if (response.status !== 202) throw new Error(`it was answered with ${response.status}`);
  return data;
}

type Webhook = webhooks['event']['post'];
type Payload = NonNullable<Webhook['requestBody']>['content']['application/json'];
type HeaderName = keyof Webhook['parameters']['header'];

async function receive() {
  const [request, response] = await arrived;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  response.end();
  const payload: Payload = JSON.parse(body);
  const name: HeaderName = 'webhook-id';
  if (payload.id !== request.headers[name]) throw new Error('the payload is of another event');
  return { headers: request.headers, body };
}

/** The receiver has answered; that the service recorded it is a matter of moments. */
async function readUntilEnded(id: string) {
  for (let reads = 0; reads < READS_MAX; reads++) {
    const { data, error } = await client.GET('/v1/deliveries/{id}', { params: { path: { id } } });
    if (error) throw new Error(explain(error));
    const [attempt] = data.retries;
    if (attempt?.outcome === 'succeeded' && data.completed_at !== null) return data;
  }
  throw new Error('it has not ended');
}

/** Page by page, as lists are read. */
async function readPages() {
  let cursor: string | undefined;
  do {
    const query = { status: 'active' as const, limit: 1, ...(cursor === undefined ? {} : { cursor }) };
    const { data, error } = await client.GET('/v1/destinations', { params: { query } });
    if (error) throw new Error(explain(error));
    cursor = data.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

async function readError() {
  const { data, error } = await client.POST('/v1/events', { body: { type: 'order', body: {} } });
  if (data || error.error.code !== 'invalid_event_type') throw new Error('an event type of one segment was taken');
  if (error.error.param !== '/type') throw new Error(`it blames ${error.error.param}`);
}

function explain({ error }: components['schemas']['Error']): string {
  return `${error.code}: ${error.message} (${error.request_id})`;
}

/** Never called: each of these is what the types are there to refuse. */
export async function mistakes() {
  // @ts-expect-error no such path
  await client.GET('/v1/event');
  // @ts-expect-error `body` is missing
  await client.POST('/v1/events', { body: { type: 'order.paid' } });
  // @ts-expect-error a misspelt field
  const misspelt: components['schemas']['EventInput'] = { type: 'order.paid', body: {}, idempotencyKey: 'x' };
  // @ts-expect-error no such status
  await client.GET('/v1/deliveries', { params: { query: { status: 'done' } } });
  // @ts-expect-error a number for a list
  const policy: components['schemas']['RetryPolicy'] = { schedule_seconds: 5 };
  // @ts-expect-error reads never show it
  const secret = (await client.GET('/v1/destinations/{id}', { params: { path: { id: '' } } })).data?.signing_secret;
  const { data, error } = await client.GET('/v1/dlq');
  // @ts-expect-error no such code
  if (error?.error.code === 'no_such_code') return [];
  // @ts-expect-error it is null until it is dead
  const reason = data?.data[0]?.dead_reason.length;
  return [misspelt, policy, secret, reason];
}
