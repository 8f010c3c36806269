// What a receiver believes: requests of either kind, whole or read already, with one signature or more; and what it
// does not. That the service's own requests are believed is shown beside the client's other methods.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import {
  webhooks,
  WebhookVerificationError,
  type VerifyOptions,
  type WebhookRequest,
} from '../../sdk/typescript/src/postrider.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const EVENT = { id: 'evt_1', type: 'order.paid', timestamp: '2026-01-01T00:00:00.000Z', data: { note: 'Grüße 🎉' } };
const BODY = JSON.stringify(EVENT);

function headersOf(body = BODY, { secret = SECRET, id = 'evt_1', at = Date.now() } = {}): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, new Date(at), body),
  };
}

const fetched = (body: string | Uint8Array<ArrayBuffer> = BODY, headers = headersOf()): Request =>
  new Request('http://receiver/', { method: 'POST', headers, body });

/** What Node makes of a request, while it comes. */
async function received<T>(work: (request: IncomingMessage) => Promise<T>, body = BODY): Promise<T> {
  const result = Promise.withResolvers<T>();
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    result.resolve(work(request).finally(() => response.end()));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const sent = ask({ port: (server.address() as AddressInfo).port, method: 'POST', headers: headersOf() });
  sent.on('error', () => undefined).end(body);
  return result.promise.finally(() => {
    server.closeAllConnections();
    server.close();
  });
}

describe('is genuine', () => {
  const requests: Record<string, () => WebhookRequest> = {
    'a Request of Fetch': () => fetched(),
    'parsed by nobody, with the raw body beside': () => ({ headers: headersOf(), rawBody: Buffer.from(BODY) }),
    'with the raw body in the place of the parsed one': () => ({ headers: headersOf(), body: Buffer.from(BODY) }),
    'with headers as they were written': () => {
      const headers = Object.entries(headersOf()).map(([name, value]) => [name.toUpperCase(), value]);
      return { headers: Object.fromEntries(headers) as Record<string, string>, body: BODY };
    },
    'with the body as text': () => ({ headers: headersOf(), body: BODY }),
  };
  for (const [what, request] of Object.entries(requests)) {
    test(what, async () => assert.deepEqual(await webhooks.verify(request(), SECRET), EVENT));
  }

  test('a request of Node', async () => {
    assert.deepEqual(await received((request) => webhooks.verify(request, SECRET)), EVENT);
  });

  test('what has been read, with its body given', async () => {
    const request = fetched();
    const body = await request.text();
    assert.deepEqual(await webhooks.verify(request, SECRET, { body }), EVENT);
  });

  test('by one of several signatures, by one of several secrets', async () => {
    const [signature, other] = [headersOf(), headersOf(BODY, { secret: OTHER })].map((one) => one['webhook-signature']);
    for (const signatures of [`${signature} ${other}`, `v2,x ${other} ${signature}`]) {
      const headers = { ...headersOf(), 'webhook-signature': signatures };
      assert.deepEqual(await webhooks.verify(fetched(BODY, headers), SECRET), EVENT);
    }
    assert.deepEqual(await webhooks.verify(fetched(), [OTHER, SECRET]), EVENT);
  });

  test('within another tolerance', async () => {
    const headers = headersOf(BODY, { at: Date.now() - 400_000 });
    await assert.rejects(webhooks.verify(fetched(BODY, headers), SECRET), WebhookVerificationError);
    assert.deepEqual(await webhooks.verify(fetched(BODY, headers), SECRET, { toleranceSeconds: 600 }), EVENT);
  });
});

describe('is not genuine', () => {
  const cases: Record<string, [request: Request, options?: VerifyOptions]> = {
    'another body': [fetched(BODY.replace('order.paid', 'order.sent'))],
    'another secret': [fetched(BODY, headersOf(BODY, { secret: OTHER }))],
    'another id': [fetched(BODY, { ...headersOf(), 'webhook-id': 'evt_2' })],
    'signed long ago': [fetched(BODY, headersOf(BODY, { at: Date.now() - 301_000 }))],
    'signed for later': [fetched(BODY, headersOf(BODY, { at: Date.now() + 310_000 }))],
    'a timestamp that is none': [fetched(BODY, { ...headersOf(), 'webhook-timestamp': '1e9' })],
    'half of a signature': [fetched(BODY, { ...headersOf(), 'webhook-signature': 'v1,abc' })],
    'no signature': [fetched(BODY, { ...headersOf(), 'webhook-signature': '' })],
    'no UTF-8': [fetched(new Uint8Array([0xff, 0xfe]))],
    'too long': [fetched(), { maxBytes: 20 }],
    'without a body': [new Request('http://receiver/', { method: 'POST', headers: headersOf() })],
    'signed without a body': [new Request('http://receiver/', { method: 'POST', headers: headersOf('') })],
  };
  for (const [what, [request, options]] of Object.entries(cases)) {
    test(what, () => assert.rejects(webhooks.verify(request, SECRET, options), WebhookVerificationError));
  }

  test('too long, while it comes', async () => {
    const verified = received((request) => webhooks.verify(request, SECRET, { maxBytes: 20 }));
    await assert.rejects(verified, WebhookVerificationError);
  });
});

test('a limit that is no number is the receiver’s mistake: it would let everything through', async () => {
  for (const options of [{ toleranceSeconds: Number.NaN }, { toleranceSeconds: -1 }, { maxBytes: Number.NaN }]) {
    await assert.rejects(webhooks.verify(fetched(), SECRET, options), TypeError);
  }
});

test('a secret that is none is the receiver’s mistake', async () => {
  const tooShort = `whsec_${Buffer.alloc(23, 7).toString('base64')}`;
  for (const secret of [undefined, '', 'null', 'whsec_', 'whsec_null', 'whsec_!!!', tooShort, [], [SECRET, '']]) {
    await assert.rejects(webhooks.verify(fetched(), secret as string), /^TypeError: the secret is missing/);
  }
});

test('a body that is gone is the receiver’s mistake, not the sender’s', async () => {
  const read = fetched();
  await read.text();
  const parsed = { headers: headersOf(), body: EVENT };
  for (const request of [read, parsed]) await assert.rejects(webhooks.verify(request, SECRET), TypeError);
  const drained = received(async (request) => {
    for await (const _ of request);
    return webhooks.verify(request, SECRET);
  });
  await assert.rejects(drained, TypeError);
});
