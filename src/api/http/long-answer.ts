// Counts what an answer takes until its caller has taken it. A long one goes out in slices, each when the connection
// has taken the one before: written as a whole it would be copied as a whole, and who reads slowly would look like
// who does not read.
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Connections } from './connections.ts';
import { bytesInMemoryOf } from '../output/pieces.ts';
import { overBudget } from './request-body.ts';

const SLICE_BYTES = 65_536;
/** Up to here an answer is among what is counted for any request. */
const SHORT_LENGTH = 2_048;
/** What Node keeps of an answer that is a stream. */
const STREAM_BYTES = 2 * SLICE_BYTES;

/** The `onSend` step: what to send instead. Throws ApiError where there is no room for a long answer to a mere read. */
export function holdAnswer(reply: FastifyReply, payload: unknown, connections: Connections): unknown {
  if (typeof payload === 'string' && payload.length <= SHORT_LENGTH) return payload;
  const { raw, request } = reply;
  const connection = connections.of(request.raw.socket);
  if (connection === undefined || request.method === 'HEAD' || payload == null) return payload;
  const charge = (bytes: number): void => {
    if (connection.chargeAnswer(raw, bytes) || request.method !== 'GET' || bytes <= SLICE_BYTES) return;
    connection.chargeAnswer(raw, -bytes);
    if (payload instanceof Readable) payload.destroy();
    throw overBudget();
  };
  if (payload instanceof Readable) {
    charge(STREAM_BYTES + bytesInMemoryOf(payload));
    if (request.routeOptions.config.isEndless === true) connection.beginEndless();
    return payload;
  }
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  const isLong = payload.length > SLICE_BYTES;
  const answer = isLong && typeof payload === 'string' ? Buffer.from(payload) : payload;
  charge(answer.length);
  if (!isLong) return answer;
  reply.header('content-length', answer.length);
  return sliceAnswer(answer as Buffer);
}

function sliceAnswer(answer: Buffer): Readable {
  let sent = 0;
  return new Readable({
    highWaterMark: SLICE_BYTES,
    read() {
      const slice = answer.subarray(sent, sent + SLICE_BYTES);
      sent += slice.length;
      this.push(slice.length === 0 ? null : slice);
    },
  });
}
