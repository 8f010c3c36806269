// One event to one URL, as the service would send it: its envelope, its headers, its signature. Not by fetch, which
// adds headers of its own and follows redirects.
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { VERSION } from '../../config.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Event } from '../../../sdk/typescript/src/postrider.ts';
import { reasonOf } from '../../../sdk/typescript/src/transport.ts';

/** As a destination has, unless it asks for another. */
const TIMEOUT_MS = 15_000;
/** Of an answer so much is read; the rest says nothing. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** `code` is null where no answer came, and `error` says why. */
export type Forwarded = { code: number | null; error: string | null; durationMs: number };

export type Forward = (event: Event, body: string) => Promise<Forwarded>;

/** Never rejects. */
export function createForwarder(options: { url: URL; secret: string; signal: AbortSignal }): Forward {
  const { url, secret, signal } = options;
  const webhook = new Webhook(secret);
  return async (event, body) => {
    const { event_id: id, type, occurred_at: timestamp } = event;
    // Ids, types and times hold no character that JSON escapes.
    const payload = `{"id":"${id}","type":"${type}","timestamp":"${timestamp}","data":${body}}`;
    const now = systemClock.now();
    const headers = {
      'content-type': 'application/json',
      'user-agent': `Postrider/${VERSION}`,
      'content-length': String(Buffer.byteLength(payload)),
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now / 1000)),
      'webhook-signature': webhook.sign(id, new Date(now), payload),
      'postrider-attempt': '1',
    };
    const startedAt = systemClock.monotonic();
    const result = await send({ url, headers, payload, signal });
    return { ...result, durationMs: Math.round(systemClock.monotonic() - startedAt) };
  };
}

type Sending = { url: URL; headers: Record<string, string>; payload: string; signal: AbortSignal };

function send({ url, headers, payload, signal }: Sending): Promise<Omit<Forwarded, 'durationMs'>> {
  const { promise, resolve } = Promise.withResolvers<Omit<Forwarded, 'durationMs'>>();
  const start = url.protocol === 'https:' ? requestHttps : requestHttp;
  // A receiver that is developed is restarted all the time: no connection is kept.
  const request = start(url, { method: 'POST', headers, agent: false, signal });
  const timer = systemClock.setTimer(
    () => request.destroy(new Error(`no answer in ${TIMEOUT_MS / 1000} s`)),
    TIMEOUT_MS,
  );
  request.once('response', (response) => {
    let length = 0;
    response.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > ANSWER_BYTES_MAX) request.destroy();
    });
    const answered = (): void => resolve({ code: response.statusCode ?? null, error: null });
    response.once('end', answered);
    response.once('error', answered);
  });
  request.once('error', (error) => resolve({ code: null, error: describe(error) }));
  // An answer that was cut by us has had its status.
  request.once('close', () => timer.cancel());
  request.end(payload);
  return promise;
}

/** Where a name has several addresses, each has failed in its own way. */
function describe(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((one: Error) => one.message).join('; ');
  return reasonOf(error) ?? error.name;
}
