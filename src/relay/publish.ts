// One batch of rows to POST /v1/events/batch, and what became of each. Never throws. Bodies go out as the text that the
// database gave: parsed and written again, numbers beyond 2^53 would be others.
import { BATCH_BYTES_MAX } from '../model/event.ts';
import type { Clock } from '../runtime/clock.ts';
import { ROW_BYTES_MAX } from './outbox-table.ts';
import type { Refusal, Row } from './outbox-table.ts';

export type Verdict =
  | { kind: 'accepted' }
  /** For good: it would be refused again. */
  | { kind: 'refused'; refusal: Refusal }
  | { kind: 'later'; trouble: Trouble };

/** Something that passes, as far as can be known. `waitMs`: what the service asks for. */
export type Trouble = { message: string; waitMs: number | null };

export type Answer =
  | { kind: 'answered'; verdicts: Verdict[] }
  /** The service has refused the request as a whole because of what is in it. */
  | { kind: 'refused'; refusal: Refusal }
  | { kind: 'trouble'; trouble: Trouble }
  /** The key is wrong: no row is to blame. */
  | { kind: 'denied'; message: string };

export type Service = { url: string; key: string; userAgent: string; clock: Clock };

/** Of an event, what is written around its row's columns. */
const EVENT_FRAME_BYTES = 128;
const REQUEST_FRAME_BYTES = 64;
/** That rows of one batch may have, as Row counts them. A key or a type whose quotes are escaped is in the reserve. */
export function rowBytesMax(rows: number): number {
  return BATCH_BYTES_MAX - REQUEST_FRAME_BYTES - rows * EVENT_FRAME_BYTES;
}

const ANSWER_MS_MAX = 30_000;
/** 100,000 deliveries of 1,000 events have less than half of it. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const MESSAGE_LENGTH_MAX = 500;
/** Of the whole request: what is in it is at fault, rather than who sends it or where to. */
const CONTENT_STATUSES = [400, 413, 422];
const DENIED_STATUSES = [401, 403];
const PASSING_STATUSES = [401, 403, 408, 425, 429];

export async function publishBatch(rows: readonly Row[], service: Service): Promise<Answer> {
  const ended = new AbortController();
  const timer = service.clock.setTimer(() => ended.abort(), ANSWER_MS_MAX);
  try {
    const response = await fetch(`${service.url}/v1/events/batch`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.key}`,
        'content-type': 'application/json',
        'user-agent': service.userAgent,
      },
      body: encodeBatch(rows),
      redirect: 'manual',
      signal: ended.signal,
    });
    return readAnswer(response, await readText(response), rows.length);
  } catch (error) {
    return troubled(ended.signal.aborted ? `no answer within ${ANSWER_MS_MAX / 1_000} s` : explainFetch(error));
  } finally {
    timer.cancel();
  }
}

/** What cannot even be sent. */
export function refuseBeforehand({ body, bytes }: Row): Refusal | null {
  if (body !== null) return null;
  const unsent = { status: null, param: '/body', request_id: null };
  if (bytes <= ROW_BYTES_MAX) return { ...unsent, code: 'invalid_request', message: 'the body is null, not an object' };
  return { ...unsent, code: 'body_too_large', message: `the row is ${bytes} bytes long, of ${ROW_BYTES_MAX} possible` };
}

function encodeBatch(rows: readonly Row[]): string {
  return `{"events":[${rows.map(encodeEvent).join(',')}]}`;
}

function encodeEvent({ id, type, occurredAt, body }: Row): string {
  const members = JSON.stringify({ type, idempotency_key: id, occurred_at: occurredAt ?? undefined });
  return `${members.slice(0, -1)},"body":${body}}`;
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX) throw new Error(`an answer of more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

type Fault = { code: string; message: string; param: string | null; requestId: string | null; waitMs: number | null };

function readAnswer(response: Response, text: string, count: number): Answer {
  const { status } = response;
  const content = parse(text);
  if (status === 200) return readResults(content, count);
  const fault = readFault(content);
  const waitMs = fault?.waitMs ?? secondsOf(response.headers.get('retry-after'));
  if (fault === null) return troubled(`${status}, and not in Postrider's words: does the URL lead to it?`, waitMs);
  const said = `${status} ${fault.code}: ${fault.message}`;
  if (DENIED_STATUSES.includes(status)) return { kind: 'denied', message: said };
  if (CONTENT_STATUSES.includes(status)) return { kind: 'refused', refusal: refusalOf(status, fault) };
  return troubled(said, waitMs);
}

/** Of what is no list of as many results nothing is believed: rows would be deleted that nobody has. */
function readResults(content: unknown, count: number): Answer {
  const results = memberOf(content, 'data');
  if (!Array.isArray(results) || results.length !== count) return troubled(`200 without ${count} results`);
  return { kind: 'answered', verdicts: results.map(readResult) };
}

function readResult(result: unknown): Verdict {
  const status = memberOf(result, 'status');
  if ((status === 200 || status === 202) && typeof memberOf(memberOf(result, 'event'), 'event_id') === 'string') {
    return { kind: 'accepted' };
  }
  const fault = readFault(result);
  if (typeof status !== 'number' || fault === null) {
    return { kind: 'later', trouble: { message: 'a result that is none', waitMs: null } };
  }
  if (status >= 400 && status < 500 && !PASSING_STATUSES.includes(status)) {
    return { kind: 'refused', refusal: refusalOf(status, fault) };
  }
  return { kind: 'later', trouble: { message: `${status} ${fault.code}: ${fault.message}`, waitMs: fault.waitMs } };
}

function readFault(content: unknown): Fault | null {
  const error = memberOf(content, 'error');
  const textOf = (name: string): string | null => {
    const value = memberOf(error, name);
    return typeof value === 'string' ? clean(value) : null;
  };
  const [code, message] = [textOf('code'), textOf('message')];
  if (code === null || message === null) return null;
  const wait = memberOf(error, 'retry_after_seconds');
  const waitMs = typeof wait === 'number' ? wait * 1_000 : null;
  return { code, message, param: textOf('param'), requestId: textOf('request_id'), waitMs };
}

/** `param` without the event's place in its batch, which says nothing of a row. */
function refusalOf(status: number, { code, message, param, requestId }: Fault): Refusal {
  return { status, code, message, param: param?.replace(/^\/events\/\d+/, '') ?? null, request_id: requestId };
}

/** PostgreSQL's jsonb holds neither U+0000 nor lone surrogates. */
function clean(text: string): string {
  return text.slice(0, MESSAGE_LENGTH_MAX).toWellFormed().replaceAll('\0', '\u{fffd}');
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : null;
}

function troubled(message: string, waitMs: number | null = null): Answer {
  return { kind: 'trouble', trouble: { message, waitMs } };
}

/** fetch says no more than "fetch failed"; what it was is its cause. */
function explainFetch(error: unknown): string {
  const { message, cause } = error as Error;
  if (!(cause instanceof Error)) return message;
  return cause.message === '' && 'code' in cause ? String(cause.code) : cause.message;
}
