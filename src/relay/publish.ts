// One batch of rows to POST /v1/events/batch, and what became of each: whatever the service or the way there comes to
// is a value. Bodies go out as the text that the database gave: written anew, numbers beyond 2^53 would be others.
import {
  ApiError,
  JsonText,
  Postrider,
  PostriderError,
  UnexpectedAnswerError,
  type EventInput,
} from '../../sdk/typescript/src/postrider.ts';
import { BATCH_BYTES_MAX } from '../model/event.ts';
import { ROW_BYTES_MAX, type Refusal, type Row } from './outbox-table.ts';

export type Verdict =
  | { kind: 'accepted' }
  /** For good: it would be refused again. */
  | { kind: 'refused'; refusal: Refusal }
  | { kind: 'later'; trouble: Trouble };

/** Something that passes, as far as can be known. `waitMs`: what the service asks for. */
export type Trouble = { message: string; waitMs: number | null };

type Answer =
  | { kind: 'answered'; verdicts: Verdict[] }
  /** The service has refused the request as a whole because of what is in it. */
  | { kind: 'refused'; refusal: Refusal }
  /** A proxy lets through no request so large. */
  | { kind: 'too_large'; trouble: Trouble }
  | { kind: 'trouble'; trouble: Trouble }
  /** The key is wrong: no row is to blame. */
  | { kind: 'denied'; message: string };

/** Of an event, what is written around its row's columns. */
const EVENT_FRAME_BYTES = 128;
const REQUEST_FRAME_BYTES = 64;
/** That rows of one batch may have, as Row counts them. A key or a type whose quotes are escaped is in the reserve. */
export function rowBytesMax(rows: number): number {
  return BATCH_BYTES_MAX - REQUEST_FRAME_BYTES - rows * EVENT_FRAME_BYTES;
}

const ANSWER_MS_MAX = 30_000;
const MESSAGE_LENGTH_MAX = 500;
/** Of the whole request: what is in it is at fault, rather than who sends it or where to. */
const CONTENT_STATUSES = [400, 413, 422];
const DENIED_STATUSES = [401, 403];
const PASSING_STATUSES = [401, 403, 408, 425, 429];

/** The client that the answers are told from; the relay has its own way of trying again. */
export function connect({ url, key, userAgent }: { url: string; key: string; userAgent: string }): Postrider {
  const fetchNamed: typeof fetch = (input, { headers, ...init } = {}) =>
    fetch(input, { ...init, headers: { ...(headers as Record<string, string>), 'user-agent': userAgent } });
  return new Postrider({ apiKey: key, baseUrl: url, maxRetries: 0, timeoutMs: ANSWER_MS_MAX, fetch: fetchNamed });
}

export async function publishBatch(rows: readonly Row[], service: Postrider): Promise<Answer> {
  try {
    const results = await service.events.publishBatch(rows.map(toEvent));
    return { kind: 'answered', verdicts: results.map(({ error }) => toVerdict(error)) };
  } catch (error) {
    return readFailure(error);
  }
}

/** What cannot even be sent. */
export function refuseBeforehand({ body, bytes }: Row): Refusal | null {
  if (body !== null) return null;
  const unsent = { status: null, param: '/body', request_id: null };
  if (bytes <= ROW_BYTES_MAX) return { ...unsent, code: 'invalid_request', message: 'the body is null, not an object' };
  return { ...unsent, code: 'body_too_large', message: `the row is ${bytes} bytes long, of ${ROW_BYTES_MAX} possible` };
}

function toEvent({ id, type, occurredAt, body }: Row): EventInput {
  const time = occurredAt === null ? {} : { occurred_at: occurredAt };
  return { type, idempotency_key: id, ...time, body: new JsonText(body!) };
}

function toVerdict(error: ApiError | undefined): Verdict {
  if (error === undefined) return { kind: 'accepted' };
  const isPassing = error.status >= 500 || PASSING_STATUSES.includes(error.status);
  return isPassing ? { kind: 'later', trouble: troubleOf(error) } : { kind: 'refused', refusal: refusalOf(error) };
}

/** Of the request as a whole. */
function readFailure(error: unknown): Answer {
  if (!(error instanceof PostriderError)) throw error;
  const isTooLarge = error instanceof UnexpectedAnswerError && error.status === 413;
  if (!(error instanceof ApiError)) return { kind: isTooLarge ? 'too_large' : 'trouble', trouble: troubleOf(error) };
  if (DENIED_STATUSES.includes(error.status)) return { kind: 'denied', message: troubleOf(error).message };
  if (CONTENT_STATUSES.includes(error.status)) return { kind: 'refused', refusal: refusalOf(error) };
  return { kind: 'trouble', trouble: troubleOf(error) };
}

function troubleOf(error: PostriderError): Trouble {
  const wait = error instanceof ApiError || error instanceof UnexpectedAnswerError ? error.retryAfterSeconds : null;
  const said = error instanceof ApiError ? `${error.status} ${error.code}: ` : '';
  return { message: said + clean(error.message), waitMs: wait == null ? null : wait * 1_000 };
}

/** `param` without the event's place in its batch, which says nothing of a row. */
function refusalOf({ status, code, message, param, requestId }: ApiError): Refusal {
  const own = param === undefined ? null : clean(param).replace(/^\/events\/\d+/, '');
  return {
    status,
    code: clean(code),
    message: clean(message),
    param: own,
    request_id: requestId === undefined ? null : clean(requestId),
  };
}

/** PostgreSQL's jsonb holds neither U+0000 nor lone surrogates. */
function clean(text: string): string {
  return text.slice(0, MESSAGE_LENGTH_MAX).toWellFormed().replaceAll('\0', '\u{fffd}');
}
