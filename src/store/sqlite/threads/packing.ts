// The two calls that every event makes, as they travel between threads: one flat array of plain values, and one
// buffer with all bytes, which is moved. Cloning objects writes every name of every member each way, and cloning a
// view copies the whole buffer behind it (a slice of a pool: 64 KiB); flat, a batch costs a third of the time.
//
// What is packed and what is unpacked stand side by side, member by member, in one order. From one table of members
// instead, packing and unpacking 100,000 accepts and as many results took 1,257 ms of CPU, not 348: a member of a
// varying name is read and written far more slowly.
import type { Transferable } from 'node:worker_threads';
import type { Decision } from '../../../model/transitions.ts';
import type {
  AcceptResult,
  AttemptToStore,
  EventPayload,
  EventWithBody,
  NewDelivery,
  NewEvent,
  ResultToRecord,
  Store,
} from '../../store.ts';

type Packed = { parameters: unknown[]; transfer: Transferable[] };

type Plain = string | number | boolean | null;
type RecordRequest = Parameters<Store['recordResults']>[0];
type RecordAnswer = Awaited<ReturnType<Store['recordResults']>>;

/** A call's parameters as they are posted. The caller's own values are left as they are. */
export function packParameters(method: string, parameters: unknown[]): Packed {
  if (method === 'acceptEvents') return packEvents(parameters[0] as NewEvent[]);
  if (method === 'recordResults') return packResults(parameters[0] as RecordRequest);
  return { parameters, transfer: [] };
}

/** The other end's inverse. */
export function unpackParameters(method: string, parameters: unknown[]): unknown[] {
  if (method === 'acceptEvents') return [unpackEvents(parameters[0] as Plain[], parameters[1] as ArrayBuffer)];
  if (method === 'recordResults') {
    const [values, bytes, health, now] = parameters as [Plain[], ArrayBuffer, RecordRequest['health'], number];
    return [{ results: unpackResults(values, bytes), health, now } satisfies RecordRequest];
  }
  return parameters;
}

/** An answer as it is posted: where all went as it nearly always does, only how many there are. */
export function packResult(method: string, result: unknown): { result: unknown; transfer: Transferable[] } {
  if (method === 'acceptEvents') {
    const results = result as AcceptResult[];
    return { result: results.every(isPlainlyAccepted) ? results.length : results, transfer: [] };
  }
  if (method === 'recordResults') {
    const { outcomes, paused } = result as RecordAnswer;
    const isPlain = paused.length === 0 && outcomes.every((outcome) => outcome.result === 'recorded');
    return { result: isPlain ? outcomes.length : result, transfer: [] };
  }
  // Bodies just read from the database, each in a buffer of its own.
  if (method === 'readPayloads') return { result, transfer: (result as EventPayload[]).flatMap(buffersOf) };
  if (method === 'readEvent') return { result, transfer: buffersOf(result as EventWithBody | null) };
  return { result, transfer: [] };
}

function buffersOf(event: { body: Uint8Array | null } | null): ArrayBuffer[] {
  return event?.body == null ? [] : [event.body.buffer as ArrayBuffer];
}

export function unpackResult(method: string, packed: unknown): unknown {
  if (typeof packed !== 'number') return packed;
  if (method === 'acceptEvents') return Array.from({ length: packed }, () => ACCEPTED);
  if (method !== 'recordResults') return packed;
  return { outcomes: Array.from({ length: packed }, () => RECORDED), paused: [] } satisfies RecordAnswer;
}

const ACCEPTED: AcceptResult = { result: 'accepted', backlogFull: [] };
const RECORDED = { result: 'recorded' } as const;

function isPlainlyAccepted(result: AcceptResult): boolean {
  return result.result === 'accepted' && result.backlogFull.length === 0;
}

// ── Events ──

function packEvents(events: NewEvent[]): Packed {
  const values: Plain[] = [];
  const bytes = createBytesPacker(
    events.reduce((sum, { body, idempotency }) => {
      return sum + body.length + (idempotency?.fingerprint.length ?? 0);
    }, 0),
  );
  for (const event of events) {
    const { id, environment, type, idempotencyKey, occurredAt, createdAt, traceparent, deliveries } = event;
    values.push(id, environment, type, idempotencyKey, occurredAt, createdAt, traceparent);
    values.push(event.dueAt, event.configVersion);
    values.push(bytes.add(event.body), bytes.add(event.idempotency?.fingerprint ?? null));
    values.push(event.idempotency?.expiresAt ?? null, deliveries.length);
    for (const { id: deliveryId, destinationId, subscriptionId } of deliveries) {
      values.push(deliveryId, destinationId, subscriptionId);
    }
  }
  return { parameters: [values, bytes.buffer], transfer: [bytes.buffer] };
}

function unpackEvents(values: Plain[], buffer: ArrayBuffer): NewEvent[] {
  const reader = new Reader(values, buffer);
  const events: NewEvent[] = [];
  while (!reader.isAtEnd()) {
    events.push({
      id: reader.next() as NewEvent['id'],
      environment: reader.next() as number,
      type: reader.next() as string,
      idempotencyKey: reader.next() as string | null,
      occurredAt: reader.next() as number,
      createdAt: reader.next() as number,
      traceparent: reader.next() as string | null,
      dueAt: reader.next() as number,
      configVersion: reader.next() as number,
      body: reader.nextBytes()!,
      idempotency: unpackIdempotency(reader),
      deliveries: Array.from({ length: reader.next() as number }, () => unpackDelivery(reader)),
    });
  }
  return events;
}

function unpackIdempotency(reader: Reader): NewEvent['idempotency'] {
  const [fingerprint, expiresAt] = [reader.nextBytes(), reader.next() as number | null];
  return fingerprint === null ? null : { fingerprint, expiresAt: expiresAt! };
}

function unpackDelivery(reader: Reader): NewDelivery {
  return {
    id: reader.next() as NewDelivery['id'],
    destinationId: reader.next() as NewDelivery['destinationId'],
    subscriptionId: reader.next() as NewDelivery['subscriptionId'],
  };
}

// ── Results ──

function packResults({ results, health, now }: RecordRequest): Packed {
  const values: Plain[] = [];
  const bytes = createBytesPacker(results.reduce((sum, { attempt }) => sum + (attempt.responseBody?.length ?? 0), 0));
  for (const { id, rev, attempt, decision } of results) {
    values.push(id, rev, attempt.trigger, attempt.startedAt, attempt.durationMs, attempt.outcome);
    values.push(attempt.responseCode, bytes.add(attempt.responseBody), attempt.responseBodyTruncated, attempt.error);
    values.push(attempt.responseHeaders, decision?.status ?? null);
    if (decision === null) continue;
    const { deadReason, dueAt, schedulePosition, completedAt, pauseDestination } = decision;
    values.push(deadReason, dueAt, schedulePosition, completedAt, pauseDestination);
  }
  return { parameters: [values, bytes.buffer, health, now], transfer: [bytes.buffer] };
}

function unpackResults(values: Plain[], buffer: ArrayBuffer): ResultToRecord[] {
  const reader = new Reader(values, buffer);
  const results: ResultToRecord[] = [];
  while (!reader.isAtEnd()) {
    const [id, rev] = [reader.next() as ResultToRecord['id'], reader.next() as number];
    results.push({ id, rev, attempt: unpackAttempt(reader), decision: unpackDecision(reader) });
  }
  return results;
}

function unpackAttempt(reader: Reader): AttemptToStore {
  return {
    trigger: reader.next() as AttemptToStore['trigger'],
    startedAt: reader.next() as number,
    durationMs: reader.next() as number,
    outcome: reader.next() as AttemptToStore['outcome'],
    responseCode: reader.next() as number | null,
    responseBody: reader.nextBytes(),
    responseBodyTruncated: reader.next() as boolean,
    error: reader.next() as string | null,
    responseHeaders: reader.next() as string | null,
  };
}

function unpackDecision(reader: Reader): Decision | null {
  const status = reader.next() as Decision['status'] | null;
  if (status === null) return null;
  return {
    status,
    deadReason: reader.next() as Decision['deadReason'],
    dueAt: reader.next() as number | null,
    scheduledAt: null,
    fallbackStatus: null,
    schedulePosition: reader.next() as number,
    completedAt: reader.next() as number | null,
    pauseDestination: reader.next() as Decision['pauseDestination'],
  };
}

// ── Values and bytes ──

/** In place of a length, where there is nothing. */
const ABSENT = -1;

function createBytesPacker(length: number) {
  const packed = new Uint8Array(length);
  let offset = 0;
  return {
    buffer: packed.buffer,
    /** Returns what stands for the bytes among the values. */
    add(bytes: Uint8Array | null): number {
      if (bytes === null) return ABSENT;
      packed.set(bytes, offset);
      offset += bytes.length;
      return bytes.length;
    },
  };
}

/** Takes values and bytes in the order in which they were packed. */
class Reader {
  readonly #values: readonly Plain[];
  readonly #buffer: ArrayBuffer;
  #at = 0;
  #offset = 0;

  constructor(values: readonly Plain[], buffer: ArrayBuffer) {
    this.#values = values;
    this.#buffer = buffer;
  }

  isAtEnd(): boolean {
    return this.#at === this.#values.length;
  }

  next(): Plain {
    return this.#values[this.#at++]!;
  }

  nextBytes(): Uint8Array | null {
    const length = this.next() as number;
    if (length === ABSENT) return null;
    const bytes = new Uint8Array(this.#buffer, this.#offset, length);
    this.#offset += length;
    return bytes;
  }
}
