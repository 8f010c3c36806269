// A delivery with its attempts, of which there may be very many, each with thousands of headers: read page by page, and
// written one by one.
import type { FastifyReply } from 'fastify';
import type { Attempt, StoredAttempt } from '../../model/attempt.ts';
import type { Delivery, DeliveryWithAttempts } from '../../model/delivery.ts';
import { ATTEMPTS_PAGE } from '../../store/store.ts';
import { attempt as attemptSchema, delivery as deliverySchema } from '../schemas/delivery.ts';
import type { ApiServices } from '../services.ts';
import { readPatiently, type Piece, type TakeBreak } from './pieces.ts';
import { present, presentAttempt } from './present.ts';

/** Serialisers are looked up by these objects. */
const DELIVERY: Record<string, unknown> = { ...deliverySchema };
const ATTEMPT: Record<string, unknown> = { ...attemptSchema };

type Services = Pick<ApiServices, 'store' | 'clock' | 'log'>;

/** `takeBreak`: awaited before each attempt. */
export async function* pieceDelivery(
  services: Services,
  reply: FastifyReply,
  { attempts, ...delivery }: DeliveryWithAttempts,
  takeBreak: TakeBreak,
): AsyncGenerator<Piece> {
  yield reply.serializeInput(present(delivery), DELIVERY).slice(0, -'}'.length);
  let separator = ',"retries":[';
  for await (const page of readPages(services, delivery, attempts)) {
    for (const attempt of page) {
      await takeBreak();
      yield separator + reply.serializeInput(presentAttempt(read(attempt)), ATTEMPT);
      separator = ',';
    }
  }
  yield separator === ',' ? ']}' : `${separator}]}`;
}

/** The memory that attempts take, but for a constant. */
export function sizeOf(attempts: readonly StoredAttempt[]): number {
  return attempts.reduce((sum, { responseHeaders, responseBody }) => {
    return sum + (responseHeaders?.length ?? 0) + (responseBody?.length ?? 0);
  }, 0);
}

/** The page that was read with the delivery, and those that follow, without what has been made since. */
async function* readPages(
  services: Services,
  { id, attemptCount }: Delivery,
  first: StoredAttempt[],
): AsyncGenerator<StoredAttempt[]> {
  let page = first;
  for (;;) {
    yield page;
    const after = page.at(-1)?.attempt ?? attemptCount;
    if (page.length < ATTEMPTS_PAGE || after >= attemptCount) return;
    const next = await readPatiently(services, 'attempts of a delivery', () =>
      services.store.readAttempts({ id, after }),
    );
    page = next.filter(({ attempt }) => attempt <= attemptCount);
  }
}

function read({ responseHeaders, ...attempt }: StoredAttempt): Attempt {
  const headers = responseHeaders === null ? null : (JSON.parse(responseHeaders) as [string, string][]);
  return { ...attempt, responseHeaders: headers };
}
