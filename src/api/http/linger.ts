// Refusing a request that is still being sent. Closing the connection at once would reset it, and many clients
// then never read the answer: so the answer goes out first, and what still comes in is read and thrown away.
import type { IncomingMessage } from 'node:http';

/** A rest of at most this much is left to Node, which discards it and keeps the connection. */
const SMALL_REST_BYTES = 65_536;
/** In time this is bounded by the server's request timeout, which also counts for a request that was refused. */
const DISCARDED_BYTES_MAX = 64 * 1024 * 1024;

/** Whether a request has more to come than is worth keeping its connection for. */
export function hasMuchToDiscard(request: IncomingMessage): boolean {
  if (request.complete || request.readableEnded) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return encoding !== undefined || Number(length ?? 0) > SMALL_REST_BYTES;
}

/** Calls back when the request has ended, or is longer than is worth waiting for. */
export function discardRest(request: IncomingMessage, done: () => void): void {
  let discarded = 0;
  const end = (): void => {
    request.off('data', discard);
    done();
  };
  const discard = (chunk: Uint8Array): void => {
    discarded += chunk.length;
    if (discarded > DISCARDED_BYTES_MAX) end();
  };
  if (request.destroyed) return end();
  request.on('data', discard).once('end', end).once('close', end).on('error', end).resume();
}
