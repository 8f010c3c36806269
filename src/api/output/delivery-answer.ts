// A delivery with its attempts, of which there may be very many, each with thousands of headers: written one by one.
import type { FastifyReply } from 'fastify';
import type { Attempt, StoredAttempt } from '../../model/attempt.ts';
import type { DeliveryWithAttempts } from '../../model/delivery.ts';
import { attempt as attemptSchema, delivery as deliverySchema } from '../schemas/delivery.ts';
import type { Piece, TakeBreak } from './pieces.ts';
import { present, presentAttempt } from './present.ts';

/** Serialisers are looked up by these objects. */
const DELIVERY: Record<string, unknown> = { ...deliverySchema };
const ATTEMPT: Record<string, unknown> = { ...attemptSchema };

/** `takeBreak`: awaited before each attempt. */
export async function* pieceDelivery(
  reply: FastifyReply,
  { attempts, ...delivery }: DeliveryWithAttempts,
  takeBreak: TakeBreak,
): AsyncGenerator<Piece> {
  yield reply.serializeInput(present(delivery), DELIVERY).slice(0, -'}'.length);
  let separator = ',"retries":[';
  for (const attempt of attempts) {
    await takeBreak();
    yield separator + reply.serializeInput(presentAttempt(read(attempt)), ATTEMPT);
    separator = ',';
  }
  yield separator === ',' ? ']}' : `${separator}]}`;
}

/** The memory that attempts take, but for a constant. */
export function sizeOf(attempts: readonly StoredAttempt[]): number {
  return attempts.reduce((sum, { responseHeaders, responseBody }) => {
    return sum + (responseHeaders?.length ?? 0) + (responseBody?.length ?? 0);
  }, 0);
}

function read({ responseHeaders, ...attempt }: StoredAttempt): Attempt {
  const headers = responseHeaders === null ? null : (JSON.parse(responseHeaders) as [string, string][]);
  return { ...attempt, responseHeaders: headers };
}
