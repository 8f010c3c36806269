// Bodies on their way between threads. Cloning a view copies the whole buffer behind it (for a small slice of a pool,
// eight KiB), so the bodies of a batch travel packed into one buffer that is moved.
import type { Transferable } from 'node:worker_threads';
import type { EventPayload, NewEvent, ResultToRecord } from '../store.ts';
import type { MethodName, Methods } from './methods.ts';

export type Packed = { parameters: unknown[]; transfer: Transferable[] };

type Bytes = Uint8Array | null;
type PackedBytes = { buffer: ArrayBuffer; lengths: number[] };
type RecordRequest = Parameters<Methods['recordResults']>[0];

const ABSENT = -1;

/** A call's parameters as they are posted. The caller's own values are left as they are. */
export function packParameters(method: MethodName, parameters: unknown[]): Packed {
  if (method === 'acceptEvents') return packEvents(parameters[0] as NewEvent[]);
  if (method === 'recordResults') return packResults(parameters[0] as RecordRequest);
  return { parameters, transfer: [] };
}

/** The other end's inverse; fills in the clones it was given. */
export function unpackParameters(method: MethodName, parameters: unknown[]): unknown[] {
  if (method === 'acceptEvents') {
    const [events, bodies] = parameters as [NewEvent[], PackedBytes];
    forEachBytes(bodies, (bytes, index) => {
      events[index]!.body = bytes!;
    });
    return [events];
  }
  if (method === 'recordResults') {
    const [request, bodies] = parameters as [RecordRequest, PackedBytes];
    forEachBytes(bodies, (bytes, index) => {
      request.results[index]!.attempt.responseBody = bytes;
    });
    return [request];
  }
  return parameters;
}

/** What of an answer can be moved: bodies just read from the database, each in a buffer of its own. */
export function transferOf(method: MethodName, result: unknown): Transferable[] {
  if (method !== 'readPayloads') return [];
  return (result as EventPayload[]).map(({ body }) => body.buffer as ArrayBuffer);
}

const NO_BYTES = new Uint8Array(0);

function packEvents(events: NewEvent[]): Packed {
  const bodies = packBytes(events.map((event) => event.body));
  return {
    parameters: [events.map((event) => ({ ...event, body: NO_BYTES })), bodies],
    transfer: [bodies.buffer],
  };
}

function packResults(request: RecordRequest): Packed {
  const bodies = packBytes(request.results.map((result) => result.attempt.responseBody));
  const results = request.results.map((result) => withoutBody(result));
  return { parameters: [{ ...request, results }, bodies], transfer: [bodies.buffer] };
}

function withoutBody(result: ResultToRecord): ResultToRecord {
  return { ...result, attempt: { ...result.attempt, responseBody: null } };
}

function packBytes(all: Bytes[]): PackedBytes {
  const lengths = all.map((bytes) => (bytes === null ? ABSENT : bytes.length));
  const packed = new Uint8Array(all.reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0));
  let offset = 0;
  for (const bytes of all) {
    if (bytes === null) continue;
    packed.set(bytes, offset);
    offset += bytes.length;
  }
  return { buffer: packed.buffer, lengths };
}

function forEachBytes({ buffer, lengths }: PackedBytes, visit: (bytes: Bytes, index: number) => void): void {
  let offset = 0;
  for (const [index, length] of lengths.entries()) {
    visit(length === ABSENT ? null : new Uint8Array(buffer, offset, length), index);
    offset += Math.max(0, length);
  }
}
