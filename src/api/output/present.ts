// How resources look on the wire: member names in snake_case, times in RFC 3339. Which members are shown is said by
// the response schemas alone; what they leave out (environment, hash) the serialiser leaves out.
import { isUtf8 } from 'node:buffer';
import { parseJson } from '../../json/reader.ts';
import type { Attempt, TestAttempt } from '../../model/attempt.ts';
import type { Destination } from '../../model/destination.ts';
import type { Event, ScheduledDelivery } from '../../model/event.ts';
import type { Operation, OperationRequest } from '../../model/operation.ts';
import type { Subscription } from '../../model/subscription.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { Found } from '../../operate/work.ts';

/** `retryCount` becomes `retry_count`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

type PresentedMember<Name, Value> = Name extends `${string}At` ? (Value extends number ? string : Value) : Value;

type Presented<Resource> = {
  [Name in keyof Resource & string as SnakeCase<Name>]: PresentedMember<Name, Resource[Name]>;
};

const snakeNames = new Map<string, string>();

/** A resource's members, one level deep: members that end in `At` are points in time, Unix ms. */
export function present<Resource extends object>(resource: Resource): Presented<Resource> {
  const presented: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(resource)) {
    const isTime = typeof value === 'number' && name.endsWith('At');
    presented[snakeNames.getOrInsertComputed(name, toSnakeName)] = isTime ? formatTime(value) : value;
  }
  return presented as Presented<Resource>;
}

function toSnakeName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What stands for the value of a header, which is a secret. */
export const HIDDEN = '***';

export function presentDestination(destination: Destination) {
  const names = Object.keys(destination.headers);
  return {
    ...present(destination),
    headers: Object.fromEntries(names.map((name) => [name, HIDDEN])),
    metadata: parseJson(destination.metadata) as Record<string, unknown>,
  };
}

export function presentSubscription(subscription: Subscription) {
  const { filter } = subscription;
  return { ...present(subscription), filter: filter === null ? null : (parseJson(filter) as Record<string, unknown>) };
}

/** Member by member, as every accepted event comes by here. */
export function presentEvent({ id, type, idempotencyKey, occurredAt, createdAt }: Event) {
  return {
    event_id: id,
    type,
    idempotency_key: idempotencyKey,
    occurred_at: formatTime(occurredAt),
    created_at: formatTime(createdAt),
  };
}

export function presentScheduled({ id, destinationId, subscriptionId, status }: ScheduledDelivery) {
  return { id, destination_id: destinationId, subscription_id: subscriptionId, status };
}

export function presentEventWithDeliveries(event: Event, deliveries: readonly ScheduledDelivery[]) {
  const { event_id, type, idempotency_key, occurred_at, created_at } = presentEvent(event);
  return { event_id, type, idempotency_key, occurred_at, created_at, deliveries: deliveries.map(presentScheduled) };
}

export function presentTestAttempt({ sentHeaders, sentBody, ...attempt }: TestAttempt, { headers }: Destination) {
  const pairs: [string, string][] = [];
  for (let i = 0; i < sentHeaders.length; i += 2) {
    const name = sentHeaders[i]!;
    pairs.push([name.toLowerCase(), Object.hasOwn(headers, name) ? HIDDEN : sentHeaders[i + 1]!]);
  }
  return {
    ...presentAttempt(attempt),
    request: { headers: groupHeaders(pairs), body: Buffer.from(sentBody).toString() },
  };
}

export function presentAttempt({ responseHeaders, responseBody, ...attempt }: Attempt) {
  return {
    ...present(attempt),
    response_headers: responseHeaders === null ? null : groupHeaders(responseHeaders),
    ...presentBody(responseBody, attempt.responseBodyTruncated),
  };
}

/** A header may come more than once: its values in the order received. */
function groupHeaders(headers: readonly (readonly [string, string])[]): Record<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [name, value] of headers) groups.getOrInsert(name, []).push(value);
  return Object.fromEntries(groups);
}

type PresentedBody = { response_body: string | null; response_body_encoding: 'utf8' | 'base64' | null };

function presentBody(body: Uint8Array | null, isTruncated: boolean): PresentedBody {
  if (body === null) return { response_body: null, response_body_encoding: null };
  const text = isTruncated ? dropPartialCharacter(body) : body;
  if (isUtf8(text)) return { response_body: Buffer.from(text).toString(), response_body_encoding: 'utf8' };
  return { response_body: body.toBase64(), response_body_encoding: 'base64' };
}

/** Text cut in the middle of a character is still text: the rest of that character is not worth base64. */
function dropPartialCharacter(body: Uint8Array): Uint8Array {
  const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;
  const last = body.findLastIndex((byte) => !isContinuation(byte));
  if (last === -1 || body.length - last > 3 || isUtf8(body.subarray(last))) return body;
  return body.subarray(0, last);
}

export function presentOperation({ request, ...operation }: Operation) {
  return { ...present(operation), kind: request.kind, request: presentRequest(request) };
}

export function presentDryRun({ count, oldest, newest }: Found) {
  return { count, oldest: formatTimeOrNull(oldest), newest: formatTimeOrNull(newest) };
}

/** What was given of it. */
function presentRequest({ kind: _, since, until, ...request }: OperationRequest) {
  const members: [string, unknown][] = Object.entries(present(request));
  const given = members.filter(([, value]) => value !== null && value !== false);
  return {
    ...Object.fromEntries(given),
    ...(since === null ? {} : { since: formatTime(since) }),
    ...(until === null ? {} : { until: formatTime(until) }),
    per_second: request.perSecond,
  };
}
