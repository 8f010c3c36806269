// Answers that may be long, made piece by piece while the caller takes them: what waits in memory is one piece and what
// the connection holds, however long the answer and however slow its reader.
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { delay } from '../../runtime/clock.ts';
import { StoreError } from '../../store/store.ts';
import type { ApiServices } from '../services.ts';
import { JSON_TYPE } from './error-response.ts';

export type Piece = string | Uint8Array;

/** Lets other requests have their turn. All who write long answers have it in common. */
export type TakeBreak = () => Promise<void>;

/** A long answer is made and sent in chunks of this length. */
export const CHUNK_BYTES = 65_536;
const PAGE_TRIES = 3;
const PAGE_RETRY_MS = 500;

/**
 * `inMemory`: bytes that an answer keeps until it is sent, beside the chunk that is under way. A member, no entry of a
 * WeakMap: what enters a WeakMap while V8 marks is kept for another cycle, and hundreds of sent answers piled up.
 */
type AnswerStream = Readable & { inMemory?: number };

export function bytesInMemoryOf(answer: AnswerStream): number {
  return answer.inMemory ?? 0;
}

/**
 * Answers with JSON in pieces; `inMemory`: the bytes of those that are in memory from the beginning. Until the first
 * chunk is full an error has an answer of its own; later the beginning is on its way, and only the connection can be
 * cut.
 */
export async function sendPieces(
  reply: FastifyReply,
  pieces: AsyncIterable<Piece>,
  { status, headers = {}, inMemory = 0 }: { status: number; headers?: Record<string, string>; inMemory?: number },
): Promise<FastifyReply> {
  const chunks = gather(pieces);
  const first = await chunks.next();
  reply.code(status).headers(headers).header('content-type', JSON_TYPE);
  // All of it: with its length, as any other answer.
  if (first.done === true) return reply.send(first.value);
  const options = { objectMode: false, highWaterMark: CHUNK_BYTES };
  const stream: AnswerStream = Readable.from(continueWith(first.value, chunks), options);
  stream.inMemory = inMemory;
  return reply.send(stream);
}

type ListPage<Row> = { data: readonly Row[]; has_more: boolean; next_cursor: string | null };

/**
 * A page of a list whose rows may take long to write: a hundred of 8 KiB of names each. `takeBreak` is awaited before
 * each.
 */
export async function* piecePage<Row>(
  { data, has_more: hasMore, next_cursor: nextCursor }: ListPage<Row>,
  write: (row: Row) => string,
  takeBreak: TakeBreak,
): AsyncGenerator<Piece> {
  yield '{"data":[';
  let separator = '';
  for (const row of data) {
    await takeBreak();
    yield separator + write(row);
    separator = ',';
  }
  yield `],"has_more":${hasMore},"next_cursor":${JSON.stringify(nextCursor)}}`;
}

/**
 * The next page of what an answer shows. What precedes it may be on its way already, and other events of a batch are
 * committed: hence more than a try.
 */
export async function readPatiently<Page>(
  { clock, log }: Pick<ApiServices, 'clock' | 'log'>,
  what: string,
  read: () => Promise<Page>,
): Promise<Page> {
  for (let tries = 1; ; tries++) {
    try {
      return await read();
    } catch (error) {
      if (error instanceof StoreError && error.code === 'unavailable' && tries < PAGE_TRIES) {
        await delay(clock, PAGE_RETRY_MS);
        continue;
      }
      log.error({ err: error }, `${what} cannot be read: the answer is cut off where it has begun`);
      throw error;
    }
  }
}

async function* continueWith(first: Buffer, rest: AsyncGenerator<Buffer, Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield yield* rest;
}

/** Joins small pieces, and cuts what is longer than a chunk without copying it. The last chunk is returned. */
async function* gather(pieces: AsyncIterable<Piece>): AsyncGenerator<Buffer, Buffer> {
  let parts: Piece[] = [];
  let length = 0;
  for await (const piece of pieces) {
    if (typeof piece !== 'string' && piece.length > CHUNK_BYTES) {
      yield join(parts);
      yield* cutIntoChunks(piece);
      parts = [];
      length = 0;
      continue;
    }
    parts.push(piece);
    length += piece.length;
    if (length < CHUNK_BYTES) continue;
    yield join(parts);
    parts = [];
    length = 0;
  }
  return join(parts);
}

function join(parts: readonly Piece[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** Views: nothing is copied. */
export function* cutIntoChunks(bytes: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    yield Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(CHUNK_BYTES, bytes.length - at));
  }
}
