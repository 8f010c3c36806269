// An attempter on loopback with a receiver, and every request that arrives verified by two foreign libraries.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { createAttempter, type Attempter } from '../../src/attempt/attempter.ts';
import { createGuard } from '../../src/attempt/guard.ts';
import type { Abort } from '../../src/attempt/connection.ts';
import type { AttemptRequest } from '../../src/attempt/perform.ts';
import { createResolver } from '../../src/attempt/resolver.ts';
import type { AttemptResult } from '../../src/model/attempt.ts';
import { instantOf, systemClock, type Clock } from '../../src/runtime/clock.ts';
import { startReceiver, type ReceivedRequest, type Receiver } from './receiver.ts';

export const KEY = Uint8Array.from({ length: 32 }, (_, i) => i * 7);
export const PAYLOAD = new TextEncoder().encode(
  '{"id":"evt_1","type":"order.paid","data":{"amount":1.0,"note":"é😀"}}',
);

/** Throws unless both libraries accept a request, as its receiver got it. */
export function verify({ headers, body }: Pick<ReceivedRequest, 'headers' | 'body'>, key: Uint8Array = KEY): void {
  const secret = `whsec_${Buffer.from(key).toString('base64')}`;
  new Webhook(secret).verify(body.toString(), headers);
  new SvixWebhook(secret).verify(body.toString(), headers);
}

export type Attempting = {
  attempter: Attempter;
  receiver: Receiver;
  /** What should have been impossible; a test that expects nothing here leaves it empty. */
  faults: unknown[];
  /** One attempt at the receiver, by default in test mode. */
  attempt: (changes?: Partial<AttemptRequest>, abort?: Abort, mayWrite?: () => boolean) => Promise<AttemptResult>;
  url: (path?: string) => string;
};

export type Options = {
  reply?: Parameters<typeof startReceiver>[0];
  receiver?: Parameters<typeof startReceiver>[1];
  clock?: Clock;
  probesPerMinute?: number;
};

export async function startAttempting(t: TestContext, options: Options = {}): Promise<Attempting> {
  const { clock = systemClock, probesPerMinute = 60 } = options;
  const receiver = await startReceiver(options.reply, options.receiver);
  const guard = createGuard({ testSubnets: ['127.0.0.1', '::1'], allowSubnets: [] });
  const resolver = createResolver({ clock });
  const faults: unknown[] = [];
  const onFault = (error: unknown): void => void faults.push(error);
  const attempter = createAttempter({ guard, resolver, clock, version: '1.2.3', probesPerMinute, onFault });
  t.after(async () => {
    attempter.close();
    await receiver.close();
    for (const request of receiver.requests) verify(request);
  });
  const url = (path = '/hook'): string =>
    `${options.receiver?.tls === undefined ? 'http' : 'https'}://localhost:${receiver.port}${path}`;
  const request = {
    environment: 1,
    mode: 'test',
    url: url(),
    headers: {},
    signatureStyle: 'standard',
    keys: [KEY],
    eventId: 'evt_01h455vb4pex5vsknk084sn02q',
    deliveryId: 'dlv_01h455vb4pex5vsknk084sn02r',
    attempt: 1,
    payload: PAYLOAD,
    traceparent: null,
    timeoutMs: 10_000,
  } as const satisfies Omit<AttemptRequest, 'startedAt'>;
  const attempt = async (
    changes: Partial<AttemptRequest> = {},
    abort?: Abort,
    mayWrite?: () => boolean,
  ): Promise<AttemptResult> => {
    const result = await attempter.perform({ ...request, startedAt: instantOf(clock), ...changes }, abort, mayWrite);
    assertSound(result);
    return result;
  };
  return { attempter, receiver, faults, attempt, url };
}

/** What holds for every result. */
function assertSound(result: AttemptResult): void {
  assert.equal(result.outcome === 'succeeded', result.error === null);
  assert.equal(result.responseCode === null, result.responseHeaders === null);
  assert.equal(result.responseCode === null, result.responseBody === null);
  // Its own memory, all of it: posting it to another thread copies what lies around it, too.
  if (result.responseBody !== null) assert.equal(result.responseBody.buffer.byteLength, result.responseBody.length);
  assert.ok(Number.isInteger(result.startedAt) && Number.isInteger(result.durationMs) && result.durationMs >= 0);
  if (result.error === null) return;
  assert.ok(result.error.length > 0 && result.error.length <= 500);
  assert.doesNotMatch(result.error, /\d+\.\d+\.\d+\.\d+|::1/);
}
