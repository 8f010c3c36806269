// From the validated request of one event to what is accepted. The single POST and the batch go through here.
import type { IncomingMessage } from 'node:http';
import type { EventBody, IncomingEvent } from '../../accept/incoming-event.ts';
import { parseBody } from '../../json/body.ts';
import { ApiError } from '../../model/error.ts';
import { BODY_BYTES_MAX } from '../../model/event.ts';
import { isEventType, isOperational, findPatternFault } from '../../model/event-type.ts';
import { countHeaderLines } from './header-lines.ts';
import type { RawObject } from './request-json.ts';
import type { EventInput } from '../schemas/event.ts';
import { parseTime, TIME_RULE } from '../../model/time.ts';

/** As the schema of the field has it. */
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

const KEY_HEADER = 'idempotency-key';

/** The request's `Idempotency-Key`; null: it has none. Throws ApiError. */
export function readKeyHeader({ headers, rawHeaders }: IncomingMessage): string | null {
  const key = headers[KEY_HEADER];
  if (key === undefined) return null;
  // Node joins them, and the event would be stored under a key that the caller never chose.
  if (countHeaderLines(rawHeaders, KEY_HEADER) > 1) {
    throw new ApiError('invalid_request', 'there is more than one Idempotency-Key header; send one');
  }
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key;
  throw new ApiError('invalid_request', 'the header Idempotency-Key must be 1-255 printable ASCII characters');
}

/** `keyHeader`: of the request, where it is about this event alone. Throws ApiError. */
export function parseEvent(
  input: EventInput,
  {
    environment,
    traceparent,
    keyHeader,
  }: Pick<IncomingEvent, 'environment' | 'traceparent'> & { keyHeader: string | null },
): IncomingEvent {
  const type = readEventType(input.type);
  if (isOperational(type)) {
    const message = 'types that begin with "postrider." are those of the service’s own events; use another';
    throw new ApiError('invalid_event_type', message, { param: '/type' });
  }
  return {
    environment,
    type,
    body: readEventBody(input.body),
    idempotencyKey: readKey(input.idempotency_key ?? null, keyHeader),
    occurredAt: readOccurredAt(input.occurred_at ?? null),
    traceparent,
  };
}

/** Whoever is used to the header from elsewhere must not get an event twice for it. Throws ApiError. */
function readKey(field: string | null, header: string | null): string | null {
  if (header === null) return field;
  if (field === null || field === header) return header;
  const message = 'the header Idempotency-Key and "idempotency_key" differ: send one of them';
  throw new ApiError('invalid_request', message, { param: '/idempotency_key' });
}

/** Throws ApiError `invalid_event_type`, which blames `param`. */
export function readEventType(type: string, param = '/type'): string {
  if (isEventType(type)) return type;
  throw new ApiError(
    'invalid_event_type',
    'an event type is 2-10 segments of A-Z a-z 0-9 _ - (1-64 each), joined by dots, such as order.paid',
    { param },
  );
}

/** The pattern. Throws ApiError `invalid_event_type_pattern`. */
export function checkPattern(pattern: string, param: string): string {
  const fault = findPatternFault(pattern);
  if (fault === null) return pattern;
  throw new ApiError('invalid_event_type_pattern', fault, { param });
}

/** The member `body` of a request that is read with `raw: 'body'`. Throws ApiError `body_too_large`. */
export function readEventBody(body: Record<string, unknown>): EventBody {
  // Validation has seen an object, and the reader keeps objects of this name as they were sent.
  const raw = body as unknown as RawObject;
  if (raw.bytes.length > BODY_BYTES_MAX) throw bodyTooLarge(raw.bytes.length);
  const bytes = raw.keptBytes();
  let parsed: { value: unknown } | null = null;
  return {
    bytes,
    parse() {
      parsed ??= { value: parseBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) };
      return parsed.value;
    },
  };
}

function bodyTooLarge(length: number): ApiError {
  return new ApiError('body_too_large', `the body has ${length} bytes; at most ${BODY_BYTES_MAX} are possible`, {
    param: '/body',
  });
}

function readOccurredAt(text: string | null): IncomingEvent['occurredAt'] {
  if (text === null) return null;
  const time = parseTime(text);
  if (time !== null) return { text, time };
  throw new ApiError('invalid_request', `"occurred_at" is not a time: ${TIME_RULE}`, { param: '/occurred_at' });
}
